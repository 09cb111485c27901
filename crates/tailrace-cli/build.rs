//! `cfg(live)`: this build has the live half, which needs Linux.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(live)");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|name| name == "linux");
    if is_linux && std::env::var_os("CARGO_FEATURE_LIVE").is_some() {
        println!("cargo::rustc-cfg=live");
    }
}
