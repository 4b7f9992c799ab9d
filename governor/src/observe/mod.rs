//! What the running agent shows of itself: a snapshot of everything, the events, the control socket that gives them out, the
//! page of metrics; and the live view, on the other side of that socket.

pub mod collect;
pub mod control;
pub mod event;
pub mod metrics;
pub mod snapshot;
pub mod top;
mod why;
pub mod words;
