//! Rules for listings, for whole files and for their ends.

use std::io;
use std::thread;

use bytes::Bytes;
use tdb_codec::to_u64;

use super::{Files, Outcome, Rule, broken, done, holds, refused, same};
use crate::{Entry, Storage};

/// A file of several pages in which no two neighbouring bytes can be confused.
pub(super) fn large() -> Bytes {
    (0u32..30_000).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into()
}

/// The files of a storage that is read. The name of one folder is a prefix of another's.
pub(super) fn files() -> Vec<(&'static str, Bytes)> {
    vec![
        ("twelve", Bytes::from_static(b"twelve bytes")),
        ("empty", Bytes::new()),
        ("folder/a", Bytes::from_static(b"a")),
        ("folder/large", large()),
        ("folder/nested/deep/x", Bytes::from_static(b"deep")),
        ("folder.2/y", Bytes::from_static(b"other")),
        ("__fragments/__1_1_0123456789abcdef0123456789abcdef_22/a b+c%20d.tdb", Bytes::from_static(b"cells")),
    ]
}

pub(super) fn rules<S: Storage>() -> Vec<Rule<S>> {
    vec![
        (
            "a listing contains every file and folder of its folder once, and nothing from deeper folders",
            listings,
        ),
        ("a listing has the right sizes, or none", sizes_in_listings),
        ("listing a folder that does not exist fails with NotFound", no_such_folder),
        ("a size is that of the whole file", sizes),
        ("a file is read whole", whole),
        ("the last bytes of a file come with its size, and all of it if it is shorter", tails),
        (
            "reading a file that does not exist fails with NotFound, and so does a part of a name",
            no_such_file,
        ),
        ("names with spaces, plus and percent signs are used unchanged", strange_names),
        ("each key is displayed as a different text", descriptions),
        ("the largest request of the hints is at least one byte, and hints stay the same", hints),
        ("several threads read at once", threads),
    ]
}

/// A listing, sorted, without sizes.
fn names<S: Storage>(storage: &S, folder: &str) -> Outcome<Vec<(String, bool)>> {
    let mut listed = done("a listing", storage.list(folder))?;
    listed.sort();
    Ok(listed.into_iter().map(|entry| (entry.name, entry.is_folder)).collect())
}

fn listings<S: Storage>(storage: &S) -> Outcome {
    let expected = |files: &[&str], folders: &[&str]| {
        let files = files.iter().map(|name| ((*name).to_owned(), false));
        let mut all: Vec<_> = files.chain(folders.iter().map(|name| ((*name).to_owned(), true))).collect();
        all.sort();
        all
    };
    let root = expected(&["empty", "twelve"], &["__fragments", "folder", "folder.2"]);
    same("the listing of \"\"", &names(storage, "")?, &root)?;
    let folder = expected(&["a", "large"], &["nested"]);
    same("the listing of \"folder\"", &names(storage, "folder")?, &folder)?;
    same("the listing of \"folder/nested\"", &names(storage, "folder/nested")?, &expected(&[], &["deep"]))?;
    same("the listing of \"folder.2\"", &names(storage, "folder.2")?, &expected(&["y"], &[]))
}

fn sizes_in_listings<S: Storage>(storage: &S) -> Outcome {
    for (folder, sizes) in [("", [("empty", 0), ("twelve", 12)]), ("folder", [("a", 1), ("large", 120_000)])]
    {
        let listed = done("a listing", storage.list(folder))?;
        for Entry { name, is_folder, size } in listed {
            let right = sizes.iter().find(|(own, _)| *own == name).map(|(_, size)| *size);
            let fits = if is_folder { size.is_none() } else { size.is_none() || size == right };
            holds(fits, || format!("{name} in \"{folder}\" has {size:?} bytes, not {right:?}"))?;
        }
    }
    Ok(())
}

