//! The shell of the egress governor: it owns tasks, sockets, maps, files and clocks, and holds no policy.

pub mod cli;
pub mod config;
pub mod demo;
pub mod kernel;
pub mod load;
pub mod observe;
pub mod relay;
pub mod terminal;
pub mod transport;
