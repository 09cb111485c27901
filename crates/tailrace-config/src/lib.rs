//! From TOML to types: tables, errors that name file, line, field and what would be right, and the way in which
//! files that users name are read. Knows no field of anybody's.

mod error;
mod fingerprint;
mod input;
mod locate;
mod mistake;
mod reader;
pub mod suggest;
pub mod table;

pub use error::{LONGEST_FIELD, LONGEST_MESSAGE, ScenarioError, shown};
pub use fingerprint::fingerprint;
pub use input::{open_file, read_file, read_parsed, read_text};
pub use locate::line_of;
