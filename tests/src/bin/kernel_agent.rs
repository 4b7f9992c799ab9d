//! The kernel half alone, for tests that need an agent to kill or to strip of its privileges:
//! `kernel_agent MODE PIN_ROOT`. Prints the report, then `ready`, and stays until its standard input ends.
//! Exit code 1 with the error when the mode is `required` and something is missing.

use anyhow::{Context, Result};
use governor::kernel::{Assist, Options};
use std::io::Read;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().context("MODE is missing")?.parse()?;
    let pin_root = arguments.next().context("PIN_ROOT is missing")?.into();
    let (_assist, report) = Assist::load_with(&Options { pin_root, ..Options::new(mode) })?;
    println!("{report}\nready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
