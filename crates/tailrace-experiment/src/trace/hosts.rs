//! Who the ends of flows are: hosts have numbers from 0, whatever a file calls them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tailrace_config::suggest;
use tailrace_core::HostId;
use tailrace_fabric::{Fabric, MAX_HOSTS};

use super::table::Column;

/// What a file's hosts are called, and their numbers.
#[derive(Debug)]
pub struct Numbering {
    /// By number.
    names: Vec<String>,
    /// The ends of each row.
    ends: Vec<[HostId; 2]>,
    /// Whether the file's own numbers are kept.
    kept: bool,
}

impl Numbering {
    /// Of the two columns that name the ends, for a fabric. Names that are those of its hosts stand for them, and numbers
    /// where they fit; all else is numbered in order: numbers and addresses by value, names by letters.
    pub fn of(ends: [&Column; 2], fabric: Option<&Fabric>) -> Result<Self, String> {
        let all: BTreeSet<Name> =
            ends.iter().flat_map(|column| &column.cells).map(|text| Name::of(text)).collect();
        if all.contains(&Name::Text(String::new())) {
            return Err("has flows without source or destination: each needs both".to_owned());
        }
        let own = fabric.map_or(&[][..], |fabric| &fabric.host_names);
        if let Some(number_of) = by_own_names(&all, own)? {
            return Ok(Numbering::by(&number_of, ends, true));
        }
        let many = all.len();
        let most = fabric.map_or(MAX_HOSTS as usize, |fabric| fabric.hosts);
        if many > most {
            let there = if fabric.is_some() { "the fabric has" } else { "a fabric has at most" };
            return Err(format!("names {many} hosts, but {there} {most}"));
        }
        let fits = |number: u64| match fabric {
            Some(fabric) => number < fabric.hosts as u64,
            // More than half of them take part.
            None => number < 2 * many as u64,
        };
        let kept = all.iter().all(|name| matches!(name, Name::Number(number) if fits(*number)));
        let number_of: BTreeMap<&Name, HostId> = all
            .iter()
            .enumerate()
            .map(|(place, name)| match name {
                Name::Number(number) if kept => (name, *number as HostId),
                _ => (name, place as HostId),
            })
            .collect();
        Ok(Numbering::by(&number_of, ends, kept))
    }

    fn by(number_of: &BTreeMap<&Name, HostId>, [from, to]: [&Column; 2], kept: bool) -> Self {
        let mut names = vec![String::new(); number_of.values().max().map_or(0, |&last| last as usize + 1)];
        number_of.iter().for_each(|(name, &number)| names[number as usize] = name.to_string());
        let number = |text: &String| number_of[&Name::of(text)];
        let ends = from.cells.iter().zip(&to.cells).map(|(from, to)| [number(from), number(to)]).collect();
        Numbering { names, ends, kept }
    }

    /// The numbers of a row's ends.
    pub fn ends(&self, row: usize) -> [HostId; 2] {
        self.ends[row]
    }

    /// What the file calls them, by number; empty for numbers that it does not mention.
    pub fn names(self) -> Vec<String> {
        self.names
    }

    /// What a user should know of the numbers.
    pub fn notes(&self, fabric: Option<&Fabric>) -> Vec<String> {
        let count = self.names.len();
        let silent = self.names.iter().filter(|name| name.is_empty()).count();
        let mut notes = Vec::new();
        if !self.kept {
            let (first, last) = (&self.names[0], &self.names[count - 1]);
            notes.push(format!("hosts are numbered from 0, in order: {first} is 0, {last} is {}", count - 1));
        } else if silent > 0 && fabric.is_none() {
            notes.push(format!("{silent} of the hosts 0 to {} have no flows", count - 1));
        }
        notes
    }
}

/// The numbers of hosts that a fabric calls as the file does; `None` if it calls none so.
fn by_own_names<'a>(
    all: &'a BTreeSet<Name>,
    own: &[String],
) -> Result<Option<BTreeMap<&'a Name, HostId>>, String> {
    let own: BTreeMap<Name, HostId> =
        own.iter().enumerate().map(|(number, name)| (Name::of(name), number as HostId)).collect();
    let known: BTreeMap<&Name, HostId> =
        all.iter().filter_map(|name| Some((name, *own.get(name)?))).collect();
    let Some(known_one) = known.keys().next() else { return Ok(None) };
    match all.iter().find(|name| !known.contains_key(name)) {
        None => Ok(Some(known)),
        Some(other) => {
            let hosts = own.keys().map(Name::to_string).collect::<Vec<_>>();
            let unknown = suggest::unknown("host", &other.to_string(), hosts.iter().map(String::as_str));
            Err(format!(
                "names {known_one}, which is a host of the fabric, and {other}, which is not: {unknown}"
            ))
        }
    }
}

/// What a file calls a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Number(u64),
    Address(IpAddr),
    Text(String),
}

impl Name {
    fn of(text: &str) -> Self {
        match (text.parse(), text.parse()) {
            (Ok(number), _) => Name::Number(number),
            (_, Ok(address)) => Name::Address(address),
            _ => Name::Text(text.to_owned()),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => write!(f, "{number}"),
            Name::Address(address) => write!(f, "{address}"),
            Name::Text(text) => f.write_str(text),
        }
    }
}
