//! `tdb group` and `tdb meta`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tdb_codec::{Budget, Datatype, FormatVersion, Limits};
use tdb_schema::{GroupDetails, GroupMember, GroupVersion, MetadataEntry, MetadataValue, ObjectType};
use tdb_tile::GenericTile;

use crate::common::{Scratch, assert_fails, base64, files, fixture, has_tag, manifest, objects, tdb, text};

const UUID: &str = "0123456789abcdef0123456789abcdef";

fn write(folder: &Path, key: &str, payload: &[u8]) {
    let path = folder.join(key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, GenericTile::encode(payload, FormatVersion::CURRENT).unwrap()).unwrap();
}

fn member(object: ObjectType, uri: &str, name: Option<&str>) -> GroupMember {
    let relative = !uri.contains("://");
    let mut member = GroupMember::new(object, uri);
    (member.relative, member.name) = (relative, name.map(str::to_owned));
    member
}

fn details(members: &[GroupMember]) -> Vec<u8> {
    GroupDetails { version: GroupVersion::V2, members: members.to_vec() }.to_bytes().unwrap()
}

fn put(key: &[u8], datatype: Datatype, data: &[u8]) -> MetadataEntry {
    MetadataEntry { key: key.to_vec(), value: Some(MetadataValue { datatype, data: data.to_vec() }) }
}

/// A group with an array, a group that contains it, a missing member and one in an object store.
fn sample() -> Scratch {
    let scratch = Scratch::new();
    let root = scratch.path();
    let array = root.join("weather");
    fs::create_dir_all(&array).unwrap();
    fs::write(array.join("__array_schema.tdb"), "").unwrap();
    let members = [
        member(ObjectType::Array, "weather", Some("air")),
        member(ObjectType::Group, "inner", None),
        member(ObjectType::Array, "gone", None),
        member(ObjectType::Array, "hdfs://cluster/sea", Some("sea")),
    ];
    write(root, &format!("__group/__10_10_{UUID}_2"), &details(&members));
    let mut removed = members[2].clone();
    removed.deleted = true;
    write(root, &format!("__group/__20_20_{UUID}_2"), &details(&[removed]));
    let up = member(ObjectType::Group, "..", Some("up"));
    write(&root.join("inner"), &format!("__group/__10_10_{UUID}_2"), &details(&[up]));
    let entries =
        [put(b"\xffk", Datatype::Int16, &[1, 0, 0xfe, 0xff]), put(b"title", Datatype::StringUtf8, b"Oslo\n")];
    write(root, &format!("__meta/__10_10_{UUID}"), &MetadataEntry::write_all(&entries).unwrap());
    let gone = [MetadataEntry { key: b"title".to_vec(), value: None }];
    write(root, &format!("__meta/__20_20_{UUID}"), &MetadataEntry::write_all(&gone).unwrap());
    scratch
}

fn run(args: &[&str]) -> String {
    let outcome = tdb(args);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{args:?}");
    outcome.out
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&run(&[args, &["--json"]].concat())).unwrap()
}

