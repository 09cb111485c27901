//! The identity of this build.

/// The build that results name: 16 hexadecimal digits that depend on the sources that decide what a run leaves,
/// on the versions of the libraries that they use, and on nothing of the machine or the day. Edits of tests,
/// prose and smoke files do not change it.
pub const BUILD: &str = env!("TAILRACE_BUILD");

/// The number of the model, of `experiments/digests.toml`: it rises where results change. `None` outside a checkout.
pub fn model() -> Option<u32> {
    env!("TAILRACE_MODEL").parse().ok()
}

/// The build that decides what a run leaves. Half of a live run's is that of the live half, whose edits leave simulated runs alone.
pub fn build_of(is_live: bool) -> String {
    match tailrace_run::live().filter(|_| is_live) {
        Some(live) => format!("{}{}", &BUILD[..8], &live.build()[..8]),
        None => BUILD.to_owned(),
    }
}
