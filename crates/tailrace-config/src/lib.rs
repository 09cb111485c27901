//! From TOML to types: tables, and errors that name file, line, field and what would be right. Knows no field of
//! anybody's, and reads no file.

mod error;
mod fingerprint;
mod locate;
pub mod suggest;
pub mod table;

pub use error::ScenarioError;
pub use fingerprint::fingerprint;
pub use locate::line_of;
