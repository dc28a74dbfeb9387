//! `tdb publish`: manifests of arrays and groups, which changes renew.

use std::fs;
use std::path::Path;

use tdb_array::publish::MANIFEST;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, files, refused, said, text};

fn create(path: &Path) {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create(path, &schema).unwrap();
}

fn append(array: &Path, x: i32, a: i32) {
    let writer = WriteOptions::new().open(array).unwrap();
    let (x, a) = ([x], [a]);
    writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("a", &a)).commit().unwrap();
}

/// The lines of a manifest between its head and its end: sizes and keys.
fn listed(folder: &Path) -> Vec<(u64, String)> {
    let manifest = fs::read_to_string(folder.join(MANIFEST)).unwrap();
    let lines = manifest.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let entry = |line: &str| {
        let (size, key) = line.split_once(' ').unwrap();
        (size.parse().unwrap(), key.to_owned())
    };
    lines.map(entry).collect()
}

/// Sizes and keys of the files of a folder, without its manifest.
fn there(folder: &Path) -> Vec<(u64, String)> {
    let all = files(folder).into_iter().filter(|path| path.file_name().unwrap() != MANIFEST);
    let key = |path: &Path| path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
    let mut all: Vec<_> = all.map(|path| (fs::metadata(&path).unwrap().len(), key(&path))).collect();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    all
}

#[test]
fn a_published_array_lists_its_files_and_every_change_renews_the_list() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    create(&array);
    append(&array, 1, 10);
    assert!(!array.join(MANIFEST).exists(), "nothing is published unasked");
    let shown = said(&["publish", text(&array)]);
    let bytes: u64 = there(&array).iter().map(|(size, _)| size).sum();
    let count = there(&array).len();
    assert_eq!(
        shown,
        format!("published {}: {count} files, {bytes} bytes, in {MANIFEST}\n", array.display())
    );
    assert_eq!(listed(&array), there(&array));

    append(&array, 2, 20);
    assert_eq!(listed(&array), there(&array), "after a write");
    said(&["meta", "set", text(&array), "title", "Oslo"]);
    said(&["delete", text(&array), "--where", "a = 10"]);
    said(&["evolve", text(&array), "--add", "b:int32"]);
    assert_eq!(listed(&array), there(&array), "after metadata, a delete and an evolution");
    said(&["consolidate", text(&array)]);
    said(&["vacuum", text(&array)]);
    assert_eq!(listed(&array), there(&array), "after maintenance");
}

#[test]
fn a_group_is_published_alone_or_with_its_members() {
    let scratch = Scratch::new();
    let group = scratch.path().join("stations");
    said(&["group", "create", text(&group)]);
    let array = group.join("oslo");
    create(&array);
    said(&["group", "add", text(&group), "oslo", "--relative"]);
    said(&["publish", text(&group)]);
    assert!(group.join(MANIFEST).exists() && !array.join(MANIFEST).exists());
    let shown = said(&["publish", text(&group), "--recursive"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("oslo:") && lines[1].contains("stations:"), "{shown}");
    assert_eq!(listed(&array), there(&array));
}

#[test]
fn what_is_neither_an_array_nor_a_group_is_not_published() {
    let scratch = Scratch::new();
    refused(&["publish", text(scratch.path())], 1, "neither a TileDB array nor a group");
    let missing = scratch.path().join("missing");
    refused(&["publish", text(&missing)], 1, "missing");
    assert!(files(scratch.path()).is_empty());
}
