//! What the running agent shows of itself: a snapshot of everything, the events, the control socket that gives them out, and
//! the page of metrics.

pub mod collect;
pub mod control;
pub mod event;
pub mod metrics;
pub mod snapshot;
mod why;
