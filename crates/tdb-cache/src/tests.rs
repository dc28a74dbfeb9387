//! A storage returns the same answers through a cache as without, whatever is in the folder.

mod awaited;
mod damage;
mod shared;

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tdb_storage::testing::FarStorage;
use tdb_storage::testing::conformance::{check_openings, check_storage, check_write_storage};
use tdb_storage::{ByteRange, MemoryStorage, QueryStats, Reply, Request, Storage, stats};

use crate::{Cache, CachedStorage, Origin};

/// A folder that is removed at the end of its test.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tdb-cache-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KEYS: [&str; 3] = ["a", "f/b", "none"];

/// Files whose bytes depend on their position.
pub(super) fn files() -> MemoryStorage {
    let bytes = |seed: usize, len: usize| -> Bytes {
        (0..len).map(|at| u8::try_from((at * 31 + seed + at / 251) % 256).unwrap()).collect()
    };
    MemoryStorage::new([("a", bytes(1, 1000)), ("f/b", bytes(2, 77))])
}

pub(super) fn origin() -> Origin {
    Origin::of(["the tests"])
}

/// Answers that can be compared.
pub(super) fn said(answers: Vec<io::Result<Reply>>) -> Vec<String> {
    let said = |answer: io::Result<Reply>| match answer {
        Ok(reply) => format!("{reply:?}"),
        Err(error) => format!("{:?}", error.kind()),
    };
    answers.into_iter().map(said).collect()
}

fn request() -> impl Strategy<Value = Request> {
    let key = prop::sample::select(&KEYS[..]);
    prop_oneof![
        1 => Just(Request::List(String::new())),
        4 => (key.clone(), prop_oneof![0u64..1100, Just(u64::MAX)])
            .prop_map(|(key, max)| Request::Tail(key.into(), max)),
        6 => (key, 0u64..1050, 0u64..300)
            .prop_map(|(key, start, len)| Request::range(key, start..start + len)),
    ]
}

/// Makes requests in each of the ways that a storage supports.
fn ask(storage: &dyn Storage, requests: &[Request], way: u8) -> Vec<String> {
    let ranges: Vec<ByteRange> = requests
        .iter()
        .filter_map(|request| if let Request::Range(range) = request { Some(range.clone()) } else { None })
        .collect();
    match way % 3 {
        0 => said(storage.fetch(requests)),
        1 => said(requests.iter().map(|request| request.answer(storage)).collect()),
        _ => {
            let mut all = vec![format!("{:?}", storage.read_ranges(&ranges).map_err(|error| error.kind()))];
            for ByteRange { key, range } in ranges {
                let mut out = vec![0; usize::try_from(range.end - range.start).unwrap()];
                let read = storage.read_into(&key, range.start, &mut out);
                let read = read.map(|()| out).map_err(|error| error.kind());
                all.push(format!("{read:?} {:?}", storage.size(&key).map_err(|error| error.kind())));
            }
            all
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_requests_are_answered_as_without_a_cache_and_bounds_hold(
        calls in prop::collection::vec((prop::collection::vec(request(), 1..6), 0u8..3), 1..25),
        bound in prop_oneof![0u64..20_000, Just(1 << 20)],
    ) {
        let folder = Folder::new();
        let on_disk = || Cache::folder(folder.path(), bound);
        for cache in [Cache::memory(bound), on_disk(), on_disk().with_memory(bound / 2)] {
            let cache = cache.with_everything();
            let cached = cache.over(files(), origin());
            for (requests, way) in &calls {
                prop_assert_eq!(ask(&cached, requests, *way), ask(&files(), requests, *way));
                let (memory, disk) = cache.tiers();
                prop_assert!(memory.is_none_or(|memory| memory.bytes() <= bound));
                prop_assert!(disk.is_none_or(|disk| disk.bytes() <= bound));
            }
            prop_assert_eq!((cache.stats().damaged, cache.stats().failed), (0, 0));
        }
    }
}

#[test]
fn storages_behind_a_cache_keep_the_rules_of_storages() {
    let folder = Folder::new();
    let count = AtomicUsize::new(0);
    // Each storage of a suite is a different place.
    let anew = || Origin::of([count.fetch_add(1, Ordering::Relaxed).to_string()]);
    let all_offered = |checked: Result<tdb_storage::testing::conformance::Checked, _>| {
        let checked: tdb_storage::testing::conformance::Checked = checked
            .unwrap_or_else(|broken: tdb_storage::testing::conformance::BrokenRules| panic!("{broken}"));
        assert_eq!(checked.not_offered, [""; 0]);
        checked.kept.len()
    };
    for cache in [Cache::memory(1 << 20), Cache::folder(folder.path(), 4 << 20).with_memory(4096)] {
        let all = cache.clone().with_everything();
        let rules = all_offered(check_storage(|files| {
            let storage = all.over(MemoryStorage::new(files.iter().cloned()), anew());
            // The requested bytes are in the cache already.
            for (key, _) in files {
                storage.read(key).unwrap();
            }
            storage
        }));
        assert!(rules >= 11 && all.stats().hits > 100, "{rules} rules, {:?}", all.stats());
        let tiles = cache.with_tiles(true);
        all_offered(check_write_storage(|| tiles.over(MemoryStorage::default(), anew())));
        all_offered(check_openings(|| {
            let (storage, origin) = (MemoryStorage::default(), anew());
            (tiles.over(storage.clone(), origin), tiles.over(storage, origin))
        }));
    }
}

type Far = Arc<FarStorage<MemoryStorage>>;

fn far() -> (Far, Cache, CachedStorage<Far>) {
    let far = Arc::new(FarStorage::new(files(), Duration::ZERO));
    let cache = Cache::memory(1 << 20).with_everything();
    let storage = cache.over(far.clone(), origin());
    (far, cache, storage)
}

#[test]
fn what_the_cache_does_not_have_is_asked_for_in_one_call_and_in_order() {
    let (far, cache, storage) = far();
    let known = [Request::range("a", 100..200), Request::Tail("f/b".into(), 20)];
    storage.fetch(&known);
    far.requests();
    let mixed = [
        Request::range("a", 300..310),
        Request::range("a", 110..200),
        Request::List("f".into()),
        Request::range("f/b", 60..70),
        Request::range("a", 150..201),
        Request::Tail("f/b".into(), 3),
        Request::Tail("f/b".into(), 0),
        Request::whole("none"),
    ];
    assert_eq!(said(storage.fetch(&mixed)), said(files().fetch(&mixed)));
    let misses = [0, 2, 4, 6, 7].map(|at: usize| mixed[at].clone());
    assert_eq!((far.rounds(), far.requests()), (2, misses.to_vec()));
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.hit_bytes, stats.misses), (3, 90 + 10 + 3, 2 + 3));
    storage.fetch(&known);
    assert_eq!(far.rounds(), 2, "all of it is there");
    assert_eq!(storage.hints(), far.hints());
}

