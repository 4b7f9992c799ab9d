//! The kernel programs.
