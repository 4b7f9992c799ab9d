//! Records and keys that the kernel programs and the agent share.
//!
//! Every record is `repr(C)` with no implicit padding (asserted), so that both sides and `bpftool map dump` see the same
//! bytes. A change of layout changes [`VERSION`], which stands in the map `meta`. The key of a connection in every map is
//! the socket's cookie (`SO_COOKIE`, `bpf_get_socket_cookie`).
#![no_std]
#![forbid(unsafe_code)]

mod connection;
mod event;
mod level;
mod meta;
mod pressure;

pub use connection::{
    CREATED_BY_KERNEL, ConnectionRecord, FAMILY_IPV4, FAMILY_IPV6, PROTOCOL_SCTP, PROTOCOL_TCP, state,
};
pub use event::{EventKind, EventRecord, LostEvents};
pub use level::LevelRecord;
pub use meta::{Meta, VERSION};
pub use pressure::{Thresholds, WRITABLE};

/// Defines a record of that layout: `repr(C)`, plain old data, and a compile error if its fields leave a hole.
macro_rules! record {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$field_attribute:meta])* pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$attribute])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_attribute])* pub $field: $type,)+
        }
        const _: () = assert!(
            size_of::<$name>() == 0 $(+ size_of::<$type>())+,
            concat!(stringify!($name), " has implicit padding")
        );
    };
}
pub(crate) use record;
