//! `[share]`: groups that several agents share (rule 6).

use super::ShareServer;
use super::keys;
use super::node::set;
use super::reader::{Section, Sink};
use governor_core::settings::Share;

/// The server, and what the core needs. A table with a fault counts as there, so that what relies on it is no second fault.
pub fn read(sink: &mut Sink, root: &Section<'_, '_>) -> Option<(ShareServer, Share)> {
    let section = root.table(sink, "share", keys::SHARE)?;
    let mut share = Share::default();
    set(&mut share.interval, section.time(sink, "interval"));
    set(&mut share.agents, section.number(sink, "agents"));
    let url = section.server_url(sink, "url").unwrap_or_default();
    let name = section.name(sink, "name").map_or("governor", |name| name.value).to_owned();
    Some((ShareServer { url, name }, share))
}
