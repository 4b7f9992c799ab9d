//! Embeds the kernel programs' object, if `cargo xtask build` has made it. Without it the program builds all the same and
//! says at run time that it has no kernel half.
//!
//! The object is `$GOVERNOR_BPF_OBJECT`, else `bpf/governor.bpf.o` in the target directory.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GOVERNOR_BPF_OBJECT");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_DIR");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let object = if let Some(path) = env::var_os("GOVERNOR_BPF_OBJECT") {
        let path = PathBuf::from(path);
        println!("cargo::rerun-if-changed={}", path.display());
        path
    } else {
        // The directory is watched, not the file: a file that is not there would make every build a new one.
        let directory = target_directory().join("bpf");
        fs::create_dir_all(&directory)?;
        println!("cargo::rerun-if-changed={}", directory.display());
        directory.join("governor.bpf.o")
    };
    let code = if object.is_file() {
        fs::copy(&object, out.join("governor.bpf.o"))?;
        "Some(aya::include_bytes_aligned!(concat!(env!(\"OUT_DIR\"), \"/governor.bpf.o\")))"
    } else {
        "None"
    };
    fs::write(out.join("object.rs"), code)
}

/// Where `cargo xtask build` leaves the object.
fn target_directory() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let workspace = manifest.parent().map(Path::to_path_buf).unwrap_or_default();
    match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => workspace.join(directory),
        None => workspace.join("target"),
    }
}
