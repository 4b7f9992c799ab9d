//! The kernel programs' object, embedded by the build script.

/// The object; `None` in a program built without a BPF tool-chain.
pub(super) const OBJECT: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/object.rs"));
