//! What does not fit the type that it is read into, in words for people who do not program in Rust.

use std::fmt::{self, Display};

use serde::de::{Error, Expected, Unexpected};

use crate::suggest;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake(String);

impl Mistake {
    /// A value that is something else than it must be.
    pub(crate) fn must_be(found: Unexpected, expected: impl Display) -> Self {
        Mistake(format!("is {}, but must be {expected}", in_words(found)))
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mistake {}

impl Error for Mistake {
    fn custom<T: Display>(message: T) -> Self {
        Mistake(message.to_string())
    }
    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        Self::must_be(found, expected)
    }
    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Self::must_be(found, expected)
    }
    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Mistake(format!("is of length {length}, but must be {expected}"))
    }
    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Mistake(suggest::unknown("field", field, known.iter().copied()))
    }
    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Mistake(suggest::unknown("value", variant, known.iter().copied()))
    }
}

/// What was found, in the words of TOML.
fn in_words(found: Unexpected) -> String {
    match found {
        Unexpected::Float(number) => format!("number `{number}`"),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        other => other.to_string(),
    }
}
