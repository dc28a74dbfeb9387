//! Published arrays on web servers: with their manifest, they read like from a folder.

use std::io;
use std::sync::Arc;

use tdb_array::cache::Cache;
use tdb_array::publish::{MANIFEST, Manifest, OutdatedManifest};
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::{Array, Error, Layout, OpenOptions, WriteOptions};
use tdb_object_store::Locations;

use crate::common::{bytes, fixtures, upload};
use crate::server::{Manners, Server};

/// The files of a fixture, in a folder of a storage in memory.
fn files_of(name: &str, place: &str) -> MemoryStorage {
    let (own, files) = (MemoryStorage::default(), MemoryStorage::default());
    upload(&fixtures().join(name), &own);
    for key in own.keys() {
        files.insert(format!("{place}/{key}"), own.read(&key).unwrap());
    }
    files
}

/// A fixture in memory, with its manifest.
fn published(name: &str) -> MemoryStorage {
    let files = files_of(name, "a");
    publish(&files, "a");
    files
}

/// Publishes the contents of a folder of a storage in memory.
fn publish(files: &MemoryStorage, folder: &str) {
    let own = MemoryStorage::default();
    for key in files.keys() {
        if let Some(below) = key.strip_prefix(&format!("{folder}/")) {
            own.insert(below, files.read(&key).unwrap());
        }
    }
    WriteOptions::new().publish_storage(&own).unwrap();
    files.insert(format!("{folder}/{MANIFEST}"), own.read(MANIFEST).unwrap());
}

fn open(server: &Server) -> Result<Array, Error> {
    open_at(&server.url, "a")
}

fn open_at(url: &str, place: &str) -> Result<Array, Error> {
    let storage = Locations::new().storage(&format!("{url}/{place}")).unwrap();
    OpenOptions::new().open_storage(storage)
}

const FIXTURES: [&str; 8] = [
    "2.30.0/quickstart",
    "2.30.0/sparse2d_rr",
    "2.30.0/deletes",
    "2.30.0/base_nullable_sparse",
    "2.12.3/deletes_processed",
    "2.4.3/fragment_meta_old",
    "1.6.3/base_sparse",
    "2.30.0/rtree_3_levels",
];

#[test]
fn arrays_read_as_from_a_folder_by_nothing_but_gets() {
    for ignores_ranges in [false, true] {
        for name in FIXTURES {
            let server = Server::start(published(name), Manners { ignores_ranges, ..Manners::default() });
            let near = Array::open(fixtures().join(name)).unwrap();
            let far = open(&server).unwrap();
            for order in [Layout::RowMajor, Layout::GlobalOrder] {
                let (near, far) = (near.read().order(order).collect(), far.read().order(order).collect());
                assert_eq!(bytes(&near.unwrap()), bytes(&far.unwrap()), "{name}");
            }
            assert_eq!(server.methods(), ["GET"], "{name}");
        }
    }
}

#[test]
fn callers_that_await_read_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for name in FIXTURES {
        let server = Server::start(published(name), Manners::default());
        let near = Array::open(fixtures().join(name)).unwrap().read().collect().unwrap();
        let far = runtime.block_on(async {
            let storage = Locations::new().awaited(&format!("{}/a", server.url)).unwrap();
            let array = OpenOptions::new().open_async(storage).await.unwrap();
            array.read().collect_async().await.unwrap()
        });
        assert_eq!(bytes(&near), bytes(&far), "{name}");
        assert_eq!(server.methods(), ["GET"], "{name}");
    }
}

