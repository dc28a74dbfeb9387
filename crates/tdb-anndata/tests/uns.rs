//! Parts of `uns` that SOMA does not keep are left out, and nothing else.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests: a panic is a failure")]

mod folder;

use serde_json::json;
use tdb_array::WriteOptions;

use crate::folder::{Folder, MEMORY, bytes, encoding};

#[test]
fn what_cannot_be_kept_is_left_out_and_what_was_made_of_it_removed() {
    let folder = Folder::new("left-out");
    folder.group("uns", &encoding("dict", "0.1.0"));
    folder.numbers("uns/list", "<i8", &[2], &bytes(&[7i64, 8]));
    // Of two chunks, of which each fits an eighth of the memory.
    let document = json!({"zarr_format": 2, "shape": [2, 1 << 18], "chunks": [1, 1 << 18], "dtype": "<f8",
        "order": "C", "compressor": null, "filters": null, "fill_value": 0});
    folder.json("uns/image/.zarray", &document);
    folder.group("uns/deep", &encoding("dict", "0.1.0"));
    folder.csr("uns/deep/twice", [3, 2], &[0, 2, 2, 2], &[1, 1], &[1.0, 2.0]);
    folder.numbers("uns/deep/fine", "<i8", &[1], &bytes(&[9i64]));
    folder.table("uns/reserved", &["a"], &["__x"]);
    folder.numbers("uns/reserved/__x", "<i8", &[1], &bytes(&[1i64]));
    folder.table("uns/ids", &["a"], &[]);
    let mut attributes = encoding("dataframe", "0.2.0");
    (attributes["_index"], attributes["column-order"]) = (json!("soma_joinid"), json!([]));
    folder.group("uns/ids", &attributes);
    folder.numbers("uns/ids/soma_joinid", "<i8", &[1], &bytes(&[1i64]));
    folder.numbers("uns/many", "<i8", &[1; 14], &bytes(&[1i64]));
    let names: Vec<String> = (0..5).map(|at| format!("n{at}")).collect();
    folder.table("uns/wide", &["a"; 1 << 17], &names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        folder.numbers(&format!("uns/wide/{name}"), "<i8", &[1 << 17], &vec![0; 8 << 17]);
    }
    let imported = folder.import(MEMORY).unwrap();
    let mut notes: Vec<(&str, &str)> =
        imported.notes.iter().map(|note| (note.path.as_str(), note.what.as_str())).collect();
    notes.sort_unstable();
    let expected = [
        ("uns/deep/twice", "coordinates"),
        ("uns/ids", "SOMA's own"),
        ("uns/image", "all cells needs 4194304 bytes"),
        ("uns/many", "a tile of so many axes needs 2147483648 bytes"),
        ("uns/reserved", "the format's own"),
        ("uns/wide", "a chunk of each column needs"),
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:?}");
    for ((path, what), (wanted, part)) in notes.iter().zip(expected) {
        assert!(*path == wanted && what.contains(part), "{path}: {what}");
    }
    let uns = folder.0.join("made/ms/RNA/uns");
    let folders = |of: &str| -> Vec<String> {
        let all = std::fs::read_dir(uns.join(of)).unwrap().map(|one| one.unwrap().file_name());
        let mut all: Vec<String> = all.map(|name| name.into_string().unwrap()).collect();
        all.retain(|name| !name.starts_with("__"));
        all.sort();
        all
    };
    assert_eq!(
        (folders(""), folders("deep")),
        (vec!["deep".to_owned(), "list".to_owned()], vec!["fine".to_owned()])
    );
}

#[test]
fn what_is_damaged_in_uns_is_an_error_of_the_whole() {
    let folder = Folder::new("damaged");
    folder.group("uns", &encoding("dict", "0.1.0"));
    folder.csr("uns/wrong", [3, 2], &[0, 1, 1, 2], &[1, 7], &[1.0, 2.0]);
    let error = folder.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("uns/wrong/indices: ") && error.contains("index 7"), "{error}");
    assert!(!folder.0.join("made/obs").exists());
}

#[test]
fn values_of_several_parts_are_counted_at_whatever_time_they_are_written() {
    let folder = Folder::new("future");
    // More than one part, in an order that ascends by neither axis.
    let rows = 3u64;
    let columns = 1usize << 16;
    let names: Vec<String> = (0..columns).map(|at| format!("g{at}")).collect();
    folder.table("var", &names.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let width = i32::try_from(columns).unwrap();
    let places: Vec<i32> = (0..3).flat_map(|_| (0..width).rev()).collect();
    let values = vec![1.0f32; places.len()];
    folder.csr(
        "X",
        [rows, u64::try_from(columns).unwrap()],
        &[0, width, 2 * width, 3 * width],
        &places,
        &values,
    );
    let options = WriteOptions::new().timestamp(4_000_000_000_000);
    let imported = folder.import_with(options, 8 << 20).unwrap();
    assert_eq!(imported.values, 3 * u64::try_from(columns).unwrap());
}
