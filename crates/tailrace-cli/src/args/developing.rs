//! Arguments of what is for those who work on Tailrace itself.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace new-scheme sjf     (in a checkout of Tailrace)")]
pub struct NewScheme {
    /// Name of the scheme: lower-case letters, digits and hyphens
    pub name: String,
    /// Root of the checkout
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
}
