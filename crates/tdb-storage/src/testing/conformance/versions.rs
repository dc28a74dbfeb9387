//! Rules for versions of files.

use std::io;

use super::writing::{exists, holds_bytes, is_absent};
use super::{Outcome, Rule, done, holds, offered, refused, same, write};
use crate::{Durability, FileVersion, WriteStorage};

const SYNCED: Durability = Durability::Synced;

pub(super) fn rules<S: WriteStorage>() -> Vec<Rule<S>> {
    vec![
        (
            "a file is read with its version, which stays the same as long as nobody replaces the file",
            read_with_version,
        ),
        ("a file whose version is known is replaced, and the new version is returned", swapped),
        ("a caller with an old version does not replace the file, which stays as it is", stale),
        ("a file is created where none was expected, but only if there is none", expected_none),
        ("a file that is gone is not replaced", gone),
    ]
}

pub(super) fn versioned<S: WriteStorage>(storage: &S, key: &str) -> Outcome<(Vec<u8>, FileVersion)> {
    let (bytes, version) = offered("reading a file with its version", storage.read_versioned(key))?;
    Ok((bytes.to_vec(), version))
}

fn read_with_version<S: WriteStorage>(storage: &S) -> Outcome {
    write(storage, "a/b", b"first")?;
    let (bytes, version) = versioned(storage, "a/b")?;
    same("reading a file with its version", &bytes[..], b"first")?;
    let (_, again) = versioned(storage, "a/b")?;
    holds(again == version, || "nobody replaced the file, but its version is different".to_owned())?;
    write(storage, "a/empty", b"")?;
    same("reading an empty file with its version", &versioned(storage, "a/empty")?.0[..], b"")?;
    done("removing a file", storage.remove_file("a/b"))?;
    write(storage, "a/b", b"other")?;
    let (bytes, other) = versioned(storage, "a/b")?;
    same("reading a file with its version", &bytes[..], b"other")?;
    holds(other != version, || "a file with other bytes has the same version".to_owned())?;
    refused("reading a file that does not exist", storage.read_versioned("a/none"), io::ErrorKind::NotFound)
}

fn swapped<S: WriteStorage>(storage: &S) -> Outcome {
    write(storage, "a/b", b"0")?;
    let (_, mut version) = versioned(storage, "a/b")?;
    for bytes in [&b"1"[..], b"a longer one", b"", b"2"] {
        for durability in [SYNCED, Durability::Buffered] {
            let what = "replacing the current version";
            let new = offered(what, storage.swap_file("a/b", Some(&version), bytes, durability))?;
            holds_bytes(storage, "a/b", bytes)?;
            let (_, read) = versioned(storage, "a/b")?;
            holds(new == read, || "the version that was returned is not that of the file".to_owned())?;
            version = new;
        }
    }
    Ok(())
}

fn stale<S: WriteStorage>(storage: &S) -> Outcome {
    write(storage, "a/b", b"0")?;
    let (_, first) = versioned(storage, "a/b")?;
    let what = "replacing the current version";
    let second = offered(what, storage.swap_file("a/b", Some(&first), b"1", SYNCED))?;
    let again = storage.swap_file("a/b", Some(&first), b"2", SYNCED);
    exists("replacing a version that was replaced", again)?;
    holds_bytes(storage, "a/b", b"1")?;
    done("replacing the newest version", storage.swap_file("a/b", Some(&second), b"3", SYNCED))?;
    let again = storage.swap_file("a/b", Some(&second), b"4", SYNCED);
    exists("replacing a version that was replaced", again)?;
    holds_bytes(storage, "a/b", b"3")?;
    // Replacing without a version check also creates a new version.
    let (_, third) = versioned(storage, "a/b")?;
    match storage.replace_file("a/b", b"5", SYNCED) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        replaced => {
            done("replacing a file", replaced)?;
            let again = storage.swap_file("a/b", Some(&third), b"6", SYNCED);
            exists("replacing a version that was replaced without a version check", again)?;
            holds_bytes(storage, "a/b", b"5")
        }
    }
}

fn expected_none<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    let what = "making a file where none was expected";
    let first = offered(what, storage.swap_file("a/b", None, b"0", SYNCED))?;
    holds_bytes(storage, "a/b", b"0")?;
    exists("making it again", storage.swap_file("a/b", None, b"1", SYNCED))?;
    exists("putting it again", storage.put_file("a/b", b"2", SYNCED))?;
    holds_bytes(storage, "a/b", b"0")?;
    offered("replacing what was made", storage.swap_file("a/b", Some(&first), b"3", SYNCED))?;
    holds_bytes(storage, "a/b", b"3")?;
    write(storage, "a/c", b"written")?;
    exists("making a file where one was written", storage.swap_file("a/c", None, b"4", SYNCED))?;
    holds_bytes(storage, "a/c", b"written")
}

fn gone<S: WriteStorage>(storage: &S) -> Outcome {
    write(storage, "a/b", b"0")?;
    let (_, version) = versioned(storage, "a/b")?;
    done("removing a file", storage.remove_file("a/b"))?;
    match storage.swap_file("a/b", Some(&version), b"1", SYNCED) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Err(super::Broken::NotOffered),
        swapped => refused("replacing a file that is gone", swapped, io::ErrorKind::NotFound)?,
    }
    is_absent(storage, "a/b")
}
