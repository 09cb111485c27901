//! Gives the crate the identity of the sources that decide what a live run leaves, as `TAILRACE_LIVE_BUILD`.

fn main() {
    tailrace_identity::emit(
        "TAILRACE_LIVE_BUILD",
        &["tailrace-agent", "tailrace-bpf", "tailrace-linux", "tailrace-live"],
    );
}