#[test]
fn whether_a_file_is_there_and_what_is_in_a_folder_is_asked_each_time() {
    let (far, _, storage) = far();
    assert_eq!(storage.read("a").unwrap().len(), 1000);
    let rounds = far.rounds();
    for _ in 0..2 {
        assert_eq!(storage.size("a").unwrap(), 1000);
        assert_eq!(storage.read_tail("a", 0).unwrap().0, 1000);
        assert_eq!(storage.list("").unwrap().len(), 2);
    }
    assert_eq!(far.rounds(), rounds + 6);
}

#[test]
fn equal_keys_of_other_origins_are_other_files() {
    let cache = Cache::memory(1 << 20).with_everything();
    let storages = ["x", "y"].map(|bytes| {
        let files = MemoryStorage::new([("a", Bytes::copy_from_slice(bytes.as_bytes()))]);
        cache.over(files, Origin::of([bytes]))
    });
    for _ in 0..2 {
        assert_eq!(storages.each_ref().map(|own| own.read("a").unwrap()), ["x", "y"].map(Bytes::from));
    }
    assert_eq!(cache.stats().hits, 2);
}

#[test]
fn answers_that_are_too_short_or_too_few_are_not_kept() {
    use tdb_storage::testing::{Fault, FaultyStorage};
    for fault in [Fault::Short(3), Fault::Lost] {
        let faulty = Arc::new(FaultyStorage::new(files()));
        let cache = Cache::memory(1 << 20).with_everything();
        let storage = cache.over(faulty.clone(), origin());
        faulty.set(tdb_storage::testing::Faults::first(1, fault));
        let requests = [Request::range("a", 0..50), Request::Tail("f/b".into(), 50)];
        storage.fetch(&requests);
        assert_eq!(said(storage.fetch(&requests)), said(files().fetch(&requests)), "{fault:?}");
    }
}

#[test]
fn what_the_cache_answers_is_no_request_and_no_round_in_statistics() {
    let (far, _, storage) = far();
    let counters = Arc::<stats::Counters>::default();
    let counted = stats::Counted::new(Box::new(storage.clone()), counters.clone());
    counted.fetch(&[Request::range("a", 0..50), Request::whole("f/b")]);
    let first = counters.stats();
    assert_eq!((first.requests, first.rounds, first.bytes_read, first.cache_hits), (2, 1, 127, 0));
    counted.fetch(&[Request::range("a", 10..30), Request::whole("f/b")]);
    counted.fetch(&[Request::range("a", 10..31), Request::range("a", 900..910)]);
    counted.read_into("a", 3, &mut [0; 4]).unwrap();
    let QueryStats { requests, rounds, bytes_read, cache_hits, cache_bytes, .. } =
        counters.stats().since(&first);
    assert_eq!((requests, rounds, bytes_read, cache_hits, cache_bytes), (1, 1, 10, 4, 20 + 77 + 21 + 4));
    assert_eq!(far.rounds(), 2);
    // Another array on the same storage has its own counters.
    let others = Arc::<stats::Counters>::default();
    stats::Counted::new(Box::new(storage), others.clone()).read_tail("f/b", 5).unwrap();
    assert_eq!((others.stats().cache_hits, counters.stats().cache_hits), (1, 4));
}
