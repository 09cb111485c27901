//! What agents and controllers write into etcd, as JSON.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, Directives, Reveals, SliceId, Weight};

use tailrace_bpf::Histogram;

/// A host says no more of flows at a time: etcd takes requests of 1.5 MB.
pub const MAX_FLOWS: usize = 4_096;
/// More flows do not end at a host between two reports.
pub const MAX_ENDED: u64 = 1_000_000;

/// What a host says, slot by slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Its scheme, with all parameters.
    pub scheme: String,
    /// Flows that have ended since the last report.
    pub ended: Vec<Ended>,
    /// Flows in progress, where the scheme has a controller.
    pub flows: Vec<Progress>,
}

/// Flows that have ended, of which the same was known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Their slice.
    pub slice: SliceId,
    /// What was known.
    pub reveals: Reveals,
    /// Their payload bytes.
    pub sizes: Sizes,
}

/// Payload bytes of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u64, u64)>", into = "Vec<(u32, u64, u64)>")]
pub struct Sizes(pub Histogram);

impl From<Sizes> for Vec<(u32, u64, u64)> {
    fn from(sizes: Sizes) -> Self {
        // No host has sent 18 exabytes between two reports.
        let bins =
            sizes.0.bins().map(|(bin, count, sum)| (bin, count, u64::try_from(sum).unwrap_or(u64::MAX)));
        bins.collect()
    }
}

impl TryFrom<Vec<(u32, u64, u64)>> for Sizes {
    type Error = String;

    fn try_from(bins: Vec<(u32, u64, u64)>) -> Result<Self, String> {
        let bins = bins.into_iter().map(|(bin, count, sum)| (bin, count, u128::from(sum)));
        let sizes = Histogram::of_bins(bins).ok_or("sizes that are not of their bins")?;
        match sizes.count() {
            ..=MAX_ENDED => Ok(Sizes(sizes)),
            count => Err(format!("{count} flows have ended, but {MAX_ENDED} is the most")),
        }
    }
}

impl Sizes {
    /// Each size, and how many flows have it; sizes of a bin are their mean.
    pub fn each(&self) -> impl Iterator<Item = (Bytes, u64)> {
        self.0.bins().map(|(_, count, sum)| (Bytes::new((sum / u128::from(count)) as u64), count))
    }
}

/// A flow by its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FlowName {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// A flow in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Which one.
    pub flow: FlowName,
    /// Its slice.
    pub slice: SliceId,
    /// Its payload bytes, if they are known.
    pub size: Option<u64>,
    /// Time to its deadline; 0 if that is past.
    pub left_ns: Option<u64>,
    /// Payload bytes that were acknowledged.
    pub delivered: u64,
    /// How often its program has told of it: another number, another message.
    pub told: u32,
}

/// What all hosts are to do with flows of which so much is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The controller's scheme, with all parameters.
    pub scheme: String,
    /// Who says so.
    pub instance: String,
    /// By slice, size and deadline.
    pub directives: Directives,
}

/// The weights of a host's flows, all that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weights(pub Vec<(FlowName, Weight)>);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Report, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_report_is_what_it_was_and_a_lie_is_none() {
        let mut sizes = Histogram::default();
        [700, 700, 1_000_000].into_iter().for_each(|size| sizes.add(size));
        let flow = FlowName { from: "10.0.0.1:80".parse().unwrap(), to: "[fd09::2]:9".parse().unwrap() };
        let report = Report {
            scheme: "awafs".to_owned(),
            ended: vec![Ended { slice: 1, reveals: Reveals::Size, sizes: Sizes(sizes) }],
            flows: vec![Progress { flow, slice: 2, size: None, left_ns: Some(5), delivered: 7, told: 0 }],
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(read(&text), Ok(report.clone()));
        let each: Vec<_> = report.ended[0].sizes.each().map(|(size, count)| (size.get(), count)).collect();
        assert_eq!(each, [(700, 2), (1_000_000, 1)]);
        let bins = |text: &str| {
            let ended = format!("{{\"slice\":0,\"reveals\":\"nothing\",\"sizes\":{text}}}");
            read(&format!("{{\"scheme\":\"\",\"ended\":[{ended}],\"flows\":[]}}")).map(|_| ())
        };
        assert_eq!(bins("[[200,2,400]]"), Ok(()));
        for wrong in ["[[200,0,0]]", "[[200,2,100]]", "[[200,1,200],[200,1,200]]"] {
            assert!(bins(wrong).unwrap_err().contains("not of their bins"), "{wrong}");
        }
        assert!(bins("[[1,1000001,1000001]]").unwrap_err().contains("1000000 is the most"));
    }
}
