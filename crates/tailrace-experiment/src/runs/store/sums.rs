//! `SHA256SUMS`: what the files of a folder contained when they were written. `sha256sum -c` reads it too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tailrace_config::{open_file, read_file};

use super::lock::to_read;
use crate::error::Error;
use crate::output::files::write_whole;

/// The file's name.
pub(super) const SUMS: &str = "SHA256SUMS";

/// The hash of each file by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(BTreeMap<String, String>);

impl Sums {
    /// What the folder's list says. An error says why there is none.
    pub(super) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(SUMS);
        let bytes = read_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if dir.is_dir() => {
                damaged(&path, "is missing: what the folder should contain is not known")
            }
            _ => Error::storage(&path, error),
        })?;
        Self::parse(&bytes).ok_or_else(|| damaged(&path, "is damaged"))
    }

    /// Adds the files of the folder that are not listed yet.
    pub(super) fn add_rest(&mut self, dir: &Path) -> Result<(), Error> {
        for entry in fs::read_dir(dir).map_err(|e| Error::storage(dir, e))? {
            let path = entry.map_err(|e| Error::storage(dir, e))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Entry::Vacant(missing) = self.0.entry(name) {
                missing.insert(hash_file(&path).map_err(|e| Error::storage(&path, e))?);
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, dir: &Path) -> Result<(), Error> {
        write_whole(&dir.join(SUMS), self.text().as_bytes())
    }

    pub(super) fn add(&mut self, name: &str, content: &[u8]) {
        self.0.insert(name.to_owned(), hex(&Sha256::digest(content)));
    }

    /// Adds a file that was written by `Hashing`.
    pub(super) fn add_written<W>(&mut self, name: &str, written: Hashing<W>) {
        self.0.insert(name.to_owned(), hex(&written.hash.finalize()));
    }

    /// Whether the list says that the file contains this.
    pub(super) fn has(&self, name: &str, content: &[u8]) -> bool {
        self.0.get(name).is_some_and(|hash| *hash == hex(&Sha256::digest(content)))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether a file contains what it did when it was written.
    pub(super) fn verify(&self, dir: &Path, name: &str) -> Result<(), Error> {
        let path = dir.join(name);
        let known = self.0.get(name).ok_or_else(|| damaged(&path, "is not listed in SHA256SUMS"))?;
        let found = hash_file(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged(&path, "is missing, though SHA256SUMS lists it"),
            _ => Error::storage(&path, error),
        })?;
        let matches = found == *known;
        if matches { Ok(()) } else { Err(damaged(&path, "is damaged: it does not match its checksum")) }
    }

    /// The list: a line for each file below one with a hash of them all, so that damage of the list is not taken for
    /// damage of files.
    fn text(&self) -> String {
        let lines: String = self.0.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect();
        format!("# SHA-256 of the lines below: {}\n{lines}", hex(&Sha256::digest(&lines)))
    }

    /// Reads a list that is, to the byte, as `text` writes it.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let lines = text.lines().skip(1).map(|line| line.split_once("  "));
        let pairs = lines.map(|pair| pair.map(|(hash, name)| (name.to_owned(), hash.to_owned())));
        let sums = Sums(pairs.collect::<Option<_>>()?);
        (sums.text() == text).then_some(sums)
    }
}

/// A writer that hashes what is written.
pub(super) struct Hashing<W> {
    into: W,
    hash: Sha256,
}

impl<W> Hashing<W> {
    pub(super) fn new(into: W) -> Self {
        Hashing { into, hash: Sha256::new() }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.into.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

/// The files that a folder of results lists, with their hashes: a run's, an experiment's or a fluid model's. Fails
/// unless all of them are what was written.
pub fn verify(dir: &Path) -> Result<Vec<(String, String)>, Error> {
    let _lock = to_read(dir)?;
    let sums = Sums::read(dir)?;
    sums.names().try_for_each(|name| sums.verify(dir, name))?;
    Ok(sums.0.into_iter().collect())
}

/// Whether one file of such a folder is what was written.
pub(crate) fn verify_file(dir: &Path, name: &str) -> Result<(), Error> {
    Sums::read(dir)?.verify(dir, name)
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::Storage { path: path.to_owned(), message: what.to_owned() }
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = open_file(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            length => hash.update(&buffer[..length]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_sha_256() {
        // FIPS 180-2, appendix B.1.
        let mut sums = Sums::default();
        sums.add("a", b"abc");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(sums.text().ends_with(&format!("\n{abc}  a\n")), "{}", sums.text());
        let (mut file, mut written) = (Vec::new(), Sums::default());
        let mut hashing = Hashing::new(&mut file);
        hashing.write_all(b"ab").and_then(|()| hashing.write_all(b"c")).unwrap();
        written.add_written("a", hashing);
        assert_eq!((&written, &file[..]), (&sums, &b"abc"[..]));
    }

    #[test]
    fn a_list_with_any_byte_changed_or_missing_is_no_list() {
        let mut sums = Sums::default();
        sums.add("flows.parquet", b"1");
        sums.add("summary.json", b"2");
        let text = sums.text().into_bytes();
        assert_eq!(Sums::parse(&text), Some(sums));
        for end in 0..text.len() {
            assert_eq!(Sums::parse(&text[..end]), None, "{end} bytes");
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[end] ^= 1 << bit;
                assert_eq!(Sums::parse(&flipped), None, "byte {end}, bit {bit}");
            }
        }
    }
}
