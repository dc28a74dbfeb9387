use tdb_codec::{Datatype, FormatVersion};
use tdb_schema::{MetadataEntry, MetadataValue};
use tdb_tile::GenericTile;

use super::*;
use crate::storage::MemoryStorage;

const UUID: &str = "0123456789abcdef0123456789abcdef";

fn tile(payload: &[u8]) -> Vec<u8> {
    GenericTile::encode(payload, FormatVersion::CURRENT).unwrap()
}

fn member(object: ObjectType, uri: &str, name: Option<&str>) -> GroupMember {
    let mut member = GroupMember::new(object, uri).with_relative_uri();
    member.name = name.map(str::to_owned);
    member
}

fn details(version: GroupVersion, members: &[GroupMember]) -> Vec<u8> {
    let mut members = members.to_vec();
    members.iter_mut().for_each(|member| member.version = version);
    tile(&GroupDetails { version, members }.to_bytes().unwrap())
}

/// The key of a details file of group `folder`, written at `time`.
fn key(folder: &str, time: u64, suffix: &str) -> String {
    crate::storage::join(folder, &format!("{GROUP_FOLDER}/__{time}_{time}_{UUID}{suffix}"))
}

fn open(storage: &MemoryStorage, window: TimeWindow) -> Result<Group> {
    SnapshotOptions::new().window(window).open_group_in(Arc::new(storage.clone()), "")
}

fn keys(group: &Group) -> Vec<&str> {
    group.members().map(GroupMember::key).collect()
}

/// A group of version 2: an array and a group at 10; at 20 the array is removed and another one
/// added.
fn history() -> MemoryStorage {
    let array = member(ObjectType::Array, "a", Some("first"));
    let inner = member(ObjectType::Group, "inner", None);
    let mut gone = array.clone();
    gone.deleted = true;
    let later = member(ObjectType::Array, "b", None);
    MemoryStorage::new([
        (key("", 10, "_2"), details(GroupVersion::V2, &[array, inner.clone()])),
        (key("", 20, "_2"), details(GroupVersion::V2, &[gone, later, inner])),
        ("inner/__tiledb_group.tdb".to_owned(), Vec::new()),
        ("a/__schema/x".to_owned(), Vec::new()),
    ])
}

#[test]
fn the_files_of_version_2_are_a_history_that_can_be_opened_at_any_time() {
    let group = open(&history(), TimeWindow::ALL).unwrap();
    assert_eq!((group.version(), keys(&group)), (Some(GroupVersion::V2), vec!["b", "inner"]));
    assert_eq!(keys(&open(&history(), TimeWindow::until(15)).unwrap()), ["first", "inner"]);
    assert_eq!(keys(&open(&history(), TimeWindow::until(9)).unwrap()), [""; 0]);
    assert_eq!(open(&history(), TimeWindow::until(9)).unwrap().version(), None);
}

#[test]
fn the_newest_file_of_version_1_is_the_whole_list() {
    for suffix in ["", "_1"] {
        let files = MemoryStorage::new([
            (key("", 10, ""), details(GroupVersion::V1, &[member(ObjectType::Array, "a", None)])),
            (key("", 20, suffix), details(GroupVersion::V1, &[member(ObjectType::Array, "b", None)])),
        ]);
        assert_eq!(keys(&open(&files, TimeWindow::ALL).unwrap()), ["b"]);
        assert_eq!(keys(&open(&files, TimeWindow::until(10)).unwrap()), ["a"]);
    }
}

#[test]
fn files_of_both_versions_in_one_group_are_an_error_and_partly_written_ones_are_skipped() {
    let files = history();
    files.insert(key("", 30, "_2.tmp"), Vec::new());
    assert!(open(&files, TimeWindow::ALL).is_ok());
    files.insert(key("", 5, ""), details(GroupVersion::V1, &[]));
    let error = open(&files, TimeWindow::ALL).unwrap_err();
    assert!(error.to_string().contains("files of version 1"), "{error}");
    assert!(error.to_string().contains("__5_5_"), "{error}");
}

#[test]
fn members_are_looked_at_where_they_are() {
    let files = history();
    files.insert("b/readme", Vec::new());
    let group = open(&files, TimeWindow::ALL).unwrap();
    let look = |uri: &str, relative| {
        let mut member = GroupMember::new(ObjectType::Array, uri);
        member.relative = relative;
        group.look(&member)
    };
    assert!(matches!(look("a", true), Found::Object(ObjectType::Array)));
    assert!(matches!(look("inner/", true), Found::Object(ObjectType::Group)));
    assert!(matches!(look("b", true), Found::Object(ObjectType::Invalid)));
    assert!(matches!(look("c", true), Found::Missing));
    for uri in ["s3://bucket/a", "file:///a", "a"] {
        assert!(matches!(look(uri, false), Found::Elsewhere), "{uri}");
    }
}

