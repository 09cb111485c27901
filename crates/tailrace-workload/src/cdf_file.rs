//! Flow-size tables in files: `bytes probability` a line, `#` starts a comment.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::SizeDistribution;

/// Reads the points of a flow-size table; `file` is for messages.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<(f64, f64)>, ScenarioError> {
    let mut points = Vec::new();
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let wrong = |message: String| ScenarioError::in_line(file, index + 1, message);
        let columns: Vec<&str> = content.split_whitespace().collect();
        let &[size, probability] = columns.as_slice() else {
            return Err(wrong(format!("expected \"bytes probability\", found \"{content}\"")));
        };
        let number =
            |text: &str| text.parse::<f64>().map_err(|_| wrong(format!("\"{text}\" is not a number")));
        points.push((number(size)?, number(probability)?));
        lines.push(index + 1);
    }
    // Points are checked here as well as where the distribution is made: only here are lines known.
    match SizeDistribution::new(points.clone()) {
        Ok(_) => Ok(points),
        Err(error) => {
            let line = error.index().map(|index| lines[index]).or(lines.last().copied()).unwrap_or(1);
            Err(ScenarioError::in_line(file, line, error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(f64, f64)>, String> {
        parse(text, Path::new("x.cdf")).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        assert_eq!(
            read("# sizes\n\n100 0 # smallest\n1e3\t0.5\n  2000 1\n"),
            Ok(vec![(100.0, 0.0), (1e3, 0.5), (2e3, 1.0)])
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(
            error("# a\n100 0\n50 1").starts_with("x.cdf:3: point 1: sizes and probabilities must not fall")
        );
        assert!(error("100 0\n200 0.9\n").starts_with("x.cdf:2: the last probability is 0.9"));
        assert!(error("-5 0\n200 1").starts_with("x.cdf:1: point 0: size -5"));
        assert!(error("5 0\n\n200 one").starts_with("x.cdf:3: \"one\" is not a number"));
        assert!(error("5 0 3").starts_with("x.cdf:1: expected \"bytes probability\""));
        assert!(error("5 0\n10 100").starts_with("x.cdf:2: point 1: probability 100"));
        assert!(error("").starts_with("x.cdf:1: a CDF needs at least one point"));
    }
}
