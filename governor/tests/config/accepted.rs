//! What the file says is what the parts get.

use super::{EVERYTHING, accepted};
use governor::config::{ConnectionShell, KernelAssist, ShareServer};
use governor_core::level::Priority;
use governor_core::settings::{
    Connection, ConnectionIndex, Group, GroupMode, Node, Peer, PeerIndex, Pressure, PriorityRule, RemoteBusy, Route,
    RouteGroup, Share, Threshold, Throttle, Transport, Usage,
};
use std::path::PathBuf;
use std::time::Duration;

fn pairs(pairs: &[(u8, u8)]) -> Vec<Threshold> {
    pairs.iter().map(|&(onset, abatement)| Threshold { onset, abatement }).collect()
}

#[test]
fn every_key_reaches_its_setting() {
    let config = accepted(EVERYTHING);
    let settings = config.settings;
    let mut drmp = [Priority::P0; 16];
    drmp[..6].fill(Priority::P2);
    drmp[6..12].fill(Priority::P1);
    let node = Node {
        pending_limit: 5000,
        answer_timeout: Duration::from_secs(2),
        max_attempts: 3,
        busy_result_code: 5012,
        retry_result_codes: vec![3002],
        drmp,
        watchdog: Duration::from_secs(6),
        reconnect: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(3),
        message_timeout: Duration::from_secs(4),
        max_message: 8192,
        ..Node::new("gov1.example.net", "example.net")
    };
    assert_eq!(settings.node, node);
    let peer = |host: &str, at| Peer {
        host: host.to_owned(),
        realm: "example.net".to_owned(),
        addresses: Vec::new(),
        connections: vec![ConnectionIndex(at)],
    };
    assert_eq!(settings.peers, [peer("hss1.example.net", 0), peer("client.example.net", 1)]);
    let gold = Throttle {
        thresholds: pairs(&[(60, 50), (80, 70), (100, 90)]),
        convergence: Duration::from_secs(2),
        abatement_time: Duration::from_millis(700),
        ..Throttle::new("gold", 1000)
    };
    let hss = Connection {
        initiate: true,
        remote_busy: RemoteBusy { usage: Usage::HostOverride, abatement: Duration::from_secs(4) },
        transport: Transport {
            abatement: Duration::from_secs(3),
            pressure: Some(Pressure { onset: [20, 40, 60], abatement: [10, 30, 50] }),
        },
        throttle: Some(gold),
        pending_limit: 100,
        ..Connection::new("hss1-a", PeerIndex(0))
    };
    let client = Connection { initiate: false, ..Connection::new("client-a", PeerIndex(1)) };
    assert_eq!(settings.connections, [hss, client]);
    let rule = PriorityRule {
        application: Some(16_777_251),
        command: Some(316),
        ingress_peer: Some("client.example.net".to_owned()),
        realm: Some("example.net".to_owned()),
        priority: Priority::P2,
    };
    assert_eq!(settings.priorities, [rule]);
    let route = Route {
        name: "hss".to_owned(),
        realm: Some("example.net".to_owned()),
        host: Some("hss1.example.net".to_owned()),
        application: Some(16_777_251),
        command: Some(316),
        groups: vec![RouteGroup { members: vec![(ConnectionIndex(0), 50)] }],
        ..Route::default()
    };
    assert_eq!(settings.routes, [route]);
    let group = Group {
        connections: vec![ConnectionIndex(0)],
        max_rate: Some(5000),
        max_pending: Some(20_000),
        mode: GroupMode::Limit,
        thresholds: pairs(&[(50, 40), (70, 60)]),
        convergence: Duration::from_secs(3),
        abatement_time: Duration::from_millis(800),
        share: Some(Share { interval: Duration::from_millis(200), agents: 3 }),
        ..Group::new("site")
    };
    assert_eq!(settings.groups, [group]);

    let shell = config.shell;
    let listen: Vec<_> = shell.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["tcp://127.0.0.1:3868", "tcp://[::1]:3868"]);
    assert_eq!(shell.kernel_assist, KernelAssist::Required);
    assert_eq!(shell.control, Some(PathBuf::from("/tmp/gov.sock")));
    assert_eq!(shell.metrics, Some("127.0.0.1:9868".parse().unwrap()));
    let url = "redis://:secret@127.0.0.1:6380/2".to_owned();
    assert_eq!(shell.share, Some(ShareServer { url, name: "site-1".to_owned() }));
    let address = "tcp://127.0.0.1:3869".parse().unwrap();
    assert_eq!(
        shell.connections,
        [ConnectionShell { address: Some(address), send_buffer: Some(65_536) }, ConnectionShell::default()]
    );
    assert_eq!((config.throttle_sets, config.notes), (1, Vec::new()));
}

