//! Data with a time in the future: not visible unless it is requested.

use serde_json::Value;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::write::SchemaEvolution;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, refused, said, text};

/// 3000-01-01.
const FUTURE: u64 = 32_503_680_000_000;

fn int(name: &str) -> Attribute {
    Attribute::new(name, Datatype::Int32, CellValNum::ONE)
}

/// A dense array of four cells: written in the past, partly again in the future, with an attribute
/// `b` from then on.
fn array(scratch: &Scratch) -> String {
    let path = scratch.path().join("array");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 1i32..=4).with_tile_bytes(4i32.to_le_bytes()))
        .attribute(int("a"))
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1_000_000_000_000).create(&path, &schema).unwrap();
    for (time, cells) in [(1_000_000_000_001, [1, 2, 3, 4].as_slice()), (FUTURE, &[7, 8])] {
        let writer = WriteOptions::new().timestamp(time).open(&path).unwrap();
        let last = i32::try_from(cells.len()).unwrap();
        writer.write().range("x", 1..=last).column(WriteColumn::fixed("a", cells)).commit().unwrap();
    }
    let add = SchemaEvolution::new().add_attribute(int("b"));
    WriteOptions::new().timestamp(FUTURE).evolve(&path, &add).unwrap();
    text(&path).to_owned()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&said(args)).unwrap()
}

#[test]
fn cells_and_schemas_of_the_future_are_read_if_they_are_asked_for() {
    let scratch = Scratch::new();
    let array = array(&scratch);
    let (array, future) = (array.as_str(), FUTURE.to_string());
    assert_eq!(said(&["read", array, "--format", "csv"]), "x,a\n1,1\n2,2\n3,3\n4,4\n");
    let later = "x,a,b\n1,7,-2147483648\n2,8,-2147483648\n3,3,-2147483648\n4,4,-2147483648\n";
    assert_eq!(said(&["read", array, "--format", "csv", "--at", "3000-01-01"]), later);
    assert_eq!(said(&["read", array, "--format", "csv", "--between", &format!("0,{future}")]), later);
    assert_eq!(said(&["read", array, "--format", "csv", "--between", "0,"]).lines().next(), Some("x,a"));

    let info = json(&["info", array, "--json"]);
    assert_eq!(
        (info["attributes"].as_array().unwrap().len(), info["fragments"].as_array().unwrap().len()),
        (1, 1)
    );
    assert_eq!(info["timestamps"], serde_json::json!([0, null]), "until now");
    let later = json(&["info", array, "--json", "--at", &future]);
    assert_eq!(later["timestamps"], serde_json::json!([0, FUTURE]));
    assert_eq!(
        (later["attributes"].as_array().unwrap().len(), later["fragments"].as_array().unwrap().len()),
        (2, 2)
    );
    assert!(!said(&["info", array]).contains("opened between"));
    assert!(said(&["info", array, "--at", "3000-01-01"]).contains("3000-01-01T23:59:59.999Z)\n"));
    assert!(said(&["info", array, "--between", "5,"]).contains("1970-01-01T00:00:00.005Z) and now\n"));

    let explained = said(&["explain", array]);
    assert!(explained.starts_with("fragments: 1 of 2 are read"), "{explained}");
    let log = json(&["log", array, "--json"]);
    assert_eq!(log["events"].as_array().unwrap().len(), 4, "{log}");
    assert!(said(&["verify", array]).starts_with("ok: "));
}

#[test]
fn a_copy_is_one_of_what_is_seen_at_its_time() {
    let scratch = Scratch::new();
    let array = array(&scratch);
    let target = |name: &str| text(&scratch.path().join(name)).to_owned();
    said(&["copy", &array, &target("now")]);
    assert_eq!(said(&["read", &target("now"), "--format", "csv"]), "x,a\n1,1\n2,2\n3,3\n4,4\n");
    said(&["copy", &array, &target("then"), "--at", "3000-01-01"]);
    assert!(said(&["read", &target("then"), "--format", "csv"]).starts_with("x,a,b\n1,7,"));
}

#[test]
fn metadata_and_members_of_the_future_are_shown_if_they_are_asked_for() {
    let scratch = Scratch::new();
    let array = array(&scratch);
    let group = text(&scratch.path().join("group")).to_owned();
    said(&["group", "create", &group]);
    said(&["group", "add", &group, &array, "--name", "soon", "--time", "3000-01-01"]);
    assert_eq!(json(&["group", &group, "--json"])["members"], serde_json::json!([]));
    let later = json(&["group", &group, "--json", "--at", "3000-01-01"]);
    assert_eq!(later["members"][0]["name"], "soon");
    refused(&["group", "remove", &group, "soon"], 1, "there is no member");
    said(&["group", "remove", &group, "soon", "--time", "3000-01-02"]);
    assert_eq!(json(&["group", &group, "--json", "--at", "3000-01-02"])["members"], serde_json::json!([]));

    for object in [&array, &group] {
        said(&["meta", "set", object, "k", "1", "--time", "3000-01-01"]);
        refused(&["meta", object, "k"], 1, "no metadata key");
        refused(&["meta", "rm", object, "k"], 1, "no metadata key");
        assert_eq!(said(&["meta", object, "k", "--at", "3000-01-01"]), "1\n");
        said(&["meta", "set", object, "k", "2"]);
        assert_eq!(said(&["meta", object, "k"]), "2\n");
        assert_eq!(said(&["meta", object, "k", "--at", "3000-01-01"]), "1\n");
        said(&["meta", "rm", object, "k", "--time", "3000-01-02"]);
        refused(&["meta", object, "k", "--at", "3000-01-02"], 1, "no metadata key");
    }
}

#[test]
fn changes_are_made_to_the_newest_schema_and_maintenance_loses_nothing_of_either_time() {
    let scratch = Scratch::new();
    let array = array(&scratch);
    let array = array.as_str();
    refused(&["evolve", array, "--drop", "b"], 1, "time in the future");
    said(&["evolve", array, "--drop", "b", "--add", "c:int32", "--time", "3000-01-02"]);
    let now = said(&["read", array, "--format", "csv"]);
    let then = said(&["read", array, "--format", "csv", "--at", "3000-01-02"]);
    assert!(then.starts_with("x,a,c\n1,7,"), "{then}");
    let plan = said(&["consolidate", array]);
    assert!(plan.contains("in the future"), "{plan}");
    let log = json(&["log", array, "--json"]);
    let names = log["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap());
    let names: Vec<&str> = names.filter(|name| name.starts_with("__fragments/")).collect();
    said(&["consolidate", array, "--fragments", &names.join(",")]);
    said(&["vacuum", array, "--drop-history"]);
    assert_eq!(said(&["read", array, "--format", "csv"]), now);
    assert_eq!(said(&["read", array, "--format", "csv", "--at", "3000-01-02"]), then);
}
