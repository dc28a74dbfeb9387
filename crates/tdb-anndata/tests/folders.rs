//! Folders of AnnData, whole and wrong, as experiments.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests: a panic is a failure")]

mod folder;

use std::fs;

use serde_json::json;

use crate::folder::{Folder, MEMORY, bytes, encoding};

#[test]
fn a_folder_becomes_an_experiment_with_its_tables_and_matrices() {
    let folder = Folder::new("whole");
    folder.group("obsm", &encoding("dict", "0.1.0"));
    folder.numbers("obsm/pca", "<f4", &[3, 2], &bytes(&[0.5f32, 0.0, -0.0, f32::NAN, 0.0, 9.0]));
    folder.group("uns", &encoding("dict", "0.1.0"));
    folder.numbers("uns/list", "<i8", &[2], &bytes(&[7i64, 8]));
    folder.group("uns/odd", &encoding("awkward-array", "0.1.0"));
    let imported = folder.import(MEMORY).unwrap();
    assert_eq!((imported.cells, imported.genes, imported.values), (3, 2, 3));
    let notes: Vec<(&str, &str)> =
        imported.notes.iter().map(|note| (note.path.as_str(), note.what.as_str())).collect();
    assert_eq!(notes, [("uns/odd", "the encoding \"awkward-array\" is not read")]);
    let obs = folder.array_of("obs").read().collect().unwrap();
    assert_eq!(obs.field("n").unwrap().values::<i64>().unwrap(), [0, 1, 2]);
    let kinds = obs.field("kind").unwrap();
    assert_eq!((kinds.values::<i32>().unwrap()[0], kinds.is_null(1), kinds.is_null(2)), (1, true, false));
    let x = folder.array_of("ms/RNA/X/data").read().collect().unwrap();
    assert_eq!(x.field("soma_dim_0").unwrap().values::<i64>().unwrap(), [0, 2, 2]);
    assert_eq!(x.field("soma_dim_1").unwrap().values::<i64>().unwrap(), [1, 0, 1]);
    assert_eq!(x.field("soma_data").unwrap().values::<f32>().unwrap(), [1.5, 2.5, 3.5]);
    let pca = folder.array_of("ms/RNA/obsm/pca").read().collect().unwrap();
    assert_eq!(pca.field("soma_dim_0").unwrap().values::<i64>().unwrap(), [0, 1, 2]);
    let list = folder.array_of("ms/RNA/uns/list").read().range("soma_dim_0", 0i64..=1).collect().unwrap();
    assert_eq!(list.field("soma_data").unwrap().values::<i64>().unwrap(), [7, 8]);
}

