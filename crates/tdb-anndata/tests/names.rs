//! Ids of cells and genes, of whatever type they are stored as.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests: a panic is a failure")]

mod folder;

use std::fs;

use serde_json::{Value, json};

use crate::folder::{Folder, MEMORY, encoding};

/// `obs` with this index, and a column `obs_id` of categories, whose codes these are.
fn with_categories(name: &str, index: &[&str], codes: &[u8], categories: &[&str]) -> Folder {
    let folder = Folder::new(name);
    folder.table("obs", index, &["obs_id"]);
    let mut of = encoding("categorical", "0.2.0");
    of["ordered"] = json!(false);
    folder.group("obs/obs_id", &of);
    folder.numbers("obs/obs_id/codes", "|i1", &[3], codes);
    folder.texts("obs/obs_id/categories", categories);
    folder
}

#[test]
fn categories_are_ids_by_what_they_are_called_and_not_by_their_numbers() {
    let other = with_categories("codes", &["0", "1", "2"], &[0, 1, 2], &["a", "b", "c"]);
    let error = other.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("it already has with other values"), "{error}");
    let same = with_categories("called", &["c", "a", "b"], &[2, 0, 1], &["a", "b", "c"]);
    assert_eq!(same.import(MEMORY).unwrap().cells, 3);
    let obs = same.array_of("obs").read().collect().unwrap();
    assert_eq!(obs.field("obs_id").unwrap().values::<i32>().unwrap(), [2, 0, 1]);
    let twice = with_categories("twice", &["c", "a", "c"], &[2, 0, 2], &["a", "b", "c"]);
    let error = twice.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("obs/obs_id: row 2: \"c\" is there before"), "{error}");
    let missing = with_categories("missing", &["c", "a", ""], &[2, 0, 255], &["a", "b", "c"]);
    let error = missing.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("other values"), "{error}");
}

#[test]
fn an_index_of_categories_becomes_texts_and_one_with_a_missing_name_is_refused() {
    let folder = Folder::new("index");
    folder.table("obs", &[], &[]);
    fs::remove_dir_all(folder.0.join("cells.zarr/obs/_index")).unwrap();
    let write = |kind: &str, values: &str, more: &dyn Fn()| {
        let mut of = encoding(kind, if kind == "categorical" { "0.2.0" } else { "0.1.0" });
        of["ordered"] = Value::Bool(false);
        folder.group("obs/_index", &of);
        folder.texts(&format!("obs/_index/{values}"), &["a", "b", "c"]);
        more();
    };
    let mask = |of: &[u8]| folder.numbers("obs/_index/mask", "|b1", &[3], of);
    write("nullable-string-array", "values", &|| mask(&[0, 1, 0]));
    let error = folder.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("obs/_index: row 1: the id is missing"), "{error}");
    mask(&[0, 0, 0]);
    assert_eq!(folder.import(MEMORY).unwrap().cells, 3);
    fs::remove_dir_all(folder.0.join("cells.zarr/obs/_index")).unwrap();
    write("categorical", "categories", &|| folder.numbers("obs/_index/codes", "|i1", &[3], &[2, 1, 0]));
    folder.import(MEMORY).unwrap();
    let obs = folder.array_of("obs").read().collect().unwrap();
    assert_eq!(obs.field("obs_id").unwrap().bytes(), b"cba");
}
