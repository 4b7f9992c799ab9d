//! What the running agent shows of itself: a snapshot of everything, the events, and the control socket that gives them out.

pub mod collect;
pub mod control;
pub mod event;
pub mod snapshot;
