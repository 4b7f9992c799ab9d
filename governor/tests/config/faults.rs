//! Faulty files, and exactly what is said of them.

use super::{accepted, faults_of};

const NODE: &str = "node = { origin_host = \"g.r\", origin_realm = \"r\", listen = [\"tcp://127.0.0.1:0\"] }\n";
/// Two peers, three connections; ends with line 10 (the node's line included).
const PEERS: &str = "[[peer]]
host = \"h1.r\"
realm = \"r\"
connection = [{ name = \"a\" }, { name = \"b\" }]
[[peer]]
host = \"h2.r\"
realm = \"r\"
[[peer.connection]]
name = \"c\"
";

/// The faults of the node above, then `rest`; the first line of `rest` is line 2.
#[track_caller]
fn after_node(rest: &str, expected: &[&str]) {
    assert_eq!(faults_of(&format!("{NODE}{rest}")), expected, "{rest}");
}

/// The faults of the node and peers above, then `rest`; the first line of `rest` is line 11.
#[track_caller]
fn after_peers(rest: &str, expected: &[&str]) {
    accepted(&format!("{NODE}{PEERS}"));
    assert_eq!(faults_of(&format!("{NODE}{PEERS}{rest}")), expected, "{rest}");
}

#[test]
fn an_empty_file_lacks_its_node() {
    assert_eq!(faults_of(""), ["1: node: missing; must be given (table)"]);
    assert_eq!(
        faults_of("[node]\n"),
        [
            "1: node.origin_host: missing; must be given (Diameter identity)",
            "1: node.origin_realm: missing; must be given (Diameter identity)",
        ]
    );
    assert_eq!(faults_of("\n\nnode = 3\n"), ["3: node: must be a table, is 3"]);
    assert_eq!(faults_of("[[node]]\n"), ["1: node: must be a table, is an array of 1 elements"]);
}

#[test]
fn a_syntax_error_has_its_line_and_is_all_that_is_told() {
    assert_eq!(
        faults_of("[node]\nx = 1\norigin_host = \n"),
        ["3: string values must be quoted, expected literal string",]
    );
    assert_eq!(
        faults_of("[node]\norigin_host = \"a\norigin_realm = \"b\"\n"),
        ["2: invalid basic string, expected `\"`",]
    );
    assert_eq!(faults_of("[node]\norigin_host = \"a\"\norigin_host = \"b\"\n"), ["3: duplicate key"]);
    assert_eq!(faults_of("[node]\n[peer]\n[node]\n"), ["3: duplicate key"]);
    assert_eq!(faults_of("a b = 1\nc d = 2\n").len(), 2, "every syntax error");
}

#[test]
fn unknown_keys_are_told_at_every_level_with_what_is_near() {
    after_node("nod = 1\n", &["2: nod: unknown key; did you mean `node`?"]);
    after_node(
        "\n[metrics]\n",
        &["3: metrics: unknown key; known here: node, throttle, peer, priority, route, group, share"],
    );
    after_node(
        "\"odd key\" = 1\n",
        &["2: \"odd key\": unknown key; known here: node, throttle, peer, priority, route, group, share"],
    );
    after_node(
        "[throttle.gold]\nmax_rate = 10\nmaxrate = 10\n",
        &["4: throttle.gold.maxrate: unknown key; did you mean `max_rate`?"],
    );
    after_node(
        "[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"a\"\nremote_busy = { use = 1 }\ntransport_congestion = { pressure = { of = 1 } }\n",
        &[
            "7: peer[1].connection[1].remote_busy.use: unknown key; did you mean `usage`?",
            "8: peer[1].connection[1].transport_congestion.pressure.of: unknown key; known here: onset, abatement",
        ],
    );
    after_peers(
        "[[priority]]\npriority = 1\npeer = 1\n[[route]]\nname = \"x\"\nrealm = \"r\"\ngroups = [{ weights = { a = 1 }, weight = 2 }]\n[[group]]\nname = \"g\"\nmembers = [\"a\"]\nmax_rate = 100\nmax_rat = 1\n",
        &[
            "13: priority[1].peer: unknown key; known here: application, command, ingress_peer, realm, priority",
            "17: route[1].groups[1].weight: unknown key; did you mean `weights`?",
            "22: group[1].max_rat: unknown key; did you mean `max_rate`?",
        ],
    );
}

#[test]
fn identities_and_names_are_checked() {
    let long = "x".repeat(256);
    let identity = "must be a Diameter identity (1 to 255 letters, digits, `-` and `_` in parts joined by `.`), is";
    for (host, shown) in [
        ("", "\"\"".to_owned()),
        ("a b", "\"a b\"".to_owned()),
        ("a..b", "\"a..b\"".to_owned()),
        (".a", "\".a\"".to_owned()),
        ("aaa://h", "\"aaa://h\"".to_owned()),
        ("hö", "\"hö\"".to_owned()),
        (&long, format!("\"{}\"...", &long[..60])),
    ] {
        let text = format!("[node]\norigin_host = \"{host}\"\norigin_realm = \"r\"\n");
        assert_eq!(faults_of(&text), [format!("2: node.origin_host: {identity} {shown}")]);
    }
    assert_eq!(
        faults_of("[node]\norigin_host = 5\norigin_realm = \"r\"\n"),
        ["2: node.origin_host: must be a Diameter identity, is 5",]
    );
    let name = "must be a name of 1 to 64 printable ASCII characters without spaces, is";
    after_node(
        "[[peer]]\nhost = \"h\"\nrealm = \"r\"\nconnection = [{ name = \"\" }, { name = \"a b\" }, { name = 1 }]\n",
        &[
            &format!("5: peer[1].connection[1].name: {name} \"\""),
            &format!("5: peer[1].connection[2].name: {name} \"a b\""),
            "5: peer[1].connection[3].name: must be a name of 1 to 64 printable characters without spaces, is 1",
        ],
    );
    after_node("[throttle.\"a b\"]\nmax_rate = 10\n", &[&format!("2: throttle.a b: {name} \"a b\"")]);
}

#[test]
fn what_is_named_twice_is_told_with_the_first_line() {
    after_peers(
        "[[peer]]\nhost = \"H1.R\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"c\"\n",
        &[
            "12: peer[3].host: \"H1.R\" is already the host of the peer on line 3",
            "15: peer[3].connection[1].name: \"c\" is already the name of the connection on line 10",
        ],
    );
    after_node(
        "[[peer]]\nhost = \"G.r\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"c\"\n",
        &["3: peer[1].host: \"G.r\" is our own `origin_host`"],
    );
    after_peers(
        &"[[route]]\nname = \"x\"\nrealm = \"r\"\ngroups = [{ weights = { a = 1 } }]\n".repeat(2),
        &["16: route[2].name: \"x\" is already the name of the route on line 12"],
    );
    after_peers(
        "[[group]]\nname = \"x\"\nmembers = [\"a\"]\nmax_rate = 100\n[[group]]\nname = \"x\"\nmembers = [\"b\"]\nmax_rate = 100\n",
        &["16: group[2].name: \"x\" is already the name of the group on line 12"],
    );
    assert_eq!(
        faults_of(
            "[node]\norigin_host = \"g\"\norigin_realm = \"r\"\nlisten = [\n\"tcp://127.0.0.1\",\n\"tcp://127.0.0.1:3868\"]\n"
        ),
        ["6: node.listen[2]: tcp://127.0.0.1:3868 stands twice"]
    );
}

#[test]
fn what_is_named_must_exist() {
    after_peers("throttle = \"gold\"\n", &["11: peer[2].connection[1].throttle: there is no throttle set \"gold\""]);
    after_peers(
        "[[priority]]\ningress_peer = \"h3.r\"\npriority = 1\n[[priority]]\ningress_peer = \"H2.R\"\npriority = 1\n",
        &["12: priority[1].ingress_peer: there is no peer with the host \"h3.r\""],
    );
    after_peers(
        "[[route]]\nname = \"x\"\nrealm = \"r\"\n[[route.groups]]\n[route.groups.weights]\na = 1\nd = 1\n\"h1.r\" = 2\n",
        &[
            "17: route[1].groups[1].weights.\"d\": there is no connection \"d\"",
            "18: route[1].groups[1].weights.\"h1.r\": there is no connection \"h1.r\"",
        ],
    );
    after_peers(
        "[[group]]\nname = \"x\"\nmembers = [\n\"a\",\n\"z\"]\nmax_rate = 100\n",
        &["15: group[1].members[2]: there is no peer or connection \"z\""],
    );
}

#[test]
fn a_fault_where_a_name_is_defined_is_no_fault_where_it_is_used() {
    after_node(
        "[throttle.gold]\nmax_rate = 1\n[[peer]]\nhost = \"h\"\nrealm = 5\n[[peer.connection]]\nname = \"a\"\nthrottle = \"gold\"\npending_limit = 1\n[[route]]\nname = \"x\"\nrealm = \"r\"\ngroups = [{ weights = { a = 1 } }]\n[[group]]\nname = \"g\"\nmembers = [\"h\"]\nmax_pending = 100\n",
        &[
            "3: throttle.gold.max_rate: must be a number, 10 to 10000, is 1",
            "6: peer[1].realm: must be a Diameter identity, is 5",
            "10: peer[1].connection[1].pending_limit: must be a number, 10 to 20000, is 1",
        ],
    );
}

#[test]
fn what_must_have_elements_has_some() {
    after_node(
        "[[peer]]\nhost = \"h\"\nrealm = \"r\"\n",
        &["2: peer[1].connection: missing; must be given (array of tables)"],
    );
    after_node(
        "[[peer]]\nhost = \"h\"\nrealm = \"r\"\nconnection = []\n",
        &["5: peer[1].connection: must have at least one element: a peer needs a connection"],
    );
    after_peers(
        "[[route]]\nname = \"x\"\nrealm = \"r\"\n[[route]]\nname = \"y\"\nrealm = \"r\"\ngroups = []\n[[route]]\nname = \"z\"\nrealm = \"r\"\ngroups = [{}, { weights = {} }]\n",
        &[
            "11: route[1].groups: missing; must be given (array of tables)",
            "17: route[2].groups: must have at least one element: a route needs a group of connections",
            "21: route[3].groups[1].weights: missing; must be given (table: connection = 0 to 64000)",
            "21: route[3].groups[2].weights: must name at least one connection",
        ],
    );
    after_peers(
        "[[group]]\nname = \"x\"\nmembers = []\nmax_rate = 100\n[[group]]\nname = \"y\"\nmax_rate = 100\n",
        &[
            "13: group[1].members: must have 1 to 128 elements, has 0",
            "15: group[2].members: missing; must be given (array of 1 to 128 hosts and names)",
        ],
    );
}

#[test]
fn weights_are_whole_numbers_up_to_64000() {
    let route =
        |weights: &str| format!("[[route]]\nname = \"x\"\nrealm = \"r\"\ngroups = [{{ weights = {weights} }}]\n");
    after_peers(&route("{ a = 0, b = 64000 }"), &[]);
    after_peers(
        &route("{ a = -1, b = 64001, c = \"1\" }"),
        &[
            "14: route[1].groups[1].weights.\"a\": must be a weight, 0 to 64000, is -1",
            "14: route[1].groups[1].weights.\"b\": must be a weight, 0 to 64000, is 64001",
            "14: route[1].groups[1].weights.\"c\": must be a weight, 0 to 64000, is \"1\"",
        ],
    );
    after_peers(
        &route("{ h1.r = 1 }"),
        &["14: route[1].groups[1].weights.\"h1\": must be a number (a name with dots needs quotes), is a table"],
    );
    after_peers(&route("[\"a\"]"), &["14: route[1].groups[1].weights: must be a table, is an array of 1 elements"]);
}

#[test]
fn a_table_where_an_array_of_tables_belongs_is_told_with_the_right_heading() {
    after_node("[peer]\nhost = \"h\"\n", &["2: peer: must be an array of tables: `[[peer]]`, not `[peer]`"]);
    after_node(
        "[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[peer.connection]\nname = \"a\"\n",
        &["5: peer[1].connection: must be an array of tables: `[[peer.connection]]`, not `[peer.connection]`"],
    );
    after_node(
        "route = 1\ngroup = [1]\n",
        &["2: route: must be an array of tables, is 1", "3: group[1]: must be a table, is 1"],
    );
}

#[test]
fn thresholds_stand_in_their_order() {
    let set = |lists: &str| format!("[throttle.t]\nmax_rate = 10\n{lists}");
    for (lists, fault) in [
        ("throttle = [60]\n", "4: throttle.t.throttle: `throttle[1]` must be above `abatement[1]` (80), is 60"),
        (
            "abatement = [99]\nthrottle = [99]\n",
            "5: throttle.t.throttle: `throttle[1]` must be above `abatement[1]` (99), is 99",
        ),
        (
            "throttle = [60, 80]\n",
            "4: throttle.t.throttle: `throttle` and `abatement` must have equally many elements, have 2 and 1 by default",
        ),
        (
            "throttle = [60, 80, 100]\nabatement = [50, 70]\n",
            "5: throttle.t.abatement: `throttle` and `abatement` must have equally many elements, have 3 and 2",
        ),
        (
            "throttle = [60, 80, 100]\nabatement = [50, 60, 90]\n",
            "5: throttle.t.abatement: `abatement[2]` must be above `throttle[1]` (60), is 60",
        ),
        (
            "throttle = [60, 80, 80]\nabatement = [50, 70, 79]\n",
            "5: throttle.t.abatement: `abatement[3]` must be above `throttle[2]` (80), is 79",
        ),
        (
            "throttle = [60, 65, 100]\nabatement = [50, 70, 90]\n",
            "4: throttle.t.throttle: `throttle[2]` must be above `abatement[2]` (70), is 65",
        ),
    ] {
        after_node(&set(lists), &[fault]);
    }
    for lists in ["abatement = [99]\n", "throttle = [81]\n", "throttle = [60]\nabatement = [59]\n"] {
        after_node(&set(lists), &[]);
    }
    let group = |lists: &str| format!("[[group]]\nname = \"g\"\nmembers = [\"a\"]\nmax_rate = 100\n{lists}");
    after_peers(&group("onset = [55]\n"), &["15: group[1].onset: `onset[1]` must be above `abatement[1]` (55), is 55"]);
    after_peers(&group("onset = [56]\n"), &[]);
}

#[test]
fn pressure_rises_and_falls_below_itself() {
    let connection = |pressure: &str| {
        format!(
            "[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"a\"\ntransport_congestion = {{ pressure = {pressure} }}\n"
        )
    };
    let path = "7: peer[1].connection[1].transport_congestion.pressure";
    after_node(
        &connection("{ onset = [50, 50, 80] }"),
        &[&format!("{path}.onset: must rise from element to element, is [50, 50, 80]")],
    );
    after_node(
        &connection("{ abatement = [40, 60, 50] }"),
        &[&format!("{path}.abatement: must rise from element to element, is [40, 60, 50]")],
    );
    after_node(
        &connection("{ abatement = [40, 70, 75] }"),
        &[&format!("{path}.abatement: `abatement[2]` must be below `onset[2]` (70), is 70")],
    );
    after_node(
        &connection("{ onset = [30, 70, 85] }"),
        &[&format!("{path}.onset: `abatement[1]` must be below `onset[1]` (30), is 40")],
    );
    after_node(
        &connection("{ onset = [50, 70, 101] }"),
        &[&format!("{path}.onset[3]: must be a number, 1 to 100, is 101")],
    );
    after_node(
        &connection("\"on\""),
        &[&format!("{path}: must be \"off\" or a table (`{{}}` for the defaults), is \"on\"")],
    );
}

#[test]
fn groups_need_a_maximum_and_members_of_their_own() {
    after_peers(
        "\n[[group]]\nname = \"x\"\nmembers = [\"a\"]\n",
        &["12: group[1]: `max_rate` or `max_pending` must be given, or both"],
    );
    after_peers(
        "[[group]]\nname = \"x\"\nmembers = [\"a\", \"a\"]\nmax_rate = 100\n[[group]]\nname = \"y\"\nmembers = [\"c\", \"h1.r\"]\nmax_rate = 100\n",
        &[
            "13: group[1].members[2]: the connection \"a\" is already in the group \"x\" (line 13); each is in one group at most",
            "17: group[2].members[2]: the connection \"a\" is already in the group \"x\" (line 13); each is in one group at most",
        ],
    );
}

#[test]
fn a_share_server_has_a_url_that_can_be_reached_and_shared_groups_need_one() {
    let group = "[[group]]\nname = \"x\"\nmembers = [\"a\"]\nmax_rate = 100\nshared = \"on\"\n";
    after_peers(group, &["15: group[1].shared: needs a table `[share]` that says through which server"]);
    let message = "must be the URL of a server like `redis://127.0.0.1:6379` or `unix:///run/redis/redis.sock`";
    for url in ["", "127.0.0.1:6379", "http://127.0.0.1", "redis://", "redis://:secret@h:x", "rediss://h"] {
        after_node(&format!("[share]\nurl = \"{url}\"\n"), &[&format!("3: share.url: {message}")]);
    }
    after_node("[share]\n", &["2: share.url: missing; must be given (URL, redis:// or unix://)"]);
}

#[test]
fn a_member_that_is_a_peer_and_a_connection_is_ambiguous() {
    let text = "[[peer]]\nhost = \"h\"\nrealm = \"r\"\nconnection = [{ name = \"h\" }, { name = \"b\" }]\n[[group]]\nname = \"g\"\nmembers = [\"h\"]\nmax_rate = 100\n";
    after_node(text, &["8: group[1].members[1]: \"h\" is a peer and a connection: one of them needs another name"]);
}

#[test]
fn there_are_at_most_50_throttle_sets_and_128_members() {
    let sets = |n: usize| (0..n).map(|i| format!("[throttle.t{i:02}]\nmax_rate = 10\n")).collect::<Vec<_>>().concat();
    after_node(&sets(50), &[]);
    after_node(
        &sets(52),
        &[
            "102: throttle.t50: one throttle set too many, at most 50 are allowed",
            "104: throttle.t51: one throttle set too many, at most 50 are allowed",
        ],
    );
    let group = |n: usize| {
        let connections: Vec<_> = (0..n).map(|i| format!("{{ name = \"c{i}\" }}")).collect();
        let members: Vec<_> = (0..n).map(|i| format!("\"c{i}\"")).collect();
        format!(
            "[[peer]]\nhost = \"h\"\nrealm = \"r\"\nconnection = [{}]\n[[group]]\nname = \"g\"\nmembers = [{}]\nmax_rate = 100\n",
            connections.join(","),
            members.join(",")
        )
    };
    after_node(&group(128), &[]);
    after_node(&group(129), &["8: group[1].members: must have 1 to 128 elements, has 129"]);
}

#[test]
fn addresses_are_checked_with_what_this_build_can() {
    let listen = |address: &str| {
        faults_of(&format!("[node]\norigin_host = \"g\"\norigin_realm = \"r\"\nlisten = [\"{address}\"]\n"))
    };
    assert_eq!(listen("sctp://127.0.0.1:3868"), ["4: node.listen[1]: `sctp://` is not supported by this build"]);
    assert_eq!(listen("tls://127.0.0.1:5868"), ["4: node.listen[1]: `tls://` is not supported by this build"]);
    assert_eq!(
        listen("127.0.0.1:3868"),
        ["4: node.listen[1]: must begin with `tcp://`, `sctp://` or `tls://`, is \"127.0.0.1:3868\"",]
    );
    assert_eq!(listen("tcp://0.0.0.0:0"), [""; 0]);
    let connect = |address: &str, expected: &[&str]| {
        let text =
            format!("[[peer]]\nhost = \"h\"\nrealm = \"r\"\n[[peer.connection]]\nname = \"a\"\naddress = {address}\n");
        after_node(&text, expected);
    };
    let path = "7: peer[1].connection[1].address:";
    connect("\"tcp://127.0.0.1:0\"", &[&format!("{path} must have a port of 1 to 65535, is 0")]);
    connect("\"tcp://[::]:1\"", &[&format!("{path} must be the address of one host, is \"tcp://[::]:1\"")]);
    connect(
        "\"tcp://hss1:3868\"",
        &[&format!(
            "{path} `hss1:3868` is not an IP address (IPv6 in brackets; host names are not resolved), is \"tcp://hss1:3868\""
        )],
    );
    connect("[\"tcp://127.0.0.1:1\"]", &[&format!("{path} must be an address, is an array of 1 elements")]);
}

#[test]
fn the_metrics_address_is_an_ip_address_and_a_port() {
    let metrics =
        |value: &str| faults_of(&format!("[node]\norigin_host = \"g\"\norigin_realm = \"r\"\nmetrics = \"{value}\"\n"));
    for value in ["localhost:9868", "127.0.0.1", "9868", "tcp://127.0.0.1:9868", "::1:9868", ""] {
        let expected = format!(
            "4: node.metrics: must be an address and port like `127.0.0.1:9868` or `[::1]:9868`, or \"off\", is \"{value}\""
        );
        assert_eq!(metrics(value), [expected]);
    }
}

#[test]
fn the_control_socket_is_an_absolute_path_that_fits() {
    let control =
        |path: &str| faults_of(&format!("[node]\norigin_host = \"g\"\norigin_realm = \"r\"\ncontrol = \"{path}\"\n"));
    let long = |length: usize| format!("/{}", "x".repeat(length - 1));
    assert_eq!(control(&long(107)), [""; 0]);
    for (path, shown) in [
        ("run/x.sock".to_owned(), "\"run/x.sock\"".to_owned()),
        (String::new(), "\"\"".to_owned()),
        ("/a\\u0000b".to_owned(), "\"/a\\0b\"".to_owned()),
        (long(108), format!("\"{}\"...", &long(108)[..60])),
    ] {
        assert_eq!(
            control(&path),
            [format!("4: node.control: must be an absolute path of at most 107 bytes, or \"off\", is {shown}")]
        );
    }
}

#[test]
fn every_fault_of_a_file_is_told_at_once_in_the_order_of_lines() {
    let text = "[node]
origin_host = \"gov.r\"
orgin_realm = \"r\"
pending_limit = 5
[[route]]
name = \"x\"
realm = \"r\"
groups = [{ weights = { b = 1 } }]
[[peer]]
host = \"h.r\"
realm = \"r\"
[[peer.connection]]
name = \"a\"
throttle = \"silver\"
[throttle.gold]
max_rate = 5
";
    assert_eq!(
        faults_of(text),
        [
            "1: node.origin_realm: missing; must be given (Diameter identity)",
            "3: node.orgin_realm: unknown key; did you mean `origin_realm`?",
            "4: node.pending_limit: must be a number, 10 to 10000000, is 5",
            "8: route[1].groups[1].weights.\"b\": there is no connection \"b\"",
            "14: peer[1].connection[1].throttle: there is no throttle set \"silver\"",
            "16: throttle.gold.max_rate: must be a number, 10 to 10000, is 5",
        ]
    );
}

#[test]
fn lines_are_right_with_windows_line_ends_and_a_byte_order_mark() {
    let text = "\u{feff}[node]\r\norigin_host = \"g\"\r\norigin_realm = \"r\"\r\nwatchdog = \"5s\"\r\n";
    assert_eq!(faults_of(text), ["4: node.watchdog: must be a duration, 6s to 1h, is \"5s\""]);
}
