//! Rules 1 to 6 as tables, and as properties against a plain model of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod model;
mod properties;
