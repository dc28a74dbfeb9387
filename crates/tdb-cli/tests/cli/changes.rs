//! Commands that change arrays and groups: `evolve`, `consolidate`, `vacuum`, `meta set`,
//! `group add`.

use std::path::Path;

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{Layout, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, refused, said, text};

fn create(path: &Path) {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1000).create(path, &schema).unwrap();
    for time in 1..=3 {
        let writer = WriteOptions::new().timestamp(1000 + time).open(path).unwrap();
        let x = [i32::try_from(time).unwrap(), 50];
        let write = writer.write().order(Layout::GlobalOrder);
        write.column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &x)).commit().unwrap();
    }
}

#[test]
fn an_array_is_consolidated_and_vacuumed_as_the_dry_run_says() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    create(&array);
    let array = text(&array);
    let cells = said(&["read", array, "--order", "row"]);
    let plan = said(&["consolidate", array, "--dry-run"]);
    assert!(plan.starts_with("consolidate fragments: 3 files, ") && plan.contains("KiB"), "{plan}");
    assert_eq!(said(&["consolidate", array, "--dry-run"]), plan, "nothing was done");
    assert_eq!(said(&["consolidate", array]), plan + "done\n");
    assert_eq!(said(&["read", array, "--order", "row"]), cells);
    let plan = said(&["vacuum", array, "--dry-run"]);
    assert!(plan.starts_with("remove consolidated fragments: 4 files, "), "{plan}");
    assert_eq!(said(&["vacuum", array]), plan + "done\n");
    assert_eq!(said(&["vacuum", array]), "nothing to do\n");
    assert_eq!(said(&["read", array, "--order", "row"]), cells);
    assert!(said(&["read", array, "--at", "1001"]).contains("50"), "time travel goes on");
    assert!(said(&["vacuum", array, "--orphans"]).starts_with("nothing to do"));
    // What is younger than a day may belong to an unfinished write.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let leftover =
        Path::new(array).join(format!("__fragments/__{now}_{now}_0123456789abcdef0123456789abcdef_22"));
    std::fs::create_dir(&leftover).unwrap();
    assert!(said(&["vacuum", array, "--orphans"]).contains("too recent") && leftover.exists());
    said(&["vacuum", array, "--orphans", "--before", "3000-01-01"]);
    assert!(!leftover.exists());
    let fragments = ["consolidate", array, "--fragments", "a,b"];
    refused(&fragments, 1, "there is no visible fragment");
    refused(&["consolidate", array, "--memory", "much"], 2, "not an amount of memory");
}

#[test]
fn a_schema_evolves_or_says_why_not() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    create(&array);
    let array = text(&array);
    let key = said(&["evolve", array, "--add", "b:float64?", "--time", "1010"]);
    assert!(key.starts_with("__schema/__1010_1010_"), "{key}");
    assert!(said(&["read", array]).contains("null"));
    assert!(!said(&["read", array, "--at", "1005"]).contains("null"));
    for (change, why) in [
        (["--add", "b:int8"], "a field \"b\" already"),
        (["--drop", "x"], "is a dimension"),
        (["--drop", "nothing"], "is not there"),
        (["--drop-enum", "e"], "no enumeration"),
    ] {
        let args = [&["evolve", array, "--time", "1020"], &change[..]].concat();
        refused(&args, 1, why);
    }
    refused(&["evolve", array, "--time", "1005", "--drop", "b"], 1, "would not be the array's newest");
    refused(&["evolve", array, "--add", "b"], 2, "NAME=TYPE");
    said(&["delete", array, "--where", "a = 2", "--time", "1030"]);
    refused(&["evolve", array, "--drop", "a", "--time", "1040"], 1, "tests it, and no library reads");
    assert!(said(&["read", array]).contains("50"), "it can still be read");
}

#[test]
fn commits_of_an_upgraded_array_that_has_no_folder_for_them_become_one_file() {
    let scratch = Scratch::copy_of("2.7.2/base_sparse");
    let array = text(scratch.path());
    let cells = said(&["read", array, "--order", "row"]);
    said(&["evolve", array, "--upgrade"]);
    assert!(!Path::new(array).join("__commits").exists());
    assert!(said(&["consolidate", array, "--what", "commits"]).ends_with("done\n"));
    assert_eq!(std::fs::read_dir(Path::new(array).join("__commits")).unwrap().count(), 1);
    assert_eq!(said(&["read", array, "--order", "row"]), cells);
}

#[test]
fn metadata_is_set_shown_and_removed_in_arrays_and_groups() {
    let scratch = Scratch::new();
    let group = scratch.path().join("group");
    create(&group.join("array"));
    let group = text(&group);
    said(&["group", "create", group]);
    for object in [group.to_owned(), format!("{group}/array")] {
        said(&["meta", "set", &object, "units", "kelvin"]);
        said(&["meta", "set", &object, "limits", "-1", "2", "--type", "int16"]);
        assert_eq!(said(&["meta", "get", &object, "units"]), "kelvin\n");
        assert_eq!(said(&["meta", &object, "limits"]), "[-1, 2]\n");
        said(&["meta", "rm", &object, "units"]);
        refused(&["meta", "get", &object, "units"], 1, "there is no metadata key");
        refused(&["meta", "rm", &object, "units"], 1, "there is no metadata key");
        refused(&["meta", "set", &object, "n", "x", "--type", "int16"], 2, "not an integer");
        assert!(said(&["consolidate", &object, "--what", "metadata"]).ends_with("done\n"));
        assert_eq!(said(&["meta", &object, "limits"]), "[-1, 2]\n");
        assert!(said(&["vacuum", &object, "--what", "metadata"]).contains("are kept: reads at times"));
        if object == group {
            // A group has nothing else.
            assert!(said(&["vacuum", group]).contains("are kept: reads at times"));
            for command in ["consolidate", "vacuum"] {
                refused(
                    &[command, group, "--what", "commits"],
                    2,
                    "has key-value metadata only: --what metadata",
                );
            }
        }
        assert!(said(&["vacuum", &object, "--what", "metadata", "--drop-history"]).ends_with("done\n"));
        assert_eq!(said(&["meta", &object, "limits"]), "[-1, 2]\n");
    }
}

#[test]
fn members_come_and_go_and_a_group_is_created_once() {
    let scratch = Scratch::new();
    let group = scratch.path().join("group");
    create(&group.join("array"));
    create(&scratch.path().join("other"));
    let other = scratch.path().join("other");
    let (group, other) = (text(&group), text(&other));
    said(&["group", "create", group]);
    refused(&["group", "create", group], 1, "already");
    said(&["group", "add", group, "array", "--relative", "--name", "first"]);
    said(&["group", "add", group, other]);
    let shown = said(&["group", group]);
    assert!(shown.contains("first") && shown.contains("file://") && !shown.contains("missing"), "{shown}");
    refused(&["group", "add", group, "array", "--relative", "--name", "first"], 1, "already");
    refused(&["group", "add", group, "nowhere", "--relative"], 1, "nowhere");
    said(&["group", "remove", group, "first"]);
    assert!(!said(&["group", group]).contains("first"));
    refused(&["group", "remove", group, "first"], 1, "there is no member");
}
