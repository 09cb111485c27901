//! What a column is by its name.

use std::fmt;
use std::str::FromStr;

use tailrace_config::{ScenarioError, suggest};

use super::decimal::Decimal;
use super::units::{SIZES, TIMES, Unit, of_times};

/// What a column says of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Who sends.
    Src,
    /// Who receives.
    Dst,
    /// How much.
    Size,
    /// When it starts.
    Start,
    /// How long after its start it is due.
    Deadline,
    /// Traffic class, for statistics.
    Class,
    /// Slice, a number.
    Slice,
    /// Task, by any name.
    Task,
    /// What the flow tells of itself: 1, 2 or 3.
    FlowType,
}

const ROLES: [Role; 9] = [
    Role::Src,
    Role::Dst,
    Role::Size,
    Role::Start,
    Role::Deadline,
    Role::Class,
    Role::Slice,
    Role::Task,
    Role::FlowType,
];
/// The first of them must be there.
const NEEDED: usize = 4;

// Names of columns by role, the option's own name first.
#[rustfmt::skip]
const SOURCE_NAMES: [&str; 14] = [
    "src", "source", "sender", "from", "srcip", "sourceip", "srchost", "sourcehost", "srcaddr", "saddr",
    "sourceaddress", "srcid", "ipsrc", "sip",
];
#[rustfmt::skip]
const DESTINATION_NAMES: [&str; 17] = [
    "dst", "dest", "destination", "receiver", "to", "dstip", "destip", "destinationip", "dsthost",
    "desthost", "destinationhost", "dstaddr", "daddr", "destinationaddress", "dstid", "ipdst", "dip",
];
#[rustfmt::skip]
const SIZE_NAMES: [&str; 13] = [
    "size", "bytes", "flowsize", "flowbytes", "totalbytes", "nbytes", "length", "len", "octets",
    "volume", "payload", "payloadbytes", "totbytes",
];
#[rustfmt::skip]
const START_NAMES: [&str; 13] = [
    "start", "starttime", "time", "timestamp", "ts", "t", "arrival", "arrivaltime", "begin", "startts",
    "flowstart", "flowstarttime", "firstseen",
];

impl Role {
    /// Its name, as options and notes say it.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// What columns are called that have it, without unit and without what parts words.
    fn names(self) -> &'static [&'static str] {
        match self {
            Role::Src => &SOURCE_NAMES,
            Role::Dst => &DESTINATION_NAMES,
            Role::Size => &SIZE_NAMES,
            Role::Start => &START_NAMES,
            Role::Deadline => &["deadline", "due"],
            Role::Class => &["class"],
            Role::Slice => &["slice", "tenant"],
            Role::Task => &["task", "taskid", "job", "jobid", "coflow", "coflowid", "query", "queryid"],
            Role::FlowType => &["flow_type", "flowtype"],
        }
    }

    /// Whether its numbers count something.
    pub fn has_unit(self) -> bool {
        !self.units().is_empty()
    }

    fn units(self) -> &'static [Unit] {
        match self {
            Role::Size => &SIZES,
            Role::Start | Role::Deadline => &TIMES,
            _ => &[],
        }
    }
}

/// A column that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// What it is.
    pub role: Role,
    /// What the file calls it.
    pub name: String,
    /// Its place among the columns.
    pub place: usize,
    /// In which unit, where it has one and that is known.
    pub unit: Option<Unit>,
}

