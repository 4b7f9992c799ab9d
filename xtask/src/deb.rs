//! `deb`: the Debian package.

use crate::{build, host};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Builds both halves and packs them with their unit, configuration and documents; gives the package's path.
pub fn deb() -> Result<PathBuf> {
    build::build(true)?;
    if host::find_program("cargo-deb").is_none() {
        println!("installing cargo-deb");
        host::check(host::cargo().args(["install", "cargo-deb", "--locked"]))?;
    }
    let folder = host::workspace().join("target/debian");
    let mut pack = host::cargo();
    pack.args(["deb", "--package", "governor", "--no-build", "--output"]).arg(&folder);
    host::check_quietly(&mut pack)?;
    let made = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let debs = made.flatten().filter(|file| file.path().extension().is_some_and(|ending| ending == "deb"));
    let newest = debs.max_by_key(|file| file.metadata().and_then(|m| m.modified()).ok());
    Ok(newest.context("cargo deb made no package")?.path())
}
