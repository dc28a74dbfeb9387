//! Whatever is in the folder, the answers are right, and an invalid entry is replaced.

use std::fs;
use std::path::{Path, PathBuf};

use tdb_storage::{Request, Storage};

use super::{Folder, files, origin, said};
use crate::{Cache, CacheStats, Origin};

const BOUND: u64 = 1 << 20;

/// All files below a folder.
fn below(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found
}

/// Reads a part of a file through a new cache on a folder.
fn ask(folder: &Path) -> CacheStats {
    let cache = Cache::folder(folder, BOUND).with_everything();
    let requests = [Request::Tail("a".into(), 500)];
    assert_eq!(said(cache.over(files(), origin()).fetch(&requests)), said(files().fetch(&requests)));
    cache.stats()
}

/// The folder of a cache with one entry, and the path of that entry.
fn filled() -> (Folder, PathBuf) {
    let folder = Folder::new();
    assert_eq!(ask(folder.path()).misses, 1);
    let entries = below(folder.path());
    assert_eq!((entries.len(), ask(folder.path()).hits), (1, 1));
    (folder, entries[0].clone())
}

/// Changes the bytes of an entry.
type Damage<'a> = &'a dyn Fn(Vec<u8>) -> Vec<u8>;

#[test]
fn a_damaged_entry_is_a_miss_and_is_replaced() {
    // The entry of the same part of a file with another origin.
    let foreign = Folder::new();
    let cache = Cache::folder(foreign.path(), BOUND).with_everything();
    cache.over(files(), Origin::of(["elsewhere"])).read_tail("a", 500).unwrap();
    let foreign = fs::read(&below(foreign.path())[0]).unwrap();
    let flipped = |mut bytes: Vec<u8>, at: usize| {
        bytes[at] ^= 4;
        bytes
    };
    let damages: [(&str, Damage<'_>); 8] = [
        ("cut", &|bytes| bytes[..bytes.len() - 1].to_vec()),
        ("cut in the header", &|bytes| bytes[..20].to_vec()),
        ("empty", &|_| Vec::new()),
        ("longer", &|bytes| [&bytes[..], b"x"].concat()),
        ("a bit of the bytes", &|bytes| flipped(bytes, 300)),
        ("a bit of the checksum", &|bytes| flipped(bytes, 70)),
        ("a bit of the header", &|bytes| flipped(bytes, 3)),
        ("another file's", &|_| foreign.clone()),
    ];
    for (name, damage) in damages {
        let (folder, entry) = filled();
        let whole = fs::read(&entry).unwrap();
        fs::write(&entry, damage(whole.clone())).unwrap();
        let stats = ask(folder.path());
        assert_eq!((stats.hits, stats.misses, stats.damaged, stats.failed), (0, 1, 1, 0), "{name}");
        assert_eq!(fs::read(&entry).unwrap(), whole, "{name}");
        assert_eq!(ask(folder.path()).hits, 1, "{name}");
    }
}

#[test]
fn a_directory_in_the_place_of_an_entry_is_in_nobodys_way() {
    let (folder, entry) = filled();
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    let stats = ask(folder.path());
    assert_eq!((stats.hits, stats.misses, stats.damaged, stats.failed), (0, 1, 1, 1));
}

#[test]
#[cfg(unix)]
fn nobody_waits_for_a_pipe_in_the_place_of_an_entry() {
    let (folder, entry) = filled();
    fs::remove_file(&entry).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&entry).status().unwrap().success());
    assert_eq!(ask(folder.path()).damaged, 1);
    assert_eq!(ask(folder.path()).hits, 1, "it was replaced");
}

#[test]
fn an_entry_that_says_another_size_of_its_file_takes_all_of_that_file_with_it() {
    let (folder, entry) = filled();
    let other = entry.with_file_name("0-5-5");
    fs::write(&other, b"five!").unwrap();
    assert_eq!(ask(folder.path()).misses, 1);
    assert!(!other.exists());
    assert_eq!(ask(folder.path()).hits, 1);
}

#[test]
fn a_folder_that_cannot_be_made_makes_the_cache_silent_and_is_counted() {
    let folder = Folder::new();
    fs::write(folder.path(), b"a file where the folder would be").unwrap();
    for _ in 0..2 {
        let stats = ask(folder.path());
        assert_eq!((stats.hits, stats.misses, stats.failed), (0, 1, 1));
    }
    fs::remove_file(folder.path()).unwrap();
}

#[test]
#[cfg(unix)]
fn a_folder_that_must_not_be_written_to_still_answers() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, entry) = filled();
    let may_write = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folders: Vec<&Path> = entry.ancestors().skip(1).take(4).collect();
    folders.iter().for_each(|path| may_write(path, 0o500));
    let cache = Cache::folder(folder.path(), BOUND).with_everything();
    let storage = cache.over(files(), origin());
    assert_eq!(storage.read_tail("a", 500).unwrap().0, 1000);
    assert_eq!(storage.read_tail("f/b", 5).unwrap().0, 77);
    // The root user can write anyway.
    let stats = cache.stats();
    assert!(stats.hits == 1 && stats.misses == 1 && stats.failed <= 1, "{stats:?}");
    folders.iter().for_each(|path| may_write(path, 0o700));
}

#[test]
#[cfg(unix)]
fn only_the_owner_may_look_into_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _) = filled();
    let own = fs::metadata(folder.path().join("tdb-cache-1")).unwrap();
    assert_eq!(own.permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_is_not_of_the_cache_stays_when_there_is_too_much() {
    let folder = Folder::new();
    let own = folder.path().join("tdb-cache-1");
    let strange = ["notes.txt", "0a/notes.txt", "zz/x/0-1-x", ".tdb-new.tmp", ".tdb-old.tmp"]
        .map(|name| own.join(name));
    for path in &strange {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![0; 5000]).unwrap();
    }
    let hour = core::time::Duration::from_secs(3600);
    let old = fs::File::options().write(true).open(&strange[4]).unwrap();
    old.set_modified(std::time::SystemTime::now() - hour).unwrap();
    let cache = Cache::folder(folder.path(), 4000).with_everything();
    let storage = cache.over(files(), origin());
    (0..50).for_each(|at| drop(storage.fetch(&[Request::range("a", at * 10..at * 10 + 100)])));
    let there = strange.each_ref().map(|path| path.exists());
    assert_eq!(there, [true, true, true, true, false], "what a crash left beside goes in the end");
    assert!(below(&own).len() > 5 && cache.tiers().1.unwrap().bytes() <= 4000);
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let folder = Folder::new();
    let cache = Cache::folder(folder.path(), 4000).with_everything();
    let storage = cache.over(files(), origin());
    let read = |at: u64| said(storage.fetch(&[Request::range("a", at * 40..at * 40 + 100)]));
    read(0);
    for at in 1..20 {
        // Times of files have limited precision.
        std::thread::sleep(core::time::Duration::from_millis(15));
        read(at);
        read(0);
    }
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses), (19, 20), "the first is used again and again");
    read(1);
    assert_eq!(cache.stats().misses, 21);
}
