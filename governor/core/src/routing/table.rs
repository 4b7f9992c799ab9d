//! Which route a request takes (rule 8 names what happens when there is none).

use super::transactions::Spread;
use crate::refusal::Refusal;
use crate::settings::{ConnectionIndex, PeerIndex, Route, Settings};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// What a route is chosen by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Application-Id.
    pub application: u32,
    /// Command code.
    pub command: u32,
    /// Destination-Host.
    pub destination_host: Option<&'a [u8]>,
    /// Destination-Realm.
    pub destination_realm: Option<&'a [u8]>,
    /// Origin-Host.
    pub origin_host: Option<&'a [u8]>,
    /// Origin-Realm.
    pub origin_realm: Option<&'a [u8]>,
    /// User-Name.
    pub user_name: Option<&'a [u8]>,
}

/// Where a request goes: at least one of the two stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The configured peer that is its Destination-Host: its connections are tried first, unless the route itself
    /// names the host (RFC 6733 section 6.1.4: a request for an adjacent node goes straight to it).
    pub peer: Option<PeerIndex>,
    /// The route, an index into [`Settings::routes`]: its connections follow.
    pub route: Option<usize>,
}

/// The routes and peers, indexed by what requests carry.
#[derive(Clone, Debug)]
pub struct Table {
    /// Realm in lower case -> its routes in file order.
    by_realm: Names<Vec<usize>>,
    /// Routes without a realm, in file order.
    any_realm: Vec<usize>,
    /// Host in lower case -> peer.
    peers: Names<PeerIndex>,
}

/// By identity or realm in lower case.
type Names<V> = HashMap<Vec<u8>, V, BuildHasherDefault<Spread>>;

// === impl Table ===

impl Table {
    /// Indexes the settings' routes and peers.
    pub fn new(settings: &Settings) -> Self {
        let mut by_realm: Names<Vec<usize>> = Names::default();
        let mut any_realm = Vec::new();
        for (at, route) in settings.routes.iter().enumerate() {
            match &route.realm {
                Some(realm) => by_realm.entry(lower(realm.as_bytes())).or_default().push(at),
                None => any_realm.push(at),
            }
        }
        let peers =
            settings.peers.iter().zip(0..).map(|(peer, at)| (lower(peer.host.as_bytes()), PeerIndex(at))).collect();
        Self { by_realm, any_realm, peers }
    }

    /// The peer of that identity.
    pub fn peer(&self, host: &[u8]) -> Option<PeerIndex> {
        lookup(&self.peers, host).copied()
    }

    /// Chooses the first route whose every matcher fits, in file order, and the peer that is the Destination-Host.
    ///
    /// # Errors
    /// [`Refusal::RealmNotServed`] when no route knows the realm, [`Refusal::NoRoute`] when some do and none fits.
    pub fn find(&self, settings: &Settings, request: &Request<'_>) -> Result<Target, Refusal> {
        let of_realm = request.destination_realm.and_then(|realm| lookup(&self.by_realm, realm));
        let of_realm = of_realm.map(Vec::as_slice).unwrap_or_default();
        let route =
            of_realm.iter().chain(&self.any_realm).copied().filter(|&at| fits(&settings.routes[at], request)).min();
        let named = route.is_some_and(|at| settings.routes[at].host.is_some());
        let peer = if named { None } else { request.destination_host.and_then(|host| self.peer(host)) };
        match (peer, route) {
            (None, None) if of_realm.is_empty() && self.any_realm.is_empty() => Err(Refusal::RealmNotServed),
            (None, None) => Err(Refusal::NoRoute),
            (peer, route) => Ok(Target { peer, route }),
        }
    }

    /// The connections of a peer, for a request that goes straight to it.
    pub fn connections(settings: &Settings, peer: PeerIndex) -> &[ConnectionIndex] {
        &settings.peers[peer.get()].connections
    }
}

fn fits(route: &Route, request: &Request<'_>) -> bool {
    route.application.is_none_or(|a| a == request.application)
        && route.command.is_none_or(|c| c == request.command)
        && is_same(route.host.as_deref(), request.destination_host)
        && is_same(route.origin_host.as_deref(), request.origin_host)
        && is_same(route.origin_realm.as_deref(), request.origin_realm)
        && route
            .user_name_prefix
            .as_deref()
            .is_none_or(|prefix| request.user_name.is_some_and(|name| name.starts_with(prefix.as_bytes())))
}

