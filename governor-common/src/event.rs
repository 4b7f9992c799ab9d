//! Map `events`: what the kernel programs tell at once, at edges only; and what was lost of it.

use crate::record;

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum EventKind {
    /// A send was refused for want of space, the first since the connection was last writable.
    Blocked = 1,
    /// The blocked connection drained: it is writable again.
    Unblocked = 2,
    /// The pressure level changed.
    Pressure = 3,
    /// A connection of a watched port is established.
    Opened = 4,
    /// The connection is closed.
    Closed = 5,
}

impl EventKind {
    /// The kind of that number, `None` for a number of another version.
    pub const fn new(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Blocked),
            2 => Some(Self::Unblocked),
            3 => Some(Self::Pressure),
            4 => Some(Self::Opened),
            5 => Some(Self::Closed),
            _ => None,
        }
    }
}

record! {
    /// One event.
    pub struct EventRecord {
        /// `bpf_ktime_get_ns` (`CLOCK_MONOTONIC`), nanoseconds.
        pub timestamp: u64,
        /// The connection.
        pub cookie: u64,
        /// An [`EventKind`].
        pub kind: u32,
        /// The pressure level, 0 to 3.
        pub pressure: u32,
        /// Bytes in the send buffer.
        pub queued: u32,
        /// Its size in bytes.
        pub limit: u32,
    }
}

const _: () = assert!(size_of::<EventRecord>() == 32);

record! {
    /// Events that found the ring full, by the program that had them (map `lost`, one entry). The records stay right.
    pub struct LostEvents {
        /// `tp_btf` `inet_sock_set_state`
        pub inet_sock_set_state: u64,
        /// `tp_btf` `sock_send_length`
        pub sock_send_length: u64,
        /// `fexit` `inet_sendmsg`
        pub inet_sendmsg: u64,
        /// `fexit` `inet6_sendmsg`
        pub inet6_sendmsg: u64,
        /// `tp_btf` `tcp_probe`
        pub tcp_probe: u64,
        /// raw tracepoint `sctp_probe`
        pub sctp_probe: u64,
    }
}

impl LostEvents {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.inet_sock_set_state
            + self.sock_send_length
            + self.inet_sendmsg
            + self.inet6_sendmsg
            + self.tcp_probe
            + self.sctp_probe
    }

    /// Each program's name and count.
    pub const fn by_program(&self) -> [(&'static str, u64); 6] {
        [
            ("inet_sock_set_state", self.inet_sock_set_state),
            ("sock_send_length", self.sock_send_length),
            ("inet_sendmsg", self.inet_sendmsg),
            ("inet6_sendmsg", self.inet6_sendmsg),
            ("tcp_probe", self.tcp_probe),
            ("sctp_probe", self.sctp_probe),
        ]
    }
}
