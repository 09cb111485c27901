//! Reads the files that users name.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::ScenarioError;

/// Opens a file to be read. A pipe or a device may have no end: only regular files are read.
pub fn open_file(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    let refused = |why: &str| Err(io::Error::new(ErrorKind::InvalidInput, why));
    if kind.is_dir() {
        return refused("it is a folder, but must be a file");
    }
    if !kind.is_file() {
        return refused("it is a pipe or a device, but must be a regular file");
    }
    File::open(path)
}

/// The content of a regular file.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_file(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The content of a file of text.
pub fn read_text(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    read_file(path).and_then(|content| String::from_utf8(content).map_err(not_text))
}

/// What a file of text says, of which `parse` is given the text and the folder to which its names of files are relative. Errors say
/// file and line.
pub fn read_parsed<T>(
    path: &Path,
    parse: impl FnOnce(&str, &Path) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    let unreadable = |error| ScenarioError::new("", format!("cannot be read: {error}")).in_file(path);
    let text = read_text(path).map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, folder).map_err(|error| error.locate(&text).in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let this = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(read_text(&this).unwrap().contains("[package]"));
        let error = |path: &Path| read_file(path).unwrap_err().to_string();
        assert!(error(this.parent().unwrap()).contains("it is a folder"));
        assert!(error(Path::new("no such file")).contains("No such file"));
        if cfg!(unix) {
            assert!(error(Path::new("/dev/zero")).contains("it is a pipe or a device"));
            assert!(error(Path::new("/dev/null")).contains("it is a pipe or a device"));
        }
    }
}