fn no_such_folder<S: Storage>(storage: &S) -> Outcome {
    // Keys begin with the second and the third, but no folder has such a name.
    for folder in ["none", "fold", "folder/nest", "folder/nested/deep/x/y"] {
        let listed = storage.list(folder);
        let is_file_below = folder.ends_with("/y") && listed.is_err();
        if !is_file_below {
            refused(&format!("the listing of \"{folder}\""), listed, io::ErrorKind::NotFound)?;
        }
    }
    Ok(())
}

fn sizes<S: Storage>(storage: &S) -> Outcome {
    let files: &Files = &files();
    for (key, bytes) in files {
        let size = done("the size of a file", storage.size(key))?;
        same(&format!("the size of {key}"), &size, &to_u64(bytes.len()))?;
    }
    let folder = storage.size("folder");
    holds(folder.is_err(), || "a folder has a size like a file".to_owned())
}

fn whole<S: Storage>(storage: &S) -> Outcome {
    for (key, bytes) in files() {
        let read = done("reading a whole file", storage.read(key))?;
        same(&format!("reading {key}"), &read, &bytes)?;
    }
    Ok(())
}

fn tails<S: Storage>(storage: &S) -> Outcome {
    for (key, bytes) in files() {
        let size = to_u64(bytes.len());
        for max in [0, 1, 3, size.saturating_sub(1), size, size.saturating_add(1), 70_000, u64::MAX] {
            let (told, tail) = done("reading the end of a file", storage.read_tail(key, max))?;
            same(&format!("the size that came with the last {max} bytes of {key}"), &told, &size)?;
            let left_out = bytes.len().saturating_sub(usize::try_from(max).unwrap_or(usize::MAX));
            let expected = bytes.slice(left_out..);
            same(&format!("reading the last {max} bytes of {key}"), &tail, &expected)?;
        }
    }
    Ok(())
}

fn no_such_file<S: Storage>(storage: &S) -> Outcome {
    for key in ["none", "twelv", "folder/none", "none/x"] {
        let is = |what: &str| format!("{what} of \"{key}\", which is not there,");
        refused(&is("the size"), storage.size(key), io::ErrorKind::NotFound)?;
        refused(&is("reading all"), storage.read(key), io::ErrorKind::NotFound)?;
        refused(&is("reading the end"), storage.read_tail(key, 3), io::ErrorKind::NotFound)?;
        refused(&is("reading nothing of the end"), storage.read_tail(key, 0), io::ErrorKind::NotFound)?;
        let mut out = [0; 2];
        let filled = storage.read_into(key, 0, &mut out);
        refused(&is("filling a buffer"), filled, io::ErrorKind::NotFound)?;
        match storage.open(key) {
            // Where nothing can be opened, the existence of the file was not checked.
            Ok(None) => {}
            opened => refused(&is("opening"), opened.map(drop), io::ErrorKind::NotFound)?,
        }
    }
    Ok(())
}

fn strange_names<S: Storage>(storage: &S) -> Outcome {
    let folder = "__fragments/__1_1_0123456789abcdef0123456789abcdef_22";
    let listed = names(storage, folder)?;
    same("a listing", &listed, &vec![("a b+c%20d.tdb".to_owned(), false)])?;
    let read = done("reading it", storage.read(&format!("{folder}/a b+c%20d.tdb")))?;
    same("reading it", &read[..], b"cells")
}

fn descriptions<S: Storage>(storage: &S) -> Outcome {
    let [root, one, other] = ["", "twelve", "folder/a"].map(|key| storage.describe(key));
    holds(one != other && one != root, || format!("the same text {one:?} is shown for several keys"))?;
    holds(one.contains("twelve"), || format!("the key \"twelve\" is shown as {one:?}"))
}

fn hints<S: Storage>(storage: &S) -> Outcome {
    let hints = storage.hints();
    holds(hints == storage.hints(), || "hints differ from one call to the next".to_owned())?;
    holds(hints.is_none_or(|hints| hints.largest > 0), || {
        "the hints allow requests of no byte only".to_owned()
    })
}

fn threads<S: Storage>(storage: &S) -> Outcome {
    let read = || (0..8).try_for_each(|_| whole(storage).and_then(|()| listings(storage)));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => broken("a thread that read panicked"),
        })
    })
}
