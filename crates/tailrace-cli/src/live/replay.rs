//! `tailrace replay`.

use tailrace_console::say;
use tailrace_experiment::Error;

use crate::args;

pub fn replay(options: &args::Replay) -> Result<i32, Error> {
    let replayed = tailrace_live::replay(&options.file)?;
    say!(
        "{} packets entered; {} left and {} were dropped as recorded, byte for byte",
        replayed.entered,
        replayed.left,
        replayed.dropped
    );
    if replayed.cut_short {
        say!(
            "The record ends without saying so: what writes it was stopped, or still runs. What it has was compared."
        );
    }
    match replayed.difference {
        None => Ok(0),
        Some(difference) => {
            say!("Then they differ.\n{difference}");
            Ok(1)
        }
    }
}
