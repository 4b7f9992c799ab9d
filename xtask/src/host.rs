//! The machine the workshop runs on: root or not, and clean environments for the commands it starts.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's root.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Is this process root?
pub fn is_root() -> bool {
    // The owner of a process's own folder in /proc is its effective user.
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The first file of that name in `PATH`, in cargo's own folder of programs, or where Debian keeps root's programs.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    std::env::split_paths(&path)
        .chain(cargo_home.map(|home| home.join("bin")))
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// A command that runs `program` as root with `variables` set, through sudo where this process is not root.
pub fn as_root(program: impl AsRef<OsStr>, variables: &[(&str, &OsStr)]) -> Result<Command> {
    if is_root() {
        let mut command = Command::new(program);
        command.envs(variables.iter().copied());
        return Ok(command);
    }
    if find_program("sudo").is_none() {
        bail!("this needs root, and there is no sudo: run `cargo xtask` as root, or install sudo");
    }
    // sudo drops the environment, and may be set up to refuse to keep it: `env` sets what is needed behind it.
    let mut command = Command::new("sudo");
    command.arg("env");
    for (name, value) in variables {
        let mut pair = std::ffi::OsString::from(name);
        pair.push("=");
        pair.push(value);
        command.arg(pair);
    }
    command.arg(program);
    Ok(command)
}

/// The cargo that runs this workshop, without what it set for the workshop alone.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    for (name, _) in std::env::vars_os() {
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if name.to_str().is_some_and(|name| own.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Takes out of a command's environment what would make another compiler than the workshop's own go wrong:
/// `cargo run` and rustup leave behind which cargo, toolchain, flags and libraries are theirs.
pub fn scrub(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let kept = ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_AUTO_INSTALL", "RUST_BACKTRACE", "CARGO_NET_OFFLINE"];
        let leak = ["CARGO", "RUST"].iter().any(|prefix| text.starts_with(prefix)) || text == "LD_LIBRARY_PATH";
        // Where registries are and how they are reached is the user's setting, not the outer cargo's.
        let registry = ["CARGO_REGISTR", "CARGO_HTTP_", "CARGO_NET_", "CARGO_SOURCE_"];
        if leak && !kept.contains(&text) && !registry.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end, its output going where ours goes; an error names the command and its exit status.
pub fn check(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// The same for a command that talks much: what it printed is part of the error, and is not shown otherwise.
pub fn check_quietly(command: &mut Command) -> Result<()> {
    let out = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !out.status.success() {
        let text = [out.stdout, out.stderr].concat();
        bail!("{} failed: {}\n{}", shown(command), out.status, String::from_utf8_lossy(&text));
    }
    Ok(())
}

/// What a command prints on standard output, if it can be run and succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// A command as one would type it, for messages.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!("`{}`", words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" "))
}
