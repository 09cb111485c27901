//! Compiles the programs for the kernel, where the feature `programs` asks for them.

#[cfg(not(feature = "programs"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "programs")]
fn main() {
    use std::path::{Path, PathBuf};

    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = ["clang-19", "clang"].into_iter().map(PathBuf::from).find(|name| runs(name));
    let Some(clang) = std::env::var_os("CLANG").map(PathBuf::from).or(clang) else {
        println!(
            "cargo::error=the host agent needs clang to build: apt-get install clang-19 (or build without the feature agent)"
        );
        return;
    };
    let Some(out) = std::env::var_os("OUT_DIR") else { panic!("cargo gives build scripts OUT_DIR") };
    for program in ["measure", "port", "tag", "window", "congestion"] {
        let compiled = libbpf_cargo::SkeletonBuilder::new()
            .source(format!("bpf/{program}.bpf.c"))
            .clang(&clang)
            .clang_args(["-Wall", "-Werror", "-Ibpf", "-mcpu=v3"])
            .obj(Path::new(&out).join(format!("{program}.bpf.o")))
            .build();
        if let Err(error) = compiled {
            println!("cargo::error=bpf/{program}.bpf.c: {}", format!("{error:#}").replace('\n', " | "));
        }
    }
}

#[cfg(feature = "programs")]
fn runs(program: &std::path::Path) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