#[test]
fn a_walk_enters_every_group_once_and_never_ends_in_a_circle() {
    let files = history();
    let back = member(ObjectType::Group, "..", Some("up"));
    let itself = member(ObjectType::Group, "./x/../", Some("self"));
    files.insert(key("inner", 10, "_2"), details(GroupVersion::V2, &[back, itself]));
    let group = open(&files, TimeWindow::ALL).unwrap();
    let walk = group.walk();
    let seen: Vec<_> = walk.iter().map(|visited| (visited.depth, visited.member.key())).collect();
    assert_eq!(seen, [(1, "b"), (1, "inner"), (2, "self"), (2, "up")]);
    assert!(matches!(walk[0].found, Found::Missing));
    assert!(walk[2..].iter().all(|visited| matches!(visited.found, Found::Repeated)));
}

#[test]
fn a_walk_goes_64_groups_deep() {
    let files = MemoryStorage::default();
    let mut folder = String::new();
    for _ in 0..70 {
        let deeper = member(ObjectType::Group, "g", None);
        files.insert(key(&folder, 1, "_2"), details(GroupVersion::V2, &[deeper]));
        folder = crate::storage::join(&folder, "g");
    }
    let walk = open(&files, TimeWindow::ALL).unwrap().walk();
    assert_eq!(walk.len(), 64);
    assert!(matches!(walk[63].found, Found::TooDeep), "{:?}", walk[63].found);
}

#[test]
fn a_damaged_member_group_does_not_end_the_walk() {
    let files = history();
    files.insert(key("inner", 10, "_2"), &b"damage"[..]);
    let walk = open(&files, TimeWindow::ALL).unwrap().walk();
    assert!(matches!(&walk[1].found, Found::Failed(Error::Corrupt { .. })), "{:?}", walk[1].found);
}

#[test]
fn metadata_follows_the_window_and_a_moved_group_still_knows_its_vacuum_file() {
    let put = |value: Option<u8>| MetadataEntry {
        key: b"k".to_vec(),
        value: value.map(|value| MetadataValue { datatype: Datatype::Uint8, data: vec![value] }),
    };
    let file = |entry| tile(&MetadataEntry::write_all(&[entry]).unwrap());
    let files = history();
    files.insert(format!("__meta/__10_10_{UUID}"), file(put(Some(1))));
    files.insert(format!("__meta/__100_100_{UUID}"), file(put(None)));
    let at = |files: &MemoryStorage, end| {
        let metadata = open(files, TimeWindow::until(end)).unwrap().metadata().unwrap();
        metadata.get("k").map(|value| value.data.clone())
    };
    assert_eq!((at(&files, 15), at(&files, 100)), (Some(vec![1]), None));
    // The second input was vacuumed already. The consolidated file sorts before the first one, so
    // replaying that would bring the key back.
    files.remove(&format!("__meta/__100_100_{UUID}"));
    files.insert(format!("__meta/__10_100_{UUID}"), file(put(None)));
    let lines =
        format!("file:///elsewhere/__meta/__10_10_{UUID}\nfile:///elsewhere/__meta/__100_100_{UUID}\n");
    files.insert(format!("__meta/__10_100_{UUID}.vac"), lines.into_bytes());
    assert_eq!((at(&files, 15), at(&files, 100)), (Some(vec![1]), None));
}

#[test]
fn arrays_groups_and_other_folders_are_told_apart() {
    let array = MemoryStorage::new([("__schema/x", Vec::new())]);
    let stray = MemoryStorage::new([("x", Vec::new())]);
    let pairs = MemoryStorage::new([("__kv_schema.tdb", Vec::new())]);
    for (storage, what) in [(array, "this is an array"), (stray, "not a TileDB group"), (pairs, "key-value")]
    {
        let error = open(&storage, TimeWindow::ALL).unwrap_err();
        assert!(matches!(error, Error::NotAnArray { .. }) && error.to_string().contains(what), "{error}");
    }
    let error = SnapshotOptions::new().open_storage(history()).unwrap_err();
    assert!(error.to_string().contains("this is a group"), "{error}");
}

#[test]
fn the_signature_of_a_groups_url_also_grants_access_to_its_relative_members() {
    let mut group = open(&history(), TimeWindow::ALL).unwrap();
    let locations = |group: &Group| group.members().map(|m| group.location_of(m)).collect::<Vec<_>>();
    for (location, expected) in [
        ("https://host/c/group?sig=x/y", "https://host/c/group/b?sig=x/y"),
        ("https://host/c/group/?sig=x", "https://host/c/group/b?sig=x"),
        ("s3://bucket/group?x", "s3://bucket/group?x/b"),
        ("/data/group?x", "/data/group?x/b"),
    ] {
        location.clone_into(&mut group.location);
        assert_eq!(locations(&group)[0], expected);
    }
    // Such a location is never shown.
    "https://host/group?sig=secret".clone_into(&mut group.location);
    let error = SnapshotOptions::new().open_group_in(Arc::new(MemoryStorage::default()), group.location());
    let shown = error.unwrap_err().to_string();
    assert!(shown.contains("https://host/group") && !shown.contains("secret"), "{shown}");
}
