//! Rules for files and folders that are created, replaced and removed.

use core::fmt::Debug;
use std::io;

use super::reading::large;
use super::{Outcome, Rule, broken, done, holds, offered, refused, same, write};
use crate::{Durability, Storage, WriteStorage};

pub(super) fn rules<S: WriteStorage>() -> Vec<Rule<S>> {
    vec![
        ("a folder can be created again, with those above it, and is empty", folders),
        ("a file contains what was appended to it, once it is finished", appended),
        ("a file that is begun and dropped does not exist, or contains what was appended so far", given_up),
        ("a file that exists cannot be begun again, and keeps its contents", begun_twice),
        ("what was written can be read and listed at once", seen_at_once),
        ("names that begin in some way are those of the listing that do, files and folders", named),
        ("a file is put whole, and cannot be put again", put),
        ("a file can be replaced, whatever the lengths of the old and the new one", replaced),
        ("removing a file removes it and nothing else, and cannot be repeated", removed),
        (
            "removing a folder removes everything in it and nothing else, and cannot be repeated",
            removed_folders,
        ),
        ("folders can be synced, with or without files in them", synced),
    ]
}

/// Checks that a file exists, with these bytes.
pub(super) fn holds_bytes<S: Storage>(storage: &S, key: &str, bytes: &[u8]) -> Outcome {
    let read = done("reading a file that was made", storage.read(key))?;
    same(&format!("reading {key}"), &read[..], bytes)
}

/// Checks that there is no such file.
pub(super) fn is_absent<S: Storage>(storage: &S, key: &str) -> Outcome {
    refused(
        &format!("the size of {key}, which should not exist,"),
        storage.size(key),
        io::ErrorKind::NotFound,
    )
}

/// Checks that a call failed because the file exists.
pub(super) fn exists<T: Debug>(what: &str, result: io::Result<T>) -> Outcome {
    refused(what, result, io::ErrorKind::AlreadyExists)
}

/// The names in a folder; none if it does not exist, as on storages where folders only follow from
/// keys.
fn listed<S: Storage>(storage: &S, folder: &str) -> Outcome<Vec<String>> {
    match storage.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => {
            let mut names: Vec<String> =
                done("a listing", listed)?.into_iter().map(|entry| entry.name).collect();
            names.sort();
            Ok(names)
        }
    }
}

fn folders<S: WriteStorage>(storage: &S) -> Outcome {
    for _ in 0..2 {
        done("making a folder", storage.create_folder("a/b/c"))?;
        done("making the storage's own folder again", storage.create_folder(""))?;
    }
    same("the listing of a folder with nothing in it", &listed(storage, "a/b/c")?, &Vec::new())?;
    write(storage, "a/b/c/file", b"1")?;
    done("making a folder that has files", storage.create_folder("a/b/c"))?;
    holds_bytes(storage, "a/b/c/file", b"1")
}

fn appended<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    for durability in [Durability::Synced, Durability::Buffered] {
        let (key, none) = (format!("a/{durability:?}"), format!("a/empty {durability:?}"));
        let mut file = done("beginning a file", storage.create_file(&key))?;
        let large = large();
        for piece in [&b"some"[..], b" bytes", &large, b"", b"."] {
            done("appending", file.append(piece))?;
        }
        done("finishing a file", file.finish(durability))?;
        holds_bytes(storage, &key, &[b"some bytes", &large[..], b"."].concat())?;
        let file = done("beginning a file", storage.create_file(&none))?;
        done("finishing a file that is empty", file.finish(durability))?;
        holds_bytes(storage, &none, b"")?;
    }
    // Many are open at once: a fragment has some for each field.
    let files: Vec<String> = (0..40).map(|number| format!("a/many {number}")).collect();
    let mut open = Vec::new();
    for key in &files {
        open.push(done("beginning one file of many", storage.create_file(key))?);
    }
    for (key, file) in files.iter().zip(&mut open) {
        done("appending to one file of many", file.append(key.as_bytes()))?;
    }
    for file in open {
        done("finishing one file of many", file.finish(Durability::Buffered))?;
    }
    files.iter().try_for_each(|key| holds_bytes(storage, key, key.as_bytes()))
}

fn given_up<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    let mut file = done("beginning a file", storage.create_file("a/b"))?;
    done("appending", file.append(b"twelve bytes"))?;
    drop(file);
    match storage.read("a/b") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        left => {
            let left = done("reading a file that was dropped", left)?;
            let what = || format!("it contains {}", super::shown(&left));
            holds(b"twelve bytes".starts_with(&left[..]), what)?;
            done("removing a file that was dropped", storage.remove_file("a/b"))?;
        }
    }
    write(storage, "a/b", b"new")?;
    holds_bytes(storage, "a/b", b"new")
}

fn begun_twice<S: WriteStorage>(storage: &S) -> Outcome {
    write(storage, "a/b", b"first")?;
    // The conflict may be detected only when the file is finished.
    let again = storage.create_file("a/b").and_then(|mut file| {
        file.append(b"second")?;
        file.finish(Durability::Synced)
    });
    exists("making a file again", again)?;
    holds_bytes(storage, "a/b", b"first")
}

