//! `tp_btf` `inet_sock_set_state`: connections appear and go.

use anyhow::{Context, Result};
use governor::kernel::{EventKind, socket_cookie};
use governor_common::{FAMILY_IPV4, FAMILY_IPV6, PROTOCOL_TCP, state};
use governor_tests::assist::{Pipe, event, load};
use std::net::{Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

#[tokio::test]
async fn a_registered_connection_that_closes_is_told_and_kept_until_unregistered() -> Result<()> {
    let (mut assist, report) = load("closes")?;
    assert!(report.attached("inet_sock_set_state"), "{report}");
    let pipe = Pipe::new("127.0.0.1:0", None)?;
    assist.register(&pipe.registration)?;
    assert_eq!(pipe.record(&assist)?.state, state::ESTABLISHED);
    let cookie = pipe.cookie();
    // The reader first: the writer's end then closes without lingering in TIME_WAIT.
    drop(pipe.reader);
    drop(pipe.writer);
    event(&mut assist, cookie, EventKind::Closed).await?;
    let record = assist.record(cookie)?.context("a record of the agent's own was removed")?;
    assert_eq!(record.state, state::CLOSE);
    assist.unregister(cookie)?;
    assert_eq!(assist.record(cookie)?, None);
    assist.unregister(cookie)?;
    Ok(())
}

#[tokio::test]
async fn connections_of_a_watched_port_appear_and_go_by_themselves() -> Result<()> {
    for (address, family) in [("127.0.0.1:0", FAMILY_IPV4), ("[::1]:0", FAMILY_IPV6)] {
        let (mut assist, _report) = load("watched")?;
        let listener = TcpListener::bind(address)?;
        let port = listener.local_addr()?.port();
        let before = TcpStream::connect(listener.local_addr()?)?;
        assist.watch_port(port)?;
        let active = TcpStream::connect(listener.local_addr()?)?;
        listener.accept()?;
        let (passive, _) = listener.accept()?;

        // Both ends are on this host.
        let (ours, theirs) = (socket_cookie(active.as_fd())?, socket_cookie(passive.as_fd())?);
        event(&mut assist, theirs, EventKind::Opened).await?;
        for (cookie, socket) in [(ours, &active), (theirs, &passive)] {
            let record = assist.record(cookie)?.context("no record")?;
            assert_eq!((record.family, record.protocol, record.state), (family, PROTOCOL_TCP, state::ESTABLISHED));
            assert_eq!(
                (record.local_port, record.remote_port),
                (socket.local_addr()?.port(), socket.peer_addr()?.port())
            );
            let address = Ipv6Addr::from(record.local_address).to_canonical();
            assert_eq!(address, socket.local_addr()?.ip());
            assert_eq!(Ipv6Addr::from(record.remote_address).to_canonical(), socket.peer_addr()?.ip());
        }
        assert_eq!(assist.records()?.len(), 2, "the connection from before was not seen to open");

        drop(active);
        drop(passive);
        event(&mut assist, theirs, EventKind::Closed).await?;
        assert_eq!(assist.record(theirs)?, None);
        drop(before);
    }
    Ok(())
}

#[tokio::test]
async fn connections_of_other_ports_leave_no_trace() -> Result<()> {
    let (mut assist, _report) = load("others")?;
    let mut pipe = Pipe::new("127.0.0.1:0", None)?;
    pipe.fill()?;
    drop(pipe);
    assert_eq!(assist.records()?, []);
    assert_eq!(assist.take_events().context("not taken yet")?.try_next(), None);
    Ok(())
}
