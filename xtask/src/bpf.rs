//! The kernel half: the object that `governor` embeds, built by whichever BPF tool-chain is found.

use crate::host;
use anyhow::{Context, Result, bail};
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest compiler that knows the kernel crate's edition.
pub const OLDEST: (u32, u32) = (1, 85);

/// A compiler that can build `core` for the BPF target: its standard library's source lies beside it.
#[derive(Debug)]
pub struct Toolchain {
    /// Whose and which, for people.
    pub name: String,
    /// The LLVM version whose bitcode it writes: the linker has to read it.
    pub llvm: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `rustup run nightly`
    Nightly,
    /// `/usr/bin/rustc` and `/usr/bin/cargo`
    Debian,
}

/// Finds one: rustup's nightly with `rust-src`, else Debian's.
pub fn find_toolchain() -> Result<Toolchain> {
    let found = [Kind::Nightly, Kind::Debian].into_iter().find_map(Toolchain::of);
    found.context("no compiler for the kernel half: neither rustup's nightly with rust-src nor Debian's rustc with its source; run `cargo xtask setup`")
}

/// Builds the object; gives its path, which is where `governor`'s build script looks. One that comes out the same keeps its
/// time, so that nothing is built anew for it.
pub fn build() -> Result<PathBuf> {
    let toolchain = find_toolchain()?;
    let linker = host::find_program("bpf-linker").context("bpf-linker is missing: run `cargo xtask setup`")?;
    println!("kernel programs: {}, {}", toolchain.name, linker.display());
    let target = target_directory();
    let made_in = target.join("bpf-build");
    let triple = if cfg!(target_endian = "big") { "bpfeb-unknown-none" } else { "bpfel-unknown-none" };
    let mut cargo = toolchain.cargo();
    cargo
        .current_dir(host::workspace())
        .args(["build", "--package", "governor-ebpf", "--profile", "bpf", "--target", triple, "-Z", "build-std=core"])
        // Of its own: another compiler's leavings in the common one would make each build of either a full one.
        .arg("--target-dir")
        .arg(&made_in)
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags())
        .env("PATH", path_with(&linker)?);
    host::check(&mut cargo)?;
    let made = made_in.join(triple).join("bpf").join("governor-ebpf");
    let object = target.join("bpf").join("governor.bpf.o");
    install(&made, &object)?;
    Ok(object)
}

impl Toolchain {
    fn of(kind: Kind) -> Option<Self> {
        let sysroot = host::output(kind.rustc().args(["--print", "sysroot"]))?;
        if !Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core").is_dir() {
            return None;
        }
        let version = host::output(kind.rustc().args(["--version", "--verbose"]))?;
        let (release, llvm) = read_version(&version)?;
        if release < OLDEST {
            return None;
        }
        let whose = match kind {
            Kind::Nightly => "rustup's nightly",
            Kind::Debian if !Path::new("/usr/bin/cargo").is_file() => return None,
            Kind::Debian => "Debian's",
        };
        Some(Self { name: format!("{whose} {}", version.lines().next().unwrap_or_default()), llvm, kind })
    }

    fn cargo(&self) -> Command {
        match self.kind {
            Kind::Nightly => {
                let mut cargo = Command::new("rustup");
                host::scrub(&mut cargo).args(["run", "nightly", "cargo"]);
                cargo
            }
            Kind::Debian => {
                let mut cargo = Command::new("/usr/bin/cargo");
                // The kernel half needs unstable features (`-Z build-std`, inline assembly for this target).
                host::scrub(&mut cargo).env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
                cargo
            }
        }
    }
}

impl Kind {
    fn rustc(self) -> Command {
        let mut rustc = match self {
            Self::Nightly => Command::new("rustup"),
            Self::Debian => Command::new("/usr/bin/rustc"),
        };
        host::scrub(&mut rustc);
        if let Self::Nightly = self {
            rustc.args(["run", "nightly", "rustc"]);
        }
        rustc
    }
}

/// Release and LLVM version in what `rustc -vV` prints.
fn read_version(text: &str) -> Option<((u32, u32), u32)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let mut release = field("release: ")?.split('.').map_while(|n| n.parse().ok());
    let llvm = field("LLVM version: ")?.split('.').next()?.parse().ok()?;
    Some(((release.next()?, release.next()?), llvm))
}

/// Debug information is pinned for the crate and all it is linked from: where only parts have it, some kernels refuse the
/// object's function information.
fn rustflags() -> String {
    [&format!("--cfg=bpf_target_arch=\"{ARCH}\""), "-Cdebuginfo=2", "-Clink-arg=--btf"].join("\x1f")
}

/// `PATH` with the linker's folder in front: rustc looks for it by name.
fn path_with(linker: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = linker.parent().map(Path::to_path_buf).into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).context("PATH holds a folder with a colon")
}

fn target_directory() -> PathBuf {
    let set = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    host::workspace().join(set)
}

/// Puts `made` in place of `object`, unless it is the same.
fn install(made: &Path, object: &Path) -> Result<()> {
    let new = fs::read(made).with_context(|| format!("cargo made no {}", made.display()))?;
    if fs::read(object).is_ok_and(|old| old == new) {
        return Ok(());
    }
    let Some(folder) = object.parent() else { bail!("{} is not a file's name", object.display()) };
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(object, new))
        .with_context(|| format!("cannot write {}", object.display()))
}

#[cfg(test)]
mod tests {
    use super::{install, read_version};
    use std::fs;

    #[test]
    fn release_and_llvm_are_read_from_rustc() {
        let text = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)\nrelease: 1.96.0\nLLVM version: 22.1.8\n";
        assert_eq!(read_version(text), Some(((1, 96), 22)));
        assert_eq!(read_version("release: 1.97.0-nightly\nLLVM version: 22.1.4\n"), Some(((1, 97), 22)));
        assert_eq!(read_version("rustc 1.96.0\n"), None);
    }

    #[test]
    fn an_object_that_comes_out_the_same_keeps_its_time() -> anyhow::Result<()> {
        let folder = std::env::temp_dir().join(format!("governor-xtask-bpf-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let (made, object) = (folder.join("made"), folder.join("bpf").join("object"));
        fs::write(&made, "one")?;
        install(&made, &object)?;
        let first = fs::metadata(&object)?.modified()?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        install(&made, &object)?;
        assert_eq!(fs::metadata(&object)?.modified()?, first);
        fs::write(&made, "two")?;
        install(&made, &object)?;
        assert_eq!(fs::read_to_string(&object)?, "two");
        fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
