//! A capture in files: what `tailrace run`, `thresholds` and `qos` read. All of them appear at once, or none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tailrace_core::HEADER_BYTES;

use crate::connection::Connection;
use crate::error::BpfError;
use crate::histogram::Histogram;
use crate::traffic::{Groups, Traffic};

/// Payload of a full packet of Ethernet's MTU, whose headers count in loads.
const FULL_PAYLOAD: f64 = 1460.0;
/// The number of this machine in the flow list.
const OWN: u16 = 0;

/// What a summary says beside the statistics.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How long the capture lasted.
    pub seconds: f64,
    /// The link's rate in bits a second, and where that is from.
    pub rate: Option<(u64, String)>,
    /// Connections that the kernel could not tell of.
    pub lost: u64,
    /// Connections that stayed on this machine and were passed over.
    pub local: u64,
}

impl Facts {
    /// The load of the link by the busier direction, full packets' headers included, as in a scenario.
    pub fn load(&self, traffic: &Traffic) -> Option<f64> {
        let (rate, _) = self.rate.as_ref()?;
        let wire = 1.0 + f64::from(HEADER_BYTES) / FULL_PAYLOAD;
        Some(traffic.sent.max(traffic.received) as f64 * 8.0 * wire / (self.seconds * *rate as f64))
    }
}

/// A folder that will be there when it is complete.
pub struct Draft {
    folder: PathBuf,
    aside: PathBuf,
    /// Folders above it that were not there, from the lowest on.
    made: Vec<PathBuf>,
    flows: BufWriter<File>,
    /// The numbers of other machines in the flow list, by their addresses.
    hosts: BTreeMap<IpAddr, u16>,
    own: BTreeSet<IpAddr>,
    begun: u64,
    unlisted: u64,
}

impl Draft {
    /// Of a capture that began at this time on the clock of connections. Nothing may be at `folder`.
    pub fn new(folder: &Path, begun: u64) -> Result<Self, BpfError> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let aside = folder.with_file_name(format!(".tmp-{}-{name}", std::process::id()));
        let above = folder.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let made: Vec<PathBuf> = above.take_while(|above| !above.exists()).map(Path::to_owned).collect();
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(BpfError::file(parent))?;
        }
        fs::create_dir(&aside).map_err(BpfError::file(folder))?;
        let path = aside.join("flows.csv");
        let flows = File::create(&path).and_then(|file| {
            let mut flows = BufWriter::new(file);
            writeln!(flows, "src,dst,size_bytes,start_ns")?;
            Ok(flows)
        });
        let flows = flows.map_err(|error| {
            let _ = fs::remove_dir_all(&aside);
            BpfError::file(folder)(error)
        })?;
        let (hosts, own) = (BTreeMap::new(), BTreeSet::new());
        Ok(Draft { folder: folder.to_owned(), aside, made, flows, hosts, own, begun, unlisted: 0 })
    }

    /// Flows that are not in the list: there are more hosts than numbers, or both ends are on this machine.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Writes the flows of a connection into the list, if it is whole.
    pub fn add(&mut self, connection: &Connection) -> Result<(), BpfError> {
        let Some(start) = connection.whole() else { return Ok(()) };
        let [sent, received] = connection.carried();
        let other = if connection.within() { None } else { self.number_of(connection.remote.0) };
        let Some(other) = other else {
            self.unlisted += u64::from(sent > 0) + u64::from(received > 0);
            return Ok(());
        };
        self.own.insert(connection.local.0);
        let start = start.saturating_sub(self.begun);
        for (src, dst, size) in [(OWN, other, sent), (other, OWN, received)] {
            if size > 0 {
                writeln!(self.flows, "{src},{dst},{size},{start}").map_err(BpfError::file(&self.folder))?;
            }
        }
        Ok(())
    }

    fn number_of(&mut self, address: IpAddr) -> Option<u16> {
        let next = u16::try_from(self.hosts.len() + 1).ok();
        match self.hosts.get(&address) {
            Some(&number) => Some(number),
            None => next.inspect(|&next| {
                self.hosts.insert(address, next);
            }),
        }
    }

    /// Writes all the rest, and makes the folder appear. Groups are called by `name`.
    pub fn finish(
        mut self,
        groups: &Groups,
        facts: &Facts,
        name: &dyn Fn(u64) -> String,
    ) -> Result<(), BpfError> {
        self.flows.flush().map_err(BpfError::file(&self.folder))?;
        let done = || -> std::io::Result<()> {
            let write = |file: &str, text: String| fs::write(self.aside.join(file), text);
            write("sizes.cdf", cdf(&groups.all.sizes))?;
            write("hosts.csv", self.hosts())?;
            write("summary.toml", summary(groups, facts, self.unlisted, name))?;
            for (group, traffic) in &groups.by {
                if traffic.sizes.count() > 0 {
                    write(&group_file(*group), cdf(&traffic.sizes))?;
                }
            }
            fs::rename(&self.aside, &self.folder)
        };
        done().map_err(BpfError::file(&self.folder))
    }

    fn hosts(&self) -> String {
        let own = self.own.iter().map(|address| (OWN, address));
        let mut others: Vec<(u16, &IpAddr)> =
            self.hosts.iter().map(|(address, number)| (*number, address)).collect();
        others.sort_unstable();
        let lines = own.chain(others).map(|(number, address)| format!("{number},{address}\n"));
        format!("host,address\n{}", lines.collect::<String>())
    }
}

