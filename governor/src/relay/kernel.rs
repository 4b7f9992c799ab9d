//! The relay's side of the kernel programs.

use super::engine::{Engine, Shared};
use crate::config::Shell;
use governor_core::agent::LinkId;
use governor_core::settings::ConnectionIndex;

pub(super) struct Kernel {}
pub(super) struct Events {}

impl Kernel {
    pub fn load(_shell: &Shell) -> Result<(Self, Option<Events>), crate::kernel::Error> {
        Ok((Self {}, None))
    }
    pub fn report(&self) -> String {
        String::new()
    }
    pub fn unregister(&self, _cookie: u64) {}
}

pub(super) async fn listen(_shared: Shared, _events: Events) {}

impl Engine {
    pub fn bind(&mut self, link: LinkId, connection: ConnectionIndex) {
        if let Some(s) = self.socket(link) {
            s.connection = Some(connection);
        }
    }
    pub fn publish(&mut self, _connection: ConnectionIndex) {}
    pub fn measure(&mut self, _link: LinkId) {}
}
