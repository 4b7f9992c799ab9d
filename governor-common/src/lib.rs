//! Records and keys that the kernel programs and the agent share.
#![no_std]
#![forbid(unsafe_code)]
