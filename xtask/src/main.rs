//! The workshop: setup, build, run, test, bench.
fn main() {}
