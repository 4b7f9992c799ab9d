//! The BPF tool-chain: a compiler whose standard-library source lies beside it, and bpf-linker. Either rustup's nightly
//! with `rust-src` or Debian's rustc will do.

use super::{Report, apt};
use crate::bpf::{self, Toolchain};
use crate::host;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The bpf-linker line, and the LLVM versions that it links with.
const LINKER: &str = "^0.13";
const LLVM: [u32; 3] = [21, 22, 23];
/// The compilers that Debian releases have: with the source of the standard library, and a cargo.
const DEBIAN: [[&str; 3]; 2] = [["rustc-web", "rust-web-src", "cargo-web"], ["rustc", "rust-src", "cargo"]];

/// Installs what is missing of the tool-chain.
pub fn ensure(report: &mut Report) -> Result<()> {
    let compiler = match bpf::find_toolchain() {
        Ok(compiler) => compiler,
        Err(_) => install_compiler(report)?,
    };
    report.found(&format!("a compiler for the kernel half: {}", compiler.name));
    if let Some(version) = linker() {
        report.found(&format!("{} ({})", version.0, version.1));
        return Ok(());
    }
    install_linker(&compiler, report)
}

fn install_compiler(report: &mut Report) -> Result<Toolchain> {
    apt::update(report)?;
    let mut reasons = Vec::new();
    for packages in DEBIAN {
        let recent = apt::candidate(packages[0]).as_deref().and_then(major_minor).is_some_and(|v| v >= bpf::OLDEST);
        if !recent || apt::candidate(packages[1]).is_none() {
            reasons.push(format!("no {} of at least {}.{} in this Debian", packages[0], bpf::OLDEST.0, bpf::OLDEST.1));
            continue;
        }
        match apt::install(&packages, report) {
            Ok(()) => return bpf::find_toolchain(),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    if host::find_program("rustup").is_some() {
        report.doing("rustup toolchain install nightly --component rust-src");
        let mut rustup = Command::new("rustup");
        host::scrub(&mut rustup).args(["toolchain", "install", "nightly", "--profile", "minimal"]);
        match host::check(rustup.args(["--component", "rust-src"])) {
            Ok(()) => return bpf::find_toolchain(),
            Err(error) => reasons.push(format!("{error:#}")),
        }
    }
    bail!("no compiler for the kernel half can be had here:\n  {}", reasons.join("\n  "))
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '+', '-', '~']).map_while(|n| n.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// bpf-linker's version and place, if it runs: one whose LLVM library has gone does not.
fn linker() -> Option<(String, String)> {
    let path = host::find_program("bpf-linker")?;
    let version = host::output(Command::new(&path).arg("--version"))?;
    Some((version.trim().to_owned(), path.display().to_string()))
}

fn install_linker(compiler: &Toolchain, report: &mut Report) -> Result<()> {
    // A linker reads what its own or an older LLVM has written: the version nearest to the compiler's comes first.
    let fitting = LLVM.into_iter().filter(|version| *version >= compiler.llvm);
    let package = |version: u32| format!("llvm-{version}-dev");
    // The development files, not the run-time library alone.
    let there = |version: &u32| Path::new(&format!("/usr/lib/llvm-{version}/include/llvm-c/Core.h")).is_file();
    let version = if let Some(version) = fitting.clone().find(there) {
        version
    } else {
        apt::update(report)?;
        let Some(version) = fitting.clone().find(|version| apt::candidate(&package(*version)).is_some()) else {
            let wanted: Vec<String> = fitting.map(package).collect();
            bail!("bpf-linker needs one of {}, and this Debian has none", wanted.join(", "));
        };
        apt::install(&[&package(version)], report)?;
        version
    };
    report.doing(&format!("cargo install bpf-linker {LINKER} with LLVM {version} (some minutes)"));
    let mut cargo = Command::new("cargo");
    host::scrub(&mut cargo).env("LLVM_PREFIX", format!("/usr/lib/llvm-{version}")).args([
        "install",
        "bpf-linker",
        "--version",
        LINKER,
        "--locked",
        "--force",
        "--no-default-features",
        "--features",
        &format!("llvm-{version}"),
    ]);
    host::check(&mut cargo)?;
    linker().map(drop).context("bpf-linker is installed and does not run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debian_version_gives_its_first_two_numbers() {
        assert_eq!(major_minor("1.96.0+dfsg1-1~deb12u2"), Some((1, 96)));
        assert_eq!(major_minor("1.63.0-2"), Some((1, 63)));
        assert_eq!(major_minor("unknown"), None);
    }
}
