//! Whole-program tests against real peers: the harness.