/// An absent condition holds always; identities compare without regard to case.
fn is_same(condition: Option<&str>, identity: Option<&[u8]>) -> bool {
    condition.is_none_or(|c| identity.is_some_and(|i| i.eq_ignore_ascii_case(c.as_bytes())))
}

fn lower(text: &[u8]) -> Vec<u8> {
    text.to_ascii_lowercase()
}

/// Looks up without regard to case, and without allocating for the lengths that identities have.
fn lookup<'m, V>(map: &'m Names<V>, key: &[u8]) -> Option<&'m V> {
    let mut buffer = [0u8; 128];
    if let Some(short) = buffer.get_mut(..key.len()) {
        short.copy_from_slice(key);
        short.make_ascii_lowercase();
        map.get(&*short)
    } else {
        map.get(&lower(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Node, Peer};

    fn route(realm: &str, host: Option<&str>, application: Option<u32>) -> Route {
        Route { realm: Some(realm.into()), host: host.map(Into::into), application, ..Route::default() }
    }

    fn settings(routes: Vec<Route>) -> Settings {
        let peer = Peer {
            host: "hss1.example.net".into(),
            realm: "example.net".into(),
            addresses: vec![],
            connections: vec![],
        };
        Settings {
            node: Node::new("gov", "example.net"),
            peers: vec![peer],
            connections: vec![],
            priorities: vec![],
            routes,
            groups: vec![],
        }
    }

    fn find(settings: &Settings, realm: &str, host: Option<&str>, application: u32) -> Result<Target, Refusal> {
        let request = Request {
            application,
            command: 316,
            destination_host: host.map(str::as_bytes),
            destination_realm: Some(realm.as_bytes()),
            ..Request::default()
        };
        Table::new(settings).find(settings, &request)
    }

    #[test]
    fn the_first_route_that_fits_wins_whatever_the_case_of_the_realm() {
        let s = settings(vec![route("example.net", None, Some(4)), route("Example.NET", None, None)]);
        let of = |route| Ok(Target { peer: None, route: Some(route) });
        assert_eq!(find(&s, "EXAMPLE.net", None, 4), of(0));
        assert_eq!(find(&s, "EXAMPLE.net", None, 5), of(1));
    }

    #[test]
    fn a_destination_host_that_is_a_peer_goes_first_unless_the_route_names_it() {
        let s = settings(vec![route("example.net", None, None)]);
        assert_eq!(
            find(&s, "example.net", Some("HSS1.example.net"), 4),
            Ok(Target { peer: Some(PeerIndex(0)), route: Some(0) })
        );
        assert_eq!(
            find(&s, "elsewhere", Some("hss1.example.net"), 4),
            Ok(Target { peer: Some(PeerIndex(0)), route: None })
        );
        let s = settings(vec![route("example.net", Some("hss1.example.net"), None)]);
        assert_eq!(find(&s, "example.net", Some("hss1.example.net"), 4), Ok(Target { peer: None, route: Some(0) }));
    }

    #[test]
    fn an_unknown_realm_is_told_from_a_realm_without_a_fitting_route() {
        let s = settings(vec![route("example.net", None, Some(4))]);
        assert_eq!(find(&s, "elsewhere", None, 4), Err(Refusal::RealmNotServed));
        assert_eq!(find(&s, "example.net", None, 5), Err(Refusal::NoRoute));
        assert_eq!(find(&s, "example.net", Some("nobody"), 5), Err(Refusal::NoRoute));
    }

    #[test]
    fn every_condition_of_a_route_has_to_hold() {
        let conditions = Route {
            origin_host: Some("mme1.example.net".into()),
            origin_realm: Some("visited.net".into()),
            user_name_prefix: Some("26201".into()),
            ..route("example.net", None, None)
        };
        let s = settings(vec![conditions]);
        let table = Table::new(&s);
        let all = Request {
            destination_realm: Some(b"example.net"),
            origin_host: Some(b"MME1.example.net"),
            origin_realm: Some(b"Visited.net"),
            user_name: Some(b"262019876543210"),
            ..Request::default()
        };
        assert_eq!(table.find(&s, &all), Ok(Target { peer: None, route: Some(0) }));
        for but_one in [
            Request { origin_host: Some(b"mme2.example.net"), ..all },
            Request { origin_realm: None, ..all },
            Request { user_name: Some(b"2620"), ..all },
            Request { user_name: None, ..all },
        ] {
            assert_eq!(table.find(&s, &but_one), Err(Refusal::NoRoute));
        }
    }
}
