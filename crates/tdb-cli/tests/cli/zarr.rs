//! Folders of Zarr, imported and exported.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Scratch, fixture, json_file, refused, said, tdb, text};

/// A folder with an array of two chunks of bytes.
fn folder(path: &Path, codecs: &Value) {
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "uint8", "fill_value": 9,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "codecs": codecs, "attributes": {"units": "K"}, "dimension_names": ["x"],
    });
    fs::create_dir_all(path.join("c")).unwrap();
    fs::write(path.join("zarr.json"), document.to_string()).unwrap();
    fs::write(path.join("c/0"), [1, 2]).unwrap();
}

#[test]
fn a_folder_becomes_an_array_and_the_array_a_folder() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    folder(&at("in.zarr"), &json!(["bytes"]));
    let (array, out) = (at("array"), at("out.zarr"));
    let schema = said(&["import", text(&array), text(&at("in.zarr")), "--dry-run"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["dimensions"][0]["name"], "x");
    assert!(!array.exists());
    assert_eq!(said(&["import", text(&array), text(&at("in.zarr"))]), "2 cells written\n");
    assert_eq!(said(&["read", text(&array), "--format", "csv"]), "x,values\n0,1\n1,2\n2,\n");
    assert_eq!(said(&["meta", text(&array), "units"]).trim(), "K");
    let exported = said(&["export", text(&array), text(&out)]);
    assert_eq!(exported, "1 array with 1 chunk written, 2 bytes\n");
    assert_eq!(json_file(&out.join("zarr.json"))["attributes"], json!({"units": "K"}));
    // By its documents, whatever its name is; again by force alone.
    fs::rename(&out, at("folder")).unwrap();
    refused(&["import", text(&array), text(&at("folder"))], 1, "--force replaces an array");
    said(&["import", text(&array), text(&at("folder")), "--force"]);
    refused(&["export", text(&array), text(&at("in.zarr"))], 1, "--force replaces a Zarr folder");
    said(&["export", text(&array), text(&at("in.zarr")), "--force", "--zarr", "2"]);
    assert!(at("in.zarr/.zarray").exists() && !at("in.zarr/zarr.json").exists());
    let names: Vec<_> = fs::read_dir(scratch.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn an_array_is_replaced_only_by_a_folder_that_is_whole() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    let (array, source) = (at("array"), at("in.zarr"));
    folder(&source, &json!(["bytes"]));
    said(&["import", text(&array), text(&source)]);
    let cells = said(&["read", text(&array), "--format", "csv"]);
    fs::write(source.join("c/1"), [1]).unwrap();
    refused(&["import", text(&array), text(&source), "--force"], 1, "c/1");
    assert_eq!(said(&["read", text(&array), "--format", "csv"]), cells);
    // Less memory than the writer needs.
    fs::write(source.join("c/1"), [3, 0]).unwrap();
    let words = ["import", text(&array), text(&source), "--force", "--memory", "1000"];
    refused(&words, 1, "memory");
    assert_eq!(said(&["read", text(&array), "--format", "csv"]), cells);
    said(&["import", text(&array), text(&source), "--force"]);
    assert_eq!(said(&["read", text(&array), "--format", "csv"]), "x,values\n0,1\n1,2\n2,3\n");
}

#[test]
fn an_array_with_coordinates_becomes_a_group_and_comes_back_as_one() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    let exported = said(&["export", text(&fixture("2.30.0/quickstart")), text(&at("q.zarr"))]);
    assert!(exported.starts_with("3 arrays with "), "{exported}");
    let imported = said(&["import", text(&at("q")), text(&at("q.zarr"))]);
    assert_eq!(imported, "1 group and 3 arrays made\n24 cells written\n");
    let members = said(&["group", text(&at("q"))]);
    for name in ["a", "rows", "cols"] {
        assert!(members.contains(name), "{members}");
    }
    assert_eq!(said(&["read", text(&at("q/rows")), "--format", "csv"]), "rows,values\n0,1\n1,2\n2,3\n3,4\n");
    refused(&["import", text(&at("q")), text(&at("q.zarr"))], 1, "tdb rm --recursive");
    said(&["export", text(&at("q")), text(&at("back.zarr"))]);
    assert_eq!(json_file(&at("back.zarr/a/values/zarr.json"))["shape"], json!([4, 4]));
}

#[test]
fn what_is_otherwise_is_noted_and_what_cannot_be_is_refused() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    let delta = json!([{"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}, "bytes"]);
    folder(&at("in.zarr"), &delta);
    let done = tdb(&["import", text(&at("array")), text(&at("in.zarr"))]);
    assert_eq!((done.code, done.out.as_str()), (0, "2 cells written\n"));
    assert!(
        done.err.contains("note: ") && done.err.contains("no filter for delta: the filters are zstd"),
        "{}",
        done.err
    );
    assert_eq!(said(&["read", text(&at("array")), "--format", "csv"]), "x,values\n0,1\n1,3\n2,\n");
    folder(&at("bad.zarr"), &json!(["bytes", "lzma"]));
    refused(&["import", text(&at("new")), text(&at("bad.zarr"))], 1, "the codec \"lzma\" is not read");
    refused(&["import", text(&at("new")), text(&at("none.zarr"))], 1, "no Zarr array or group");
    assert!(!at("new").exists());
    for option in
        [&["--dims", "x"][..], &["--null", "NA"], &["--columns", "x"], &["--dense"], &["--overwrite"]]
    {
        let (array, folder) = (at("new"), at("in.zarr"));
        let words = [&["import", text(&array), text(&folder)][..], option].concat();
        refused(&words, 2, option[0]);
    }
    for option in [
        &["--range", "x=0:1"][..],
        &["--fields", "values"],
        &["--compression", "zstd"],
        &["--memory", "1GiB"],
    ] {
        let (array, folder) = (at("array"), at("out.zarr"));
        let words = [&["export", text(&array), text(&folder)][..], option].concat();
        refused(&words, 2, option[0]);
    }
    refused(&["export", text(&at("array")), text(&at("out.csv")), "--zarr", "2"], 2, "--zarr");
    refused(&["export", text(&at("array")), text(&at("out.zarr")), "--zarr", "4"], 2, "--zarr");
    refused(&["export", text(&at("array")), "s3://bucket/out.zarr"], 2, "local folders only");
    refused(&["import", text(&at("new")), "s3://bucket/in.zarr"], 2, "local folders only");
}
