//! Lines that commands and daemons print. A reader of standard output may stop before the end, as `head` does: then the command
//! ends quietly, where `println!` would panic. Without a reader of standard error it goes on.
//!
//! Titles, labels and messages hold text of users: control characters in it are escaped.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write, stderr, stdout};

use tailrace_config::shown;

/// A shell's status of a program that wrote into a closed pipe: 128 and SIGPIPE.
pub const CLOSED_PIPE: i32 = 141;

/// As `println!`.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::write(format_args!("{}\n", format_args!($($text)*))) };
}
/// As `print!`.
#[macro_export]
macro_rules! say_part {
    ($($text:tt)*) => { $crate::write(format_args!($($text)*)) };
}
/// As `eprintln!`.
#[macro_export]
macro_rules! complain {
    ($($text:tt)*) => { $crate::write_aside(format_args!("{}\n", format_args!($($text)*))) };
}
/// As `eprint!`.
#[macro_export]
macro_rules! complain_part {
    ($($text:tt)*) => { $crate::write_aside(format_args!($($text)*)) };
}

/// Writes to standard output; ends the program if that is closed or full. Results are in their files by then.
pub fn write(text: Arguments<'_>) {
    let Err(error) = try_write(text) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(CLOSED_PIPE);
    }
    complain!("error: cannot write to standard output: {error}");
    std::process::exit(1);
}

/// Writes to standard output, for those who have something to do first if that is closed.
pub fn try_write(text: Arguments<'_>) -> io::Result<()> {
    stdout().write_all(shown(&text.to_string(), usize::MAX).as_bytes())
}

/// Writes to standard error, if that can be written.
pub fn write_aside(text: Arguments<'_>) {
    let _ = stderr().write_all(shown(&text.to_string(), usize::MAX).as_bytes());
}
