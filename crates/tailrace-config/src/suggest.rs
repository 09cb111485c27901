//! "Did you mean …?"

/// The name among `known` that is nearest to `name`, if it is near enough to be a slip.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    // Of a short name, something must be right.
    let longest_slip = (1 + length / 4).min(length.saturating_sub(1));
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= longest_slip)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// What to say about a name that is not among `known`.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match closest(name, known.iter().copied()) {
        Some(near) => format!("unknown {what} \"{name}\"; did you mean \"{near}\"?"),
        None => format!("unknown {what} \"{name}\"; known are {}", known.join(", ")),
    }
}

/// Turns what serde says into words for people who do not program in Rust, with a suggestion where it lists
/// what it knows.
pub(crate) fn in_plain_words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown ") {
        // "field `x`, expected one of `a`, `b`"
        let quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        let what = if rest.starts_with("field") { "field" } else { "value" };
        return match quoted.as_slice() {
            [name, known @ ..] => unknown(what, name, known.iter().copied()),
            [] => message.to_owned(),
        };
    }
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message
            .replace("wanted exactly 1 element, more than 1 element", "only one form can be given");
    };
    let found =
        found.strip_prefix("invalid type: ").or(found.strip_prefix("invalid value: ")).unwrap_or(found);
    let expected = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i64" => "a whole number",
        "f64" => "a number",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "string only" => return "must be a name in quotes or a table".to_owned(),
        "enum" => return "must have exactly one form".to_owned(),
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    let found = found
        .replace("floating point", "number")
        .replace("map", "a table")
        .replace("sequence", "a list")
        .replace("invalid length", "of length");
    format!("is {found}, but must be {expected}")
}

/// Edit distance (Levenshtein), where two neighbours swapped count as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let replace = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[1][j] + 1).min(rows[2][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("leaves", "leafs"), 2);
        assert_eq!(distance("laod", "load"), 1);
        assert_eq!(distance("spine144", "spine144"), 0);
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(closest("web-serach", ["data-mining", "web-search"]), Some("web-search"));
        assert_eq!(closest("hadoop", ["data-mining", "web-search"]), None);
        assert_eq!(unknown("field", "x", ["load", "flows"]), "unknown field \"x\"; known are load, flows");
    }

    #[test]
    fn serde_is_translated() {
        for (said, meant) in [
            (
                "unknown field `laod`, expected one of `load`, `flows`",
                "unknown field \"laod\"; did you mean \"load\"?",
            ),
            ("unknown variant `a`, expected `x` or `y`", "unknown value \"a\"; known are x, y"),
            ("missing field `load`", "missing field `load`"),
            ("invalid type: integer `3`, expected a string", "is integer `3`, but must be text in quotes"),
            (
                "invalid value: integer `-1`, expected u16",
                "is integer `-1`, but must be a whole number from 0 to 65535",
            ),
            ("invalid type: unit variant, expected string only", "must be a name in quotes or a table"),
            ("invalid type: map, expected f64", "is a table, but must be a number"),
        ] {
            assert_eq!(in_plain_words(said), meant);
        }
    }
}
