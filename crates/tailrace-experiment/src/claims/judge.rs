//! Whether a claim holds for what was measured.

use serde::Serialize;

use crate::claims::claim::{Claim, Deviation, Direction, Figure, Record};
use crate::error::Error;
use crate::runs::results::Results;

/// How a measured number stands beside the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Within the claim's tolerance.
    Holds,
    /// Further away, but a change of the same sign within a factor of three, or a number within one of two.
    InShape,
    /// Not even that.
    Deviates,
    /// Chance over seeds takes the number from where it would hold to where it would deviate, and further than the claim's
    /// tolerance.
    Undecided,
}

/// A number and what chance does to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measurement {
    /// The number; `None` if the results do not contain it.
    pub value: Option<f64>,
    /// See [`spread`](crate::Quantity::spread).
    pub spread: Option<f64>,
    /// The wrong number: see [`Wrong`](crate::Wrong).
    pub wrong: Option<f64>,
}

/// How a claim compares with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What was measured.
    pub measured: Measurement,
    /// How the number stands; `None` if it was not measured.
    pub standing: Option<Standing>,
    /// Whether it would stand as well for what is [`Wrong`](crate::Wrong): then it judges nothing. `None` if that was not measured.
    pub holds_for_wrong: Option<bool>,
    /// In a few words: sign, order, factor.
    pub words: String,
}

/// Changes smaller than this count as none.
const ABOUT_EQUAL: f64 = 0.03;
/// Changes of one sign are of one shape within this factor, plain numbers within the other.
const CHANGE_FACTOR: f64 = 3.0;
const NUMBER_FACTOR: f64 = 2.0;

impl Claim {
    /// Compares the claim with the results. Fails if a series cannot be read.
    pub fn judge(&self, results: &Results) -> Result<Verdict, Error> {
        let of_wrong = self.wrong.as_ref().map(|wrong| wrong.instead_of(&self.number));
        Ok(self.verdict(Measurement {
            value: self.number.value(results)?,
            spread: self.number.spread(results)?,
            wrong: of_wrong.map_or(Ok(None), |number| number.value(results))?,
        }))
    }

    /// Compares the claim with what was measured some time ago; `None` if nothing is recorded.
    pub fn judge_record(&self) -> Option<Verdict> {
        let Record { value, spread, wrong, .. } = self.measured?;
        Some(self.verdict(Measurement { value: Some(value), spread, wrong }))
    }

    /// Whether it stood so when it was recorded.
    pub fn is_recorded_as(&self, standing: Standing) -> bool {
        self.judge_record().is_some_and(|verdict| verdict.standing == Some(standing))
    }

    /// Whether the number lies where the declared deviation has it.
    pub fn is_declared(&self, value: f64) -> bool {
        self.deviation.as_ref().is_some_and(|Deviation { within: [low, high], .. }| {
            (low.min(*high)..=low.max(*high)).contains(&value)
        })
    }

    /// Whether a number of a smaller run speaks against the direction of one that stood at least in shape: even with all
    /// that chance may have done to it, it goes the other way or nowhere.
    pub fn is_contradicted_by(&self, measured: &Measurement) -> bool {
        let stood = self.judge_record().and_then(|verdict| verdict.standing);
        let (Some(value), Some(spread)) = (measured.value, measured.spread) else { return false };
        let Some(sign) = self.direction() else { return false };
        let has_direction = matches!(stood, Some(Standing::Holds | Standing::InShape));
        has_direction && sign * value + spread < ABOUT_EQUAL
    }

    fn verdict(&self, measured: Measurement) -> Verdict {
        let Some(value) = measured.value else {
            let words = "not measured here".into();
            return Verdict { measured, standing: None, holds_for_wrong: None, words };
        };
        let (mut standing, mut words) = self.stand(value, measured.spread);
        if measured.spread.is_some_and(|spread| self.is_undecided(value, spread)) {
            standing = Standing::Undecided;
            words.push_str(", but seeds reach from what holds to the contrary");
        }
        let holds = |value| self.stand(value, measured.spread).0 == Standing::Holds;
        let holds_for_wrong = match measured.wrong {
            Some(wrong) => Some(holds(wrong) || (standing != Standing::Holds && self.is_declared(wrong))),
            // A change of nothing is the least that a wrong number can be.
            None => (self.wrong.is_none() && self.is_change()).then(|| holds(0.0)),
        };
        Verdict { measured, standing: Some(standing), holds_for_wrong, words }
    }

