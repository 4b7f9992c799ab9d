//! Loading: each program by itself, so that one that a kernel refuses costs its own hook only.

use super::assist::{Assist, Link};
use super::hooks::{self, DRAIN, SEND, SEND_4, SEND_6, STATE};
use super::machine::{ensure_bpffs, raise_memlock};
use super::maps::{Wire, failed};
use super::object::OBJECT;
use super::offsets::Offsets;
use super::pins::{MAPS, Pins};
use super::report::{Finding, Hook, Report};
use super::{Error, Machine, Mode, Options};
use aya::maps::Array;
use aya::{Btf, Ebpf, EbpfLoader, Endianness};
use governor_common::{Meta, VERSION};

/// Loads what there is. `Err` only if the mode is `required`, and something is missing.
pub(super) fn load(options: &Options) -> Result<(Option<Assist>, Report), Error> {
    let mut report = Report::new(options.mode, Machine::examine());
    if options.mode == Mode::Off {
        return Ok((None, report));
    }
    let assist = match attempt(options, &mut report) {
        Ok(assist) => Some(assist),
        Err(reason) => {
            report.unavailable = Some(reason);
            None
        }
    };
    match (options.mode, report.missing()) {
        // What was loaded goes with `assist`.
        (Mode::Required, Some(reason)) => Err(Error::Required { reason, report: Box::new(report) }),
        _ => Ok((assist, report)),
    }
}

/// Loads what there is; `Err`: why there is nothing, one line.
fn attempt(options: &Options, report: &mut Report) -> Result<Assist, String> {
    let object = OBJECT.ok_or("it was built without kernel programs: run `cargo xtask build`")?;
    if let Some(reason) = report.machine.lacks_privilege() {
        return Err(reason);
    }
    if report.machine.version < (5, 8) {
        return Err("kernels before 5.8 have no ring buffers".to_owned());
    }
    raise_memlock(report.machine.version).map_err(|e| format!("the limit on locked memory cannot be raised: {e}"))?;
    // Claimed before anything is loaded: that also tells whether another agent is at work.
    let pins = claim(options, report)?;
    let btf = kernel_btf(options, report)?;
    let offsets = Offsets::find(options.btf_file.as_deref())
        .map_err(|e| format!("the kernel's BTF cannot be read: {}", hooks::sentence(&e)))?;
    let ebpf = make_maps(options, object, &btf, &offsets, &report.machine)?;
    let mut loading = Loading { ebpf, btf, offsets, pins, without: &options.without, links: Vec::new() };
    // Pinned before the programs run: whoever sees a program's effects finds its maps.
    loading.pin_maps()?;
    loading.write_meta().map_err(|e| hooks::sentence(&e))?;
    loading.attach_all(report);
    if loading.links.is_empty() {
        return Err(format!("no program could be attached: {}", reasons(report)));
    }
    Assist::assemble(loading.ebpf, loading.pins, loading.links).map_err(|e| hooks::sentence(&e))
}

/// The directory of pins. Without one the programs work all the same, unseen by `bpftool map dump pinned`.
fn claim(options: &Options, report: &mut Report) -> Result<Option<Pins>, String> {
    let parent = options.pin_root.parent().unwrap_or(&options.pin_root);
    let outcome = ensure_bpffs(parent).map(|()| Pins::claim(&options.pin_root));
    match outcome {
        Ok(Ok(pins)) => {
            report.pins = Some(options.pin_root.clone());
            Ok(Some(pins))
        }
        Ok(Err(error)) if error.in_use() => Err(error.to_string()),
        Ok(Err(error)) => {
            report.notes.push(format!("maps and links are not pinned: {}", hooks::sentence(&error)));
            Ok(None)
        }
        Err(reason) => {
            report.notes.push(format!("maps and links are not pinned: {reason}"));
            Ok(None)
        }
    }
}

/// The BTF that tells the programs' hooks.
fn kernel_btf(options: &Options, report: &Report) -> Result<Btf, String> {
    let btf = match &options.btf_file {
        Some(path) => Btf::parse_file(path, Endianness::default()),
        None if !report.machine.btf => {
            return Err("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which the tracing hooks need; give it with \
                        --btf-file"
                .to_owned());
        }
        None => Btf::from_sys_fs(),
    };
    btf.map_err(|e| format!("the kernel's BTF cannot be read: {}", hooks::sentence(&e)))
}

