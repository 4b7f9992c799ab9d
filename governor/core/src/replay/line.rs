//! The lines that come in, and what makes one bad.

use super::seconds;
use crate::level::{Level, Priority};
use crate::settings::{ConnectionIndex, Settings};
use crate::time::Time;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// Nothing but white space.
    #[error("the line is blank")]
    Blank,
    /// No JSON object, or one with a field missing, unknown, twice, or of the wrong type.
    #[error("{message} (column {column})")]
    Json {
        /// What the parser says.
        message: String,
        /// Where it says so, from 1.
        column: usize,
    },
    /// No event of that name.
    #[error("there is no event {name:?}")]
    UnknownEvent {
        /// The name given.
        name: String,
    },
    /// A field that the event needs.
    #[error("`{event}` needs `{field}`")]
    Missing {
        /// The event.
        event: &'static str,
        /// The field, or the fields of which it needs one.
        field: &'static str,
    },
    /// A field that the event does not have.
    #[error("`{event}` has no field `{field}`{}", if *.field == "route" { " beside `connection`" } else { "" })]
    Unexpected {
        /// The event.
        event: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A figure outside its range.
    #[error("`{field}` must be {range}, is {value}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it may be.
        range: &'static str,
        /// The figure given.
        value: String,
    },
    /// No connection or route of that name.
    #[error("there is no {kind} {name:?} in the configuration")]
    UnknownName {
        /// `connection` or `route`.
        kind: &'static str,
        /// The name given.
        name: String,
    },
    /// The time is before that of the line before.
    #[error("`t` falls to {t}")]
    TimeFalls {
        /// The time given.
        t: String,
    },
}

/// Where the names of a configuration lead.
#[derive(Debug)]
pub(super) struct Names {
    connections: HashMap<String, ConnectionIndex>,
    routes: HashMap<String, usize>,
}

/// A line that is sound.
pub(super) struct Input<'a> {
    /// As it came.
    pub(super) t: &'a str,
    pub(super) time: Time,
    pub(super) event: Event<'a>,
}

/// What happens (design: the table of events).
pub(super) enum Event<'a> {
    Up { connection: ConnectionIndex },
    Down { connection: ConnectionIndex },
    Degraded { connection: ConnectionIndex, level: Level },
    Request { target: Target, priority: Priority, destination_host: Option<Cow<'a, str>> },
    Answer { connection: ConnectionIndex, result: u32, origin_host: Option<Cow<'a, str>>, priority: Option<Priority> },
    SendAnswer { connection: ConnectionIndex },
    Blocked { connection: ConnectionIndex },
    Unblocked { connection: ConnectionIndex },
    Pressure { connection: ConnectionIndex, queued: u64, limit: u64 },
    Tick { connection: Option<ConnectionIndex> },
}

/// What a request is offered to.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Connection(ConnectionIndex),
    Route(usize),
}

/// Every field that some event has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    t: &'a RawValue,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "present")]
    connection: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    route: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    level: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    priority: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    destination_host: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<u64>,
    #[serde(borrow, default, deserialize_with = "present")]
    origin_host: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    queued: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    limit: Option<u64>,
}

/// Borrowed from the line where nothing is escaped in it.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// An optional field may be left out; null is a value of the wrong type.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

// === impl Names ===

impl Names {
    pub(super) fn new(settings: &Settings) -> Self {
        let connections = (0..).zip(&settings.connections).map(|(at, c)| (c.name.clone(), ConnectionIndex(at)));
        let routes = settings.routes.iter().enumerate().map(|(at, route)| (route.name.clone(), at));
        Self { connections: connections.collect(), routes: routes.collect() }
    }

    fn connection(&self, name: &str) -> Result<ConnectionIndex, BadLine> {
        let unknown = || BadLine::UnknownName { kind: "connection", name: name.to_owned() };
        self.connections.get(name).copied().ok_or_else(unknown)
    }

    fn route(&self, name: &str) -> Result<usize, BadLine> {
        let unknown = || BadLine::UnknownName { kind: "route", name: name.to_owned() };
        self.routes.get(name).copied().ok_or_else(unknown)
    }
}

// === impl Input ===

impl<'a> Input<'a> {
    pub(super) fn parse(text: &'a str, names: &Names) -> Result<Self, BadLine> {
        let start = text.trim_ascii_start();
        if start.trim().is_empty() {
            return Err(BadLine::Blank);
        }
        if !start.starts_with('{') {
            // The parser would take an array of the fields' values too.
            let column = text.len() - start.len() + 1;
            return Err(BadLine::Json { message: "not a JSON object".to_owned(), column });
        }
        let mut fields: Fields<'a> = serde_json::from_str(text).map_err(|error| BadLine::json(&error))?;
        let t = fields.t.get();
        let time = seconds_of(t)?;
        let event = fields.event(names)?;
        fields.nothing_left(event.name())?;
        Ok(Self { t, time, event })
    }
}