#[test]
fn what_is_wrong_is_an_error_with_its_path() {
    let refused = |what: &str, path: &str, part: &str, change: &dyn Fn(&Folder)| {
        let own = Folder::new(&format!("wrong-{}", what.replace(' ', "-")));
        own.import(MEMORY).unwrap();
        change(&own);
        let error = own.import(MEMORY).unwrap_err().to_string();
        let place = own.0.join("cells.zarr").join(path).display().to_string();
        assert!(error.starts_with(&format!("{place}: ")) && error.contains(part), "{what}: {error}");
        // The experiment's own group comes last.
        assert!(!own.0.join("made/__group").exists(), "{what}");
    };
    let csr = |ends: &'static [i32], places: &'static [i32], values: &'static [f32]| {
        move |folder: &Folder| folder.csr("X", [3, 2], ends, places, values)
    };
    refused("an index outside", "X/indices", "index 2, and 2", &csr(&[0, 1, 1, 2], &[1, 2], &[1.0, 2.0]));
    refused("an index below", "X/indices", "index -1", &csr(&[0, 1, 1, 2], &[1, -1], &[1.0, 2.0]));
    refused("ends that fall", "X/indptr", "number 2 is 0", &csr(&[0, 1, 0, 2], &[1, 0], &[1.0, 2.0]));
    refused("a first end", "X/indptr", "number 0 is 1", &csr(&[1, 1, 1, 2], &[1, 0], &[1.0, 2.0]));
    refused("ends beyond", "X/indptr", "3, but there are 2", &csr(&[0, 1, 1, 3], &[1, 0], &[1.0, 2.0]));
    refused("few ends", "X/indptr", "3 + 1 are expected", &csr(&[0, 1, 2], &[1, 0], &[1.0, 2.0]));
    refused("another shape", "X", "3 rows and 2 columns are expected", &|folder| {
        folder.csr("X", [3, 9], &[0, 0, 0, 0], &[], &[]);
    });
    refused("a huge shape", "X/indptr", "expected", &|folder| {
        folder.csr("X", [u64::MAX, 2], &[0, 0, 0, 0], &[], &[]);
    });
    refused("a code outside", "obs/kind/codes", "row 1: 2 is the number of none of 2", &|folder| {
        folder.numbers("obs/kind/codes", "|i1", &[3], &[0, 2, 1]);
    });
    refused("a short column", "obs/n", "the table has 3 rows", &|folder| {
        folder.numbers("obs/n", "<i8", &[2], &bytes(&[1i64, 2]));
    });
    refused("a column with two axes", "obs/n", "the table has 3 rows", &|folder| {
        folder.numbers("obs/n", "<i8", &[3, 1], &bytes(&[1i64, 2, 3]));
    });
    refused("a chunk that ends early", "obs/n/0", "bytes", &|folder| folder.write("obs/n/0", &[0; 23]));
    refused("a name twice", "obs/_index", "row 2: \"c0\" is there before", &|folder| {
        folder.texts("obs/_index", &["c0", "c1", "c0"]);
    });
    refused("a column twice", "obs", "two columns have the name \"n\"", &|folder| {
        folder.table("obs", &["c0", "c1", "c2"], &["n", "n"]);
    });
    refused("no order", "obs", "column-order", &|folder| {
        let mut attributes = encoding("dataframe", "0.2.0");
        attributes["_index"] = json!("_index");
        folder.group("obs", &attributes);
    });
    refused("a missing column", "obs/gone", "there is no array or group here", &|folder| {
        folder.table("obs", &["c0", "c1", "c2"], &["gone"]);
    });
    refused("a name that leads elsewhere", "obs/../../x/zarr.json", "meaning of its own", &|folder| {
        folder.table("obs", &["c0", "c1", "c2"], &["../../x"]);
    });
    refused("an unknown encoding", "obs/n", "the encoding \"odd\" is not read", &|folder| {
        folder.json("obs/n/.zattrs", &encoding("odd", "0.1.0"));
    });
    refused("another version", "X", "the version \"0.2.0\"", &|folder| {
        folder.group("X", &encoding("csr_matrix", "0.2.0"));
    });
    refused("a table in obsm", "obsm/t", "only matrices are kept", &|folder| {
        folder.group("obsm", &encoding("dict", "0.1.0"));
        folder.table("obsm/t", &["c0", "c1", "c2"], &[]);
    });
    refused("a column in a table in a table", "obs/t", "no column", &|folder| {
        folder.table("obs", &["c0", "c1", "c2"], &["t"]);
        folder.table("obs/t", &["c0", "c1", "c2"], &[]);
    });
    refused("three axes", "layers/t", "only matrices with two axes", &|folder| {
        folder.group("layers", &encoding("dict", "0.1.0"));
        folder.numbers("layers/t", "<i8", &[1, 1, 1], &bytes(&[1i64]));
    });
    refused("a layer of the name of X", "layers/data", "X becomes the layer", &|folder| {
        folder.group("layers", &encoding("dict", "0.1.0"));
        folder.csr("layers/data", [3, 2], &[0, 0, 0, 0], &[], &[]);
    });
    refused("a mask of numbers", "obs/n/mask", "truth values", &|folder| {
        fs::remove_dir_all(folder.0.join("cells.zarr/obs/n")).unwrap();
        folder.group("obs/n", &encoding("nullable-integer", "0.1.0"));
        folder.numbers("obs/n/values", "<i8", &[3], &bytes(&[1i64, 2, 3]));
        folder.numbers("obs/n/mask", "<i8", &[3], &bytes(&[1i64, 2, 3]));
    });
    refused("a category twice", "obs/kind/categories", "\"B\" is there before", &|folder| {
        folder.texts("obs/kind/categories", &["B", "B"]);
    });
    refused("a strange member", "other", "no part of AnnData", &|folder| folder.group("other", &json!({})));
    refused("a column of soma", "obs", "SOMA's own", &|folder| {
        folder.table("obs", &["c0", "c1", "c2"], &["soma_x"]);
    });
}

