//! Answers those of this machine who ask an agent what it does. Nothing can be changed this way.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tailrace_bpf::BpfError;

use super::status::Status;
use super::types::Flows;

/// Who takes longer to ask or to listen is left alone.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest question.
const LONGEST: u64 = 64;

/// Answers one after the other, until the listener is shut down.
pub fn serve(listener: &UnixListener, status: &Mutex<Status>, flows: Option<&Flows>) {
    while let Ok((stream, _)) = listener.accept() {
        // Whoever asked may have gone.
        let _ = answer(&stream, status, flows);
    }
}

fn answer(stream: &UnixStream, status: &Mutex<Status>, flows: Option<&Flows>) -> io::Result<()> {
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
                json!({ "error": "its scheme has neither tags nor windows, so it remembers no flows" })
            }
            (Err(_), _) => json!({ "error": "flows N" }),
        },
        _ => json!({ "error": "status, or flows N" }),
    };
    let mut stream = stream;
    stream.write_all(format!("{answer}\n").as_bytes())
}

fn largest<'a>(flows: &Flows, most: usize, status: &dyn Fn() -> std::sync::MutexGuard<'a, Status>) -> Value {
    // The table is read first: whoever tags must not wait for that.
    let found = match flows {
        Flows::Tagged(table) => table.largest(most).map(|(count, rows)| {
            let status = status();
            (count, rows.iter().map(|row| status.flow(row)).collect())
        }),
        Flows::WithWindows(table) => table.largest(most).map(|(count, rows)| {
            let status = status();
            (count, rows.iter().map(|row| status.window(row)).collect())
        }),
    };
    told(found)
}

fn told(found: Result<(u64, Vec<Value>), BpfError>) -> Value {
    match found {
        Ok((count, rows)) => json!({ "remembered": count, "flows": rows }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}
