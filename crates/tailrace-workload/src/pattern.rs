//! `pattern = …`: who sends to whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{HostId, Time};

use super::Setting;
use super::hosts::check_numbers;
use super::rule::Rule;

/// Who sends to whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Every host to every other, all pairs alike.
    #[default]
    AllToAll,
    /// Every host (of `from`) to every one (of `to`) in another rack, all pairs alike.
    OtherRacks,
    /// Every host to one other that nobody else sends to, drawn once from the seed.
    Permutation,
    /// Every host of `from` to every other of `to`, all pairs alike.
    Pairs,
    /// Bursts of flows from several senders to one receiver.
    Incast(Incast),
}

/// Bursts of flows from several senders to one receiver, as of a query and its answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Hosts that a burst may go to, all alike; every host if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Vec<HostId>>,
    /// Senders of a burst, drawn anew among the other hosts for each.
    pub fan_in: u16,
    /// Each flow of a burst starts up to this much later.
    #[serde(default)]
    pub jitter: Time,
}

/// Which pairs of the pattern send. Each does so at the rate that it has in the whole pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairFilter {
    /// All.
    #[default]
    All,
    /// Those with the lower host number as source.
    Ascending,
    /// Those with the higher host number as source.
    Descending,
}

impl PairFilter {
    /// Whether a pair sends.
    pub(super) fn keeps(self, src: HostId, dst: HostId) -> bool {
        match self {
            PairFilter::All => true,
            PairFilter::Ascending => src < dst,
            PairFilter::Descending => src > dst,
        }
    }
}

impl Rule {
    /// Checks the pattern against the number of hosts.
    pub(super) fn check_pattern(&self, setting: &Setting) -> Result<(), ScenarioError> {
        let hosts = setting.hosts;
        let in_pairs = self.pattern == Pattern::Pairs;
        let may_name = in_pairs || self.pattern == Pattern::OtherRacks;
        for (field, ends) in [("from", &self.from), ("to", &self.to)] {
            match ends {
                Some(_) if !may_name => {
                    return Err(ScenarioError::new(field, "needs pattern = \"pairs\" or \"other-racks\""));
                }
                Some(ends) => ends.check(field, setting)?,
                None if in_pairs => {
                    return Err(ScenarioError::new(
                        field,
                        "is missing; pattern = \"pairs\" needs a list of hosts, or { racks = [0] }",
                    ));
                }
                None => {}
            }
        }
        if let Pattern::Incast(incast) = &self.pattern {
            if let Some(receivers) = &incast.receivers {
                check_numbers("host", "pattern.incast.receivers", receivers, hosts)?;
            }
            if !(1..hosts).contains(&incast.fan_in.into()) {
                let message = format!(
                    "is {}, but must be 1 to {}, the number of other hosts",
                    incast.fan_in,
                    hosts - 1
                );
                return Err(ScenarioError::new("pattern.incast.fan_in", message));
            }
            if self.pairs != PairFilter::All {
                return Err(ScenarioError::new("pairs", "cannot be combined with an incast"));
            }
        }
        // A permutation depends on the seed, but some host always sends up and some other down.
        if self.pattern != Pattern::Permutation && self.whole(self.pairs, setting, 0, 0).count() == 0 {
            return Err(match (&self.pattern, self.pairs) {
                (Pattern::OtherRacks, PairFilter::All) => {
                    let message =
                        "is \"other-racks\", but all hosts that may send and receive share one rack";
                    ScenarioError::new("pattern", message)
                }
                (_, PairFilter::All) => ScenarioError::new("to", "no pair of different hosts is left"),
                _ => ScenarioError::new("pairs", "no pair of different hosts is left"),
            });
        }
        self.check_destinations(setting)
    }