impl Drop for Draft {
    /// What did not become complete is gone; what did has been renamed.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.aside);
        // What holds something by now stays.
        self.made.iter().for_each(|made| {
            let _ = fs::remove_dir(made);
        });
    }
}

/// A flow-size table: `bytes probability` a line.
fn cdf(sizes: &Histogram) -> String {
    let points = sizes.steps().into_iter().map(|(size, share)| format!("{size} {share}\n"));
    format!("# Sizes of {} flows: bytes, and the share of flows that are not larger\n", sizes.count())
        + &points.collect::<String>()
}

/// The file of a group's sizes: by its number, for names may be long, or alike but for what no file may be called.
fn group_file(group: u64) -> String {
    format!("sizes-{group}.cdf")
}

/// A name as TOML has it.
fn quoted(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn summary(groups: &Groups, facts: &Facts, unlisted: u64, name: &dyn Fn(u64) -> String) -> String {
    let all = &groups.all;
    let Facts { seconds, rate, lost, local } = facts;
    let mut text = format!(
        "# What `tailrace measure` has seen of this machine's TCP connections. A connection is a flow for each direction\n\
         # in which it has carried anything; sizes are payload bytes.\n\
         seconds = {seconds:?}\n\n\
         [connections]\n\
         whole = {} # began and ended meanwhile: of these are the sizes, and the flow list\n\
         open_before = {}\n\
         still_open = {}\n\
         lost = {lost} # the kernel had no room to tell of them\n\
         within_the_machine = {local} # passed over\n\
         of_more_groups = {} # than are told apart\n\n\
         [bytes]\n\
         sent = {}\n\
         received = {}\n\
         in_whole_connections = {}\n\n\
         [flows]\n\
         count = {}\n\
         not_listed = {unlisted}\n",
        all.whole,
        all.before,
        all.still_open,
        groups.others.whole,
        all.sent,
        all.received,
        all.sizes.sum(),
        all.sizes.count(),
    );
    text += &spread("size_bytes", &all.sizes, 1.0);
    text += &spread("connection_seconds", &all.durations, 1e9);
    text += &spread("seconds_between_connections", &all.gaps, 1e9);
    text += "\n# For a scenario, and for `tailrace thresholds --sizes sizes.cdf --load LOAD`:\n\
             [workload]\nsizes = { file = \"sizes.cdf\" }\n";
    text += &match (facts.load(all), rate) {
        (Some(load), Some((rate, from))) => format!(
            "# The bytes of the busier direction, those of connections that are not whole included, with {HEADER_BYTES} bytes\n\
             # of headers for {FULL_PAYLOAD} of payload, over the time and a link of {rate} bit/s ({from}).\n\
             load = {load:?}\n"
        ),
        _ => "# The load is not known, for the link's rate is not: give --rate.\n".to_owned(),
    };
    for (group, traffic) in &groups.by {
        let name = quoted(&name(*group));
        let has_sizes = traffic.sizes.count() > 0;
        let sizes = if has_sizes { format!("sizes = {:?}\n", group_file(*group)) } else { String::new() };
        text += &format!(
            "\n[[group]]\nname = {name}\n{sizes}whole = {}\nsent = {}\nreceived = {}\nflows = {}\n",
            traffic.whole,
            traffic.sent,
            traffic.received,
            traffic.sizes.count()
        );
    }
    text
}

/// A line about numbers in a histogram, in other units.
fn spread(name: &str, numbers: &Histogram, unit: f64) -> String {
    let at = |u: f64| numbers.quantile(u).map(|number| number / unit);
    match (at(0.5), at(0.99), at(1.0)) {
        (Some(p50), Some(p99), Some(most)) => {
            let mean = numbers.mean() / unit;
            format!("{name} = {{ mean = {mean:?}, p50 = {p50:?}, p99 = {p99:?}, max = {most:?} }}\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::ended;
    use tailrace_core::SizeDistribution;
    use tailrace_scenario::Scenario;

    fn written(draft: Draft, connections: &[Connection]) {
        let mut draft = draft;
        let mut groups = Groups::default();
        for connection in connections {
            groups.add(connection, Some(connection.service().into()));
            draft.add(connection).unwrap();
        }
        let rate = Some((8_000, "given".to_owned()));
        draft
            .finish(&groups, &Facts { seconds: 2.0, rate, ..Facts::default() }, &|port| {
                format!("\"a\\\n{port}")
            })
            .unwrap();
    }

    #[test]
    fn a_scenario_reads_what_is_written_and_nothing_is_left_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new/capture");
        written(
            Draft::new(&folder, 1_000).unwrap(),
            &[ended(1_500, 2_000, 300, 1_000), ended(1_200, 1_900, 0, 100)],
        );
        assert_eq!(fs::read_dir(folder.parent().unwrap()).unwrap().count(), 1);
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(
            read("flows.csv"),
            "src,dst,size_bytes,start_ns\n0,1,300,500\n1,0,1000,500\n1,0,100,200\n"
        );
        assert_eq!(read("hosts.csv"), "host,address\n0,10.0.0.1\n1,10.0.0.2\n");
        assert_eq!(read("sizes-80.cdf"), read("sizes.cdf"));
        assert_eq!(group_name(&read("summary.toml")), "\"a\\?80");
        // 1100 B of payload are 1130.1 of packets, of 2000 that the link carries meanwhile.
        let workload: toml::Table = read("summary.toml").parse().unwrap();
        let load = workload["workload"]["load"].as_float().unwrap();
        assert!((load - 1100.0 * 1500.0 / 1460.0 / 2000.0).abs() < 1e-12, "{load}");
        let text = |workload: &str| {
            format!(
                "fabric = {{ kind = \"star\", hosts = 2, host_rate = \"1Gbps\" }}\nscheme = {{ name = \"fifo\" }}\n{workload}"
            )
        };
        let file = folder.parent().unwrap().join("x.toml");
        for workload in [
            "workload = { flow_list = \"capture/flows.csv\" }",
            "workload = { sizes = { file = \"capture/sizes.cdf\" }, load = 0.5, flows = 9 }",
        ] {
            fs::write(&file, text(workload)).unwrap();
            Scenario::read(&file).unwrap();
        }
        let points: Vec<(f64, f64)> = read("sizes.cdf")
            .lines()
            .skip(1)
            .map(|line| line.split_once(' ').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).unwrap())
            .collect();
        assert!((SizeDistribution::new(points).unwrap().mean() - 1400.0 / 3.0).abs() < 1e-9);
    }

    fn group_name(summary: &str) -> String {
        let summary: toml::Table = summary.parse().unwrap();
        summary["group"][0]["name"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_draft_that_is_dropped_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        drop(Draft::new(&place.path().join("capture"), 0).unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        drop(Draft::new(&place.path().join("a/b/capture"), 0).unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nor the folders above it");
    }
}
