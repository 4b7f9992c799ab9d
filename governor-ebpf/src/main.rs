//! The kernel programs of the egress governor, one file a hook. They measure; the agent decides.
//!
//! A program is named after its hook. It updates the record of a connection that is in the map `connections`, and tells
//! the agent at edges only: blocked, unblocked, another pressure level, opened, closed. Offsets of kernel fields are
//! read-only globals that the loader sets from the running kernel's BTF (`offsets`).
//!
//! Compiles for `bpfel-unknown-none` only: `cargo xtask build`.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod event;
mod inet6_sendmsg;
mod inet_sendmsg;
mod inet_sock_set_state;
mod maps;
mod measure;
mod offsets;
mod sock_send_length;
mod tcp_probe;

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Helpers such as `bpf_probe_read_kernel` are for GPL-compatible programs only.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
