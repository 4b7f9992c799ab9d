//! The configuration file, checked whole before anything starts.

mod fault;

pub use fault::{Fault, Faults};

/// The line of a byte offset, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Checks the syntax of a file's text; `file` is its name for messages.
///
/// # Errors
/// Every fault found.
pub fn parse(text: &str, file: &str) -> Result<(), Faults> {
    let (_, errors) = toml::de::DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(());
    }
    let fault = |error: &toml::de::Error| Fault {
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        key: String::new(),
        message: error.message().replace('\n', ", "),
    };
    Err(Faults { file: file.to_owned(), faults: errors.iter().map(fault).collect() })
}

/// Reads and checks a file.
///
/// # Errors
/// Every fault found, or the one that it cannot be read.
pub fn load(path: &std::path::Path) -> Result<(), Faults> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, &file),
        Err(error) => {
            let message = format!("cannot be read: {error}");
            Err(Faults { file, faults: vec![Fault { line: 0, key: String::new(), message }] })
        }
    }
}
