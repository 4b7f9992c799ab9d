//! What the running agent shows of itself: a snapshot of everything, and the control socket that gives it out.

pub mod collect;
pub mod control;
pub mod snapshot;
