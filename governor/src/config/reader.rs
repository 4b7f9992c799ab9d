//! Reads typed values out of the parsed file, with the ranges of [`super::keys`], and notes every fault with its line.

use super::address::Address;
use super::duration;
use super::fault::Fault;
use super::keys::{Key, Kind, Millis, Missing, Table};
use super::lines::Lines;
use super::words::{bare, check_name, join, plain, quoted, shown, supported, unknown, whole, with_article};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Collects the faults of one file.
#[derive(Debug)]
pub struct Sink {
    /// Byte offset at which each line begins.
    lines: Vec<usize>,
    /// In the order in which they were found.
    pub faults: Vec<Fault>,
    /// What is allowed but hardly meant.
    pub notes: Vec<Fault>,
    /// Where the keys of single tables stand.
    pub places: Lines,
}

/// One table of the file.
#[derive(Debug)]
pub struct Section<'a, 'i> {
    /// Its key path; empty for the whole file.
    pub path: String,
    /// Where it stands.
    pub at: Range<usize>,
    table: &'a DeTable<'i>,
    keys: Table,
}

/// A value that was read, and where it stands.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub at: Range<usize>,
}

type Value<'i> = Spanned<DeValue<'i>>;

// === impl Sink ===

impl Sink {
    /// For a file of that text.
    pub fn new(text: &str) -> Self {
        let after_newline = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self {
            lines: std::iter::once(0).chain(after_newline).collect(),
            faults: Vec::new(),
            notes: Vec::new(),
            places: Lines::default(),
        }
    }

    /// The line of a byte offset, counted from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// Notes a fault.
    pub fn fault(&mut self, at: &Range<usize>, key: &str, message: impl Into<String>) {
        let fault = Fault { line: self.line(at.start), key: key.to_owned(), message: message.into() };
        self.faults.push(fault);
    }

    /// Notes something that is allowed but hardly meant.
    pub fn note(&mut self, at: &Range<usize>, key: &str, message: impl Into<String>) {
        let note = Fault { line: self.line(at.start), key: key.to_owned(), message: message.into() };
        self.notes.push(note);
    }
}

// === impl Section ===

