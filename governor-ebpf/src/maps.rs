//! The maps, with BTF key and value types so that `bpftool map dump` prints named fields.

use aya_ebpf::btf_maps::{Array, HashMap, RingBuf};
use aya_ebpf::macros::btf_map;
use governor_common::{ConnectionRecord, EventRecord, LevelRecord, LostEvents, Meta};

/// Connections by cookie. The agent enters its own; the state program enters those of watched ports.
#[btf_map(name = "connections")]
pub static CONNECTIONS: HashMap<u64, ConnectionRecord, 8192> = HashMap::new();

/// Levels by cookie, the agent's.
#[btf_map(name = "levels")]
pub static LEVELS: HashMap<u64, LevelRecord, 8192> = HashMap::new();

/// Events for the agent; the loader may set another size (a power of two of pages).
#[btf_map(name = "events")]
pub static EVENTS: RingBuf<EventRecord, 262_144> = RingBuf::new();

/// Events that found the ring full.
#[btf_map(name = "lost")]
pub static LOST: Array<LostEvents, 1> = Array::new();

/// Whose maps these are.
#[btf_map(name = "meta")]
pub static META: Array<Meta, 1> = Array::new();

/// Ports, host order, whose connections the state program enters by itself (either end's port). Empty: none.
#[btf_map(name = "ports")]
pub static PORTS: HashMap<u16, u8, 64> = HashMap::new();
