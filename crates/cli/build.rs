//! How the program is linked.
//!
//! It is moved to another address whenever it starts, and says for each of its hundred thousand pointers where that lies:
//! one and a half megabytes, or a twentieth of that where the loader reads the packed form. C libraries do from 2.36 on
//! (2022), and a program is run with the library that it was linked with, or a later one.

use std::env;
use std::process::Command;

/// The first C library whose loader reads packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST").is_ok_and(|host| is("TARGET", &host));
    let is_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_native && is_glibc && c_library().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library, as `getconf` says it: "glibc 2.36".
fn c_library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
