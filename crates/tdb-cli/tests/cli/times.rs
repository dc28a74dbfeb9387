//! Commands that write with one time: the last one wins.

use std::fs;

use crate::common::{Scratch, said, text};

/// The value of the last line of a table.
fn last(table: &str) -> &str {
    table.lines().last().unwrap_or_default().rsplit(',').next().unwrap_or_default()
}

#[test]
fn of_commands_that_write_cells_with_one_time_the_last_one_is_read() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("a"), scratch.path().join("t.csv"));
    let (array, table) = (text(&array), text(&table));
    for value in 0..12 {
        fs::write(table, format!("d,v\n0,{value}\n")).unwrap();
        let dims: &[&str] = if value == 0 { &["--dims", "d"] } else { &[] };
        said(&[&["import", array, table, "--time", "1000"], dims].concat());
        let read = said(&["read", array, "--at", "1000", "--format", "csv", "--fields", "v"]);
        assert_eq!(last(&read), value.to_string(), "{read}");
        if value % 5 == 4 {
            said(&["consolidate", array]);
            said(&["vacuum", array]);
        }
    }
}

#[test]
fn of_commands_that_set_metadata_with_one_time_the_last_one_is_read() {
    let scratch = Scratch::new();
    let (array, group) = (scratch.path().join("a"), scratch.path().join("g"));
    crate::common::sparse(&array);
    said(&["group", "create", text(&group)]);
    for object in [text(&array), text(&group)] {
        for value in 0..12 {
            said(&["meta", "set", object, "k", &value.to_string(), "--time", "2000"]);
            assert_eq!(said(&["meta", object, "k", "--at", "2000"]), format!("{value}\n"));
            if value % 5 == 4 {
                said(&["consolidate", object, "--what", "metadata"]);
            }
        }
    }
}

#[test]
fn of_commands_that_change_a_group_with_one_time_the_last_one_counts() {
    let scratch = Scratch::new();
    let (array, group) = (scratch.path().join("a"), scratch.path().join("g"));
    let (array, group) = (text(&array), text(&group));
    crate::common::sparse(&scratch.path().join("a"));
    said(&["group", "create", group]);
    for round in 0..6 {
        said(&["group", "add", group, array, "--name", "m", "--time", "3000"]);
        assert!(said(&["group", group, "--at", "3000"]).contains("/a"), "{round}");
        said(&["group", "remove", group, "m", "--time", "3000"]);
        assert!(!said(&["group", group, "--at", "3000"]).contains("/a"), "{round}");
    }
}

#[test]
fn evolutions_of_one_time_follow_one_another() {
    let scratch = Scratch::new();
    let (array, table) = (scratch.path().join("a"), scratch.path().join("t.csv"));
    fs::write(&table, "d,v\n0,1\n").unwrap();
    said(&["import", text(&array), text(&table), "--dims", "d", "--time", "1000"]);
    for index in 0..8 {
        said(&["evolve", text(&array), "--add", &format!("b{index}:int32"), "--time", "1000"]);
    }
    let attributes = crate::common::schema(&array).attributes;
    assert_eq!(attributes.len(), 1 + 8);
}
