//! The store with made-up runs: damage, claims by several at a time, and what the dead leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};

use super::*;

const KEY: &str = concat!("0123456789abcdef-", env!("TAILRACE_BUILD"));

/// A run that nobody made.
pub(crate) fn made_up(number: f64) -> RunResult {
    let table = |values: Vec<f64>| {
        let column = Arc::new(Float64Array::from(values)) as ArrayRef;
        RecordBatch::try_from_iter([("value", column)]).unwrap().into()
    };
    RunResult {
        summary: Summary { build: crate::BUILD.to_owned(), virtual_seconds: number, ..Summary::default() },
        flows: table(vec![number, 2.0]),
        tasks: Some(table(vec![number])),
        ports: table(vec![3.0]),
        series: table(vec![]),
        lag: Some(table(vec![4.0])),
        scenario: "seed = 1\n".to_owned(),
    }
}

/// The store of an experiment, and what was said when it was opened.
fn open(dir: &Path) -> (Store, Vec<String>) {
    let mut notes = Vec::new();
    let store = Store::open(dir, "x", "a title", &mut |note| notes.push(note.to_owned())).unwrap();
    (store, notes)
}

fn save(store: &Store, number: f64) {
    store.claim(KEY).unwrap().unwrap().save(&made_up(number), 1).unwrap();
}

fn whole(store: &Store) -> Option<f64> {
    match store.kept(KEY) {
        Kept::Whole(summary) => Some(summary.virtual_seconds),
        _ => None,
    }
}

/// The files of a folder with their content, those in folders aside.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// What damage makes of a file's content: a flipped bit at the beginning, in the middle or at the end, a missing end,
/// nothing left, something more; `None` is no file.
fn damages(content: &[u8]) -> Vec<Option<Vec<u8>>> {
    let last = content.len() - 1;
    let flipped = |at: usize| {
        let mut content = content.to_vec();
        content[at] ^= 1;
        content
    };
    let cut = [0, last / 2, last].map(|end| content[..end].to_vec());
    let more = [content, b"\n"].concat();
    let damaged = [0, last / 2, last].map(flipped).into_iter().chain(cut).chain([more]);
    damaged.map(Some).chain([None]).collect()
}

fn put(path: &Path, content: Option<&[u8]>) {
    match content {
        Some(content) => fs::write(path, content).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn a_run_is_whole_only_with_every_byte_of_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    assert_eq!(store.kept(KEY), Kept::Nothing);
    save(&store, 1.0);
    assert_eq!(whole(&store), Some(1.0));
    let run = files(&store.run_dir(KEY));
    assert_eq!(run.len(), 8, "seven files and their checksums: {:?}", run.keys());
    for (path, content) in &run {
        for damage in damages(content) {
            put(path, damage.as_deref());
            let Kept::Damaged(what) = store.kept(KEY) else { panic!("{} is kept", path.display()) };
            assert!(what.contains(&store.run_dir(KEY).display().to_string()), "{what}");
            save(&store, 1.0);
            assert_eq!(files(&store.run_dir(KEY)), run, "made again after damage of {}", path.display());
        }
    }
    // What others put there is not Tailrace's to judge.
    fs::write(store.run_dir(KEY).join("notes.txt"), "odd").unwrap();
    assert_eq!(whole(&store), Some(1.0));
}

#[cfg(unix)]
#[test]
fn what_has_no_end_in_a_files_place_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    save(&store, 1.0);
    let run = files(&store.run_dir(KEY));
    for path in run.keys() {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let Kept::Damaged(what) = store.kept(KEY) else { panic!("{} is kept", path.display()) };
        assert!(what.contains("it is a pipe or a device"), "{what}");
        save(&store, 1.0);
        assert_eq!(files(&store.run_dir(KEY)), run);
    }
}

#[test]
fn a_run_of_another_build_in_this_ones_place_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let mut result = made_up(1.0);
    result.summary.build = "0123456789abcdef".to_owned();
    store.claim(KEY).unwrap().unwrap().save(&result, 1).unwrap();
    let Kept::Damaged(what) = store.kept(KEY) else { panic!("kept") };
    assert!(what.ends_with("summary.json is of another build"), "{what}");
}

#[test]
fn damage_of_the_folders_own_files_is_said_and_mended() {
    let dir = tempfile::tempdir().unwrap();
    let written =
        [("summary.csv", "a,b\n1,2\n"), ("claims.json", "[]\n"), ("experiment.toml", "title = \"x\"\n")];
    let write = |store: &Store| {
        written.iter().for_each(|(name, text)| store.write(name, text.as_bytes()).unwrap());
    };
    write(&open(dir.path()).0);
    let before = files(dir.path());
    assert_eq!(before.len(), 6, "three files, marker, lock and checksums: {:?}", before.keys());
    for (path, content) in before.iter().filter(|(path, _)| !path.ends_with(lock::LOCK)) {
        for damage in damages(content) {
            put(path, damage.as_deref());
            let (store, notes) = open(dir.path());
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(notes.iter().any(|note| note.contains(&name)), "{name}: {notes:?}");
            write(&store);
            assert_eq!(files(dir.path()), before, "{name}");
            assert_eq!(open(dir.path()).1, Vec::<String>::new());
        }
    }
}

#[test]
fn a_damaged_marker_gives_the_folder_to_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path());
    for content in [Some(b"".as_slice()), Some(b"z\n\n"), None] {
        put(&dir.path().join(owner::MARKER), content);
        let error = Store::open(dir.path(), "y", "other", &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("another experiment"), "{error}");
        open(dir.path());
    }
}

