//! Map `connections`: what the kernel programs know of a connection.

use crate::{Thresholds, record};

/// `AF_INET`
pub const FAMILY_IPV4: u16 = 2;
/// `AF_INET6`
pub const FAMILY_IPV6: u16 = 10;
/// `IPPROTO_TCP`
pub const PROTOCOL_TCP: u16 = 6;
/// `IPPROTO_SCTP`
pub const PROTOCOL_SCTP: u16 = 132;

/// A bit of [`ConnectionRecord::flags`]: a kernel program made the record, because of its port, and removes it at the
/// connection's end. Unset: the agent registered its own connection, and unregisters it.
pub const CREATED_BY_KERNEL: u16 = 1;

/// Values of [`ConnectionRecord::state`] (the kernel's `TCP_*` states; SCTP uses the same numbers).
pub mod state {
    /// Nothing seen yet.
    pub const UNKNOWN: u32 = 0;
    /// Established.
    pub const ESTABLISHED: u32 = 1;
    /// Closed.
    pub const CLOSE: u32 = 7;
}

record! {
    /// One connection. Times are `bpf_ktime_get_ns` (`CLOCK_MONOTONIC`) in nanoseconds.
    ///
    /// `requests`, `answers`, `outstanding` and `busy_answers` are counted where the framing programs are loaded, else 0.
    pub struct ConnectionRecord {
        /// Our address, in network order; an IPv4 address is mapped (`::ffff:a.b.c.d`).
        pub local_address: [u8; 16],
        /// The peer's address, likewise.
        pub remote_address: [u8; 16],
        /// Our port, host order.
        pub local_port: u16,
        /// The peer's port, host order.
        pub remote_port: u16,
        /// [`FAMILY_IPV4`] or [`FAMILY_IPV6`].
        pub family: u16,
        /// [`PROTOCOL_TCP`] or [`PROTOCOL_SCTP`].
        pub protocol: u16,
        /// See [`state`].
        pub state: u32,
        /// The pressure level by `thresholds`, 0 to 3; 0 where there are none (rule 3).
        pub pressure: u32,
        /// Bytes in the send buffer, overhead included (`sk_wmem_queued`). After an acknowledgement it is the share that is
        /// then still unacknowledged, because the hook runs before the kernel frees what was acknowledged.
        pub queued: u32,
        /// The send buffer's size in bytes (`sk_sndbuf`).
        pub limit: u32,
        /// Where the pressure levels lie, written by the agent.
        pub thresholds: Thresholds,
        /// [`CREATED_BY_KERNEL`] or 0.
        pub flags: u16,
        /// When a send was refused for want of space; 0: not blocked.
        pub blocked_since: u64,
        /// When `queued` was last measured; 0: never.
        pub measured: u64,
        /// Sends that took bytes.
        pub sends: u64,
        /// Sends refused for want of space (`EAGAIN`).
        pub refusals: u64,
        /// Bytes that sends took.
        pub bytes: u64,
        /// Diameter requests that left.
        pub requests: u64,
        /// Diameter answers that came.
        pub answers: u64,
        /// Requests that left and have no answer yet.
        pub outstanding: u64,
        /// Answers with Result-Code 3004 that came.
        pub busy_answers: u64,
    }
}

const _: () = assert!(size_of::<ConnectionRecord>() == 136);
