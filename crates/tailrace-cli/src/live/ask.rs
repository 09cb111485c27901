//! `tailrace agent status | flows | top`: what agents of this network namespace say of themselves.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};
use tailrace_agent::daemon::{claim, monotonic};
use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_console::{say, say_part};
use tailrace_core::{Bytes, LiveError, Rate, duration};
use tailrace_experiment::Error;

use crate::Host;
use crate::args::{Ask, AskFlows, AskStatus, AskTop};
use crate::watch::Screen;
use crate::watch::text::{Line, Tone};

/// An agent answers at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of so many flows, those that have sent most, `top` takes the difference.
const WATCHED: u32 = 2_000;
/// Rows of `top` where there is no terminal.
const ROWS: usize = 20;
const EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

pub fn ask(ask: &Ask, host: &dyn Host) -> Result<i32, Error> {
    match ask {
        Ask::Status(options) => status(options),
        Ask::Flows(options) => flows(options),
        Ask::Top(options) => top(options, host),
        Ask::Detach(options) => tailrace_agent::daemon::detach(&options.file).map_err(super::error::of_agent),
    }
}

fn failed(message: String) -> Error {
    Error::Live(LiveError::SetUp(message))
}

/// The agents that are asked, by their interfaces.
fn agents(interface: Option<&str>) -> Result<Vec<String>, Error> {
    let all = claim::interfaces();
    match interface {
        None if all.is_empty() => {
            Err(failed("no agent runs in this network namespace: tailrace agent FILE starts one".to_owned()))
        }
        None => Ok(all),
        Some(name) if all.iter().any(|other| other == name) => Ok(vec![name.to_owned()]),
        Some(name) if all.is_empty() => {
            Err(failed(format!("no agent runs at interface {name}, nor at any other one here")))
        }
        Some(name) => {
            let message = unknown("interface with an agent", name, all.iter().map(String::as_str));
            Err(ScenarioError::new("--interface", message).into())
        }
    }
}

/// The only one.
fn one(interface: Option<&str>) -> Result<String, Error> {
    let mut all = agents(interface)?;
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        (last, _) => {
            all.extend(last);
            let message = format!("is needed, for there are several agents: at {}", all.join(", "));
            Err(ScenarioError::new("--interface", message).into())
        }
    }
}

