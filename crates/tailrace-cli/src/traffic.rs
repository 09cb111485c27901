//! The traffic of a link as options say it: the flows' sizes and load, all alike or by what they reveal.

use std::path::Path;

use tailrace_config::suggest::unknown;
use tailrace_core::SizeDistribution;
use tailrace_experiment::Error;
use tailrace_workload::{OwnSizes, Sizes, published};

use crate::args::Traffic;
use crate::mistake::wrong;

/// Flows of one kind as given: the name of their sizes, the sizes, their load.
pub struct Kind {
    pub name: String,
    pub sizes: SizeDistribution,
    pub load: f64,
}

/// What shares a link.
pub struct Kinds {
    /// Load of flows with deadlines.
    pub deadline: f64,
    /// Flows that reveal their sizes.
    pub known: Option<Kind>,
    /// Flows that reveal nothing.
    pub unknown: Option<Kind>,
}

impl Traffic {
    /// The options about flows that are all alike, and whether each was given.
    pub fn alike(&self) -> [(&'static str, bool); 2] {
        [("--sizes", self.sizes.is_some()), ("--load", self.load.is_some())]
    }

    /// The options about kinds of flows, and whether each was given.
    pub fn by_kind(&self) -> [(&'static str, bool); 5] {
        [
            ("--deadline-load", self.deadline_load.is_some()),
            ("--known", self.known.is_some()),
            ("--known-load", self.known_load.is_some()),
            ("--unknown", self.unknown.is_some()),
            ("--unknown-load", self.unknown_load.is_some()),
        ]
    }

    /// The kinds of flows: known sizes, unknown ones, or both.
    pub fn kinds(&self) -> Result<Kinds, Error> {
        let known = kind("--known", &self.known, self.known_load)?;
        let unknown = kind("--unknown", &self.unknown, self.unknown_load)?;
        if known.is_none() && unknown.is_none() {
            let message = "missing: give --known and --known-load, --unknown and --unknown-load, or all four";
            return Err(wrong("--known", message));
        }
        let kinds = Kinds { deadline: self.deadline_load.unwrap_or(0.0), known, unknown };
        kinds.check_loads()?;
        Ok(kinds)
    }
}

impl Kinds {
    fn check_loads(&self) -> Result<(), Error> {
        let load = |kind: &Option<Kind>| kind.as_ref().map_or(0.0, |kind| kind.load);
        let (known, unknown) = (load(&self.known), load(&self.unknown));
        for (flag, load) in
            [("--deadline-load", self.deadline), ("--known-load", known), ("--unknown-load", unknown)]
        {
            if !(0.0..1.0).contains(&load) {
                return Err(wrong(flag, format!("{load} must be at least 0 and below 1")));
            }
        }
        let total = self.deadline + known + unknown;
        let loads = |message: String| Err(wrong("--deadline-load, --known-load, --unknown-load", message));
        if total >= 1.0 {
            return loads(format!("they are {total:.2} together, but must stay below 1"));
        }
        if known + unknown == 0.0 {
            let message =
                "there are no flows without deadlines: give a load of known or unknown sizes above 0";
            return loads(message.to_owned());
        }
        Ok(())
    }
}

/// A kind of flows takes a distribution and a load, or neither.
fn kind(flag: &str, name: &Option<String>, load: Option<f64>) -> Result<Option<Kind>, Error> {
    match (name, load) {
        (None, None) => Ok(None),
        (Some(name), Some(load)) => Ok(Some(Kind { name: name.clone(), sizes: sizes(flag, name)?, load })),
        (Some(_), None) => {
            let message = format!("missing: give the share of the link that the flows of {flag} take");
            Err(wrong(&format!("{flag}-load"), message))
        }
        (None, Some(_)) => {
            let message = format!("missing: {flag}-load needs their sizes, a published name or a CDF file");
            Err(wrong(flag, message))
        }
    }
}

/// A published distribution, or the one in a file.
pub fn sizes(flag: &str, text: &str) -> Result<SizeDistribution, Error> {
    if let Some(table) = published::find(text) {
        return Ok(Sizes::Published(table).distribution()?);
    }
    if !Path::new(text).exists() {
        let names = published::list().iter().map(|table| table.name);
        let message = format!("{}, and there is no such file", unknown("workload", text, names));
        return Err(wrong(flag, message));
    }
    let mut sizes = Sizes::Own(OwnSizes::File(text.into()));
    sizes.read_files(Path::new(""))?;
    Ok(sizes.distribution()?)
}

/// Those options that were given, of some that mean nothing here, are a mistake.
pub fn refuse(options: &[(&str, bool)], why: &str) -> Result<(), Error> {
    options.iter().find(|(_, given)| *given).map_or(Ok(()), |(option, _)| Err(wrong(option, why)))
}
