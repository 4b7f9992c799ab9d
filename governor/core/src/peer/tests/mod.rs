//! The machine on its own and in pairs.

mod capabilities;
mod field_bugs;
mod machine_rows;
mod operations;
mod pair;
mod two_machines;
mod watchdog_rows;

use super::{CloseReason, Config, Event, Local, Machine, Remote, Side};
use crate::diameter::Message;
use crate::diameter::codes::{application, command};
use crate::time::Time;
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn local(host: &str) -> Arc<Local> {
    Arc::new(Local {
        origin_host: host.to_owned(),
        origin_realm: "example.net".to_owned(),
        product_name: "governor".to_owned(),
        vendor_id: 0,
        firmware_revision: 1,
        origin_state_id: 1_700_000_000,
    })
}

fn config(peer: &str, initiate: bool) -> Config {
    Config {
        peer_host: peer.to_owned(),
        peer_realm: Some("example.net".to_owned()),
        initiate,
        watchdog: Duration::from_secs(30),
        reconnect: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
        disconnect_timeout: Duration::from_secs(5),
        probe_timeout: Duration::from_secs(3),
    }
}

fn view(bytes: &Bytes) -> Message<'_> {
    Message::new(bytes).expect("a whole message")
}

/// "CER", "DWA" and so on; "other" for what is not a peer message.
fn name(bytes: &Bytes) -> &'static str {
    let header = view(bytes).header;
    match (header.command, header.flags.is_request()) {
        (command::CAPABILITIES_EXCHANGE, true) => "CER",
        (command::CAPABILITIES_EXCHANGE, false) => "CEA",
        (command::DEVICE_WATCHDOG, true) => "DWR",
        (command::DEVICE_WATCHDOG, false) => "DWA",
        (command::DISCONNECT_PEER, true) => "DPR",
        (command::DISCONNECT_PEER, false) => "DPA",
        _ => "other",
    }
}

/// A request of an application.
fn data() -> Bytes {
    crate::diameter::Builder::request(316, 16_777_251, 0x40, 1, 2).finish()
}

fn is_relay(remote: &Remote) -> bool {
    remote.applications.relay && remote.applications.supports(application::RELAY - 1)
}
