//! The program under test.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// The directory that cargo built this program into (`target/debug`, `target/release`).
pub fn target_directory() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let directory = own.parent().context("a file without a directory")?;
    let directory = if directory.ends_with("deps") { directory.parent().unwrap_or(directory) } else { directory };
    Ok(directory.to_owned())
}

/// The governor: `GOVERNOR_BIN`, else the newest of the debug and the release build beside this program.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("GOVERNOR_BIN") {
        return Ok(path.into());
    }
    let directory = target_directory()?;
    let target = directory.parent().context("no target directory")?;
    let built = ["debug", "release"].map(|profile| target.join(profile).join("governor"));
    let newest = built.into_iter().filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
    match newest {
        Some((_, path)) => Ok(path),
        None => bail!("no governor in {}: run `cargo xtask build`", target.display()),
    }
}
