//! One cache for many threads, and one folder for many processes.

use std::path::Path;
use std::process::Command;
use std::thread;

use tdb_storage::{Request, Storage};

use super::{Folder, files, origin, said};
use crate::Cache;

/// Limit of the folder: some thirty entries.
const BOUND: u64 = 16_000;
/// Tells a test that it runs as a subprocess of another one.
const FOLDER: &str = "TDB_CACHE_TEST_FOLDER";

/// Reads many parts of files, and compares all answers with those of the storage. The numbers
/// depend only on the seed.
fn ask_much(cache: &Cache, seed: u64) {
    let (cached, plain) = (cache.over(files(), origin()), files());
    let mut state = seed;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for _ in 0..150 {
        let start = below(90) * 10;
        let requests = [
            Request::range("a", start..start + 10 + below(90)),
            Request::Tail("f/b".into(), below(80)),
            Request::range("none", 0..5),
        ];
        assert_eq!(said(cached.fetch(&requests)), said(plain.fetch(&requests)));
    }
}

fn in_threads(caches: &[Cache]) {
    thread::scope(|scope| {
        for (seed, cache) in (0..).zip(caches) {
            scope.spawn(move || ask_much(cache, seed));
        }
    });
}

fn of_folder(path: &Path) -> Cache {
    Cache::folder(path, BOUND).with_everything()
}

/// Each process may exceed the limit by a sixteenth, and by an entry that it writes while another
/// checks the size.
fn holds_bound(path: &Path, processes: u64) {
    let bytes = of_folder(path).tiers().1.unwrap().bytes();
    assert!(bytes > 0 && bytes <= BOUND + processes * 2 * (BOUND / 16), "{bytes} bytes");
}

#[test]
fn threads_that_share_a_cache_get_what_the_storage_has() {
    let folder = Folder::new();
    for cache in [Cache::memory(5000), of_folder(folder.path()).with_memory(2000)] {
        let cache = cache.with_everything();
        in_threads(&[cache.clone(), cache.clone(), cache.clone(), cache.clone()]);
        assert!(cache.stats().hits > 100, "{:?}", cache.stats());
        assert_eq!((cache.stats().damaged, cache.stats().failed), (0, 0));
    }
    holds_bound(folder.path(), 4);
}

#[test]
fn caches_that_share_a_folder_get_what_the_storage_has() {
    let folder = Folder::new();
    let caches = [of_folder(folder.path()), of_folder(folder.path()), of_folder(folder.path())];
    in_threads(&caches);
    assert!(caches.iter().all(|cache| cache.stats().hits > 20 && cache.stats().damaged == 0));
    holds_bound(folder.path(), 3);
}

#[test]
fn two_processes_share_a_folder() {
    if let Some(path) = std::env::var_os(FOLDER) {
        let cache = of_folder(Path::new(&path));
        ask_much(&cache, u64::from(std::process::id()));
        assert!(cache.stats().hits > 20 && cache.stats().damaged == 0, "{:?}", cache.stats());
        return;
    }
    let folder = Folder::new();
    let test = std::env::current_exe().unwrap();
    let start = || {
        let mut command = Command::new(&test);
        command.args(["--exact", "tests::shared::two_processes_share_a_folder"]);
        command.env(FOLDER, folder.path()).spawn().unwrap()
    };
    let processes = [start(), start()];
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    holds_bound(folder.path(), 2);
}

#[test]
fn what_one_process_kept_another_has() {
    let folder = Folder::new();
    let kept = || Cache::folder(folder.path(), 1 << 20).with_everything();
    kept().over(files(), origin()).read("a").unwrap();
    let cache = kept().with_memory(1 << 20);
    let storage = cache.over(files(), origin());
    for start in 0..5 {
        storage.fetch(&[Request::range("a", start..start + 7)]);
    }
    assert_eq!((cache.stats().hits, cache.stats().misses), (5, 0));
    assert!(cache.tiers().0.unwrap().bytes() >= 1000, "it is in memory from the first use on");
}
