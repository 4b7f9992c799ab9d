//! What the service manager hears.

use crate::relay::{File, PATIENCE, Relay, server};
use governor::load::Behaviour;
use std::os::unix::net::UnixDatagram;
use std::sync::mpsc;
use std::time::Instant;

#[test]
fn systemd_hears_of_readiness_life_reload_and_end() {
    let path = std::env::temp_dir().join(format!("governor-running-notify-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let systemd = UnixDatagram::bind(&path).unwrap();
    // Read at once, as systemd does: the queue holds few.
    let (sender, messages) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while let Ok(length) = systemd.recv(&mut buffer) {
            if sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned()).is_err() {
                return;
            }
        }
    });
    // The next message that is no sign of life, and how many of those came before.
    let next = || {
        let (mut alive, start) = (0, Instant::now());
        loop {
            assert!(start.elapsed() < PATIENCE, "only signs of life");
            match messages.recv_timeout(PATIENCE).unwrap().as_str() {
                "WATCHDOG=1" => alive += 1,
                other => return (other.to_owned(), alive),
            }
        }
    };
    let hss1 = server("hss1", Behaviour::default());
    let mut relay = Relay::start_with(File::new(&[("hss1", hss1.address())]), |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000").env_remove("WATCHDOG_PID");
    });
    assert_eq!(next().0, "READY=1");
    relay.wait_up();
    std::thread::sleep(std::time::Duration::from_secs(1));
    relay.signal("HUP");
    let (reloading, alive) = next();
    assert!(alive >= 3, "{alive} signs of life in a second");
    let usec = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(usec.parse::<u64>().unwrap() > 0);
    assert_eq!(next().0, "READY=1");
    relay.signal("TERM");
    assert!(next().0.starts_with("STOPPING=1\nEXTEND_TIMEOUT_USEC="));
    assert!(relay.wait_end().success());
    std::fs::remove_file(&path).unwrap();
}
