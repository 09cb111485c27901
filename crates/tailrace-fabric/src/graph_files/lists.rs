//! Links in lines: lists of links, with or without a header, and HPCC's topology.txt.

use std::collections::BTreeSet;

use tailrace_config::ScenarioError;

use super::drawn::{Attributes, Drawn, DrawnLink, delay, rate};

/// Not `a,b`, which may be nodes.
const ENDS: [[&str; 2]; 5] =
    [["from", "to"], ["source", "target"], ["src", "dst"], ["node1", "node2"], ["source", "destination"]];

fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError { line: Some(line), ..ScenarioError::new("", message) })
}

/// Lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Cells between commas or semicolons, or else words.
fn cells(line: &str) -> Vec<&str> {
    match [',', ';', '\t'].into_iter().find(|between| line.contains(*between)) {
        Some(between) => line.split(between).map(|cell| cell.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}

/// A line is a link: its ends, and what a header calls the rest, or a rate and a delay by their units.
pub(super) fn links(text: &str) -> Result<Drawn, ScenarioError> {
    let mut lines = lines(text).peekable();
    let header = lines.peek().and_then(|(_, line)| Header::of(&cells(line)));
    if header.is_some() {
        lines.next();
    }
    let mut drawn = Drawn::default();
    for (line, text) in lines {
        let cells = cells(text);
        let (ends, attributes) = match &header {
            Some(header) => header.read(&cells).or_else(|message| wrong(line, message))?,
            None => by_units(&cells).or_else(|message| wrong(line, message))?,
        };
        drawn.links.push(DrawnLink { ends, attributes, line: Some(line) });
    }
    let mut seen = BTreeSet::new();
    for end in drawn.links.iter().flat_map(|link| &link.ends) {
        if seen.insert(end.clone()) {
            drawn.nodes.push((end.clone(), Attributes::new()));
        }
    }
    Ok(drawn)
}

/// Where the ends are among the columns, and what the others are called.
struct Header {
    ends: [usize; 2],
    names: Vec<String>,
}

impl Header {
    fn of(cells: &[&str]) -> Option<Self> {
        let names: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let place = |name: &str| names.iter().position(|other| other.eq_ignore_ascii_case(name));
        let ends = ENDS.iter().find_map(|[from, to]| Some([place(from)?, place(to)?]))?;
        Some(Header { ends, names })
    }

    fn read(&self, cells: &[&str]) -> Result<([String; 2], Attributes), String> {
        if cells.len() != self.names.len() {
            return Err(format!("has {} cells, but the header has {}", cells.len(), self.names.len()));
        }
        let rest = (0..cells.len()).filter(|place| !self.ends.contains(place) && !cells[*place].is_empty());
        let attributes = rest.map(|place| (self.names[place].clone(), cells[place].to_owned())).collect();
        Ok((self.ends.map(|place| cells[place].to_owned()), attributes))
    }
}

fn by_units(cells: &[&str]) -> Result<([String; 2], Attributes), String> {
    let [from, to, rest @ ..] = cells else {
        return Err("is no link: it must name two nodes, as in `leaf0 spine0 40Gbps 1us`".to_owned());
    };
    let mut attributes = Attributes::new();
    for cell in rest.iter().filter(|cell| **cell != "{}") {
        let has_unit = cell.parse::<f64>().is_err();
        let name = match (rate(cell), delay(cell)) {
            (Some(_), _) if has_unit => "rate",
            (_, Some(_)) if has_unit => "delay",
            _ => {
                return Err(format!(
                    "has {cell:?}, which is neither a rate such as 40Gbps nor a delay such as 1us; or give the columns a header"
                ));
            }
        };
        if attributes.insert(name.to_owned(), (*cell).to_owned()).is_some() {
            return Err(format!("has two {name}s"));
        }
    }
    Ok(([(*from).to_owned(), (*to).to_owned()], attributes))
}

/// HPCC's: numbers of nodes, switches and links; the switches; and a line for each link, with rate, delay and the
/// part of packets that it loses.
pub(super) fn topology(text: &str) -> Result<Drawn, ScenarioError> {
    let mut lines = lines(text);
    let mut numbers = || {
        let (line, text) = lines.next().unwrap_or((1, ""));
        let number = |word: &str| word.parse::<usize>();
        match text.split_whitespace().map(number).collect::<Result<Vec<_>, _>>() {
            Ok(numbers) => Ok((line, numbers)),
            Err(_) => wrong(line, "must hold whole numbers only"),
        }
    };
    let (line, counts) = numbers()?;
    let [nodes, switches, links] = counts[..] else {
        return wrong(line, "must say how many nodes, switches and links there are");
    };
    let (line, list) = numbers()?;
    let list: BTreeSet<usize> = list.into_iter().collect();
    if list.len() != switches {
        return wrong(line, format!("names {} switches, but there are {switches}", list.len()));
    }
    if nodes > 1 << 17 || list.last().is_some_and(|&last| last >= nodes) {
        return wrong(
            line,
            format!("switches must have numbers below that of nodes, {nodes}, which is at most {}", 1 << 17),
        );
    }
    let role = |node: usize| if list.contains(&node) { "switch" } else { "host" };
    let node = |node: usize| (node.to_string(), [("type".to_owned(), role(node).to_owned())].into());
    let mut drawn = Drawn { nodes: (0..nodes).map(node).collect(), ..Drawn::default() };
    for (line, text) in lines {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [from, to, rate, delay, lost @ ..] = &words[..] else {
            return wrong(line, "must hold two nodes, a rate, a delay and what is lost");
        };
        if lost.iter().any(|lost| lost.parse::<f64>() != Ok(0.0)) {
            return wrong(line, format!("loses packets ({}): links here lose none", lost.join(" ")));
        }
        let attributes =
            [("rate", rate), ("delay", delay)].map(|(name, value)| (name.to_owned(), (*value).to_owned()));
        let ends = [*from, *to].map(str::to_owned);
        drawn.links.push(DrawnLink { ends, attributes: attributes.into(), line: Some(line) });
    }
    if drawn.links.len() != links {
        return Err(ScenarioError::new(
            "",
            format!("has {} links, but says that there are {links}", drawn.links.len()),
        ));
    }
    Ok(drawn)
}
