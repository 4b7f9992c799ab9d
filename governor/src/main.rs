//! The `governor` command.
fn main() {}