#[test]
fn weights_keep_the_order_of_the_file() {
    let config = accepted(
        r#"
        node = { origin_host = "g", origin_realm = "r", listen = ["tcp://127.0.0.1:0"] }
        [[peer]]
        host = "h"
        realm = "r"
        connection = [{ name = "a" }, { name = "b" }, { name = "c" }]
        [[route]]
        name = "x"
        realm = "r"
        groups = [{ weights = { c = 1, a = 2, b = 0 } }]
        "#,
    );
    let members = [(ConnectionIndex(2), 1), (ConnectionIndex(0), 2), (ConnectionIndex(1), 0)];
    assert_eq!(config.settings.routes[0].groups[0].members, members);
}

#[test]
fn a_peer_in_a_group_stands_for_all_its_connections() {
    let config = accepted(
        r#"
        node = { origin_host = "g", origin_realm = "r", listen = ["tcp://127.0.0.1:0"] }
        [[peer]]
        host = "h1.r"
        realm = "r"
        connection = [{ name = "a" }, { name = "b" }]
        [[peer]]
        host = "H2.r"
        realm = "r"
        connection = [{ name = "c" }, { name = "h2.r" }]
        [[peer]]
        host = "h3.r"
        realm = "r"
        connection = [{ name = "h3.r" }]
        [[group]]
        name = "all"
        members = ["c", "H1.R", "h3.r"]
        max_rate = 100
        "#,
    );
    let connections = [2, 0, 1, 4].map(ConnectionIndex);
    assert_eq!(config.settings.groups[0].connections, connections);
}

#[test]
fn a_connection_that_nobody_can_open_is_noted_and_allowed() {
    let config = accepted(
        "node = { origin_host = \"g\", origin_realm = \"r\" }\n[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"a\"\n",
    );
    let notes: Vec<_> = config.notes.iter().map(|note| (note.line, note.key.as_str())).collect();
    assert_eq!(notes, [(5, "peer[1].connection[1]")]);
}

#[test]
fn an_empty_pressure_table_is_on_and_off_is_off() {
    let pressure = |table: &str| {
        let text = EVERYTHING.replace("{ onset = [20, 40, 60], abatement = [10, 30, 50] }", table);
        accepted(&text).settings.connections[0].transport.pressure
    };
    assert_eq!(pressure("{}"), Some(Pressure { onset: [50, 70, 85], abatement: [40, 60, 75] }));
    assert_eq!(pressure("{ onset = [60, 80, 90] }"), Some(Pressure { onset: [60, 80, 90], abatement: [40, 60, 75] }));
    assert_eq!(pressure("\"off\""), None);
}

#[test]
fn metrics_can_be_off_and_on_any_address() {
    let of = |value: &str| accepted(&EVERYTHING.replace("\"127.0.0.1:9868\"", value)).shell.metrics;
    assert_eq!(of("\"off\""), None);
    assert_eq!(of("\"[::]:0\""), Some("[::]:0".parse().unwrap()));
}

#[test]
fn the_control_socket_can_be_off() {
    let config = accepted(&EVERYTHING.replace("\"/tmp/gov.sock\"", "\"off\""));
    assert_eq!(config.shell.control, None);
}

#[test]
fn keys_of_single_tables_are_known_by_their_lines() {
    let text = "[node]\norigin_host = \"g\"\norigin_realm = \"r\"\nlisten = [\n  \"tcp://127.0.0.1:1\",\n  \"tcp://127.0.0.1:2\",\n]\n";
    let lines = accepted(text).lines;
    let of = |key| lines.of(key);
    assert_eq!([of("node"), of("node.origin_realm"), of("node.listen")], [1, 3, 4]);
    assert_eq!([of("node.listen[1]"), of("node.listen[2]")], [5, 6]);
    assert_eq!(of("node.control"), 1, "not given: where it would be");
    assert_eq!(of("elsewhere.key"), 0);
}

#[test]
fn a_group_is_shared_where_there_is_a_server_unless_it_says_no() {
    let text = EVERYTHING;
    let share = |text: &str| accepted(text).settings.groups[0].share;
    assert!(share(&text.replace("shared = \"on\"\n", "")).is_some());
    assert_eq!(share(&text.replace("shared = \"on\"\n", "shared = \"off\"\n")), None);
}
