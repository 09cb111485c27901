//! Names from files that become names of files.

use std::path::Path;

/// The longest name, in bytes: file systems take 255, with an ending and what stands before a file that is not whole.
const LONGEST: usize = 200;

/// Checks that a name names a file of a folder, on any system: it is no path.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let path = ['/', '\\', ':'];
    let wrong = if name.is_empty() {
        "is empty".to_owned()
    } else if name.len() > LONGEST {
        let start: String = name.chars().take(20).collect();
        return Err(format!("\"{start}…\" has {} bytes: a name has at most {LONGEST}", name.len()));
    } else if name.starts_with('.') {
        "begins with a dot".to_owned()
    } else if let Some(bad) = name.chars().find(|c| path.contains(c) || c.is_control()) {
        format!("contains {bad:?}")
    } else {
        return Ok(());
    };
    Err(format!(
        "\"{}\" {wrong}: files are called by this name, so it must be one, not a path",
        name.escape_debug()
    ))
}

/// The longest title, in characters: it is a line on a terminal, and above a picture.
const LONGEST_TITLE: usize = 300;

/// Checks that a text can be shown as a title.
pub(crate) fn check_title(title: &str) -> Result<(), String> {
    match title.chars().count() {
        0..=LONGEST_TITLE => Ok(()),
        length => Err(format!("has {length} characters, but may have {LONGEST_TITLE} at most")),
    }
}

/// What the results of a file are called: its name without its ending, and never `.` or `..`.
pub(crate) fn of_file(file: &Path, otherwise: &str) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.trim_start_matches('.') {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths() {
        for good in ["load", "short tail", "größe", "a.b", "thresholds-4-queues", &"x".repeat(200)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "../x", "/x", "a/b", "a\\b", "C:x", ".tmp-x", "a\0b", "a\nb", "\u{1b}[2J"]
        {
            let message = check(bad).unwrap_err();
            assert!(message.contains("not a path") && !message.contains(char::is_control), "{message}");
        }
        assert!(check(&"x".repeat(201)).unwrap_err().contains("at most 200"));
    }

    #[test]
    fn results_are_never_called_by_a_path() {
        for (file, name) in [
            ("a/b.toml", "b"),
            ("b", "b"),
            ("..toml", "x"),
            ("...toml", "x"),
            ("..", "x"),
            (".c.toml", "c"),
            ("", "x"),
        ] {
            assert_eq!(of_file(Path::new(file), "x"), name, "{file}");
        }
    }
}
