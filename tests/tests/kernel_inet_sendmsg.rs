//! `fexit` `inet_sendmsg` and `inet6_sendmsg`: chosen at load where `sock_send_length` is absent.

use anyhow::Result;
use governor::kernel::{EventKind, Finding, Mode, Options};
use governor_tests::assist::{Pipe, event, load, load_with, options};

#[test]
fn either_the_tracepoint_or_the_functions_are_traced_never_both() -> Result<()> {
    let (_assist, report) = load("not-needed")?;
    let text = report.to_string();
    if report.attached("sock_send_length") {
        for name in ["inet_sendmsg", "inet6_sendmsg"] {
            assert!(!report.attached(name));
            assert!(text.contains(&format!("{name:<20} not needed: sock_send_length does its work")), "{text}");
        }
    } else {
        assert!(report.attached("inet_sendmsg") && report.attached("inet6_sendmsg"), "{text}");
        assert!(text.contains("sock_send_length     not needed: inet_sendmsg does its work"), "{text}");
    }
    Ok(())
}

/// Some kernels refuse `fexit` programs: then the report says so and the rest works.
#[tokio::test]
async fn without_the_tracepoint_it_measures_sends_or_says_why_not() -> Result<()> {
    let (mut assist, report) =
        load_with(&Options { without: vec!["sock_send_length".to_owned()], ..options(Mode::Auto, "fexit") })?;
    let found =
        |name: &str| report.hooks.iter().find(|(hook, _)| hook.name == name).map(|(_, finding)| finding.clone());
    println!("{report}");
    for (name, address) in [("inet_sendmsg", "127.0.0.1:0"), ("inet6_sendmsg", "[::1]:0")] {
        match found(name) {
            Some(Finding::Attached) => {
                let mut pipe = Pipe::new(address, None)?;
                assist.register(&pipe.registration)?;
                let (sends, bytes) = pipe.fill()?;
                event(&mut assist, pipe.cookie(), EventKind::Blocked).await?;
                let record = pipe.record(&assist)?;
                assert_eq!((record.sends, record.bytes, record.refusals), (sends, bytes, 1));
            }
            Some(Finding::Missing { reason, .. }) => assert!(reason.contains("EPERM"), "{name}: {reason}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(report.attached("tcp_probe") && report.attached("inet_sock_set_state"), "{report}");
    Ok(())
}