#[test]
fn two_values_at_one_place_are_refused() {
    let folder = Folder::new("twice");
    folder.csr("X", [3, 2], &[0, 2, 2, 2], &[1, 1], &[1.0, 2.0]);
    let error = folder.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("coordinates") && !folder.0.join("made/__group").exists(), "{error}");
}

#[test]
fn sizes_that_are_only_said_are_compared_with_the_memory() {
    let folder = Folder::new("sizes");
    // Nothing of it is there: all are fill values.
    let document = |shape: u64, chunk: u64| {
        json!({"zarr_format": 2, "shape": [shape], "chunks": [chunk], "dtype": "<i8", "order": "C",
            "compressor": null, "filters": null, "fill_value": 0})
    };
    let error = |path: &str, shape: u64, chunk: u64| {
        folder.json(&format!("{path}/.zarray"), &document(shape, chunk));
        let _ = fs::remove_file(folder.0.join(format!("cells.zarr/{path}/0")));
        folder.import(MEMORY).unwrap_err().to_string()
    };
    let found = error("obs/_index", 1 << 50, 1 << 50);
    assert!(found.contains("a chunk needs 9007199254740992 bytes of memory"), "{found}");
    let found = error("obs/_index", 1 << 50, 1);
    assert!(found.contains("chunks"), "{found}");
    // Columns that are small enough one by one are not so together.
    let columns = Folder::new("columns");
    let names: Vec<String> = (0..40).map(|at| format!("n{at}")).collect();
    let rows = 1usize << 13;
    let ids: Vec<String> = (0..rows).map(|at| format!("c{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    columns.table("obs", &ids, &names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        columns.numbers(&format!("obs/{name}"), "<i8", &[rows], &vec![0; rows * 8]);
    }
    fs::remove_dir_all(columns.0.join("cells.zarr/X")).unwrap();
    let found = columns.import(1 << 22).unwrap_err().to_string();
    assert!(found.contains("obs: a chunk of each column needs"), "{found}");
    assert_eq!(columns.import(1 << 24).unwrap().cells, u64::try_from(rows).unwrap());
    // The second row has the name of the first one: no row behind it is looked at.
    folder.table("obs", &[], &[]);
    fs::remove_dir_all(folder.0.join("cells.zarr/X")).unwrap();
    let found = error("obs/_index", 1 << 27, 1 << 17);
    assert!(found.contains("row 1: \"0\" is there before"), "{found}");
}

#[test]
fn chunks_that_are_not_there_do_not_fill_the_place() {
    let folder = Folder::new("absent");
    let document = |shape: &[u64], chunk: &[u64], fill: f64| {
        json!({"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "<f8", "order": "C",
            "compressor": null, "filters": null, "fill_value": fill})
    };
    folder.group("obsm", &encoding("dict", "0.1.0"));
    let wide = |fill: f64| folder.json("obsm/wide/.zarray", &document(&[3, 1 << 40], &[1, 1 << 17], fill));
    wide(0.0);
    // Of a chunk that is there, only those values are written that are not zero.
    let chunk: Vec<u8> = [7.5f64, 0.0].into_iter().flat_map(f64::to_le_bytes).collect();
    folder.write("obsm/wide/2.7", &[chunk, vec![0; (8 << 17) - 16]].concat());
    assert_eq!(folder.import(MEMORY).unwrap().values, 3);
    let made = folder.array_of("ms/RNA/obsm/wide").read().collect().unwrap();
    assert_eq!(made.field("soma_dim_1").unwrap().values::<i64>().unwrap(), [7 << 17]);
    wide(1.0);
    let error = folder.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("obsm/wide: there are 3298534883328 cells"), "{error}");
    fs::remove_dir_all(folder.0.join("cells.zarr/obsm/wide")).unwrap();
    // Names of the genes of raw may be there twice.
    folder.group("raw", &encoding("raw", "0.1.0"));
    folder.table("raw/var", &[], &[]);
    fs::remove_dir_all(folder.0.join("cells.zarr/raw/var/_index")).unwrap();
    let mut index = document(&[1 << 40], &[1 << 17], 0.0);
    index["dtype"] = json!("<i8");
    folder.json("raw/var/_index/.zarray", &index);
    let error = folder.import(MEMORY).unwrap_err().to_string();
    assert!(error.contains("raw/var/_index: there are 1099511627776 cells"), "{error}");
}
