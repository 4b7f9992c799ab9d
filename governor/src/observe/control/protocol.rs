//! What is said on the control socket.

use crate::config::{Fault, Faults};
use crate::observe::snapshot::{Connection, Snapshot};
use governor_core::level::Level;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What a client may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The agent's state: [`Answer::Status`].
    Status,
    /// Every connection in short: [`Answer::List`].
    List,
    /// One connection in full: [`Answer::Connection`].
    Show {
        /// Its name.
        connection: String,
    },
    /// Takes a connection out of service: no new requests, what is pending ends, then a DPR: [`Answer::Summary`].
    Disable {
        /// Its name.
        connection: String,
    },
    /// Puts a connection back into service: [`Answer::Summary`].
    Enable {
        /// Its name.
        connection: String,
    },
    /// Sets the status level of a connection by hand: [`Answer::Summary`].
    Level {
        /// Its name.
        connection: String,
        /// To what.
        level: ManualLevel,
    },
    /// Reads the configuration file again and runs on what it says: [`Answer::Reloaded`].
    Reload,
    /// Every event from now on, one a line, until the client goes.
    Subscribe,
}

/// A status level (X1) set by hand, which holds until it is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value", into = "serde_json::Value")]
pub enum ManualLevel {
    /// What is measured counts.
    Auto,
    /// At least this one: 1, 2, 3 or 98.
    At(Level),
}

/// What the agent answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The whole state.
    Status(Box<Snapshot>),
    /// Every connection in short.
    List(Connections),
    /// One connection in full.
    Connection(Box<Connection>),
    /// How a connection stands after what was done to it.
    Summary(Summary),
    /// What a reload has changed.
    Reloaded(Reloaded),
}

/// The connections, in file order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// In short.
    pub connections: Vec<Summary>,
}

/// A connection in short; the names are those of [`Connection`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Its peer's host.
    pub peer: String,
    /// State of its peer machine.
    pub state: String,
    /// `enabled`, `draining` or `disabled`.
    pub admin: String,
    /// The level set by hand.
    pub manual_level: Option<u8>,
    /// Its overall level.
    pub cpl: u8,
    /// The input that sets it.
    pub set_by: Option<String>,
    /// Why it is where it is.
    pub why: String,
    /// Pending records.
    pub pending: u32,
}

/// What a reload has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Connections that are new, or go elsewhere now.
    pub added: Vec<String>,
    /// Connections that are gone, or go elsewhere now.
    pub removed: Vec<String>,
    /// How many connections stay as they are, but for limits.
    pub kept: usize,
    /// Addresses that it listens on since.
    pub listening: Vec<String>,
    /// Addresses that it listens on no more.
    pub closed: Vec<String>,
    /// What is allowed but hardly meant.
    pub notes: Vec<Fault>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// In a sentence.
    pub error: String,
    /// Of a reload: what is wrong with the file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub faults: Option<Faults>,
}

// === impl ManualLevel ===

impl ManualLevel {
    /// As the core has it.
    pub const fn level(self) -> Option<Level> {
        match self {
            Self::Auto => None,
            Self::At(level) => Some(level),
        }
    }
}

impl FromStr for ManualLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "1" => Ok(Self::At(Level::CL1)),
            "2" => Ok(Self::At(Level::CL2)),
            "3" => Ok(Self::At(Level::CL3)),
            "98" => Ok(Self::At(Level::CL98)),
            _ => Err("a level by hand is 1, 2, 3, 98 or \"auto\""),
        }
    }
}

impl TryFrom<serde_json::Value> for ManualLevel {
    type Error = &'static str;

    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        match value {
            serde_json::Value::String(text) if text == "auto" => Ok(Self::Auto),
            serde_json::Value::Number(number) => number.to_string().parse(),
            // Also "1": a number is a number.
            _ => "".parse(),
        }
    }
}

impl From<ManualLevel> for serde_json::Value {
    fn from(level: ManualLevel) -> Self {
        match level {
            ManualLevel::Auto => "auto".into(),
            ManualLevel::At(level) => level.number().into(),
        }
    }
}

// === impl Summary ===

impl From<Connection> for Summary {
    fn from(connection: Connection) -> Self {
        let Connection { name, peer, state, admin, manual_level, cpl, set_by, why, pending, .. } = connection;
        Self { name, peer, state, admin, manual_level, cpl, set_by, why, pending }
    }
}

// === impl Refused ===

impl Refused {
    /// With that sentence.
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), faults: None }
    }
}

impl From<Faults> for Refused {
    fn from(faults: Faults) -> Self {
        Self { error: "nothing has changed: the configuration is refused".to_owned(), faults: Some(faults) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_are_what_the_page_shows() {
        for (text, request) in [
            (r#"{"cmd":"status"}"#, Request::Status),
            (r#"{"cmd":"list"}"#, Request::List),
            (r#"{"cmd":"show","connection":"hss1-a"}"#, Request::Show { connection: "hss1-a".to_owned() }),
            (r#"{"cmd":"disable","connection":"a"}"#, Request::Disable { connection: "a".to_owned() }),
            (r#"{"cmd":"enable","connection":"a"}"#, Request::Enable { connection: "a".to_owned() }),
            (
                r#"{"cmd":"level","connection":"a","level":98}"#,
                Request::Level { connection: "a".to_owned(), level: ManualLevel::At(Level::CL98) },
            ),
            (
                r#"{"cmd":"level","connection":"a","level":"auto"}"#,
                Request::Level { connection: "a".to_owned(), level: ManualLevel::Auto },
            ),
            (r#"{"cmd":"reload"}"#, Request::Reload),
            (r#"{"cmd":"subscribe"}"#, Request::Subscribe),
        ] {
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_request_is_told_why() {
        let fault = |value| serde_json::from_value::<Request>(value).unwrap_err().to_string();
        for level in [json!(0), json!(99), json!(4), json!("1"), json!(1.0), json!(-1), json!(null), json!("high")] {
            let message = fault(json!({ "cmd": "level", "connection": "a", "level": level }));
            assert_eq!(message, "a level by hand is 1, 2, 3, 98 or \"auto\"", "{level}");
        }
        assert_eq!(fault(json!({ "cmd": "show" })), "missing field `connection`");
        assert!(fault(json!({ "cmd": "show", "connection": "a", "all": 1 })).starts_with("unknown field `all`"));
        assert!(fault(json!({ "cmd": "stop" })).starts_with("unknown variant `stop`"));
    }
}
