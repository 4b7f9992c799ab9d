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
pub(super) const SEND_4: Hook = Hook {
    name: "inet_sendmsg",
    offers: "the outcome of sends over IPv4 and SCTP, and the send buffer's pressure",
    ..SEND
};
/// The same where the tracepoint is absent.
pub(super) const SEND_6: Hook = Hook {
    name: "inet6_sendmsg",
    offers: "the outcome of TCP sends over IPv6, and the send buffer's pressure",
    ..SEND
};
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
    let (step, verifier_log) = match error {
        ProgramError::LoadError { verifier_log, .. } => ("load", verifier_log.to_string()),
        _ => ("attach", String::new()),
    };
    let reason = match (errno(error), error) {
        (Some(libc::EPERM), _) => format!("the kernel refuses to {step} it (EPERM): {}", machine.explain_eperm()),
        (_, ProgramError::LoadError { io_error, .. }) => {
            format!("the kernel refuses to load it ({io_error}): {}", verdict(&verifier_log))
        }
        _ => sentence(error),
    };
    Finding::Missing { reason, verifier_log }
}

/// The line of a verifier's log that tells most: the last one that is not statistics.
fn verdict(log: &str) -> &str {
    let statistics = ["processed ", "verification time", "stack depth", "peak_states"];
    let line = log.lines().rev().find(|line| !line.is_empty() && !statistics.iter().any(|s| line.starts_with(s)));
    line.unwrap_or("it does not say why").trim()
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

#[cfg(test)]
mod tests {
    use super::{sentence, verdict};
    use std::io;

    #[test]
    fn the_verdict_is_above_the_statistics() {
        let log = "0: R1=ctx()\nR2 invalid mem access 'scalar'\nprocessed 7 insns (limit 1000000)\n\n";
        assert_eq!(verdict(log), "R2 invalid mem access 'scalar'");
        assert_eq!(verdict(""), "it does not say why");
    }

    #[test]
    fn a_cause_is_said_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot do it")]
        struct Plain(#[source] io::Error);
        #[derive(Debug, thiserror::Error)]
        #[error("cannot do it: {0}")]
        struct Repeating(#[source] io::Error);
        let cause = || io::Error::from_raw_os_error(libc::EINVAL);
        assert_eq!(sentence(&Plain(cause())), sentence(&Repeating(cause())));
    }
}
