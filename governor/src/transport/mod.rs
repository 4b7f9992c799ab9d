//! Sockets: opening, accepting, reading and writing without waiting. No Diameter here.

pub mod limits;
pub mod tcp;

pub use tcp::{Listener, Options, Reader, Writer, connect};