#[test]
fn a_file_that_is_gone_or_another_makes_the_published_state_older_than_the_array() {
    let files = published("2.30.0/quickstart");
    let time = Manifest::parse(&files.read(&format!("a/{MANIFEST}")).unwrap()).unwrap().time();
    let server =
        Server::start(files.clone(), Manners { lacks: vec!["a0.tdb".to_owned()], ..Manners::default() });
    let Err(Error::Io { source, .. }) = open(&server).unwrap().read().collect() else {
        panic!("it was read")
    };
    let outdated = OutdatedManifest::of(&source).unwrap();
    assert_eq!((outdated.time, outdated.sizes), (time, None));
    assert!(
        outdated.key.ends_with("a0.tdb") && source.to_string().contains("older than the array"),
        "{source}"
    );
    // Asynchronous callers get the same error, with the same kind and text.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async {
        let storage = Locations::new().awaited(&format!("{}/a", server.url)).unwrap();
        let array = OpenOptions::new().open_async(storage).await.unwrap();
        array.read().collect_async().await.unwrap_err()
    });
    let Error::Io { source, .. } = error else { panic!("{error}") };
    assert!(OutdatedManifest::of(&source).is_some(), "{source}");
    // A server that returns a web page for every request returns one for this file too.
    *server.manners.lock().unwrap() =
        Manners { lacks: vec!["a0.tdb".to_owned()], has_a_page: true, ..Manners::default() };
    let Err(Error::Io { source, .. }) = open(&server).unwrap().read().collect() else {
        panic!("it was read")
    };
    assert!(OutdatedManifest::of(&source).unwrap().sizes.is_some(), "{source}");
}

#[test]
fn what_a_busy_server_refuses_is_asked_again_and_counted_by_the_array_that_asked() {
    let server = Server::start(published("2.30.0/quickstart"), Manners::default());
    let busy = |times| server.manners.lock().unwrap().busy = times;
    let near = Array::open(fixtures().join("2.30.0/quickstart")).unwrap().read().collect().unwrap();
    let (calm, other) = (open(&server).unwrap(), open(&server).unwrap());
    calm.read().collect().unwrap();
    assert_eq!(calm.stats().retries, 0);

    let url = format!("{}/a", server.url);
    let cached = Locations::new().cached(Cache::memory(1 << 20));
    for locations in [Locations::new(), cached] {
        busy(1);
        let array = OpenOptions::new().open_storage(locations.storage(&url).unwrap()).unwrap();
        assert_eq!(array.stats().retries, 1);
        busy(2);
        assert_eq!(bytes(&array.read().collect().unwrap()), bytes(&near));
        assert_eq!((array.stats().retries, array.stats().requests), (3, calm.stats().requests));
    }
    assert_eq!(other.stats().retries, 0);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = Locations::new().awaited(&url).unwrap();
        busy(2);
        let array = OpenOptions::new().open_async(storage).await.unwrap();
        assert_eq!(bytes(&array.read().collect_async().await.unwrap()), bytes(&near));
        assert_eq!((array.stats().retries, array.stats().requests), (2, calm.stats().requests));
    });
}

#[test]
fn a_body_that_ends_in_the_middle_is_an_error_and_never_cells() {
    for ignores_ranges in [false, true] {
        for cut in ["a0.tdb", "__fragment_metadata.tdb", MANIFEST, "no such file"] {
            let cuts = vec![cut.to_owned()];
            let server = Server::start(
                published("2.30.0/quickstart"),
                Manners { cuts, ignores_ranges, ..Manners::default() },
            );
            let read = open(&server).and_then(|array| array.read().collect());
            assert_eq!(read.is_err(), cut != "no such file", "{cut}");
        }
    }
}

#[test]
fn without_a_manifest_the_error_says_what_to_do() {
    for has_a_page in [false, true] {
        let files = published("2.30.0/quickstart");
        files.remove(&format!("a/{MANIFEST}"));
        let server = Server::start(files, Manners { has_a_page, ..Manners::default() });
        let Err(Error::Io { source, .. }) = open(&server) else { panic!("it was opened") };
        assert_eq!(source.kind(), io::ErrorKind::Unsupported);
        assert!(source.to_string().contains("tdb publish"), "{source}");
    }
}

