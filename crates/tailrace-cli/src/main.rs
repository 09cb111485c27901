//! The command, without plots: those need the Python package.

fn main() {
    std::process::exit(tailrace_cli::main());
}
