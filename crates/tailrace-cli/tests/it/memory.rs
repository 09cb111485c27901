//! Whether pages of 2 MiB are asked for (.cargo/config.toml); whether there are any is the system's affair.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

// Its allocator is this program's, too.
use tailrace_cli as _;

/// The flags of the mapping that an address lies in, as the kernel tells them.
fn flags(address: usize) -> String {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in smaps.lines() {
        if let Some((from, to)) = line.split(' ').next().and_then(|range| range.split_once('-'))
            && let [Ok(from), Ok(to)] = [from, to].map(|end| usize::from_str_radix(end, 16))
        {
            inside = (from..to).contains(&address);
        }
        if let (true, Some(flags)) = (inside, line.strip_prefix("VmFlags:")) {
            return flags.to_owned();
        }
    }
    panic!("nothing is mapped there")
}

#[test]
fn large_pages_are_asked_for() {
    // Of a kernel that knows of none, nothing can be asked.
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let asked = |address: usize| flags(address).split_whitespace().any(|flag| flag == "hg");
    let large = vec![7u8; 64 << 20];
    assert!(asked(large.as_ptr().addr() + (32 << 20)), "for a large block");
    let small: Vec<Vec<u8>> = (0..100_000).map(|_| vec![7u8; 700]).collect();
    assert!(asked(small[50_000].as_ptr().addr()), "for small ones");
    assert!(!asked(flags as *const () as usize), "for code, of all things");
}
