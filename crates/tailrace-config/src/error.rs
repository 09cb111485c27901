//! Errors that say where: file, line, field, and what would be right.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::locate::{line_at, line_of};
use crate::mistake::Mistake;

/// A scenario, or a file it names, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, if one is known.
    pub file: Option<PathBuf>,
    /// The line in it, counted from 1.
    pub line: Option<usize>,
    /// The field as a dotted path, such as `workload.rule[1].load`; empty if no field is to blame.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl ScenarioError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        ScenarioError { file: None, line: None, field: field.into(), message: message.into() }
    }

    /// An error at a place of a file that has no fields.
    pub fn in_line(file: &Path, line: usize, message: impl Into<String>) -> Self {
        ScenarioError { file: Some(file.to_owned()), line: Some(line), ..Self::new("", message) }
    }

    /// The same error, seen from the table that has the field's table as its `field`.
    pub fn within(mut self, field: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => field.to_owned(),
            inner if inner.starts_with('[') => format!("{field}{inner}"),
            inner => format!("{field}.{inner}"),
        };
        self
    }

    /// Adds the line of the field in `text`, the source it was read from.
    pub fn locate(mut self, text: &str) -> Self {
        if self.file.is_none() && self.line.is_none() {
            self.line = line_of(text, &self.field);
        }
        self
    }

    /// Adds the file.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// A text that is no TOML.
    pub fn syntax(error: &toml::de::Error, text: &str) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        ScenarioError { line, ..Self::new("", error.message()) }
    }

    /// A value that does not fit the type it is read into.
    pub(crate) fn shape(error: &serde_path_to_error::Error<Mistake>) -> Self {
        let path = error.path();
        let field = if path.iter().len() == 0 { String::new() } else { path.to_string() };
        Self::new(field, error.inner().to_string())
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", shown(&self.field, LONGEST_FIELD))?;
        }
        f.write_str(&shown(&self.message, LONGEST_MESSAGE))
    }
}

/// Characters of a field and of a message that are shown at most. Both may repeat what a file says, of any length.
pub const LONGEST_FIELD: usize = 200;
/// See [`LONGEST_FIELD`].
pub const LONGEST_MESSAGE: usize = 2_000;

/// A text from a file as it can be shown to people: its middle is left out if it has more than so many characters, and
/// what would move the cursor, hide text or change its direction is written as its code, as JSON does, so that a document
/// stays one.
pub fn shown(text: &str, most: usize) -> String {
    let length = text.chars().count();
    let skipped = if length > most { most / 2..length - most / 2 } else { 0..0 };
    let mut out = String::new();
    for (place, letter) in text.chars().enumerate() {
        if place == skipped.start && !skipped.is_empty() {
            out += &format!(" … ({} characters) … ", skipped.len());
        }
        match letter {
            _ if skipped.contains(&place) => {}
            '\n' | '\t' => out.push(letter),
            _ if letter.is_control() || is_invisible(letter) => {
                out += &format!("\\u{:04x}", u32::from(letter))
            }
            _ => out.push(letter),
        }
    }
    out
}

/// Marks of direction, and characters of no width.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_left_out_when_unknown() {
        let error = ScenarioError::new("load", "must lie between 0 and 1");
        assert_eq!(error.to_string(), "load: must lie between 0 and 1");
        let error = error.within("rule[1]").within("workload");
        assert_eq!(error.to_string(), "workload.rule[1].load: must lie between 0 and 1");
        let error = error.locate("[workload]\n[[workload.rule]]\n[[workload.rule]]\nload = 3");
        assert_eq!(error.to_string(), "line 4: workload.rule[1].load: must lie between 0 and 1");
        let error = error.in_file(Path::new("a.toml"));
        assert_eq!(error.to_string(), "a.toml:4: workload.rule[1].load: must lie between 0 and 1");
        assert_eq!(ScenarioError::in_line(Path::new("x.cdf"), 2, "bad").to_string(), "x.cdf:2: bad");
    }

    #[test]
    fn what_a_file_says_is_shown_and_not_obeyed() {
        let error = ScenarioError::new("a\u{1b}[31m", "is \u{202e}x\u{7}, but must be µs");
        assert_eq!(error.to_string(), "a\\u001b[31m: is \\u202ex\\u0007, but must be µs");
        let long = "x".repeat(1 << 20);
        let text = ScenarioError::new(long.clone(), format!("is \"{long}\", but must be short")).to_string();
        assert!(text.len() < 2_400 && text.contains(" … (1048376 characters) … "), "{text}");
        assert!(text.ends_with("but must be short"), "what would be right is still there: {text}");
    }

    #[test]
    fn an_inner_index_joins_without_a_dot() {
        assert_eq!(ScenarioError::new("[2]", "").within("mix").field, "mix[2]");
        assert_eq!(ScenarioError::new("", "").within("mix").field, "mix");
    }
}
