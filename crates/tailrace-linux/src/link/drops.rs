//! Frames that interfaces have dropped before a socket saw them, as the kernel counts them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::hosts::INTERFACE;
use crate::interfaces::Interfaces;
use crate::namespace::Namespace;

/// Where an interface's count of frames that it dropped is, among the numbers of its line.
const RECEIVED_DROPPED: usize = 3;
const SENT_DROPPED: usize = 11;

/// The counts of a network namespace, and which of them are of frames on their way into the fabric.
struct Counts {
    file: File,
    names: Vec<String>,
    column: usize,
    dropped: u64,
    /// What was dropped before anybody cared.
    before: u64,
}

/// Counts what was dropped on the way into the fabric: at the hosts' ends, where a link holds no more, and at the
/// fabric's, where the kernel has too much to do.
pub(super) struct Drops {
    namespaces: Vec<Counts>,
    next: usize,
    text: Vec<u8>,
}

impl Drops {
    /// For a fabric's interfaces, and for hosts that are beyond them.
    pub(super) fn open(interfaces: &Interfaces, beyond: &[Namespace]) -> io::Result<Self> {
        // What is opened inside a namespace stays there.
        let open = || File::open("/proc/thread-self/net/dev");
        let counts = |file, names, column| Counts { file, names, column, dropped: 0, before: 0 };
        let mut namespaces =
            vec![counts(interfaces.inside(open)?, interfaces.names().to_vec(), RECEIVED_DROPPED)];
        for host in beyond {
            namespaces.push(counts(host.inside(open)?, vec![INTERFACE.to_owned()], SENT_DROPPED));
        }
        let mut drops = Drops { namespaces, next: 0, text: vec![0; 64 << 10] };
        drops.look_at_all()?;
        drops.namespaces.iter_mut().for_each(|counts| counts.before = counts.dropped);
        Ok(drops)
    }

    /// What was dropped, as it was when each namespace was last looked at. Looks at one more, since that takes time.
    pub(super) fn look(&mut self) -> io::Result<u64> {
        self.next = (self.next + 1) % self.namespaces.len();
        self.look_at(self.next)?;
        Ok(self.namespaces.iter().map(|counts| counts.dropped.saturating_sub(counts.before)).sum())
    }

    /// What was dropped until now.
    pub(super) fn look_at_all(&mut self) -> io::Result<u64> {
        (0..self.namespaces.len()).try_for_each(|number| self.look_at(number))?;
        self.look()
    }

    fn look_at(&mut self, number: usize) -> io::Result<()> {
        let counts = &mut self.namespaces[number];
        let mut read = 0;
        loop {
            if read == self.text.len() {
                self.text.resize(2 * read, 0);
            }
            match counts.file.read_at(&mut self.text[read..], read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        let text = String::from_utf8_lossy(&self.text[..read]);
        counts.dropped = text.lines().filter_map(|line| dropped(line, &counts.names, counts.column)).sum();
        Ok(())
    }
}

/// The count in an interface's line; `None` for the table's head and for others.
fn dropped(line: &str, names: &[String], column: usize) -> Option<u64> {
    let (name, numbers) = line.split_once(':')?;
    if !names.iter().any(|known| known == name.trim()) {
        return None;
    }
    numbers.split_ascii_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_their_columns() {
        let line = "  eth0:  9 8 7 6 5 4 3 2 99 88 77 66 55 44 33 22";
        let names = ["eth0".to_owned()];
        assert_eq!([3, 11].map(|column| dropped(line, &names, column)), [Some(6), Some(66)]);
        assert_eq!(dropped("    lo: 1 2 3 4", &names, 3), None);
        assert_eq!(dropped(" face |bytes    packets errs drop", &names, 3), None);
    }
}
