//! `build`: both halves.

use crate::{bpf, host};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Builds the kernel programs, then the program that embeds them; gives the path of `governor`.
pub fn build(release: bool) -> Result<PathBuf> {
    bpf::build()?;
    let mut cargo = host::cargo();
    cargo.args(["build", "--package", "governor", "--bin", "governor"]);
    if release {
        cargo.arg("--release");
    }
    let made = executables(&mut cargo)?;
    let program = made.into_iter().find(|made| made.target == "governor");
    Ok(program.context("cargo built no `governor`")?.path)
}

/// An executable that cargo made.
pub struct Executable {
    /// The package's name.
    pub package: String,
    /// The target's name: of the library, the binary or the file of tests.
    pub target: String,
    /// The folder of the package.
    pub folder: PathBuf,
    /// Where it is.
    pub path: PathBuf,
    /// Is it a file of tests? Cargo names the programs too that tests start.
    pub tests: bool,
}

/// Runs a cargo build and lists the executables in it, built now or before.
pub fn executables(cargo: &mut Command) -> Result<Vec<Executable>> {
    cargo.arg("--message-format=json-render-diagnostics");
    let out = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", host::shown(cargo)))?;
    if !out.status.success() {
        bail!("{} failed: {}", host::shown(cargo), out.status);
    }
    Ok(String::from_utf8_lossy(&out.stdout).lines().filter_map(executable).collect())
}

fn executable(line: &str) -> Option<Executable> {
    let message: Value = serde_json::from_str(line).ok()?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?.to_path_buf();
    // Forms of an id: `path+file:///folder#0.1.0` where folder and package agree, else `...#package@0.1.0`.
    let id = message["package_id"].as_str()?.rsplit_once('#')?.1;
    let package = match id.split_once('@') {
        Some((package, _)) => package.to_owned(),
        None => folder.file_name()?.to_str()?.to_owned(),
    };
    Some(Executable {
        package,
        target: message["target"]["name"].as_str()?.to_owned(),
        folder,
        path: message["executable"].as_str()?.into(),
        tests: message["profile"]["test"] == true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_read_from_either_form_of_package_id() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///src/governor#0.1.0",
            "manifest_path":"/src/governor/Cargo.toml","target":{"name":"governor"},"executable":"/t/debug/governor"}"#;
        let made = executable(line).expect("an executable");
        assert_eq!((made.package.as_str(), made.path.to_str()), ("governor", Some("/t/debug/governor")));
        let line = line.replace("#0.1.0", "#governor-tests@0.1.0");
        assert_eq!(executable(&line).expect("an executable").package, "governor-tests");
    }

    #[test]
    fn a_program_that_tests_start_is_no_file_of_tests() {
        let line = |test| {
            format!(
                r#"{{"package_id":"path+file:///src/governor#0.1.0","manifest_path":"/src/governor/Cargo.toml",
                "target":{{"name":"governor"}},"profile":{{"test":{test}}},"executable":"/t/debug/governor"}}"#
            )
        };
        assert!(!executable(&line(false)).expect("an executable").tests);
        assert!(executable(&line(true)).expect("an executable").tests);
    }

    #[test]
    fn a_library_is_no_executable() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///src/core#governor-core@0.1.0",
            "manifest_path":"/src/core/Cargo.toml","target":{"name":"governor_core"},"executable":null}"#;
        assert!(executable(line).is_none());
        assert!(executable(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}