impl<'a, 'i> Section<'a, 'i> {
    /// The table at `path`; unknown keys in it are noted here.
    pub fn new(sink: &mut Sink, path: String, at: Range<usize>, table: &'a DeTable<'i>, keys: Table) -> Self {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if keys.key(name).is_none() {
                sink.fault(&key.span(), &join(&path, name), unknown(name, &keys));
            }
            if !path.contains('[') {
                let line = sink.line(key.span().start);
                sink.places.note(join(&path, name), line);
            }
        }
        Self { path, at, table, keys }
    }

    /// The path of one of its keys.
    pub fn key_path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Notes a fault of one of its keys: at the key's value, or at the table's head where it is absent.
    pub fn fault(&self, sink: &mut Sink, name: &str, message: impl Into<String>) {
        let at = self.span(name);
        sink.fault(&at, &self.key_path(name), message);
    }

    /// Where a key's value stands; the table's head if it is absent.
    pub fn span(&self, name: &str) -> Range<usize> {
        self.table.get(name).map_or_else(|| self.at.clone(), Spanned::span)
    }

    /// Is the key given?
    pub fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Is the key an array without elements?
    pub fn is_empty_array(&self, name: &str) -> bool {
        self.table.get(name).and_then(|value| value.get_ref().as_array()).is_some_and(|array| array.is_empty())
    }

    /// The value of a key; noted as a fault where a mandatory one is missing.
    fn value(&self, sink: &mut Sink, name: &str) -> Option<(&'a Value<'i>, &'static Key)> {
        let key = self.keys.key(name)?;
        let value = self.table.get(name);
        if value.is_none() && key.missing == Missing::Fault {
            sink.fault(&self.at, &self.key_path(name), format!("missing; must be given ({})", plain(&key.kind)));
        }
        Some((value?, key))
    }

    /// Notes that a value is not what its key's kind allows.
    fn wrong(&self, sink: &mut Sink, key: &Key, value: &Value<'_>) {
        self.fault(sink, key.name, format!("must be {}, is {}", with_article(&key.kind), shown(value.get_ref())));
    }

    /// A text of any kind, and its key.
    fn text(&self, sink: &mut Sink, name: &str) -> Option<(&'a str, &'static Key)> {
        let (value, key) = self.value(sink, name)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong(sink, key, value);
        }
        Some((text?, key))
    }

    /// [`Kind::Number`]
    pub fn number(&self, sink: &mut Sink, name: &str) -> Option<u32> {
        let (value, key) = self.value(sink, name)?;
        let Kind::Number { min, max } = key.kind else { return None };
        let number = whole(value.get_ref()).filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.wrong(sink, key, value);
        }
        number
    }

    /// [`Kind::Numbers`]
    pub fn numbers(&self, sink: &mut Sink, name: &str) -> Option<Vec<u32>> {
        let (value, key) = self.value(sink, name)?;
        let Kind::Numbers { least, most, min, max } = key.kind else { return None };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong(sink, key, value);
            return None;
        };
        if !(least..=most).contains(&array.len()) {
            let message = format!("must be {}, has {} elements", with_article(&key.kind), array.len());
            self.fault(sink, name, message);
            return None;
        }
        let mut numbers = Vec::with_capacity(array.len());
        for (at, element) in array.iter().enumerate() {
            let number = whole(element.get_ref()).filter(|number| (min..=max).contains(number));
            if number.is_none() {
                let path = format!("{}[{}]", self.key_path(name), at + 1);
                let message = format!("must be a number, {min} to {max}, is {}", shown(element.get_ref()));
                sink.fault(&element.span(), &path, message);
            }
            numbers.extend(number);
        }
        (numbers.len() == array.len()).then_some(numbers)
    }

    /// [`Kind::Time`]
    pub fn time(&self, sink: &mut Sink, name: &str) -> Option<Duration> {
        let (value, key) = self.value(sink, name)?;
        let Kind::Time { min, max } = key.kind else { return None };
        let Some(time) = value.get_ref().as_str().and_then(duration::parse) else {
            let message = format!(
                "must be a duration of {} to {} such as \"500ms\", \"3s\", \"1m\", is {}",
                Millis(min),
                Millis(max),
                shown(value.get_ref())
            );
            self.fault(sink, name, message);
            return None;
        };
        if (u128::from(min)..=u128::from(max)).contains(&time.as_millis()) {
            return Some(time);
        }
        self.wrong(sink, key, value);
        None
    }

    /// [`Kind::Choice`]: which of the words it is, counted from 0.
    pub fn choice(&self, sink: &mut Sink, name: &str) -> Option<usize> {
        let (value, key) = self.value(sink, name)?;
        let Kind::Choice(words) = key.kind else { return None };
        let chosen = value.get_ref().as_str().and_then(|text| words.iter().position(|word| *word == text));
        if chosen.is_none() {
            let message = format!("must be one of {}, is {}", plain(&key.kind), shown(value.get_ref()));
            self.fault(sink, name, message);
        }
        chosen
    }

    /// [`Kind::Identity`]
    pub fn identity(&self, sink: &mut Sink, name: &str) -> Option<String> {
        let (text, _) = self.text(sink, name)?;
        let label = |label: &str| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if text.len() <= 255 && text.split('.').all(label) {
            return Some(text.to_owned());
        }
        let message = "must be a Diameter identity (1 to 255 letters, digits, `-` and `_` in parts joined by `.`), is ";
        self.fault(sink, name, format!("{message}{}", quoted(text)));
        None
    }

    /// [`Kind::Name`]
    pub fn name(&self, sink: &mut Sink, name: &str) -> Option<At<&'a str>> {
        let (text, _) = self.text(sink, name)?;
        if let Err(message) = check_name(text) {
            self.fault(sink, name, message);
        }
        // A name with a fault is a name all the same: what refers to it must not be a fault too.
        Some(At { value: text, at: self.span(name) })
    }

    /// [`Kind::NameOf`]
    pub fn name_of(&self, sink: &mut Sink, name: &str) -> Option<&'a str> {
        Some(self.text(sink, name)?.0)
    }

    /// [`Kind::Address`]
    pub fn address(&self, sink: &mut Sink, name: &str) -> Option<Address> {
        let (text, _) = self.text(sink, name)?;
        match supported(text) {
            Ok(address) if address.port() == 0 => self.fault(sink, name, "must have a port of 1 to 65535, is 0"),
            Ok(address) if address.endpoints.iter().any(|endpoint| endpoint.ip().is_unspecified()) => {
                self.fault(sink, name, format!("must be the address of one host, is {}", quoted(text)));
            }
            Ok(address) => return Some(address),
            Err(message) => self.fault(sink, name, message),
        }
        None
    }

    /// [`Kind::Addresses`], without doubles.
    pub fn addresses(&self, sink: &mut Sink, name: &str) -> Vec<Address> {
        let mut addresses: Vec<Address> = Vec::new();
        for (at, element) in self.texts(sink, name).into_iter().enumerate() {
            let path = format!("{}[{}]", self.key_path(name), at + 1);
            let line = sink.line(element.at.start);
            sink.places.note(path.clone(), line);
            match supported(element.value) {
                // Port 0 is any free port, each time another.
                Ok(address) if address.port() != 0 && addresses.contains(&address) => {
                    sink.fault(&element.at, &path, format!("{address} stands twice"));
                }
                Ok(address) => addresses.push(address),
                Err(message) => sink.fault(&element.at, &path, message),
            }
        }
        addresses
    }

    /// An array of texts; elements of other types are noted and left out.
    pub fn texts(&self, sink: &mut Sink, name: &str) -> Vec<At<&'a str>> {
        let Some((value, key)) = self.value(sink, name) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong(sink, key, value);
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(array.len());
        for (at, element) in array.iter().enumerate() {
            let text = element.get_ref().as_str();
            if text.is_none() {
                let path = format!("{}[{}]", self.key_path(name), at + 1);
                sink.fault(&element.span(), &path, format!("must be a string, is {}", shown(element.get_ref())));
            }
            texts.extend(text.map(|value| At { value, at: element.span() }));
        }
        texts
    }

    /// [`Kind::Ips`]
    pub fn ips(&self, sink: &mut Sink, name: &str) -> Vec<IpAddr> {
        let mut ips = Vec::new();
        for text in self.texts(sink, name) {
            match text.value.parse() {
                Ok(ip) => ips.push(ip),
                Err(_) => {
                    let message = format!("{} is not an IP address", quoted(text.value));
                    sink.fault(&text.at, &self.key_path(name), message);
                }
            }
        }
        ips
    }

    /// [`Kind::Path`]: `None` for `"off"`, and where it is absent or faulty the `default`.
    pub fn path_or_off(&self, sink: &mut Sink, name: &str, default: Option<PathBuf>) -> Option<PathBuf> {
        /// What `sun_path` of a Unix socket's address holds, its final zero apart (unix(7)).
        const LONGEST: usize = 107;
        match self.text(sink, name) {
            None => default,
            Some(("off", _)) => None,
            Some((text, _)) if text.starts_with('/') && text.len() <= LONGEST && !text.contains('\0') => {
                Some(PathBuf::from(text))
            }
            Some((text, _)) => {
                let message =
                    format!("must be an absolute path of at most {LONGEST} bytes, or \"off\", is {}", quoted(text));
                self.fault(sink, name, message);
                default
            }
        }
    }

    /// [`Kind::EndpointOrOff`]: `None` for `"off"`, and where it is absent or faulty.
    pub fn endpoint_or_off(&self, sink: &mut Sink, name: &str) -> Option<SocketAddr> {
        let (text, _) = self.text(sink, name).filter(|(text, _)| *text != "off")?;
        let endpoint = text.parse().ok();
        if endpoint.is_none() {
            let message = "must be an address and port like `127.0.0.1:9868` or `[::1]:9868`, or \"off\", is ";
            self.fault(sink, name, format!("{message}{}", quoted(text)));
        }
        endpoint
    }

    /// [`Kind::ServerUrl`]
    pub fn server_url(&self, sink: &mut Sink, name: &str) -> Option<String> {
        let (text, _) = self.text(sink, name)?;
        let known = ["redis://", "unix://"].iter().any(|scheme| text.starts_with(scheme));
        if known && redis::parse_redis_url(text).is_some() && redis::Client::open(text).is_ok() {
            return Some(text.to_owned());
        }
        // Not shown: there may be a password in it.
        self.fault(
            sink,
            name,
            "must be the URL of a server like `redis://127.0.0.1:6379` or `unix:///run/redis/redis.sock`",
        );
        None
    }

    /// [`Kind::Table`]
    pub fn table(&self, sink: &mut Sink, name: &str, keys: Table) -> Option<Self> {
        let (value, _) = self.value(sink, name)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.fault(sink, name, format!("must be a table, is {}", shown(value.get_ref())));
        }
        Some(Self::new(sink, self.key_path(name), value.span(), table?, keys))
    }

    /// [`Kind::OffOrTable`]: `None` for `"off"`, and where it is absent or faulty.
    pub fn off_or_table(&self, sink: &mut Sink, name: &str, keys: Table) -> Option<Self> {
        let (value, _) = self.value(sink, name)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::new(sink, self.key_path(name), value.span(), table, keys)),
            DeValue::String(text) if text == "off" => None,
            other => {
                self.fault(
                    sink,
                    name,
                    format!("must be \"off\" or a table (`{{}}` for the defaults), is {}", shown(other)),
                );
                None
            }
        }
    }

    /// [`Kind::Tables`], in file order.
    pub fn tables(&self, sink: &mut Sink, name: &str, keys: Table) -> Vec<Self> {
        let Some((value, _)) = self.value(sink, name) else { return Vec::new() };
        let path = self.key_path(name);
        let array = match value.get_ref() {
            DeValue::Array(array) => array,
            DeValue::Table(_) => {
                sink.fault(
                    &value.span(),
                    &path,
                    format!("must be an array of tables: `[[{}]]`, not `[{0}]`", bare(&path)),
                );
                return Vec::new();
            }
            other => {
                sink.fault(&value.span(), &path, format!("must be an array of tables, is {}", shown(other)));
                return Vec::new();
            }
        };
        let mut sections = Vec::with_capacity(array.len());
        for (at, element) in array.iter().enumerate() {
            let path = format!("{path}[{}]", at + 1);
            match element.get_ref().as_table() {
                Some(table) => sections.push(Self::new(sink, path, element.span(), table, keys)),
                None => sink.fault(&element.span(), &path, format!("must be a table, is {}", shown(element.get_ref()))),
            }
        }
        sections
    }

    /// A table whose keys are names that the file chose, in file order.
    pub fn entries(&self, sink: &mut Sink, name: &str) -> Option<Vec<(At<&'a str>, &'a Value<'i>)>> {
        let (value, _) = self.value(sink, name)?;
        let Some(table) = value.get_ref().as_table() else {
            self.fault(sink, name, format!("must be a table, is {}", shown(value.get_ref())));
            return None;
        };
        let mut entries: Vec<_> =
            table.iter().map(|(key, value)| (At { value: key.get_ref().as_ref(), at: key.span() }, value)).collect();
        entries.sort_by_key(|(key, _)| key.at.start);
        Some(entries)
    }
}
