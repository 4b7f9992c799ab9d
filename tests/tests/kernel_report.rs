//! The statement at start: what is offered, what is missing, what that costs.

use anyhow::Result;
use governor::kernel::{Assist, Mode, Options};
use governor_tests::Scratch;
use governor_tests::assist::{load_with, measures_sends, options};

#[test]
fn every_program_loads_on_this_kernel() -> Result<()> {
    let (_assist, report) = load_with(&options(Mode::Required, "all"))?;
    assert_eq!(report.missing(), None);
    assert!(report.measures_pressure());
    let text = report.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("kernel assist: on (Linux ") && lines[0].ends_with(" hooks attached"), "{text}");
    for hook in ["inet_sock_set_state", "sock_send_length", "inet_sendmsg", "inet6_sendmsg", "tcp_probe"] {
        assert_eq!(lines.iter().filter(|line| line.trim_start().starts_with(&format!("{hook} "))).count(), 1, "{text}");
    }
    Ok(())
}

#[test]
fn a_hook_left_out_makes_required_an_error() {
    let outcome =
        Assist::load_with(&Options { without: vec!["tcp_probe".to_owned()], ..options(Mode::Required, "left-out") });
    let error = outcome.err().map(|e| e.to_string());
    let expected = "kernel_assist = \"required\", but hook tcp_probe is missing: left out, as configured";
    assert_eq!(error.as_deref(), Some(expected));
}

#[test]
fn a_place_without_bpffs_costs_the_pins_only() -> Result<()> {
    let scratch = Scratch::new("no-bpffs")?;
    let options = Options { pin_root: scratch.file("pins"), ..Options::new(Mode::Auto) };
    let (_assist, report) = load_with(&options)?;
    assert!(measures_sends(&report));
    assert!(report.to_string().contains("note: maps and links are not pinned: "), "{report}");
    assert!(!options.pin_root.exists());
    let required = Assist::load_with(&Options { mode: Mode::Required, ..options });
    assert!(required.is_err_and(|e| e.to_string().contains("is not on a bpffs")));
    Ok(())
}

#[test]
fn the_kernels_btf_may_come_from_a_file() -> Result<()> {
    let scratch = Scratch::new("btf")?;
    let good = scratch.file("vmlinux");
    std::fs::copy("/sys/kernel/btf/vmlinux", &good)?;
    load_with(&Options { btf_file: Some(good), ..options(Mode::Required, "btf") })?;

    for bad in [scratch.file("absent"), scratch.write("bad", "not BTF")?] {
        let (assist, report) = Assist::load_with(&Options { btf_file: Some(bad), ..options(Mode::Auto, "bad-btf") })?;
        assert!(assist.is_none());
        assert!(report.to_string().contains("because the kernel's BTF cannot be read: "), "{report}");
    }
    Ok(())
}
