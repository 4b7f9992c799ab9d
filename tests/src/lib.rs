//! Whole-program tests against real peers: the harness.
//!
//! Every test runs in a network namespace of its own ([`NetNs`]), so all can use port 3868, none reaches the network,
//! and nothing is left behind: the namespace, the processes ([`Process`]) and the files ([`Scratch`]) go with their guards.
//! The peers are freeDiameter ([`freediameter`]), Erlang's diameter ([`erlang`]) and, where a peer has to misbehave in a
//! way that neither can, a scripted one on blocking sockets ([`raw`]). [`tshark`] judges what was on the wire.
//!
//! The tests need root and the packages that `cargo xtask setup` installs. One that misses something fails and says so.

pub mod assist;
pub mod erlang;
pub mod freediameter;
pub mod governor;
pub mod kernel;
pub mod netns;
pub mod outcome;
pub mod process;
pub mod raw;
pub mod scratch;
pub mod share_server;
pub mod tmux;
pub mod tshark;
pub mod wait;

pub use netns::NetNs;
pub use outcome::Outcome;
pub use process::Process;
pub use scratch::Scratch;
pub use wait::eventually;
