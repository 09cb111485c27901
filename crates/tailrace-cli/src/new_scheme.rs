//! `tailrace new-scheme NAME`: copies the smallest scheme under a new name and adds its registry line.

use std::fs;
use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_console::say;
use tailrace_experiment::Error;
use tailrace_schemes::NAMES;

use crate::args;

/// The template: the smallest scheme, as it stands in the repository.
const TEMPLATE: [(&str, &str); 4] = [
    ("mod.rs", include_str!("../../tailrace-schemes/src/fifo/mod.rs")),
    ("README.md", include_str!("../../tailrace-schemes/src/fifo/README.md")),
    ("tests.rs", include_str!("../../tailrace-schemes/src/fifo/tests.rs")),
    ("smoke.toml", include_str!("../../tailrace-schemes/src/fifo/smoke.toml")),
];

/// Words that the language keeps for itself (The Rust Reference, "Keywords").
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

pub fn new_scheme(options: &args::NewScheme) -> Result<i32, Error> {
    let name = options.name.as_str();
    check_name(name)?;
    let source = options.root.join("crates/tailrace-schemes/src");
    let registry = source.join("registry.rs");
    let lib = source.join("lib.rs");
    if !registry.is_file() {
        let message = format!(
            "{} is no checkout of Tailrace: {} is not there",
            options.root.display(),
            registry.display()
        );
        return Err(ScenarioError::new("--root", message).into());
    }
    let module = name.replace('-', "_");
    let dir = source.join(&module);
    for taken in [dir.clone(), dir.with_extension("rs")] {
        if taken.exists() {
            return Err(wrong(format!("{} exists already", taken.display())));
        }
    }
    let type_name = type_name(name);
    fs::create_dir(&dir).map_err(|e| Error::storage(&dir, e))?;
    for (file, content) in TEMPLATE {
        let content = content.replace("Fifo", &type_name).replace("fifo", name);
        write(&dir.join(file), &content)?;
    }
    insert_line(&registry, "schemes! {\n", &format!("    crate::{module}::{type_name},\n"))?;
    insert_line(&lib, "\npub mod ", &format!("\npub mod {module};"))?;
    say!("{}: the scheme, a copy of fifo to be changed", dir.display());
    say!("{}: its line", registry.display());
    say!("{}: its module", lib.display());
    say!("next: cargo test -p tailrace-schemes {module}; then CONTRIBUTING.md, \"Add a scheme\"");
    Ok(0)
}

fn check_name(name: &str) -> Result<(), Error> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(letters)
        && !name.ends_with('-')
        && !name.contains("--");
    if !fits {
        return Err(wrong(format!("\"{name}\": lower-case letters, digits and hyphens, a letter first")));
    }
    if KEYWORDS.contains(&name) {
        return Err(wrong(format!("\"{name}\" is a word of Rust, so no module can be called so")));
    }
    if NAMES.contains(&name) {
        return Err(wrong(format!("there is a scheme called \"{name}\" already")));
    }
    Ok(())
}

/// "min-cost" → "MinCost".
fn type_name(name: &str) -> String {
    name.split('-')
        .map(|word| {
            let mut chars = word.chars();
            chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
        })
        .collect()
}

/// Inserts `line` at the first `place` in a file: behind it if it ends a line, else before it.
fn insert_line(file: &Path, place: &str, line: &str) -> Result<(), Error> {
    let text = fs::read_to_string(file).map_err(|e| Error::storage(file, e))?;
    let Some(at) = text.find(place) else {
        return Err(Error::storage(file, std::io::Error::other(format!("{place:?} was not found"))));
    };
    let at = if place.ends_with('\n') { at + place.len() } else { at };
    write(file, &format!("{}{line}{}", &text[..at], &text[at..]))
}

fn write(file: &Path, content: &str) -> Result<(), Error> {
    fs::write(file, content).map_err(|e| Error::storage(file, e))
}

fn wrong(message: String) -> Error {
    ScenarioError::new("NAME", message).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_types() {
        assert_eq!(type_name("sjf"), "Sjf");
        assert_eq!(type_name("min-cost2"), "MinCost2");
    }

    #[test]
    fn bad_names_are_refused() {
        for bad in ["", "LAS", "1st", "a_b", "a-", "a--b", "fifo", "las", "a b", "match", "self"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert!(check_name("sjf").is_ok());
    }
}
