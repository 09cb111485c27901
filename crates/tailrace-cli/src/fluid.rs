//! `tailrace fluid`.

use std::path::Path;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::json;
use tailrace_console::{complain, say};
use tailrace_experiment::{Error, FluidFile, FluidPhase, FluidResult};

use crate::output::{path_text, paths_text};
use crate::run::draw;
use crate::{Host, args};

pub fn fluid(options: &args::Fluid, host: &dyn Host) -> Result<i32, Error> {
    let (file, text) = FluidFile::read(&options.file)?;
    let dir = options.out.clone().unwrap_or_else(|| Path::new("out").join(&file.name));
    let result = file.solve(&|| host.interrupted()).map_err(|error| match error {
        Error::Input(error) => error.locate(&text).in_file(&options.file).into(),
        other => other,
    })?;
    file.write(&text, &result, &dir, &mut |note| complain!("{}: {note}", file.name))?;
    let drawn = draw(&dir, host);
    let table = dir.join("fluid.parquet");
    if options.json {
        let document = json!({
            "title": file.title, "phases": result.phases, "table": path_text(&table), "plots": paths_text(&drawn.files),
        });
        say!("{document:#}");
        return Ok(drawn.exit_status());
    }
    if !file.title.is_empty() {
        say!("{}", file.title);
    }
    print(&result);
    say!("table: {}", table.display());
    drawn.list();
    Ok(drawn.exit_status())
}

/// Means of each phase: the flows in a table, the queue in a line below it.
fn print(result: &FluidResult) {
    for phase in &result.phases {
        if result.phases.len() > 1 {
            say!("\nphase from {} to {} s", short(phase.from_s), short(phase.to_s));
        }
        say!("{}", table(phase));
        say!(
            "queue: mean {:.2} packets, longest {:.2}; all measured from {} to {} s",
            phase.mean_queue_packets,
            phase.max_queue_packets,
            short(phase.measured_from_s),
            short(phase.to_s)
        );
    }
}

fn table(phase: &FluidPhase) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["flow", "mean window", "share", "steady state's share"]);
    for flow in &phase.flows {
        table.add_row([
            flow.flow.to_string(),
            format!("{:.2}", flow.mean_window_packets),
            format!("{:.4}", flow.share),
            format!("{:.4}", flow.steady_share),
        ]);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// A time in seconds without what only rounding put there.
fn short(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}