    /// Checks that each source has as many destinations as it is to choose.
    fn check_destinations(&self, setting: &Setting) -> Result<(), ScenarioError> {
        let Some(destinations) = self.destinations else { return Ok(()) };
        let wrong = |message: String| Err(ScenarioError::new("destinations", message));
        if matches!(self.pattern, Pattern::Permutation | Pattern::Incast(_)) {
            return wrong(
                "cannot be combined with a permutation or an incast, which choose themselves".into(),
            );
        }
        let whole = self.whole(PairFilter::All, setting, 0, 0);
        let fewest = whole.by_source().map(|own| own.end - own.start).min().unwrap_or(0);
        if fewest == 0 {
            return wrong("cannot be given: a source of this pattern has no destination at all".into());
        }
        if (1..=fewest).contains(&destinations.into()) {
            return Ok(());
        }
        wrong(format!("is {destinations}, but must be 1 to {fewest}, as many as every source has"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Rate;
    use tailrace_fabric::Racks;

    const SETTING: Setting = Setting {
        hosts: 4,
        speeds: Vec::new(),
        racks: Racks::bounded(&[0, 2, 4]),
        racks_per_pod: 2,
        slices: 0,
        host_rate: Rate::from_gbps(1),
        mss: 1460,
        base_rtt: Time::ZERO,
    };

    fn check(text: &str) -> String {
        let rule: Rule =
            tailrace_config::table::read(format!("sizes = \"long-flow\"\n{text}").parse().unwrap()).unwrap();
        rule.check_pattern(&SETTING).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn patterns_are_checked_against_the_fabric() {
        assert_eq!(check("pattern = \"pairs\"\nfrom = [1, 3]\nto = [0]"), "fine");
        assert_eq!(check("pattern = { incast = { fan_in = 3, receivers = [2] } }"), "fine");
        assert!(check("pattern = \"pairs\"\nfrom = [1]").starts_with("to: is missing"));
        assert!(check("from = [1]").starts_with("from: needs pattern"));
        assert!(check("from = { racks = [0] }").starts_with("from: needs pattern"));
        assert_eq!(check("pattern = \"pairs\"\nfrom = { racks = [1] }\nto = [0]"), "fine");
        assert!(
            check("pattern = \"pairs\"\nfrom = [1]\nto = { racks = [2] }")
                .starts_with("to.racks: rack 2 does not exist; the fabric has racks 0 to 1")
        );
        assert!(check("pattern = \"pairs\"\nfrom = [1]\nto = [4]").starts_with("to: host 4 does not exist"));
        assert!(
            check("pattern = \"pairs\"\nfrom = [1, 1]\nto = [0]").starts_with("from: host 1 is named twice")
        );
        assert!(check("pattern = \"pairs\"\nfrom = [1]\nto = [1]").starts_with("to: no pair"));
        assert!(
            check("pattern = \"pairs\"\nfrom = [1]\nto = [0]\npairs = \"ascending\"")
                .starts_with("pairs: no pair")
        );
        assert!(check("pattern = \"pairs\"\nfrom = []\nto = [1]").starts_with("from: must name"));
        assert_eq!(check("pattern = \"other-racks\"\ndestinations = 2"), "fine");
        assert_eq!(check("pattern = \"other-racks\"\nfrom = [0]\nto = [1, 2]"), "fine");
        assert!(
            check("pattern = \"other-racks\"\nfrom = [0]\nto = [1]")
                .starts_with("pattern: is \"other-racks\"")
        );
        assert!(
            check("pattern = \"other-racks\"\ndestinations = 3")
                .starts_with("destinations: is 3, but must be 1 to 2")
        );
        assert!(check("destinations = 0").starts_with("destinations: is 0"));
        assert!(check("pattern = \"permutation\"\ndestinations = 1").starts_with("destinations: cannot"));
        assert!(check("pattern = { incast = { fan_in = 4 } }").contains("must be 1 to 3"));
        assert!(
            check("pattern = { incast = { fan_in = 2 } }\npairs = \"ascending\"")
                .starts_with("pairs: cannot")
        );
    }
}