fn seen_at_once<S: WriteStorage>(storage: &S) -> Outcome {
    for number in 0u8..5 {
        let key = format!("a/{number}");
        write(storage, &key, &[number])?;
        same("the size of a new file", &done("the size of a new file", storage.size(&key))?, &1)?;
        let names: Vec<String> = (0..=number).map(|number| number.to_string()).collect();
        same("the listing of a folder with a new file", &listed(storage, "a")?, &names)?;
    }
    done("removing a file", storage.remove_file("a/2"))?;
    let names: Vec<String> = ["0", "1", "3", "4"].map(str::to_owned).to_vec();
    same("the listing of a folder in which a file was removed", &listed(storage, "a")?, &names)
}

fn named<S: WriteStorage>(storage: &S) -> Outcome {
    let keys =
        ["a/__5_5_x/file", "a/__5_6_y", "a/__50_50_z", "a/__4_4_w/file", "__5_5_above", "b/__5_5_beside"];
    keys.into_iter().try_for_each(|key| write(storage, key, b"1"))?;
    for (folder, beginning, expected) in [
        ("a", "__5_", &[("__5_5_x", true), ("__5_6_y", false)][..]),
        ("a", "__5", &[("__50_50_z", false), ("__5_5_x", true), ("__5_6_y", false)]),
        ("a", "__9_", &[]),
        ("", "__5_", &[("__5_5_above", false)]),
        ("nowhere", "__5_", &[]),
    ] {
        let mut found = done("asking for names", storage.list_named(folder, beginning))?;
        found.sort();
        let found: Vec<(&str, bool)> =
            found.iter().map(|entry| (entry.name.as_str(), entry.is_folder)).collect();
        same(&format!("the names in {folder:?} that begin with {beginning}"), &found[..], expected)?;
    }
    Ok(())
}

fn put<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    let large = large();
    for durability in [Durability::Synced, Durability::Buffered] {
        for (name, bytes) in [("empty", &b""[..]), ("small", b"small"), ("large", &large)] {
            let key = format!("a/{name} {durability:?}");
            offered("putting a file", storage.put_file(&key, bytes, durability))?;
            holds_bytes(storage, &key, bytes)?;
            exists("putting a file again", storage.put_file(&key, b"another", durability))?;
            exists("putting an empty file where there is one", storage.put_file(&key, b"", durability))?;
            holds_bytes(storage, &key, bytes)?;
        }
    }
    same("the number of files that were put", &listed(storage, "a")?.len(), &6)?;
    same("the listing of the storage's own folder", &listed(storage, "")?, &vec!["a".to_owned()])?;
    write(storage, "a/written", b"written")?;
    exists(
        "putting a file where one was written",
        storage.put_file("a/written", b"put", Durability::Synced),
    )?;
    offered("putting a file in the storage's own folder", storage.put_file("top", b"1", Durability::Synced))?;
    holds_bytes(storage, "top", b"1")
}

fn replaced<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    write(storage, "a/beside", b"beside")?;
    let large = large();
    for bytes in [&b"there was none"[..], b"short", &large, b"", b"last"] {
        for durability in [Durability::Synced, Durability::Buffered] {
            offered("replacing a file", storage.replace_file("a/b", bytes, durability))?;
            holds_bytes(storage, "a/b", bytes)?;
            let size = done("the size of a file that was replaced", storage.size("a/b"))?;
            same("the size of a file that was replaced", &size, &tdb_codec::to_u64(bytes.len()))?;
        }
    }
    let names: Vec<String> = ["b", "beside"].map(str::to_owned).to_vec();
    same("the listing of a folder with a file that was replaced", &listed(storage, "a")?, &names)
}

fn removed<S: WriteStorage>(storage: &S) -> Outcome {
    for key in ["a/b", "a/b2", "a/c"] {
        write(storage, key, key.as_bytes())?;
    }
    done("removing a file", storage.remove_file("a/b"))?;
    is_absent(storage, "a/b")?;
    refused("removing a file again", storage.remove_file("a/b"), io::ErrorKind::NotFound)?;
    refused("removing a file that never existed", storage.remove_file("a/d"), io::ErrorKind::NotFound)?;
    holds_bytes(storage, "a/b2", b"a/b2")?;
    // Its name can be used again.
    write(storage, "a/b", b"new")?;
    holds_bytes(storage, "a/b", b"new")
}

fn removed_folders<S: WriteStorage>(storage: &S) -> Outcome {
    for key in ["a/b/c", "a/b/d/e", "a/b2/c", "a/f"] {
        write(storage, key, key.as_bytes())?;
    }
    done("removing a folder", storage.remove_folder("a/b"))?;
    is_absent(storage, "a/b/c")?;
    is_absent(storage, "a/b/d/e")?;
    refused("listing a folder that was removed", storage.list("a/b"), io::ErrorKind::NotFound)?;
    refused("removing a folder again", storage.remove_folder("a/b"), io::ErrorKind::NotFound)?;
    refused("removing a folder that never existed", storage.remove_folder("none"), io::ErrorKind::NotFound)?;
    holds_bytes(storage, "a/b2/c", b"a/b2/c")?;
    let names: Vec<String> = ["b2", "f"].map(str::to_owned).to_vec();
    same("the listing of the folder above", &listed(storage, "a")?, &names)
}

fn synced<S: WriteStorage>(storage: &S) -> Outcome {
    done("making a folder", storage.create_folder("a/b"))?;
    done("syncing a folder with nothing in it", storage.sync_folder("a/b"))?;
    write(storage, "a/c", b"1")?;
    for folder in ["a", ""] {
        done("syncing a folder", storage.sync_folder(folder))?;
    }
    match storage.read("a/c") {
        Ok(bytes) if bytes == b"1"[..] => Ok(()),
        read => broken(format!("after that a file was read as {read:?}")),
    }
}
