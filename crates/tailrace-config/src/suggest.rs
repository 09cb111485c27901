//! "Did you mean …?"

/// The name among `known` that is nearest to `name`, if it is near enough to be a slip: letters are wrong, missing or
/// swapped, capitals are taken for small ones, or only one of the name's words is there.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let name = name.to_lowercase();
    let length = name.chars().count();
    // Of a short name, something must be right.
    let longest_slip = (1 + length / 4).min(length.saturating_sub(1));
    let slips = known.iter().filter_map(|candidate| {
        let other = candidate.to_lowercase();
        let comparable = other.chars().count().abs_diff(length) <= longest_slip;
        let distance = comparable.then(|| strsim::osa_distance(&name, &other))?;
        (distance <= longest_slip).then_some((distance, *candidate))
    });
    let nearest = slips.min_by_key(|&(distance, _)| distance);
    // A whole word is more than half of the letters: `size` is rather `size_bytes` than `slice`.
    let mut longer = known.iter().filter(|candidate| candidate.split(['_', '-']).any(|word| word == name));
    let word =
        longer.next().filter(|_| longer.next().is_none() && nearest.is_none_or(|(slips, _)| slips > 1));
    word.copied().or(nearest.map(|(_, candidate)| candidate))
}

/// What to say about a name that is not among `known`.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match closest(name, known.iter().copied()) {
        Some(near) => format!("unknown {what} \"{name}\"; did you mean \"{near}\"?"),
        None => format!("unknown {what} \"{name}\"; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(closest("web-serach", ["data-mining", "web-search"]), Some("web-search"));
        assert_eq!(closest("leafs", ["leaves", "spines"]), Some("leaves"));
        assert_eq!(closest("laod", ["load", "flows"]), Some("load"));
        assert_eq!(closest("hadoop", ["data-mining", "web-search"]), None);
        assert_eq!(closest("", ["load"]), None);
        assert_eq!(unknown("field", "x", ["load", "flows"]), "unknown field \"x\"; known are load, flows");
    }

    #[test]
    fn capitals_are_no_difference() {
        assert_eq!(closest("DCTCP", ["tcp", "d2tcp", "dctcp"]), Some("dctcp"));
        assert_eq!(closest("dctcp", ["TCP", "DCTCP"]), Some("DCTCP"));
    }

    #[test]
    fn a_word_of_one_name_means_that_name() {
        assert_eq!(closest("size", ["src", "dst", "slice", "size_bytes"]), Some("size_bytes"));
        assert_eq!(closest("start", ["src", "start_ns"]), Some("start_ns"));
        assert_eq!(closest("ns", ["start_ns", "deadline_ns"]), None, "which of them?");
    }

    #[test]
    fn a_name_of_a_megabyte_is_compared_with_nothing() {
        let known = ["load".to_owned(), "x".repeat(2_000_000)];
        assert_eq!(closest(&"x".repeat(1_000_000), known.iter().map(String::as_str)), None);
    }
}