#[test]
fn a_damaged_manifest_is_refused_by_name_and_line() {
    let files = published("2.30.0/quickstart");
    let manifest = files.read(&format!("a/{MANIFEST}")).unwrap();
    files.insert(format!("a/{MANIFEST}"), manifest[..manifest.len() - 5].to_vec());
    let server = Server::start(files, Manners::default());
    let Err(Error::Io { source, .. }) = open(&server) else { panic!("it was opened") };
    let said = source.to_string();
    assert!(said.contains(MANIFEST) && said.contains("cut off") && said.contains("line "), "{said}");
}

#[test]
fn each_opening_sees_what_is_published_then() {
    let files = published("2.30.0/quickstart");
    let server = Server::start(files.clone(), Manners::default());
    let locations = Locations::new();
    let storage = locations.storage(&format!("{}/a", server.url)).unwrap();
    let before = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(before.fragments().len(), 1);
    // Another state replaces the first one: only the schema.
    for key in files.keys() {
        if key.contains("__fragments/") || key.contains("__commits/") {
            files.remove(&key);
        }
    }
    files.remove(&format!("a/{MANIFEST}"));
    publish(&files, "a");
    assert_eq!(OpenOptions::new().open_storage(storage).unwrap().fragments().len(), 0);
    let Err(Error::Io { source, .. }) = before.read().collect() else { panic!("it was read") };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_group_and_its_members_are_read_each_by_its_manifest() {
    let files = files_of("2.30.0/group_nested", "g");
    for place in ["g/a/b/leaf", "g/a/leaf", "g/a/b", "g/a", "g"] {
        publish(&files, place);
    }
    let manifest = Manifest::parse(&files.read(&format!("g/{MANIFEST}")).unwrap()).unwrap();
    assert!(manifest.files().all(|(key, _)| !key.starts_with("a/")), "members have their own: {manifest:?}");
    let server = Server::start(files, Manners::default());
    let near = tdb_array::group::Group::open(fixtures().join("2.30.0/group_nested")).unwrap();
    let options = OpenOptions::new();
    let far = options.open_group_in(Arc::new(Locations::new()), format!("{}/g", server.url)).unwrap();
    let found = |group: &tdb_array::group::Group| -> Vec<String> {
        let walked = group.walk().into_iter();
        walked
            .map(|visited| format!("{} {:?} {:?}", visited.depth, visited.member.name, visited.found))
            .collect()
    };
    assert_eq!(found(&near), found(&far));
    let leaf = open_at(&server.url, "g/a/b/leaf").unwrap().read().collect().unwrap();
    let near =
        Array::open(fixtures().join("2.30.0/group_nested/a/b/leaf")).unwrap().read().collect().unwrap();
    assert_eq!(bytes(&leaf), bytes(&near));
    assert_eq!(server.methods(), ["GET"]);
}

#[test]
fn only_the_part_is_held_of_a_file_that_comes_whole() {
    let files = MemoryStorage::default();
    let content: Vec<u8> = (0..3_000_000u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    files.insert("a/__x/big", content.clone());
    let mut manifest = Manifest::new(1);
    manifest.add_file("__x/big", 3_000_000).unwrap();
    files.insert(format!("a/{MANIFEST}"), manifest.to_bytes());
    let server = Server::start(files, Manners { ignores_ranges: true, ..Manners::default() });
    let storage = Locations::new().storage(&format!("{}/a", server.url)).unwrap();
    let mut out = [0; 1000];
    for offset in [0usize, 65_500, 2_999_000] {
        storage.read_into("__x/big", u64::try_from(offset).unwrap(), &mut out).unwrap();
        assert_eq!(out[..], content[offset..offset + 1000], "{offset}");
    }
    assert_eq!(&storage.read_tail("__x/big", 5).unwrap().1[..], &content[2_999_995..]);
    let beyond = storage.read_into("__x/big", 2_999_001, &mut out).unwrap_err();
    assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
}