fn answer(interface: &str, question: &str) -> Result<Value, Error> {
    let ask = || {
        let mut stream = claim::reach(interface)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{question}\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    };
    let wrong = |what: String| failed(format!("asking the agent of {interface}: {what}"));
    let text = ask().map_err(|error| wrong(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match value["error"].as_str() {
        Some(error) => Err(wrong(error.to_owned())),
        None => Ok(value),
    }
}

fn status(options: &AskStatus) -> Result<i32, Error> {
    let agents = agents(options.interface.as_deref())?;
    let all = agents.iter().map(|name| answer(name, "status")).collect::<Result<Vec<_>, _>>()?;
    if options.json {
        say!("{:#}", json!(all));
    } else {
        all.iter().for_each(|one| say_part!("{}", status_text(one)));
    }
    Ok(0)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn status_text(of: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = format!(
        "{} · {} · process {} of user {} · for {}\n",
        text(&of["interface"]),
        text(&of["scheme"]),
        number(&of["process"]),
        text(&of["user"]),
        duration(of["seconds"].as_f64().unwrap_or(0.0)),
    );
    lines += &packets_text(of);
    if let Some(law) = of["congestion_control"].as_str() {
        lines += &format!("  law          {law}, of {} connections\n", number(&of["connections_with_it"]));
    }
    lines += &fleet_text(&of["fleet"]);
    let [told, refused] = ["programs_told", "programs_refused"].map(|field| number(&of[field]));
    if told + refused > 0 {
        lines += &format!("  programs     told of {told} flows, and were refused {refused} times\n");
    }
    lines += &connections_text(&of["connections"]);
    if let Some(weights) = of["flows_with_weights"].as_u64() {
        lines += &format!("  weights      {weights} flows have one of the fabric's controller\n");
    }
    let lost = number(&of["connections"]["lost"]);
    if lost > 0 {
        lines += &format!("  LOST         {lost} times the kernel had no room to tell of a connection\n");
    }
    for queue in of["queues"].as_array().into_iter().flatten() {
        let to = queue["to_below_bytes"].as_u64();
        let to = to.map_or("or more".to_owned(), |to| format!("to below {}", Bytes::new(to)));
        let (name, dscp) = (number(&queue["queue"]), number(&queue["dscp"]));
        let from = Bytes::new(number(&queue["from_bytes"]));
        lines += &format!("  queue {name}      DSCP {dscp}: {from} {to}\n");
    }
    lines
        + &format!(
            "  since then   {} tables changed, {} files read again, {} with mistakes\n",
            number(&of["tables_changed"]),
            number(&of["files_read_again"]),
            number(&of["files_with_mistakes"]),
        )
}

fn packets_text(of: &Value) -> String {
    let packets = of["packets_tagged"].is_u64();
    match of["connections_with_windows"].as_u64() {
        None if !packets => String::new(),
        None => format!(
            "  packets      {} tagged, {} left as they came\n  flows        {} begun; {} packets of flows without room; {} of memory\n",
            number(&of["packets_tagged"]),
            number(&of["packets_left_as_they_came"]),
            number(&of["flows"]),
            number(&of["packets_without_room"]),
            Bytes::new(number(&of["memory_bytes"])),
        ),
        Some(windows) => format!(
            "  windows      of {windows} connections; {} acknowledgements with a smaller one; {} marked; {} of memory\n",
            number(&of["acknowledgements_with_smaller_windows"]),
            Bytes::new(number(&of["bytes_marked"])),
            Bytes::new(number(&of["memory_bytes"])),
        ),
    }
}

fn connections_text(connections: &Value) -> String {
    let mut lines = format!(
        "  connections  {} ended, {} sent, {} received\n",
        number(&connections["ended"]),
        Bytes::new(number(&connections["bytes_sent"])),
        Bytes::new(number(&connections["bytes_received"])),
    );
    let size = |name: &str| connections["flow_size_bytes"][name].as_f64();
    if let (Some(median), Some(p99), Some(most)) = (size("0.5"), size("0.99"), size("1")) {
        let [median, p99, most] = [median, p99, most].map(|size| Bytes::new(size as u64));
        lines += &format!("  flow sizes   median {median}, p99 {p99}, largest {most}\n");
    }
    lines
}

/// Nothing, if it is in none.
fn fleet_text(of: &Value) -> String {
    let Some(connected) = of["connected"].as_bool() else { return String::new() };
    let seconds = |field: &str| of[field].as_f64().map(duration);
    let mut line = match connected {
        true => "  fleet        connected".to_owned(),
        false => format!(
            "  fleet        LOST for {}: {}",
            seconds("lost_seconds").unwrap_or_default(),
            of["lost_because"].as_str().unwrap_or_default()
        ),
    };
    line += &match seconds("values_age_seconds") {
        None => "; no values yet".to_owned(),
        Some(age) => format!("; values of {age} ago"),
    };
    line += &format!("; {} reports told, {} not", of["reports_told"], of["reports_not_told"]);
    if let Some(scheme) = of["other_scheme"].as_str() {
        line += &format!("; NOT HEEDED, for its scheme is {scheme}");
    }
    line + "\n"
}

fn flows(options: &AskFlows) -> Result<i32, Error> {
    let interface = one(options.interface.as_deref())?;
    let found = answer(&interface, &format!("flows {}", options.most))?;
    if options.json {
        say!("{found:#}");
        return Ok(0);
    }
    let rows = found["flows"].as_array().cloned().unwrap_or_default();
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    let windows = rows.first().is_some_and(has_window);
    table.set_header(match windows {
        true => ["from", "to", "acknowledged", "window", "weight"],
        false => ["from", "to", "sent", "queue", "DSCP"],
    });
    for row in &rows {
        let bytes = |field: &str| Bytes::new(row[field].as_u64().unwrap_or(0)).to_string();
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let own = match windows {
            true => [bytes(ACKNOWLEDGED), bytes("window_bytes"), weight(row)],
            false => [bytes("bytes_sent"), row["queue"].to_string(), row["dscp"].to_string()],
        };
        table.add_row([text("source"), text("destination")].into_iter().chain(own));
    }
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    say!("{table}\n{} of {} that are remembered", rows.len(), found["remembered"]);
    Ok(0)
}

/// A flow of which a window is kept has other fields.
fn has_window(row: &Value) -> bool {
    !row["window_bytes"].is_null()
}

/// Of those the count that the kernel has, which begins anew at 2^32.
const ACKNOWLEDGED: &str = "bytes_acknowledged_modulo_2_32";

fn weight(row: &Value) -> String {
    format!("{:.3}", row["weight"].as_f64().unwrap_or(0.0))
}

/// What flows had sent when somebody looked.
#[derive(Default)]
struct Look {
    at: u64,
    sent: BTreeMap<(String, String), u64>,
}

fn top(options: &AskTop, host: &dyn Host) -> Result<i32, Error> {
    let interface = one(options.interface.as_deref())?;
    let (begun, mut before) = (monotonic(), Look::default());
    // Without a terminal the tables follow one another.
    let screen = Screen::take().unwrap_or(None);
    loop {
        let found = answer(&interface, &format!("flows {WATCHED}"))?;
        let now = Look { at: monotonic(), sent: sent(&found) };
        if before.at > 0 {
            let lines = fastest(&interface, &found, &before, &now);
            match &screen {
                Some(screen) => {
                    let shown = screen.show(|_, rows| lines.into_iter().take(rows).collect());
                    if shown.is_err() {
                        return Ok(tailrace_console::CLOSED_PIPE);
                    }
                }
                None => lines.iter().take(ROWS + 2).for_each(|(_, line)| say!("{line}")),
            }
        }
        before = now;
        let next = before.at + EVERY.as_nanos() as u64;
        while monotonic() < next {
            if host.interrupted() {
                return Ok(INTERRUPTED);
            }
            let over =
                options.lasts.is_some_and(|lasts| (monotonic() - begun) as f64 / 1e9 >= lasts.as_secs_f64());
            if over || screen.as_ref().is_some_and(|screen| screen.asked_to_end().unwrap_or(true)) {
                return Ok(0);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

fn sent(found: &Value) -> BTreeMap<(String, String), u64> {
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = found["flows"].as_array().into_iter().flatten();
    let pair = |row: &Value| {
        let sent = if has_window(row) { &row[ACKNOWLEDGED] } else { &row["bytes_sent"] };
        ((name(&row["source"]), name(&row["destination"])), sent.as_u64().unwrap_or(0))
    };
    rows.map(pair).collect()
}

/// Flows from the fastest on, in lines.
fn fastest(interface: &str, found: &Value, before: &Look, now: &Look) -> Vec<Line> {
    let seconds = (now.at - before.at) as f64 / 1e9;
    let windows = found["flows"].get(0).is_some_and(has_window);
    let bits = |(ends, sent): (&(String, String), &u64)| {
        let last = before.sent.get(ends).copied().unwrap_or(0);
        let more = if windows {
            u64::from((*sent as u32).wrapping_sub(last as u32))
        } else {
            sent.saturating_sub(last)
        };
        (more as f64 * 8.0 / seconds, ends.clone(), *sent)
    };
    let mut rows: Vec<(f64, (String, String), u64)> =
        now.sent.iter().map(bits).filter(|row| row.0 > 0.0).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = rows.iter().map(|row| row.0).sum();
    let queue_of = |ends: &(String, String)| {
        let mut found = found["flows"].as_array().into_iter().flatten();
        let row = found.find(|row| row["source"] == ends.0.as_str() && row["destination"] == ends.1.as_str());
        row.map_or_else(String::new, |row| if windows { weight(row) } else { row["queue"].to_string() })
    };
    let rate = |bits: f64| Rate::from_bps(bits as u64).to_string();
    let title = format!(
        "{interface} · {} flows, {} remembered · {} · q ends it",
        rows.len(),
        found["remembered"],
        rate(all)
    );
    let [sent, last] = if windows { ["acknowledged", "weight"] } else { ["sent", "queue"] };
    let heads = format!("{:<28} {:<28} {:>14} {:>12} {last:>6}", "from", "to", "rate", sent);
    let row = |(bits, ends, sent): &(f64, (String, String), u64)| {
        let (from, to) = ends;
        let (rate, sent, queue) = (rate(*bits), Bytes::new(*sent).to_string(), queue_of(ends));
        (Tone::Plain, format!("{from:<28} {to:<28} {rate:>14} {sent:>12} {queue:>6}"))
    };
    // No terminal has more rows, and each looks through all flows.
    let rows = rows.iter().take(200).map(row);
    [(Tone::Title, title), (Tone::Heads, heads)].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_come_first_and_silent_ones_not_at_all() {
        let row = |port: u64, sent: u64| json!({ "source": format!("10.0.0.1:{port}"), "destination": "10.0.0.2:80", "bytes_sent": sent, "queue": 2 });
        let first = json!({ "remembered": 3, "flows": [row(1, 5_000), row(2, 100), row(3, 700)] });
        let second =
            json!({ "remembered": 4, "flows": [row(2, 1_000_100), row(1, 5_500), row(3, 700), row(4, 10)] });
        let before = Look { at: 1_000_000_000, sent: sent(&first) };
        let now = Look { at: 3_000_000_000, sent: sent(&second) };
        let lines: Vec<String> =
            fastest("eth0", &second, &before, &now).into_iter().map(|(_, line)| line).collect();
        assert!(lines[0].starts_with("eth0 · 3 flows, 4 remembered · "), "{lines:?}");
        let ports: Vec<&str> = lines[2..].iter().map(|line| &line[..10]).collect();
        assert_eq!(ports, ["10.0.0.1:2", "10.0.0.1:1", "10.0.0.1:4"]);
        // A million bytes in two seconds.
        assert!(lines[2].contains("4Mbps") && lines[2].ends_with("     2"), "{lines:?}");
    }
}
