//! Links: the transport connections, whoever is at their other end.

use super::outbox::Outbox;
use crate::peer::Side;
use crate::settings::ConnectionIndex;
use crate::time::Time;
use std::net::IpAddr;

/// A handle of a link; a stale one finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl LinkId {
    /// A small number that no other link in use has, for the shell's own tables.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// What a link is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Accepted, and its CER not yet seen.
    Unknown {
        /// When to give up.
        deadline: Time,
        /// Where it came from.
        remote: IpAddr,
    },
    /// It serves a slot.
    Slot {
        /// The slot.
        connection: ConnectionIndex,
        /// Who opened it.
        side: Side,
    },
    /// It is written empty and closed.
    Closing {
        /// The slot that it served.
        of: Option<ConnectionIndex>,
    },
}

#[derive(Debug)]
pub(super) struct Link {
    pub used: Use,
    pub local: Vec<IpAddr>,
    pub outbox: Outbox,
    /// Its last write failed for want of room.
    pub blocked: bool,
    /// When the message that has begun to arrive must be whole.
    pub partial: Option<Time>,
    /// Is it in the list of links to write?
    pub dirty: bool,
}

/// The links by handle.
#[derive(Debug, Default)]
pub(super) struct Links {
    entries: Vec<(u32, Option<Link>)>,
    free: Vec<u32>,
}

// === impl Use ===

impl Use {
    /// The slot that it serves, or served.
    pub const fn connection(self) -> Option<ConnectionIndex> {
        match self {
            Self::Unknown { .. } => None,
            Self::Slot { connection, .. } => Some(connection),
            Self::Closing { of } => of,
        }
    }
}

// === impl Links ===

impl Links {
    pub fn insert(&mut self, used: Use, local: Vec<IpAddr>) -> LinkId {
        let outbox = Outbox::default();
        let link = Link { used, local, outbox, blocked: false, partial: None, dirty: false };
        if let Some(index) = self.free.pop() {
            let (generation, slot) = &mut self.entries[index as usize];
            *slot = Some(link);
            return LinkId { index, generation: *generation };
        }
        self.entries.push((0, Some(link)));
        LinkId { index: u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX), generation: 0 }
    }

    pub fn get(&self, id: LinkId) -> Option<&Link> {
        self.entries.get(id.index as usize).filter(|(g, _)| *g == id.generation)?.1.as_ref()
    }

    pub fn get_mut(&mut self, id: LinkId) -> Option<&mut Link> {
        self.entries.get_mut(id.index as usize).filter(|(g, _)| *g == id.generation)?.1.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.entries.iter().filter_map(|(_, link)| link.as_ref())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.entries.iter_mut().filter_map(|(_, link)| link.as_mut())
    }

    /// When each link that waits for something gives up.
    pub fn deadlines(&self) -> Vec<(LinkId, Time)> {
        let deadline = |link: &Link| {
            let handshake = match link.used {
                Use::Unknown { deadline, .. } => Some(deadline),
                Use::Slot { .. } | Use::Closing { .. } => None,
            };
            [handshake, link.partial].into_iter().flatten().min()
        };
        (0u32..)
            .zip(&self.entries)
            .filter_map(|(index, (generation, link))| {
                Some((LinkId { index, generation: *generation }, deadline(link.as_ref()?)?))
            })
            .collect()
    }

    pub fn used_for(&self, id: LinkId) -> Option<Use> {
        self.get(id).map(|link| link.used)
    }

    pub fn remove(&mut self, id: LinkId) {
        if let Some((generation, slot)) = self.entries.get_mut(id.index as usize)
            && *generation == id.generation
            && slot.take().is_some()
        {
            *generation = generation.wrapping_add(1);
            self.free.push(id.index);
        }
    }

    /// The links whose CER has not come yet.
    pub fn unknown(&self) -> Vec<LinkId> {
        let unknown = |(generation, link): &(u32, Option<Link>), index| match link {
            Some(Link { used: Use::Unknown { .. }, .. }) => Some(LinkId { index, generation: *generation }),
            _ => None,
        };
        self.entries.iter().zip(0..).filter_map(|(entry, index)| unknown(entry, index)).collect()
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
