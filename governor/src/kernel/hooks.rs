//! The hooks: what each is for, what its program needs, and how it is attached.

use super::machine::Machine;
use super::report::{Finding, Hook};
use aya::programs::links::FdLink;
use aya::programs::{Program, ProgramError};
use aya::{Btf, BtfError, Ebpf};
use std::error::Error as StdError;
use std::io;
use std::iter::successors;

/// A connection appears or goes.
pub(super) const STATE: Hook = Hook {
    name: "inet_sock_set_state",
    offers: "connections appear and go",
    cost: "the agent learns of its own connections' ends from its sockets, and other programs' cannot be watched",
};
/// The outcome of a send, Linux 6.3 on.
pub(super) const SEND: Hook = Hook {
    name: "sock_send_length",
    offers: "the outcome of every send, and the send buffer's pressure",
    cost: "refused sends and rising pressure are seen at the agent's own writes only",
};
/// The same where the tracepoint is absent.
pub(super) const SEND_4: Hook = Hook { name: "inet_sendmsg", offers: "the same for TCP over IPv4, and SCTP", ..SEND };
/// The same where the tracepoint is absent.
pub(super) const SEND_6: Hook = Hook { name: "inet6_sendmsg", offers: "the same for TCP over IPv6", ..SEND };
/// A segment arrives.
pub(super) const DRAIN: Hook = Hook {
    name: "tcp_probe",
    offers: "pressure falling as the peer acknowledges",
    cost: "falling pressure is seen at the next write only",
};

/// Every hook. The program has the hook's name, its link's pin too.
pub(super) const HOOKS: [Hook; 5] = [STATE, SEND, SEND_4, SEND_6, DRAIN];

/// The globals with offsets that a hook's program needs.
pub(super) fn globals(hook: &Hook) -> &'static [&'static str] {
    match hook.name {
        "inet_sock_set_state" => &[
            "SOCK_PROTOCOL",
            "SOCK_FAMILY",
            "SOCK_NUM",
            "SOCK_DPORT",
            "SOCK_DADDR",
            "SOCK_RCV_SADDR",
            "SOCK_V6_DADDR",
            "SOCK_V6_RCV_SADDR",
        ],
        "sock_send_length" => &["SOCK_PROTOCOL", "SOCK_WMEM_QUEUED", "SOCK_SNDBUF"],
        "tcp_probe" => {
            &["SOCK_WMEM_QUEUED", "SOCK_SNDBUF", "TCP_WRITE_SEQ", "TCP_SND_UNA", "SKB_CB", "TCP_SKB_CB_ACK_SEQ"]
        }
        _ => &["SOCKET_SK", "SOCK_PROTOCOL", "SOCK_WMEM_QUEUED", "SOCK_SNDBUF"],
    }
}

/// Loads and attaches the hook's program.
pub(super) fn attach(ebpf: &mut Ebpf, btf: &Btf, hook: &Hook) -> Result<FdLink, ProgramError> {
    match ebpf.program_mut(hook.name) {
        Some(Program::BtfTracePoint(program)) => {
            program.load(hook.name, btf)?;
            let id = program.attach()?;
            Ok(program.take_link(id)?.into())
        }
        Some(Program::FExit(program)) => {
            program.load(hook.name, btf)?;
            let id = program.attach()?;
            Ok(program.take_link(id)?.into())
        }
        _ => Err(ProgramError::UnexpectedProgramType),
    }
}

/// Why a program is not attached.
pub(super) fn explain(error: &ProgramError, machine: &Machine) -> Finding {
    if let ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) = error {
        return missing("this kernel has no such hook");
    }
    let cause = match errno(error) {
        Some(libc::EPERM) => format!("refused (EPERM): {}", machine.explain_eperm()),
        _ => match error {
            ProgramError::LoadError { io_error, .. } => format!("the verifier refused it: {io_error}"),
            _ => sentence(error),
        },
    };
    let verifier_log = match error {
        ProgramError::LoadError { verifier_log, .. } => verifier_log.to_string(),
        _ => String::new(),
    };
    Finding::Missing { reason: cause, verifier_log }
}

/// Missing for a reason that the verifier has no part in.
pub(super) fn missing(reason: impl Into<String>) -> Finding {
    Finding::Missing { reason: reason.into(), verifier_log: String::new() }
}

/// An error and its causes in one line.
pub(super) fn sentence(error: &(dyn StdError + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in chain(error) {
        let text = cause.to_string();
        // Some errors repeat their cause.
        if !parts.last().is_some_and(|last| last.ends_with(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ").replace('\n', " ")
}

/// The operating system's error at the bottom of `error`, if there is one.
pub(super) fn errno(error: &(dyn StdError + 'static)) -> Option<i32> {
    chain(error).find_map(|e| e.downcast_ref::<io::Error>()?.raw_os_error())
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    // `*`: a reference to an error is an error too, with a shorter life.
    successors(Some(error), |e: &&'a (dyn StdError + 'static)| StdError::source(*e))
}