/// Makes the maps and readies the programs, none of them loaded yet.
fn make_maps(
    options: &Options,
    object: &[u8],
    btf: &Btf,
    offsets: &Offsets,
    machine: &Machine,
) -> Result<Ebpf, String> {
    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf));
    for (global, offset) in offsets.found() {
        loader.override_global(global, offset, true);
    }
    let log_level = super::events::log_level();
    loader.override_global(aya_log::LEVEL, &log_level, true);
    loader.map_max_entries("connections", options.max_connections);
    loader.map_max_entries("levels", options.max_connections);
    loader.map_max_entries("events", options.ring_bytes);
    loader.load(object).map_err(|e| match hooks::errno(&e) {
        Some(libc::EPERM) => format!("the kernel refuses to make maps (EPERM): {}", machine.explain_eperm()),
        _ => format!("the maps cannot be made: {}", hooks::sentence(&e)),
    })
}

/// Why each missing hook is missing.
fn reasons(report: &Report) -> String {
    let each = report.hooks.iter().filter_map(|(hook, finding)| match finding {
        Finding::Missing { reason, .. } => Some(format!("{}: {reason}", hook.name)),
        _ => None,
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Between the maps' making and the programs' running. Dropped half-way it leaves nothing.
struct Loading<'a> {
    ebpf: Ebpf,
    btf: Btf,
    offsets: Offsets,
    pins: Option<Pins>,
    without: &'a [String],
    links: Vec<Link>,
}

impl Loading<'_> {
    fn pin_maps(&mut self) -> Result<(), String> {
        let Some(pins) = &self.pins else { return Ok(()) };
        for name in MAPS {
            let map = self.ebpf.map(name).ok_or_else(|| format!("the object has no map {name}"))?;
            map.pin(pins.map(name)).map_err(|e| format!("map {name} cannot be pinned: {}", hooks::sentence(&e)))?;
        }
        Ok(())
    }

    fn write_meta(&mut self) -> Result<(), Error> {
        let entry = Meta { version: VERSION, pid: std::process::id() };
        let Some(map) = self.ebpf.map_mut("meta") else { return Ok(()) };
        let mut meta = Array::<_, Wire<Meta>>::try_from(map).map_err(failed("meta", "open"))?;
        meta.set(0, Wire(entry), 0).map_err(failed("meta", "update"))
    }

    fn attach_all(&mut self, report: &mut Report) {
        self.attach(STATE, report);
        if self.attach(SEND, report) {
            for hook in [SEND_4, SEND_6] {
                report.hooks.push((hook, Finding::NotNeeded { because: SEND.name }));
            }
        } else {
            let both = self.attach(SEND_4, report) & self.attach(SEND_6, report);
            let send = report.hooks.iter_mut().find(|(hook, _)| *hook == SEND);
            if let (true, Some((_, finding))) = (both, send) {
                *finding = Finding::NotNeeded { because: SEND_4.name };
            }
        }
        self.attach(DRAIN, report);
    }

    /// Attaches one, and enters what came of it.
    fn attach(&mut self, hook: Hook, report: &mut Report) -> bool {
        let finding = match self.try_attach(&hook, &report.machine) {
            Ok(link) => {
                self.links.push(link);
                Finding::Attached
            }
            Err(finding) => {
                if let Finding::Missing { reason, verifier_log } = &finding {
                    tracing::debug!(
                        hook = hook.name,
                        reason,
                        "kernel program not attached; the verifier says:\n{verifier_log}"
                    );
                }
                finding
            }
        };
        let attached = finding == Finding::Attached;
        report.hooks.push((hook, finding));
        attached
    }

    fn try_attach(&mut self, hook: &Hook, machine: &Machine) -> Result<Link, Finding> {
        if self.without.iter().any(|name| name == hook.name) {
            return Err(hooks::missing("left out, as configured"));
        }
        if let Some(field) = self.offsets.missing(hooks::globals(hook)) {
            return Err(hooks::missing(format!("the kernel's BTF has no field {field}")));
        }
        let link = hooks::attach(&mut self.ebpf, &self.btf, hook).map_err(|e| hooks::explain(&e, machine))?;
        let Some(pins) = &self.pins else { return Ok(Link::Loose(link)) };
        let pinned = link.pin(pins.link(hook.name));
        pinned
            .map(Link::Pinned)
            .map_err(|e| hooks::missing(format!("its link cannot be pinned: {}", hooks::sentence(&e))))
    }
}
