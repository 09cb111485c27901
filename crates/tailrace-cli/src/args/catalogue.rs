//! Arguments of what lists what there is.

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
pub struct Catalogue {
    /// Show this one only, in full
    pub name: Option<String>,
    /// Print JSON (for schemes: with the schema of the parameters)
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace fabrics
  tailrace fabrics spine144
  tailrace fabrics spine144 --graph > mine.toml     its hosts, switches and links, to be changed
  tailrace fabrics ours.graphml --graph             what a graph's file amounts to")]
pub struct Fabrics {
    #[command(flatten)]
    pub catalogue: Catalogue,
    /// Print the preset, or the fabric of a file, as hosts, switches and links
    #[arg(long, requires = "name", conflicts_with = "json")]
    pub graph: bool,
}
