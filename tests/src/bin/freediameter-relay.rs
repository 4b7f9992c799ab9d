//! A freeDiameter relay for benchmarks: `cargo xtask bench relay` runs the same load through it and through the governor.
//!
//! `freediameter-relay LISTEN RELAY CLIENT SERVER SERVER_ADDRESS [CORE]` starts it in a network namespace of its own, on
//! one core if CORE is given, connected to the server at `SERVER_ADDRESS` (IP:port; may come up later), and prints a line of
//! JSON: `{"pid":1234,"identity":"...","listen":"IP:port"}`. Others join by `nsenter --net --target PID`; CPU time is in
//! `/proc/PID/stat`. It runs until its standard input ends.

use anyhow::{Context, Result, bail};
use governor_tests::freediameter::Node;
use governor_tests::{NetNs, Scratch};
use std::io::Read;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (identity, listen, client, server, address, core) = match arguments.as_slice() {
        [listen, identity, client, server, address] => (identity, listen, client, server, address, None),
        [listen, identity, client, server, address, core] => {
            (identity, listen, client, server, address, Some(core.parse().context("CORE is a number")?))
        }
        _ => bail!("usage: freediameter-relay LISTEN RELAY CLIENT SERVER SERVER_ADDRESS [CORE]"),
    };
    let (ns, scratch) = (NetNs::new()?, Scratch::new("bench-relay")?);
    let (ip, port) = address_of(listen)?;
    let (server_ip, server_port) = address_of(address)?;
    let mut relay = Node::relay(identity, ip, port).watchdog(30).accept(client).connect(server, server_ip, server_port);
    if let Some(core) = core {
        relay = relay.pinned(core);
    }
    let relay = relay.start(&ns, &scratch)?;
    println!("{{\"pid\":{},\"identity\":\"{identity}\",\"listen\":\"{listen}\"}}", relay.process.pid());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn address_of(text: &str) -> Result<(&str, u16)> {
    let (ip, port) = text.rsplit_once(':').with_context(|| format!("{text} is not IP:port"))?;
    Ok((ip, port.parse().with_context(|| format!("{text}: port"))?))
}
