//! What a rule must be, by itself and on a fabric.

use tailrace_config::ScenarioError;
use tailrace_core::{Reveals, Time};

use super::Setting;
use super::deadlines::Deadlines;
use super::hosts::check_numbers;
use super::pattern::{PairFilter, Pattern};
use super::rule::{Arrivals, Rule, check_load};

impl Rule {
    /// Checks everything that does not depend on other rules.
    pub(super) fn check(&self, setting: &Setting) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        self.check_pattern(setting)?;
        if self.arrivals == Arrivals::Once {
            let given = [
                ("load", self.load.is_some()),
                ("flow_share", self.flow_share.is_some()),
                ("byte_share", self.byte_share.is_some()),
                ("every", self.every.is_some()),
            ];
            if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
                return wrong(field, "has no meaning where all flows start at once".to_owned());
            }
        }
        let rates = [
            ("load", self.load.is_some()),
            ("flow_share", self.flow_share.is_some()),
            ("byte_share", self.byte_share.is_some()),
            ("every", self.every.is_some()),
        ];
        let mut given = rates.iter().filter(|(_, given)| *given).map(|(field, _)| *field);
        match (given.next(), given.next()) {
            (Some(one), Some(other)) => {
                return wrong(other, format!("give {one} or {other}, not both"));
            }
            (None, _) if self.arrivals != Arrivals::Once => {
                return wrong(
                    "load",
                    "is missing; give a share of the host links' rate such as 0.6".to_owned(),
                );
            }
            _ => {}
        }
        if let Some(load) = self.load {
            check_load(load)?;
        }
        for (field, share) in [("flow_share", self.flow_share), ("byte_share", self.byte_share)] {
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
                return wrong(field, format!("is {share}, but must be above 0 and at most 1"));
            }
        }
        self.check_classes(setting)?;
        if self.every == Some(Time::ZERO) {
            return wrong("every", "is 0, but must be a positive time".to_owned());
        }
        match self.stop {
            Some(stop) if stop <= self.start => {
                wrong("stop", format!("is {stop}, but must come after start = {}", self.start))
            }
            _ => Ok(()),
        }
    }

    /// Checks deadlines and what is told of them.
    fn check_classes(&self, setting: &Setting) -> Result<(), ScenarioError> {
        if let Some(deadline) = &self.deadline {
            deadline.check(setting)?;
        }
        match (&self.deadline, self.reveals) {
            (None, Some(Reveals::Deadline)) => Err(ScenarioError::new(
                "deadline",
                "is missing; flows that reveal a deadline need one, such as { exp = \"20ms\" }",
            )),
            (Some(Deadlines::Gamma(_)), Some(_)) => {
                let message = "cannot be combined with deadline.gamma, which decides for each flow";
                Err(ScenarioError::new("reveals", message))
            }
            (Some(Deadlines::Gamma(_)), None) if self.class.is_some_and(|class| class > 253) => {
                let message = "must be at most 253: deadline.gamma counts on for sizes and nothing";
                Err(ScenarioError::new("class", message))
            }
            _ => Ok(()),
        }
    }

    /// Checks the pattern against the number of hosts.
    fn check_pattern(&self, setting: &Setting) -> Result<(), ScenarioError> {
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
