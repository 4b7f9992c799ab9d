//! `[node]`

use super::address::Address;
use super::keys;
use super::reader::{Section, Sink};
use super::{DEFAULT_CONTROL, KernelAssist};
use governor_core::level::Priority;
use governor_core::settings::Node;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What stands in `[node]`: the core's part and the shell's.
#[derive(Debug)]
pub struct Read {
    pub node: Node,
    pub listen: Vec<Address>,
    pub kernel_assist: KernelAssist,
    pub control: Option<PathBuf>,
    pub metrics: Option<SocketAddr>,
}

pub fn read(sink: &mut Sink, root: &Section<'_, '_>) -> Read {
    let default_control = Some(PathBuf::from(DEFAULT_CONTROL));
    let Some(section) = root.table(sink, "node", keys::NODE) else {
        let (listen, kernel_assist) = (Vec::new(), KernelAssist::Auto);
        return Read { node: Node::new("", ""), listen, kernel_assist, control: default_control, metrics: None };
    };
    let host = section.identity(sink, "origin_host").unwrap_or_default();
    let realm = section.identity(sink, "origin_realm").unwrap_or_default();
    let mut node = Node::new(&host, &realm);
    set(&mut node.pending_limit, section.number(sink, "pending_limit"));
    set(&mut node.answer_timeout, section.time(sink, "answer_timeout"));
    set(&mut node.max_attempts, section.number(sink, "max_attempts").and_then(|n| u8::try_from(n).ok()));
    set(&mut node.busy_result_code, section.number(sink, "busy_result_code"));
    set(&mut node.retry_result_codes, section.numbers(sink, "retry_result_codes"));
    set(&mut node.watchdog, section.time(sink, "watchdog"));
    set(&mut node.reconnect, section.time(sink, "reconnect"));
    set(&mut node.connect_timeout, section.time(sink, "connect_timeout"));
    set(&mut node.message_timeout, section.time(sink, "message_timeout"));
    set(&mut node.max_message, section.number(sink, "max_message"));
    if let Some(numbers) = section.numbers(sink, "drmp") {
        let priorities = numbers.into_iter().filter_map(|n| Priority::request(u8::try_from(n).ok()?));
        for (slot, priority) in node.drmp.iter_mut().zip(priorities) {
            *slot = priority;
        }
    }
    let kernel_assist = match section.choice(sink, "kernel_assist") {
        Some(1) => KernelAssist::Required,
        Some(2) => KernelAssist::Off,
        _ => KernelAssist::Auto,
    };
    let listen = section.addresses(sink, "listen");
    let control = section.path_or_off(sink, "control", default_control);
    let metrics = section.endpoint_or_off(sink, "metrics");
    Read { node, listen, kernel_assist, control, metrics }
}

/// Takes a value that was given and is right; else the default stays.
pub fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}
