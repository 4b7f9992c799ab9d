//! Configurations for the simulated relay.

use governor_core::level::Priority;
use governor_core::settings::{
    Connection, ConnectionIndex, Node, Peer, PeerIndex, PriorityRule, Route, RouteGroup, Settings,
};
use std::time::Duration;

/// A relay `gov` with clients, which connect to it, and servers, to which it connects. Every name is a connection's;
/// `s1-b` is a second connection of the peer `s1`, whose identity is `s1.example.net`.
pub struct Topology {
    pub settings: Settings,
}

impl Topology {
    pub fn new() -> Self {
        let mut node = Node::new("gov.example.net", "example.net");
        node.reconnect = Duration::from_secs(10);
        let settings = Settings {
            node,
            peers: Vec::new(),
            connections: Vec::new(),
            priorities: Vec::new(),
            routes: Vec::new(),
            groups: Vec::new(),
        };
        Self { settings }
    }

    /// Clients `c1`, ... and servers `s1`, ..., all servers of equal weight in one route.
    pub fn star(clients: usize, servers: usize) -> Self {
        let mut topology = Self::new();
        for n in 1..=clients {
            topology = topology.client(&format!("c{n}"));
        }
        let names: Vec<String> = (1..=servers).map(|n| format!("s{n}")).collect();
        for name in &names {
            topology = topology.server(name);
        }
        let members: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        topology.route("example.net", &[&members])
    }

    /// As [`Self::star`] with one client, but the servers in order of preference.
    pub fn chain(servers: usize) -> Self {
        let mut topology = Self::new().client("c1");
        let names: Vec<String> = (1..=servers).map(|n| format!("s{n}")).collect();
        for name in &names {
            topology = topology.server(name);
        }
        let groups: Vec<Vec<(&str, u32)>> = names.iter().map(|name| vec![(name.as_str(), 1)]).collect();
        let groups: Vec<&[(&str, u32)]> = groups.iter().map(Vec::as_slice).collect();
        topology.route("example.net", &groups)
    }

    pub fn client(self, name: &str) -> Self {
        self.connection(name, false)
    }

    pub fn server(self, name: &str) -> Self {
        self.connection(name, true)
    }

    fn connection(mut self, name: &str, initiate: bool) -> Self {
        let host = format!("{}.example.net", name.split('-').next().unwrap_or(name));
        let s = &mut self.settings;
        let at = ConnectionIndex(u32::try_from(s.connections.len()).unwrap());
        let peer = s.peers.iter().position(|peer| peer.host == host).unwrap_or_else(|| {
            s.peers.push(Peer { host, realm: "example.net".into(), addresses: Vec::new(), connections: Vec::new() });
            s.peers.len() - 1
        });
        s.peers[peer].connections.push(at);
        let peer = PeerIndex(u32::try_from(peer).unwrap());
        s.connections.push(Connection { initiate, ..Connection::new(name, peer) });
        self
    }

    pub fn route(self, realm: &str, groups: &[&[(&str, u32)]]) -> Self {
        self.route_with(realm, groups, |_| ())
    }

    pub fn route_with(mut self, realm: &str, groups: &[&[(&str, u32)]], set: impl FnOnce(&mut Route)) -> Self {
        let s = &mut self.settings;
        let member = |&(name, weight): &(&str, u32)| (s.connection(name).unwrap(), weight);
        let groups =
            groups.iter().map(|members| RouteGroup { members: members.iter().map(member).collect() }).collect();
        let mut route =
            Route { name: format!("r{}", s.routes.len()), realm: Some(realm.into()), groups, ..Route::default() };
        set(&mut route);
        s.routes.push(route);
        self
    }

    pub fn priority(mut self, priority: u8, set: impl FnOnce(&mut PriorityRule)) -> Self {
        let mut rule = PriorityRule { priority: Priority::request(priority).unwrap(), ..PriorityRule::default() };
        set(&mut rule);
        self.settings.priorities.push(rule);
        self
    }

    pub fn node(mut self, set: impl FnOnce(&mut Node)) -> Self {
        set(&mut self.settings.node);
        self
    }

    /// Changes one connection.
    pub fn set(mut self, name: &str, set: impl FnOnce(&mut Connection)) -> Self {
        let at = self.settings.connection(name).unwrap();
        set(&mut self.settings.connections[at.get()]);
        self
    }

    /// Adds a group of those connections.
    pub fn group(mut self, members: &[&str], set: impl FnOnce(&mut governor_core::settings::Group)) -> Self {
        let s = &mut self.settings;
        let mut group = governor_core::settings::Group::new(&format!("g{}", s.groups.len()));
        group.connections = members.iter().map(|name| s.connection(name).unwrap()).collect();
        set(&mut group);
        s.groups.push(group);
        self
    }
}