fn seconds_of(t: &str) -> Result<Time, BadLine> {
    let bad = |range| BadLine::OutOfRange { field: "t", range, value: t.to_owned() };
    if !t.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Err(bad("a number of seconds"));
    }
    seconds::parse(t).ok_or_else(|| bad("0 to 18446744073 seconds"))
}

// === impl Event ===

impl Event<'_> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Up { .. } => "up",
            Self::Down { .. } => "down",
            Self::Degraded { .. } => "degraded",
            Self::Request { .. } => "request",
            Self::Answer { .. } => "answer",
            Self::SendAnswer { .. } => "send_answer",
            Self::Blocked { .. } => "blocked",
            Self::Unblocked { .. } => "unblocked",
            Self::Pressure { .. } => "pressure",
            Self::Tick { .. } => "tick",
        }
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// Takes the event's fields, and leaves those that it does not have.
    fn event(&mut self, names: &Names) -> Result<Event<'a>, BadLine> {
        Ok(match self.event.as_ref() {
            "up" => Event::Up { connection: self.connection("up", names)? },
            "down" => Event::Down { connection: self.connection("down", names)? },
            "degraded" => {
                let connection = self.connection("degraded", names)?;
                let number = need(self.level.take(), "degraded", "level")?;
                let level = u8::try_from(number).ok().filter(|n| matches!(n, 1..=3 | 98)).and_then(Level::new);
                Event::Degraded { connection, level: within(level, "level", "1, 2, 3 or 98", number)? }
            }
            "request" => {
                let priority = need(self.priority()?, "request", "priority")?;
                let target = if let Some(Text(name)) = self.connection.take() {
                    Target::Connection(names.connection(&name)?)
                } else {
                    let Text(name) = need(self.route.take(), "request", "connection` or `route")?;
                    Target::Route(names.route(&name)?)
                };
                Event::Request { target, priority, destination_host: self.destination_host.take().map(|text| text.0) }
            }
            "answer" => {
                let connection = self.connection("answer", names)?;
                let number = need(self.result.take(), "answer", "result")?;
                Event::Answer {
                    connection,
                    result: within(u32::try_from(number).ok(), "result", "a Result-Code, 0 to 4294967295", number)?,
                    origin_host: self.origin_host.take().map(|text| text.0),
                    priority: self.priority()?,
                }
            }
            "send_answer" => Event::SendAnswer { connection: self.connection("send_answer", names)? },
            "blocked" => Event::Blocked { connection: self.connection("blocked", names)? },
            "unblocked" => Event::Unblocked { connection: self.connection("unblocked", names)? },
            "pressure" => {
                let connection = self.connection("pressure", names)?;
                let queued = need(self.queued.take(), "pressure", "queued")?;
                let number = need(self.limit.take(), "pressure", "limit")?;
                // Occupancy is queued / limit: there is none of nothing.
                let limit = within(Some(number).filter(|&n| n > 0), "limit", "1 byte or more", number)?;
                Event::Pressure { connection, queued, limit }
            }
            "tick" => {
                let connection = self.connection.take().map(|Text(name)| names.connection(&name)).transpose()?;
                Event::Tick { connection }
            }
            name => return Err(BadLine::UnknownEvent { name: name.to_owned() }),
        })
    }

    fn connection(&mut self, event: &'static str, names: &Names) -> Result<ConnectionIndex, BadLine> {
        let Text(name) = need(self.connection.take(), event, "connection")?;
        names.connection(&name)
    }

    fn priority(&mut self) -> Result<Option<Priority>, BadLine> {
        let Some(number) = self.priority.take() else { return Ok(None) };
        let priority = u8::try_from(number).ok().and_then(Priority::request);
        within(priority, "priority", "0, 1 or 2", number).map(Some)
    }

    fn nothing_left(&self, event: &'static str) -> Result<(), BadLine> {
        let left = [
            ("connection", self.connection.is_some()),
            ("route", self.route.is_some()),
            ("level", self.level.is_some()),
            ("priority", self.priority.is_some()),
            ("destination_host", self.destination_host.is_some()),
            ("result", self.result.is_some()),
            ("origin_host", self.origin_host.is_some()),
            ("queued", self.queued.is_some()),
            ("limit", self.limit.is_some()),
        ];
        match left.into_iter().find(|&(_, is_left)| is_left) {
            Some((field, _)) => Err(BadLine::Unexpected { event, field }),
            None => Ok(()),
        }
    }
}

fn need<T>(value: Option<T>, event: &'static str, field: &'static str) -> Result<T, BadLine> {
    value.ok_or(BadLine::Missing { event, field })
}

fn within<T>(value: Option<T>, field: &'static str, range: &'static str, number: u64) -> Result<T, BadLine> {
    value.ok_or_else(|| BadLine::OutOfRange { field, range, value: number.to_string() })
}

// === impl BadLine ===

impl BadLine {
    /// The parser's line number is always 1 and would be taken for the file's.
    fn json(error: &serde_json::Error) -> Self {
        let (message, column) = (error.to_string(), error.column());
        let place = format!(" at line {} column {column}", error.line());
        Self::Json { message: message.strip_suffix(&place).unwrap_or(&message).to_owned(), column }
    }
}
