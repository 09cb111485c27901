//! What the command says on standard output. Whoever reads it may stop before the end, as `head` does: then the command
//! ends quietly, where `println!` would panic.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};

use tailrace_config::shown;

/// A shell's status of a program that wrote into a closed pipe: 128 and SIGPIPE.
const CLOSED_PIPE: i32 = 141;

/// As `println!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::write(format_args!("{}\n", format_args!($($text)*))) };
}
/// As `print!`.
macro_rules! say_part {
    ($($text:tt)*) => { $crate::say::write(format_args!($($text)*)) };
}

/// Writes to standard output; ends the program if that is closed or full. Results are in their files by then. What
/// titles and labels would do to a terminal is shown and not done.
pub fn write(text: Arguments<'_>) {
    let Err(error) = stdout().write_all(shown(&text.to_string(), usize::MAX).as_bytes()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(CLOSED_PIPE);
    }
    eprintln!("error: cannot write to standard output: {error}");
    std::process::exit(1);
}