    /// Whether chance takes the number further than the claim is precise, and both to one that holds and to one that
    /// deviates.
    fn is_undecided(&self, value: f64, spread: f64) -> bool {
        if spread <= self.tolerance.unwrap_or(ABOUT_EQUAL) {
            return false;
        }
        let ratio = 1.0 + value;
        let (low, high) = match self.is_change() && ratio > 0.0 {
            // Nothing shrinks by more than all of it.
            true => (ratio / (spread / ratio).exp() - 1.0, ratio * (spread / ratio).exp() - 1.0),
            false => (value - spread, value + spread),
        };
        let stands = |at: f64| self.stand(at, None).0;
        let nearest = match self.paper {
            Figure::Direction(Direction::Lower) => low,
            Figure::Direction(Direction::Higher) => high,
            Figure::One(number) => number.clamp(low, high),
            Figure::Range([a, b]) => value.clamp(a.min(b), a.max(b)).clamp(low, high),
        };
        let farthest = [low, 0.0f64.clamp(low, high), high];
        stands(nearest) == Standing::Holds && farthest.into_iter().any(|at| stands(at) == Standing::Deviates)
    }

    fn is_change(&self) -> bool {
        self.number.against.is_some()
    }

    /// Which way a change goes: 1 is up; `None` of plain numbers and where the paper sees no change.
    fn direction(&self) -> Option<f64> {
        let (low, high) = match self.paper {
            Figure::Direction(Direction::Lower) => return Some(-1.0),
            Figure::Direction(Direction::Higher) => return Some(1.0),
            Figure::One(number) => (number, number),
            Figure::Range([a, b]) => (a.min(b), a.max(b)),
        };
        let sign = if low > ABOUT_EQUAL { 1.0 } else { -1.0 };
        (self.is_change() && (low > ABOUT_EQUAL || high < -ABOUT_EQUAL)).then_some(sign)
    }

    /// How a number stands, and how that is said.
    fn stand(&self, value: f64, spread: Option<f64>) -> (Standing, String) {
        let (low, high) = match self.paper {
            Figure::Direction(_) => return self.stand_by_direction(value),
            Figure::One(number) => (number, number),
            Figure::Range([a, b]) => (a.min(b), a.max(b)),
        };
        let tolerance = self.tolerance.unwrap_or(0.0);
        // Where seeds tell little the claim may be missed by as much again, and no more: chance is no excuse.
        let slack = tolerance + spread.unwrap_or(0.0).min(tolerance);
        let nearest = value.clamp(low, high);
        // Numbers such as 0.25 − 0.2 are not exactly that.
        if (value - nearest).abs() <= slack * (1.0 + 1e-9) {
            return (
                Standing::Holds,
                if low < high { "within the paper's range" } else { "as in the paper" }.into(),
            );
        }
        let factor = value / nearest;
        if self.is_change() {
            return match self.direction() {
                None => (Standing::Deviates, "a change where the paper sees none".into()),
                Some(_) if value.abs() <= ABOUT_EQUAL => (Standing::Deviates, "no change here".into()),
                Some(sign) if sign * value < 0.0 => (Standing::Deviates, "opposite sign".into()),
                Some(_) => {
                    (shape(factor, CHANGE_FACTOR), format!("same sign, {factor:.2} times the paper's"))
                }
            };
        }
        match nearest == 0.0 {
            true => (Standing::Deviates, format!("{value} where the paper has 0")),
            false => (shape(factor, NUMBER_FACTOR), format!("{factor:.2} times the paper's")),
        }
    }

    fn stand_by_direction(&self, value: f64) -> (Standing, String) {
        let change = self.direction().map_or(0.0, |sign| sign * value);
        if change.abs() <= ABOUT_EQUAL {
            return (Standing::Deviates, "no change here".into());
        }
        match change > 0.0 {
            true => (Standing::Holds, "as in the paper".into()),
            false => (Standing::Deviates, "the other way round".into()),
        }
    }
}

