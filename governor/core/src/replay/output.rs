//! The lines that come out: fields in a fixed order, figures printed to the digit.

use crate::level::Levels;
use crate::refusal::Refusal;
use std::fmt;

/// One line.
pub(super) struct Output<'a> {
    /// As it came.
    pub(super) t: &'a str,
    pub(super) event: &'static str,
    /// A JSON string; `None` is null.
    pub(super) connection: Option<&'a str>,
    /// `None` is null in each of its fields.
    pub(super) state: Option<State>,
    pub(super) verdict: Option<Verdict>,
}

/// The figures of the connection shown.
pub(super) struct State {
    pub(super) levels: Levels,
    pub(super) pending: u32,
    /// messages/s
    pub(super) rate: f64,
}

/// What became of a message that wanted to leave.
pub(super) struct Verdict {
    pub(super) refusal: Option<Refusal>,
    /// Of a refused request.
    pub(super) result_code: Option<u32>,
}

impl fmt::Display for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { t, event, connection, state, verdict } = self;
        write!(f, r#"{{"t":{t},"event":"{event}","connection":{}"#, connection.unwrap_or("null"))?;
        match state {
            Some(State { levels, pending, rate }) => {
                let Levels { status, remote_busy, transport, throttle } = levels;
                write!(
                    f,
                    r#","cpl":{},"levels":{{"status":{status},"remote_busy":{remote_busy},"transport":{transport},"throttle":{throttle}}}"#,
                    levels.cpl()
                )?;
                write!(f, r#","pending":{pending},"rate":{rate:.1}"#)?;
            }
            None => f.write_str(r#","cpl":null,"levels":null,"pending":null,"rate":null"#)?,
        }
        match verdict {
            None => {}
            Some(Verdict { refusal: None, .. }) => f.write_str(r#","verdict":"admit""#)?,
            Some(Verdict { refusal: Some(refusal), result_code }) => {
                write!(f, r#","verdict":"refuse","reason":"{}""#, refusal.label())?;
                if let Some(code) = result_code {
                    write!(f, r#","result_code":{code}"#)?;
                }
            }
        }
        f.write_str("}")
    }
}
