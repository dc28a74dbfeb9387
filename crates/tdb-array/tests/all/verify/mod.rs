//! `verify` on arrays that were damaged on purpose: each problem is found and named.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]
#![expect(clippy::indexing_slicing, reason = "of results and files whose length the test knows")]

mod cells;
mod remake;
mod sizes;
#[cfg(unix)]
mod special;
mod statistics;
mod strays;
mod unused;

use tdb_array::maintain::verify;
use tdb_array::storage::MemoryStorage;

/// The problems that `verify` finds.
fn problems(storage: &MemoryStorage) -> Vec<String> {
    verify(storage.clone()).problems.into_iter().map(|problem| problem.what).collect()
}

/// The notes of `verify`.
fn notes(storage: &MemoryStorage) -> Vec<String> {
    verify(storage.clone()).notes.into_iter().map(|problem| problem.what).collect()
}

/// An array of the local file system in memory.
fn load(folder: &std::path::Path) -> MemoryStorage {
    fn walk(folder: &std::path::Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let key = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                walk(&path, &format!("{key}/"), files);
            } else {
                files.push((key, std::fs::read(path).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    walk(folder, "", &mut files);
    MemoryStorage::new(files)
}