#[test]
fn a_group_shows_its_members_what_is_at_their_places_and_its_metadata() {
    let group = sample();
    let expected = "\
group          DIR
group version  2
members        3

member     type   URI              there          at
---------  -----  ---------------  -------------  ---------------
air        array  weather          array          DIR/weather
(no name)  group  inner            group          DIR/inner
sea        array  hdfs://cluster/sea  not looked up  hdfs://cluster/sea

metadata key  type   value
------------  -----  -------
\\xffk         INT16  [1, -2]
";
    // Columns are as wide as the folder's name, so compare words.
    let words = |text: &str| -> Vec<Vec<String>> {
        let text = text.replace(crate::common::text(group.path()), "DIR");
        let lines = text.lines().filter(|line| !line.starts_with('-'));
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    assert_eq!(words(&run(&["group", text(group.path())])), words(expected));
    let earlier = run(&["group", text(group.path()), "--at", "15"]);
    assert!(earlier.contains("missing") && earlier.contains("Oslo"), "{earlier}");
}

#[test]
fn a_recursive_group_shows_nested_members_and_ends_where_it_comes_back() {
    let group = sample();
    let members = json(&["group", text(group.path()), "--recursive"])["members"].clone();
    let short: Vec<Value> =
        members.as_array().unwrap().iter().map(|m| json!([m["depth"], m["name"], m["there"]])).collect();
    let expected =
        json!([[1, "air", "array"], [1, null, "group"], [2, "up", "repeated"], [1, "sea", "elsewhere"]]);
    assert_eq!(Value::Array(short), expected);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_a_group_into_itself_does_not_trap_a_walk() {
    let group = sample();
    std::os::unix::fs::symlink(".", group.path().join("loop")).unwrap();
    let again = [member(ObjectType::Group, "loop", None), member(ObjectType::Group, "loop/loop", None)];
    write(group.path(), &format!("__group/__30_30_{UUID}_2"), &details(&again));
    let shown = run(&["group", text(group.path()), "--recursive"]);
    assert_eq!(shown.matches("shown above").count(), 3, "{shown}");
}

#[test]
fn a_folder_that_is_no_group_is_told_apart() {
    let array = fixture("2.30.0/quickstart");
    assert_fails(&tdb(&["group", text(&array)]), &[text(&array), "this is an array, not a group"]);
    let group = sample();
    assert_fails(&tdb(&["info", text(group.path())]), &["this is a group, not an array"]);
    fs::write(group.path().join("x"), "x").unwrap();
    let stray = Scratch::new();
    assert_fails(&tdb(&["meta", text(stray.path())]), &["neither a TileDB array nor a group"]);
    fs::write(stray.path().join("__kv_schema.tdb"), "x").unwrap();
    for command in ["meta", "info", "group", "log"] {
        assert_fails(&tdb(&[command, text(stray.path())]), &["key-value object of TileDB 1.x"]);
    }
}

#[test]
fn a_damaged_group_file_is_named_with_its_offset() {
    let group = sample();
    let file = group.path().join(format!("__group/__20_20_{UUID}_2"));
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_fails(&tdb(&["group", text(group.path())]), &[text(&file), "offset"]);
    // The file states a wrong length.
    write(group.path(), &format!("__group/__20_20_{UUID}_2"), &[2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    assert_fails(&tdb(&["group", text(group.path())]), &[text(&file), "member count at offset 4", "count 9"]);
}

#[test]
fn group_files_are_dumped_field_by_field() {
    let group = sample();
    let shown = run(&["dump", text(&group.path().join(format!("__group/__10_10_{UUID}_2")))]);
    for part in
        ["group version", "member object type", "2 (array)", "\"hdfs://cluster/sea\"", "member is deleted"]
    {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
}

#[test]
fn metadata_of_groups_and_arrays_is_shown_whole_or_by_key() {
    let group = sample();
    let group = text(group.path());
    assert_eq!(run(&["meta", group, "title", "--at", "15"]), "Oslo\n\n");
    assert_eq!(run(&["meta", group, "\\xffk"]), "[1, -2]\n");
    assert_fails(&tdb(&["meta", group, "title"]), &[group, "no metadata key \"title\""]);
    let expected = json!([{"key": "\\xffk", "key_hex": "ff6b", "datatype": "INT16", "count": 2, "value": [1, -2],
        "hex": "0100feff"}]);
    assert_eq!(json(&["meta", group]), expected);
    assert_eq!(json(&["meta", group, "\\xffk"]), expected[0]);
    assert_eq!(tdb(&["meta", group, "\\q"]).code, 2);
}

#[test]
fn metadata_of_every_fixture_is_what_libtiledb_reads() {
    let mut seen = 0;
    for entry in manifest().iter().filter(|entry| !has_tag(entry, &["encrypted"])) {
        let id = entry["id"].as_str().unwrap();
        let expected =
            crate::common::json_file(&crate::common::fixtures().join("expected").join(format!("{id}.json")));
        let Some(expected) = expected["metadata"].as_array().filter(|list| !list.is_empty()) else {
            continue;
        };
        let found = json(&["meta", text(&fixture(id))]);
        let short = |m: &Value, key: &str| json!([m["key"], m[key]]);
        let found: Vec<Value> = found.as_array().unwrap().iter().map(|m| short(m, "datatype")).collect();
        let expected: Vec<Value> = expected.iter().map(|m| short(m, "type")).collect();
        assert_eq!(found, expected, "{id}");
        seen += 1;
    }
    assert!(seen > 10, "only {seen} arrays with metadata");
}

/// Compares members with those listed by libtiledb, which does not tell for all whether they are
/// relative.
fn assert_members(found: &Value, expected: &Value, what: &str) {
    let sorted = |list: &Value, keys: &[&str]| {
        let short = |member: &Value| keys.iter().map(|key| member[*key].clone()).collect::<Value>();
        let mut list: Vec<String> = list.as_array().unwrap().iter().map(|m| short(m).to_string()).collect();
        list.sort();
        list
    };
    let keys = ["name", "type", "uri"];
    assert_eq!(sorted(found, &keys), sorted(expected, &keys), "{what}");
    for member in expected.as_array().unwrap().iter().filter(|member| member["relative"].is_boolean()) {
        let same = |other: &&Value| other["uri"] == member["uri"] && other["name"] == member["name"];
        let other = found.as_array().unwrap().iter().find(same).unwrap();
        assert_eq!(other["relative"], member["relative"], "{what}");
    }
}

/// Compares metadata with that listed by libtiledb, byte by byte.
fn assert_metadata(found: &Value, expected: &Value, what: &str) {
    let hex = |text: &str| base64(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected: Vec<Value> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|m| json!([m["key"], m["type"], m["num"], hex(m["value"].as_str().unwrap())]))
        .collect();
    let found = found.as_array().unwrap().iter();
    let found: Vec<Value> = found.map(|m| json!([m["key"], m["datatype"], m["count"], m["hex"]])).collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn group_fixtures_are_read_as_libtiledb_reads_them() {
    let (mut groups, mut times) = (0, 0);
    for entry in objects("group") {
        let id = entry["id"].as_str().unwrap();
        let folder = fixture(id);
        let expected =
            crate::common::json_file(&crate::common::fixtures().join("expected").join(format!("{id}.json")));
        for group in expected["groups"].as_array().unwrap() {
            let path = folder.join(group["path"].as_str().unwrap());
            let found = json(&["group", text(&path)]);
            assert_members(&found["members"], &group["members"], text(&path));
            assert_metadata(&found["metadata"], &group["metadata"], text(&path));
            assert_metadata(&json(&["meta", text(&path)]), &group["metadata"], text(&path));
            groups += 1;
        }
        for past in expected["time_travel"].as_array().unwrap() {
            let end = |end: &Value| end.as_u64().map_or(String::new(), |end| end.to_string());
            let window = format!("{},{}", end(&past["timestamps"][0]), end(&past["timestamps"][1]));
            let found = json(&["group", text(&folder), "--between", &window]);
            assert_members(&found["members"], &past["members"], &format!("{id} between {window}"));
            assert_metadata(&found["metadata"], &past["metadata"], &format!("{id} between {window}"));
            times += 1;
        }
        // A walk enters every group that the recorder entered, without failures.
        let walk = json(&["group", text(&folder), "--recursive"]);
        let walk = walk["members"].as_array().unwrap();
        assert!(walk.iter().all(|member| member["there"] != "failed"), "{id}: {walk:#?}");
        let entered = walk.iter().filter(|member| member["there"] == "group").count() + 1;
        assert_eq!(entered, expected["groups"].as_array().unwrap().len(), "{id}");
    }
    assert!(groups > 20 && times > 10, "{groups} groups, {times} times");
}

#[test]
fn every_group_file_is_written_as_it_was_read() {
    let mut versions = std::collections::BTreeMap::new();
    for entry in objects("group") {
        let id = entry["id"].as_str().unwrap();
        for path in files(&fixture(id)).iter().filter(|path| text(path).contains("/__group/")) {
            let bytes = fs::read(path).unwrap();
            let tile = GenericTile::parse(&bytes, 0).unwrap();
            let payload = tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap();
            let details = GroupDetails::parse(&payload).unwrap();
            assert_eq!(details.to_bytes().unwrap(), payload, "{}", path.display());
            *versions.entry(details.version.number()).or_insert(0) += 1;
        }
    }
    assert!(versions[&1] > 5 && versions[&2] > 5, "{versions:?}");
}

#[test]
fn key_value_objects_of_the_first_libraries_are_refused_by_name() {
    for entry in objects("kv") {
        let folder = fixture(entry["id"].as_str().unwrap());
        for command in ["info", "read", "meta", "group", "log"] {
            assert_fails(&tdb(&[command, text(&folder)]), &[text(&folder), "key-value object of TileDB 1.x"]);
        }
    }
}

#[test]
fn secrets_in_the_urls_of_members_are_not_shown() {
    let scratch = Scratch::new();
    let members = [
        member(ObjectType::Array, "https://host/a?sig=secret", Some("signed")),
        member(ObjectType::Array, "s3://user:secret@bucket/a", Some("named")),
    ];
    write(scratch.path(), &format!("__group/__10_10_{UUID}_2"), &details(&members));
    for args in [&["group", text(scratch.path())][..], &["group", text(scratch.path()), "--json"]] {
        let shown = run(args);
        assert!(shown.contains("https://host/a") && shown.contains("s3://bucket/a"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