/// How a number stands that is so many times the paper's and not within the tolerance.
fn shape(factor: f64, most: f64) -> Standing {
    if (1.0 / most..=most).contains(&factor) { Standing::InShape } else { Standing::Deviates }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(fields: &str) -> Claim {
        toml::from_str(&format!("id = \"1\"\n{fields}")).unwrap()
    }

    fn change(fields: &str) -> Claim {
        claim(&format!("number = {{ of = \"a\", against = \"b\" }}\n{fields}"))
    }

    fn standing(claim: &Claim, value: f64) -> Standing {
        claim.stand(value, None).0
    }

    #[test]
    fn changes_stand_by_distance_then_by_sign() {
        let claim = change("paper = -0.4\ntolerance = 0.1");
        let cases = [
            (-0.3, Standing::Holds),
            (-0.5, Standing::Holds),
            (-0.55, Standing::InShape),
            (-0.14, Standing::InShape),
            (-0.1, Standing::Deviates),
        ];
        for (value, expected) in cases {
            assert_eq!(standing(&claim, value), expected, "{value}");
        }
        assert_eq!(claim.stand(-0.02, None), (Standing::Deviates, "no change here".into()));
        assert_eq!(claim.stand(0.2, None), (Standing::Deviates, "opposite sign".into()));
        let none = change("paper = 0.0\ntolerance = 0.03");
        assert_eq!(standing(&none, 0.03), Standing::Holds);
        assert_eq!(standing(&none, -0.04), Standing::Deviates);
        let range = change("paper = [-0.3, -0.1]");
        assert_eq!(
            [-0.3, -0.2, -0.1, -0.31].map(|value| standing(&range, value)),
            [Standing::Holds, Standing::Holds, Standing::Holds, Standing::InShape]
        );
    }

    #[test]
    fn plain_numbers_stand_by_distance_then_by_factor() {
        let claim = claim("number = { of = \"a\" }\npaper = 100\ntolerance = 10");
        let cases = [
            (110.0, Standing::Holds),
            (89.0, Standing::InShape),
            (200.0, Standing::InShape),
            (201.0, Standing::Deviates),
            (49.0, Standing::Deviates),
        ];
        for (value, expected) in cases {
            assert_eq!(standing(&claim, value), expected, "{value}");
        }
    }

    /// Two slices cannot have a Jain index below a half: whoever claims 1 must say how near.
    #[test]
    fn a_bound_has_no_tolerance() {
        let claim = claim("number = { of = \"a\" }\npaper = [0.9, 1.0]");
        assert_eq!(standing(&claim, 0.9), Standing::Holds);
        assert_ne!(standing(&claim, 0.899), Standing::Holds);
        assert_ne!(claim.stand(0.899, Some(1.0)).0, Standing::Holds, "whatever the seeds");
    }

    #[test]
    fn seeds_widen_a_tolerance_to_twice_at_most() {
        let claim = change("paper = -0.4\ntolerance = 0.1");
        let stands = |value, spread| claim.stand(value, Some(spread)).0;
        assert_eq!([stands(-0.54, 0.05), stands(-0.56, 0.05)], [Standing::Holds, Standing::InShape]);
        assert_eq!([stands(-0.59, 9.0), stands(-0.61, 9.0)], [Standing::Holds, Standing::InShape]);
    }

    #[test]
    fn a_direction_is_all_that_some_papers_give() {
        let [lower, higher] = ["lower", "higher"].map(|word| change(&format!("paper = \"{word}\"")));
        for (value, down, up) in [(-0.5, true, false), (-0.02, false, false), (0.2, false, true)] {
            assert_eq!(standing(&lower, value) == Standing::Holds, down, "{value}");
            assert_eq!(standing(&higher, value) == Standing::Holds, up, "{value}");
        }
        let other = toml::from_str::<Claim>("id = \"1\"\nnumber = {}\npaper = \"less\"");
        assert!(other.is_err());
    }

    #[test]
    fn what_seeds_take_from_one_verdict_to_the_contrary_is_undecided() {
        let claim = change("paper = -0.4\ntolerance = 0.1");
        let of = |claim: &Claim, value, spread| {
            let measured = Measurement { value: Some(value), spread: Some(spread), wrong: None };
            claim.verdict(measured).standing.unwrap()
        };
        assert_eq!(of(&claim, -0.4, 0.2), Standing::Holds, "at worst it is in shape");
        assert_eq!(of(&claim, -0.4, 0.45), Standing::Undecided);
        assert_eq!(of(&claim, 0.3, 0.2), Standing::Deviates);
        assert_eq!(of(&claim, 0.3, 1.0), Standing::Undecided);
        assert_eq!(of(&claim, -0.35, 0.1), Standing::Holds, "as precise as the claim");
        let lower = change("paper = \"lower\"");
        assert_eq!(of(&lower, -0.2, 0.1), Standing::Holds);
        assert_eq!([of(&lower, -0.2, 0.18), of(&lower, 0.1, 0.2)], [Standing::Undecided; 2]);
    }

    fn judged(claim: &Claim, value: f64, wrong: Option<f64>) -> Option<bool> {
        claim.verdict(Measurement { value: Some(value), spread: None, wrong }).holds_for_wrong
    }

    #[test]
    fn a_claim_must_not_hold_for_a_wrong_scheme() {
        let named = claim("number = { of = \"a\" }\npaper = 100\ntolerance = 10\nwrong = \"c\"");
        assert_eq!(judged(&named, 100.0, Some(91.0)), Some(true));
        assert_eq!(judged(&named, 100.0, Some(50.0)), Some(false));
        assert_eq!(judged(&named, 100.0, None), None, "that it was not measured proves nothing");
        // Without a name: that nothing changes.
        assert_eq!(judged(&change("paper = -0.4\ntolerance = 0.1"), -0.4, None), Some(false));
        assert_eq!(judged(&change("paper = -0.04\ntolerance = 0.1"), -0.04, None), Some(true));
        assert_eq!(judged(&claim("number = { of = \"a\" }\npaper = 1\ntolerance = 0"), 1.0, None), None);
        // A deviation that a wrong scheme has too says nothing of this one.
        let deviation = "paper = -0.4\ntolerance = 0.1\nwrong = \"c\"\ndeviation = { within = [-0.2, 0.0], reason = \"\" }";
        assert_eq!(judged(&change(deviation), -0.1, Some(-0.15)), Some(true));
        assert_eq!(judged(&change(deviation), -0.1, Some(0.1)), Some(false));
    }

    #[test]
    fn a_wrong_number_is_the_claims_own_but_for_the_fields_that_are_otherwise() {
        let wrong = |fields: &str| {
            let number = "number = { metric = \"m\", class = \"short\", of = \"a\", against = \"b\", at = { load = 1 } }";
            let claim = claim(&format!("paper = \"lower\"\n{number}\nwrong = {fields}"));
            let crate::Quantity { metric, class, of, against, at, .. } =
                claim.wrong.unwrap().instead_of(&claim.number);
            format!("{metric} {class} {of} {} {}", against.unwrap(), at["load"])
        };
        assert_eq!(wrong("\"c\""), "m short c b 1");
        assert_eq!(wrong("{ of = \"b\", against = \"a\" }"), "m short b a 1");
        assert_eq!(wrong("{ class = \"long\", at = { load = 2 } }"), "m long a b 2");
        let misspelt = "id = \"1\"\npaper = \"lower\"\nnumber = {}\nwrong = { off = \"b\" }";
        let error = toml::from_str::<Claim>(misspelt).unwrap_err().to_string();
        assert!(error.contains("fields of number that are otherwise"), "{error}");
    }

    #[test]
    fn a_smaller_run_speaks_against_a_claim_when_chance_cannot_be_why() {
        let claim = change("paper = -0.4\ntolerance = 0.1\nmeasured = { value = -0.2, scale = 1 }");
        let against = |value, spread| {
            claim.is_contradicted_by(&Measurement { value: Some(value), spread, wrong: None })
        };
        assert!(against(0.3, Some(0.1)));
        assert!(against(0.0, Some(0.0)) && against(-0.01, Some(0.01)), "nothing changes");
        assert!(
            !against(0.3, Some(0.4))
                && !against(0.0, Some(0.04))
                && !against(0.3, None)
                && !against(-0.1, Some(0.01))
        );
        let deviates = change("paper = -0.4\ntolerance = 0.1\nmeasured = { value = 0.2, scale = 1 }");
        assert!(!deviates.is_contradicted_by(&Measurement {
            value: Some(0.3),
            spread: Some(0.0),
            wrong: None
        }));
    }
}
