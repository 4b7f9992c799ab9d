//! The framing corpus: streams and what a reader has to find in them. Whatever follows Diameter framing has to pass it,
//! the kernel's program as well as the agent.
//!
//! A file starts with comments (`#`) and settings (`name value ..`); the rest of its lines are the stream in hexadecimal.

use std::path::Path;

/// How a stream ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With its last message.
    Complete,
    /// With the first so many bytes of a message.
    Partial(usize),
    /// With a header of another version.
    Version(u8),
    /// With a header whose length no message can have.
    Length(u32),
    /// With a header whose length is over the limit.
    TooLong(u32),
}

/// One stream.
#[derive(Debug)]
pub struct Case {
    /// The file's name.
    pub name: String,
    /// The longest message that the reader takes, bytes.
    pub max: u32,
    /// The lengths of the messages, bytes.
    pub lengths: Vec<usize>,
    /// How many of them are requests.
    pub requests: usize,
    /// How many are answers.
    pub answers: usize,
    /// How many answers carry Result-Code 3004.
    pub busy: usize,
    /// What comes after them.
    pub end: End,
    /// The bytes.
    pub stream: Vec<u8>,
}

/// Every case in `folder`.
pub fn cases(folder: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> =
        std::fs::read_dir(folder).expect("the corpus").map(|file| case(&file.expect("a file").path())).collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn case(path: &Path) -> Case {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).expect("a corpus file");
    let words = |setting: &str| -> Vec<&str> {
        let found = text
            .lines()
            .map(str::split_whitespace)
            .find_map(|mut words| (words.next() == Some(setting)).then(|| words.collect()));
        found.expect("every setting in every file")
    };
    let number = |setting: &str| words(setting)[0].parse().expect("a number");
    let is_hex = |line: &&str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_hexdigit());
    let digits: String = text.lines().filter(is_hex).collect();
    let end = words("ends");
    let value = || end[1].parse::<u32>().expect("a number");
    Case {
        max: words("max")[0].parse().expect("a number"),
        lengths: words("lengths").iter().map(|length| length.parse().expect("a length")).collect(),
        requests: number("requests"),
        answers: number("answers"),
        busy: number("busy"),
        end: match end[0] {
            "complete" => End::Complete,
            "partial" => End::Partial(value() as usize),
            "version" => End::Version(u8::try_from(value()).expect("a version")),
            "length" => End::Length(value()),
            _ => End::TooLong(value()),
        },
        stream: (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex"))
            .collect(),
        name,
    }
}
