//! Answers those of this machine who ask an agent what it does. Nothing can be changed this way.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tailrace_agent::FlowTable;

use super::status::Status;

/// Who takes longer to ask or to listen is left alone.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest question.
const LONGEST: u64 = 64;

/// Answers one after the other, until the listener is shut down.
pub fn serve(listener: &UnixListener, status: &Mutex<Status>, flows: Option<&FlowTable>) {
    while let Ok((stream, _)) = listener.accept() {
        // Whoever asked may have gone.
        let _ = answer(&stream, status, flows);
    }
}

fn answer(stream: &UnixStream, status: &Mutex<Status>, flows: Option<&FlowTable>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut question)?;
    let status = || status.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = match question.trim().split_once(' ') {
        None if question.trim() == "status" => status().json(),
        Some(("flows", most)) => match (most.parse(), flows) {
            (Ok(most), Some(flows)) => largest(flows, most, &status),
            (Ok(_), None) => {
                json!({ "error": "its scheme has no tags, so it remembers no flows by what they sent" })
            }
            (Err(_), _) => json!({ "error": "flows N" }),
        },
        _ => json!({ "error": "status, or flows N" }),
    };
    let mut stream = stream;
    stream.write_all(format!("{answer}\n").as_bytes())
}

fn largest<'a>(
    flows: &FlowTable,
    most: usize,
    status: &dyn Fn() -> std::sync::MutexGuard<'a, Status>,
) -> Value {
    // The table is read first: whoever tags must not wait for that.
    match flows.largest(most) {
        Ok((count, rows)) => {
            let status = status();
            json!({ "remembered": count, "flows": rows.iter().map(|row| status.flow(row)).collect::<Vec<_>>() })
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}