/// What a user says of a column: `start=ts:us` is that times are in the column ts, in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    role: Role,
    name: String,
    unit: Option<Unit>,
}

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (role, column) = text.split_once('=').ok_or_else(|| {
            format!("\"{text}\" is not ROLE=COLUMN or ROLE=COLUMN:UNIT, for example start=ts:us")
        })?;
        let known = ROLES.into_iter().find(|known| known.name() == role.trim());
        let role = known.ok_or_else(|| suggest::unknown("role", role.trim(), ROLES.map(Role::name)))?;
        let (name, unit) = match column.rsplit_once(':') {
            None => (column, None),
            Some((name, unit)) => {
                let said = unit.trim().to_lowercase();
                let known = role.units().iter().find(|known| known.said.contains(&said.as_str()));
                let all = role.units().iter().map(|unit| unit.said[0]);
                let unit = known.ok_or_else(|| suggest::unknown("unit", unit.trim(), all))?;
                (name, Some(*unit))
            }
        };
        match name.trim() {
            "" => Err(format!("\"{text}\" names no column")),
            name => Ok(Mapping { role, name: name.to_owned(), unit }),
        }
    }
}

/// Finds out what columns are: as `mapping` says, else by their names.
pub fn recognise(names: &[&str], mapping: &[Mapping]) -> Result<Vec<Recognised>, ScenarioError> {
    let mut found: Vec<Recognised> = Vec::new();
    for Mapping { role, name, unit } in mapping {
        let Some(place) = names.iter().position(|known| known == name) else {
            let message = suggest::unknown("column", name, names.iter().copied());
            return Err(ScenarioError::new("--column", message));
        };
        if found.iter().any(|other| other.role == *role) {
            return Err(ScenarioError::new("--column", format!("{} is given twice", role.name())));
        }
        let unit = unit
            .or_else(|| meaning(name).and_then(|(_, unit)| unit).filter(|unit| role.units().contains(unit)));
        found.push(Recognised { role: *role, name: name.clone(), place, unit });
    }
    let said: Vec<Role> = found.iter().map(|column| column.role).collect();
    for (place, name) in names.iter().enumerate() {
        let Some((role, unit)) = meaning(name) else { continue };
        if said.contains(&role) || found.iter().any(|column| column.place == place) {
            continue;
        }
        if let Some(other) = found.iter().find(|column| column.role == role) {
            if other.name == *name {
                let message = format!("is the name of two columns, {name}: give one of them another name");
                return Err(ScenarioError::new(role.name(), message));
            }
            let message = format!(
                "may be in the columns {} and {name}: say which with --column {}={name}",
                other.name,
                role.name()
            );
            return Err(ScenarioError::new(role.name(), message));
        }
        found.push(Recognised { role, name: (*name).to_owned(), place, unit });
    }
    match ROLES[..NEEDED].iter().find(|role| !found.iter().any(|column| column.role == **role)) {
        Some(role) => {
            let message = format!(
                "is in none of the columns {}: say in which, with --column {}=NAME",
                names.join(", "),
                role.name()
            );
            Err(ScenarioError::new(role.name(), message))
        }
        None => {
            found.sort_by_key(|column| column.role);
            Ok(found)
        }
    }
}

/// What a column of that name is, and its unit if the name says one.
fn meaning(name: &str) -> Option<(Role, Option<Unit>)> {
    let words = words(name);
    let role_of = |words: &[String]| {
        let joined = words.concat();
        ROLES.into_iter().find(|role| role.names().contains(&joined.as_str()))
    };
    let unit_of =
        |role: Role, word: &str| role.units().iter().find(|unit| unit.said.contains(&word)).copied();
    // KiB is two words.
    for of_unit in 1..words.len().min(3) {
        let (rest, unit) = words.split_at(words.len() - of_unit);
        if let Some(role) = role_of(rest)
            && let Some(unit) = unit_of(role, &unit.concat())
        {
            return Some((role, Some(unit)));
        }
    }
    let role = role_of(&words)?;
    Some((role, unit_of(role, &words.concat())))
}

