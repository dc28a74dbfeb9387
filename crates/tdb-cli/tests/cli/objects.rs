//! `tdb ls`, `tdb rm` and `tdb mv`.

use std::fs;

use crate::common::{Scratch, fixture, refused, said, sparse, tdb, text};

#[test]
fn arrays_groups_and_folders_are_listed_by_name() {
    let scratch = Scratch::new();
    let folder = scratch.path().join("data");
    fs::create_dir_all(folder.join("plain/deep")).unwrap();
    sparse(&folder.join("plain/deep/trips"));
    sparse(&folder.join("Trips"));
    said(&["group", "create", text(&folder.join("stations"))]);
    fs::write(folder.join("file.csv"), "").unwrap();
    let listed = said(&["ls", text(&folder)]);
    assert_eq!(listed, "type    name\n------  --------\narray   Trips\nfolder  plain\ngroup   stations\n");
    let all = said(&["ls", text(&folder), "--recursive"]);
    assert!(all.contains("array   plain/deep/trips\n"), "{all}");
    let array = folder.join("Trips");
    assert!(said(&["ls", text(&array)]).contains(&format!("array  {}", text(&array))));
    let json: serde_json::Value = serde_json::from_str(&said(&["ls", text(&folder), "--json"])).unwrap();
    assert_eq!(json["objects"][2]["type"], "group");
    assert_eq!(json["objects"][0]["location"], text(&array));
    assert_eq!(said(&["ls", text(&folder.join("plain/deep/trips/__schema"))]), "");
    refused(&["ls", text(&folder.join("missing"))], 1, "missing");
}

#[test]
fn only_arrays_and_groups_are_removed() {
    let scratch = Scratch::new();
    let (array, group, plain) = ["a", "g", "p"].map(|name| scratch.path().join(name)).into();
    sparse(&array);
    said(&["group", "create", text(&group)]);
    fs::create_dir(&plain).unwrap();
    refused(&["rm", text(&array), text(&plain)], 1, "neither a TileDB array nor a group");
    refused(&["rm", text(&group)], 1, "--recursive");
    assert!(said(&["rm", text(&array), "--dry-run"]).ends_with("would be removed\n"));
    assert!(array.is_dir() && group.is_dir() && plain.is_dir());
    let removed = said(&["rm", text(&array), text(&group), "--recursive"]);
    assert_eq!(removed, format!("array {} removed\ngroup {} removed\n", text(&array), text(&group)));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    refused(&["rm", text(&array)], 1, "a");
    refused(&["rm"], 2, "OBJECTS");
}

#[cfg(unix)]
#[test]
fn what_a_stopped_import_left_is_named_and_removed_if_asked_for() {
    let scratch = Scratch::new();
    let (array, empty) = (scratch.path().join("half"), scratch.path().join("empty"));
    for folder in [array.join("__fragments/__1_1_x_22"), empty.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(array.join("__unfinished.tdb"), "").unwrap();
    for command in ["info", "vacuum", "fragments"] {
        refused(&[command, text(&array)], 1, "begun and is not finished");
        refused(&[command, text(&array)], 1, "tdb rm --unfinished removes");
    }
    let outcome = tdb(&["verify", text(&array)]);
    assert!(outcome.code == 1 && outcome.out.contains("tdb rm --unfinished removes"), "{}", outcome.out);
    refused(&["rm", text(&array)], 1, "--unfinished removes what is there");
    refused(&["rm", text(&empty), "--unfinished"], 1, "neither a TileDB array nor a group");
    let removed = said(&["rm", text(&array), "--unfinished"]);
    assert_eq!(removed, format!("unfinished array {} removed\n", text(&array)));
    assert!(!array.exists() && empty.exists());
}

#[test]
fn a_link_is_removed_and_not_what_it_leads_to() {
    let scratch = Scratch::new();
    let (array, link) = (scratch.path().join("a"), scratch.path().join("link"));
    sparse(&array);
    std::os::unix::fs::symlink(&array, &link).unwrap();
    said(&["rm", text(&link)]);
    assert!(array.is_dir() && link.symlink_metadata().is_err());
}

#[test]
fn a_name_is_changed_unless_something_has_it() {
    let scratch = Scratch::new();
    let (old, new) = (scratch.path().join("old"), scratch.path().join("new"));
    sparse(&old);
    assert!(said(&["mv", text(&old), text(&new)]).starts_with("array "));
    assert!(!old.exists());
    said(&["verify", text(&new)]);
    sparse(&old);
    refused(&["mv", text(&old), text(&new)], 1, "something here already");
    refused(&["mv", text(scratch.path()), text(&new)], 1, "neither");
    refused(&["mv", "s3://bucket/a", text(&new)], 2, "tdb copy");
    refused(&["mv", text(&fixture("2.30.0/quickstart").join("missing")), text(&new)], 1, "missing");
}