#[test]
fn a_claimed_run_is_nobody_elses_until_it_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let draft = store.claim(KEY).unwrap().unwrap();
    fs::write(draft.dir().join("a.pcap"), "half").unwrap();
    assert!(store.claim(KEY).unwrap().is_none());
    // One who opens the folder meanwhile leaves the living alone.
    let (second, _) = open(dir.path());
    assert!(second.claim(KEY).unwrap().is_none());
    assert!(draft.dir().join("a.pcap").exists());
    assert!(second.claim("other").unwrap().is_some());
    drop(draft);
    assert!(fs::read_dir(store.runs()).unwrap().next().is_none());
    assert!(second.claim(KEY).unwrap().is_some());
}

#[test]
fn what_lies_in_a_draft_is_kept_with_its_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let draft = store.claim(KEY).unwrap().unwrap();
    fs::write(draft.dir().join("a.pcap"), "packets").unwrap();
    draft.save(&made_up(1.0), 1).unwrap();
    let capture = store.run_dir(KEY).join("a.pcap");
    assert_eq!(fs::read(&capture).unwrap(), b"packets");
    assert_eq!(whole(&store), Some(1.0));
    fs::write(&capture, "").unwrap();
    assert_eq!(whole(&store), None);
}

#[test]
fn what_the_dead_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    save(&store, 1.0);
    let before = (files(dir.path()), files(&store.run_dir(KEY)));
    fs::write(dir.path().join(".tmp-7-0-summary.csv"), "half").unwrap();
    for name in [".tmp-dead", ".tmp-dead.old", ".tmp-unlocked"] {
        fs::create_dir(store.runs().join(name)).unwrap();
    }
    fs::write(store.runs().join(".lock-dead"), "").unwrap();
    open(dir.path());
    assert_eq!((files(dir.path()), files(&store.run_dir(KEY))), before);
    let names: Vec<_> = fs::read_dir(store.runs()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [KEY]);
}

#[test]
fn a_folder_that_is_removed_meanwhile_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    let removed = |error: Error| {
        assert!(error.to_string().contains("was removed while results were written into it"), "{error}");
        assert!(!folder.exists(), "made again");
    };
    let (store, _) = open(&folder);
    let draft = store.claim(KEY).unwrap().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    removed(draft.save(&made_up(1.0), 1).unwrap_err());
    removed(store.claim(KEY).err().unwrap());
    removed(store.write("summary.csv", b"").unwrap_err());
}

/// Whoever removes a folder takes one file after the other, and the lock's may be the last.
#[test]
fn a_folder_that_is_being_removed_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let removed = |error: Error| {
        assert!(error.to_string().contains("was removed while results were written into it"), "{error}");
    };
    let draft = store.claim(KEY).unwrap().unwrap();
    fs::remove_dir(draft.dir()).unwrap();
    removed(draft.save(&made_up(1.0), 1).unwrap_err());
    fs::remove_dir(store.runs()).unwrap();
    removed(store.claim(KEY).err().unwrap());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "several at a time is what is tested")]
fn many_at_a_time_make_each_run_once_and_spoil_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    let made = std::sync::atomic::AtomicUsize::new(0);
    let keys: Vec<String> = (0..8).map(|number| format!("{number:016x}-{}", crate::BUILD)).collect();
    let work = || {
        // Opening is part of the race: each worker is as good as a process.
        let (store, notes) = open(&folder);
        assert!(notes.is_empty(), "{notes:?}");
        for key in &keys {
            loop {
                if let Kept::Whole(_) = store.kept(key) {
                    break;
                }
                let Some(draft) = store.claim(key).unwrap() else {
                    std::thread::yield_now();
                    continue;
                };
                if store.kept(key) == Kept::Nothing {
                    draft.save(&made_up(1.0), 1).unwrap();
                    made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            }
            store.write("experiment.toml", key.as_bytes()).unwrap();
            store.write("summary.csv", key.as_bytes()).unwrap();
            verify(&folder).unwrap();
        }
    };
    std::thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(work))));
    assert_eq!(made.into_inner(), keys.len());
    let (store, notes) = open(&folder);
    assert!(notes.is_empty(), "{notes:?}");
    assert!(keys.iter().all(|key| matches!(store.kept(key), Kept::Whole(_))));
    assert_eq!(fs::read_dir(store.runs()).unwrap().count(), keys.len());
}

#[test]
fn a_disk_that_cannot_be_written_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    save(&store, 1.0);
    store.write("summary.csv", b"a,b\n").unwrap();
    // What `open` gives where the lock's file cannot be opened for writing.
    let store = Store { read_only: true, ..store };
    let before = files(dir.path());
    assert_eq!(whole(&store), Some(1.0));
    store.write("summary.csv", b"a,b\n").unwrap();
    assert_eq!(files(dir.path()), before);
}

/// A table of several pieces of which only the last lacks a value.
#[test]
fn a_value_may_be_missing_in_any_piece() {
    let place = tempfile::tempdir().unwrap();
    let numbers = (0..200_000).map(|row| (row != 199_000).then_some(f64::from(row)));
    let column = Arc::new(numbers.collect::<Float64Array>()) as ArrayRef;
    let ports = RecordBatch::try_from_iter([("sent_bytes", column.clone())]).unwrap();
    write_run(place.path(), &RunResult { ports: ports.into(), ..made_up(1.0) }, 1).unwrap();
    let found = crate::output::files::read_parquet(&place.path().join("ports.parquet")).unwrap();
    let count = |of: fn(&dyn arrow_array::Array) -> usize| {
        found.iter().map(|piece| of(piece.column(0))).sum::<usize>()
    };
    assert_eq!((count(|column| column.len()), count(|column| column.null_count())), (200_000, 1));
}