/// The words of a name: `startTime_ns`, `start time (ns)` and `START-TIME[ns]` are start, time and ns.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_lowercase() || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Recognised {
    /// Its unit: that of its name or type, else what its values can be.
    pub fn unit_of(
        &self,
        of_type: Option<&'static str>,
        values: &[Option<Decimal>],
    ) -> Result<Unit, ScenarioError> {
        let of_type = of_type.and_then(|said| TIMES.into_iter().find(|unit| unit.said.contains(&said)));
        let of_values = || if self.role == Role::Size { Some(SIZES[0]) } else { of_times(values) };
        self.unit.or(of_type).or_else(of_values).ok_or_else(|| {
            let message = format!(
                "has whole numbers and no unit: say which with --column {}={}:UNIT, where UNIT is s, ms, us or ns",
                self.role.name(),
                self.name
            );
            ScenarioError::new(&self.name, message)
        })
    }
}

impl fmt::Display for Recognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.role.name())?;
        if self.name != self.role.name() {
            write!(f, " = {}", self.name)?;
        }
        self.unit.map_or(Ok(()), |unit| write!(f, " ({})", unit.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(name: &str) -> Option<(&'static str, Option<&'static str>)> {
        meaning(name).map(|(role, unit)| (role.name(), unit.map(|unit| unit.name)))
    }

    #[test]
    fn names_say_what_columns_are() {
        for (name, role, unit) in [
            ("start", "start", None),
            ("start_s", "start", Some("seconds")),
            ("startTime_ns", "start", Some("nanoseconds")),
            ("Start Time (ms)", "start", Some("milliseconds")),
            ("TS[µs]", "start", Some("microseconds")),
            ("timestamp", "start", None),
            ("size", "size", None),
            ("bytes", "size", Some("bytes")),
            ("size_bytes", "size", Some("bytes")),
            ("Flow Size (KB)", "size", Some("kilobytes")),
            ("size_kib", "size", Some("kibibytes")),
            ("src", "src", None),
            ("srcIP", "src", None),
            ("source.ip", "src", None),
            ("ip.dst", "dst", None),
            ("Destination Host", "dst", None),
            ("deadline_ns", "deadline", Some("nanoseconds")),
            ("coflow_id", "task", None),
            ("flow_type", "flow_type", None),
            ("Flow Start (ms)", "start", Some("milliseconds")),
            ("first_seen_ms", "start", Some("milliseconds")),
            ("Payload KiB", "size", Some("kibibytes")),
            ("TotBytes", "size", None),
            ("sip", "src", None),
        ] {
            assert_eq!(meant(name), Some((role, unit)), "{name}");
        }
        for name in ["fct_ns", "duration", "ns", "port", "src_port", "size_of_pod", "", "_"] {
            assert_eq!(meant(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_not_clear_is_asked() {
        let error = |names: &[&str], mapping: &[&str]| {
            let mapping: Vec<Mapping> = mapping.iter().map(|text| text.parse().unwrap()).collect();
            recognise(names, &mapping).unwrap_err().to_string()
        };
        assert_eq!(
            error(&["src", "dst", "amount", "t"], &[]),
            "size: is in none of the columns src, dst, amount, t: say in which, with --column size=NAME"
        );
        assert!(
            error(&["src", "dst", "size", "bytes", "t"], &[])
                .starts_with("size: may be in the columns size and bytes")
        );
        let names = ["src", "dst", "size", "bytes", "t"];
        assert!(error(&names, &["size=byts"]).contains("did you mean \"bytes\"?"));
        assert!(error(&names, &["size=size", "size=bytes"]).ends_with("size is given twice"));
        let told =
            recognise(&names, &["size=bytes".parse().unwrap(), "start=t:ms".parse().unwrap()]).unwrap();
        let said: Vec<String> = told.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["src", "dst", "size = bytes (bytes)", "start = t (milliseconds)"]);
        for (text, why) in [
            ("start", "is not ROLE=COLUMN"),
            ("begin=ts", "unknown role"),
            ("start=ts:minutes", "unknown unit"),
            ("size=bytes:ms", "unknown unit"),
            ("src=:", "unknown unit"),
            ("src=", "names no column"),
        ] {
            assert!(text.parse::<Mapping>().unwrap_err().contains(why), "{text}");
        }
    }
}
