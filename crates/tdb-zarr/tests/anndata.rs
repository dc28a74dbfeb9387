//! An experiment of SOMA in the layout of AnnData.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

mod experiment;

use std::fs;
use std::sync::Arc;

use serde_json::json;
use tdb_array::group::{GroupMember, LocalPlaces, ObjectType, Places};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Enumeration};
use tdb_array::{MemoryBudget, OpenOptions, Write, WriteColumn, WriteOptions};
use tdb_zarr::{Hierarchy, Options, Span};

use crate::experiment::{Folder, document, experiment, group, id, matrix};

#[test]
fn tables_have_the_columns_categories_and_nulls_of_anndata() {
    let folder = experiment("tables", &[0, 1, 2]);
    let shown = folder.shown("RNA").unwrap();
    let attributes = |path: &str| document(&shown, &format!("{path}/.zattrs"));
    assert_eq!(document(&shown, ".zattrs"), json!({"encoding-type": "anndata", "encoding-version": "0.1.0"}));
    let obs = json!({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "obs_id",
        "column-order": ["type", "score", "count"]});
    assert_eq!((attributes("obs"), &attributes("var")["_index"]), (obs, &json!("var_id")));
    assert_eq!(attributes("obs/obs_id")["encoding-type"], "string-array");
    assert!(shown.get("obs/obs_id/0", Span::All).unwrap().unwrap().ends_with(b"n2"));
    assert_eq!(attributes("obs/type")["encoding-type"], "categorical");
    assert_eq!(attributes("obs/type")["ordered"], false);
    let bytes = |key: &str| shown.get(key, Span::All).unwrap().unwrap().to_vec();
    assert_eq!(bytes("obs/type/codes/0"), [1, 0xff, 1]);
    assert!(bytes("obs/type/categories/0").ends_with(b"T"));
    let scores: Vec<f64> =
        bytes("obs/score/0").chunks(8).map(|one| f64::from_le_bytes(one.try_into().unwrap())).collect();
    assert!(scores[0].to_bits() == 0.5f64.to_bits() && scores[1].is_nan(), "{scores:?}");
    assert_eq!(attributes("obs/count")["encoding-type"], "nullable-integer");
    assert_eq!(bytes("obs/count/mask/0"), [0, 1, 0]);
    assert_eq!(document(&shown, "obs/count/values/.zarray")["shape"], json!([3]));
    let refused: Vec<&str> = shown.refused().iter().map(|one| one.path.as_str()).collect();
    assert_eq!(refused, ["obs/list", "var/list"]);
    let all = document(&shown, ".zmetadata");
    assert_eq!(all["metadata"]["obs/type/.zgroup"], json!({"zarr_format": 2}));
}

#[test]
fn matrices_are_dense_arrays_over_all_rows_and_columns() {
    let folder = experiment("matrices", &[0, 1, 2]);
    let shown = folder.shown("RNA").unwrap();
    let cells = |key: &str| -> Option<Vec<f32>> {
        let bytes = shown.get(key, Span::All).unwrap()?;
        Some(bytes.chunks(4).map(|one| f32::from_le_bytes(one.try_into().unwrap())).collect())
    };
    let x = document(&shown, "X/.zarray");
    assert_eq!((&x["shape"], &x["chunks"], &x["dtype"]), (&json!([3, 70]), &json!([3, 64]), &json!("<f4")));
    let (left, right) = (cells("X/0.0").unwrap(), cells("X/0.1").unwrap());
    assert_eq!((left.len(), left[2 * 64], left[2 * 64 + 63]), (192, 2.5, 3.5));
    assert_eq!((right.len(), right[5], right.iter().filter(|one| **one != 0.0).count()), (192, 1.5, 1));
    assert_eq!((cells("layers/raw/0.0").unwrap()[65], cells("layers/raw/0.1")), (9.0, None));
    assert_eq!((cells("X/1.0"), cells("X/0.2"), cells("X/0")), (None, None, None));
    assert_eq!(document(&shown, "obsm/X_pca/.zarray")["shape"], json!([3, 3]));
    assert_eq!(cells("obsm/X_pca/0.0").unwrap()[..6], [4.5, 0.0, 0.0, 0.0, 0.0, 5.5]);
    assert_eq!(document(&shown, "obsm/X_umap/.zarray")["shape"], json!([3, 2]));
    assert_eq!(cells("obsm/X_umap/0.0").unwrap()[..6], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert_eq!(document(&shown, "obsm/.zattrs")["encoding-type"], "dict");
}

#[test]
fn what_is_no_measurement_is_refused_with_the_reason() {
    let folder = experiment("refused", &[0, 1, 5]);
    let refused = |measurement: &str| folder.shown(measurement).unwrap_err().to_string();
    let unknown = refused("ATAC");
    assert!(unknown.contains("it has no measurement \"ATAC\": there is RNA"), "{unknown}");
    let gaps = refused("RNA");
    let said = "soma_joinids of the 3 rows of obs do not count from 0, but go from 0 to 5";
    assert!(gaps.contains(said), "{gaps}");
    let later = experiment("later", &[1, 2, 3]).shown("RNA").unwrap_err().to_string();
    assert!(later.contains("3 rows of obs do not count from 0, but go from 1 to 3"), "{later}");
    let places: Arc<dyn Places> = Arc::new(LocalPlaces);
    let array = folder.0.join("obs");
    let open = OpenOptions::new();
    let of = Hierarchy::of_experiment(&places, array.to_str().unwrap(), "RNA", open, &Options::new());
    assert!(of.unwrap_err().to_string().contains("obs"));
}

/// Creates `obs` of an experiment anew: rows with codes that have no sign, and times, both null in
/// the second one.
fn replace_obs(folder: &Folder, ids: &[i64], may_repeat: bool) {
    let path = folder.0.join("obs");
    fs::remove_dir_all(&path).unwrap();
    let kinds = Enumeration::new("k", "__k_0", Datatype::StringUtf8, CellValNum::Var, ["x", "y"]).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("soma_joinid", -9i64..=999).with_tile(100i64))
        .attribute(Attribute::of::<u8>("kind").with_enumeration("k").with_nulls())
        .attribute(Attribute::new("when", Datatype::DatetimeNs, CellValNum::ONE).with_nulls())
        .enumeration(&kinds);
    let schema = if may_repeat { schema.allow_duplicates() } else { schema };
    WriteOptions::new().enumeration(kinds).create(&path, &schema.build().unwrap()).unwrap();
    let valid = [1, 0, 1];
    let columns = [
        WriteColumn::fixed("soma_joinid", ids),
        WriteColumn::fixed("kind", &[1u8, 255, 0]).nullable(&valid),
        WriteColumn::fixed("when", &[5i64, 6, 7]).nullable(&valid),
    ];
    let writer = WriteOptions::new().open(&path).unwrap();
    columns.into_iter().fold(writer.write(), Write::column).commit().unwrap();
}

#[test]
fn codes_without_a_sign_and_times_have_the_marks_of_nulls_that_pandas_knows() {
    let folder = experiment("marks", &[0, 1, 2]);
    replace_obs(&folder, &[0, 1, 2], false);
    let shown = folder.shown("RNA").unwrap();
    let bytes = |key: &str| shown.get(key, Span::All).unwrap().unwrap().to_vec();
    assert_eq!(document(&shown, "obs/kind/codes/.zarray")["dtype"], "<i2");
    assert_eq!(bytes("obs/kind/codes/0"), [1, 0, 0xff, 0xff, 0, 0]);
    assert_eq!(document(&shown, "obs/when/.zarray")["dtype"], "<M8[ns]");
    let times: Vec<i64> =
        bytes("obs/when/0").chunks(8).map(|one| i64::from_le_bytes(one.try_into().unwrap())).collect();
    assert_eq!(times, [5, i64::MIN, 7]);
}

#[test]
fn rows_that_are_as_many_as_their_last_id_says_are_refused_unless_they_are_all() {
    let folder = experiment("ids", &[0, 1, 2]);
    for (ids, may_repeat, why) in [
        ([-1, 0, 2], false, "do not count from 0, but go from -1 to 2"),
        ([0, 0, 2], true, "several rows of obs may have the same soma_joinid"),
    ] {
        replace_obs(&folder, &ids, may_repeat);
        let error = folder.shown("RNA").unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // Rows that were deleted at the end are none, though fragments say where they were.
    replace_obs(&folder, &[0, 1, 2], false);
    let path = folder.0.join("obs");
    let condition = tdb_array::field("soma_joinid").ge(2);
    let array = tdb_array::Array::open(&path).unwrap();
    let stored = condition.to_stored(&array).unwrap();
    WriteOptions::new().open(&path).unwrap().delete(&stored).unwrap();
    let shown = folder.shown("RNA").unwrap();
    assert_eq!(document(&shown, "X/.zarray")["shape"], json!([2, 70]));
}

#[test]
fn a_schema_does_not_choose_how_large_a_chunk_of_a_matrix_is() {
    let folder = experiment("wide", &[0, 1, 2]);
    let path = folder.0.join("ms/RNA/X/raw");
    fs::remove_dir_all(&path).unwrap();
    let many = CellValNum::Fixed(core::num::NonZeroU32::new(1 << 24).unwrap());
    let schema = ArraySchema::sparse()
        .dimension(id("soma_dim_0"))
        .dimension(id("soma_dim_1"))
        .attribute(Attribute::new("soma_data", Datatype::Float32, many))
        .build()
        .unwrap();
    WriteOptions::new().create(&path, &schema).unwrap();
    let shown = folder.shown("RNA").unwrap();
    let refused = shown.refused().iter().find(|one| one.path == "layers/raw").unwrap();
    assert_eq!(refused.reason, "it has several values at each place");
}

#[test]
fn for_anndata_itself_matrices_are_sparse_and_masks_are_only_where_they_are_needed() {
    let folder = experiment("whole", &[0, 1, 2]);
    let rna = folder.0.join("ms/RNA");
    group(&rna.join("obsp"), &[("near", ObjectType::Array)]);
    matrix(&rna.join("obsp/near"), &[2, 0], &[0, 2], &[0.5, 0.25]);
    let mut writer = WriteOptions::new().open_group(&rna).unwrap();
    writer.add(GroupMember::new(ObjectType::Group, "obsp").with_name("obsp").with_relative_uri()).unwrap();
    writer.commit().unwrap();
    let shown = |options: Options| folder.shown_with("RNA", &options);
    let all = shown(Options::new().rows(2).for_anndata()).unwrap();
    let attributes = |path: &str| document(&all, &format!("{path}/.zattrs"));
    let bytes = |key: &str| all.get(key, Span::All).unwrap().unwrap().to_vec();
    let whole = |key: &str| -> Vec<i64> {
        bytes(key).chunks(8).map(|one| i64::from_le_bytes(one.try_into().unwrap())).collect()
    };
    let matrix = json!({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [3, 70]});
    assert_eq!(attributes("X"), matrix);
    assert_eq!(whole("X/indptr/0"), [0, 1, 1, 3]);
    assert_eq!([whole("X/indices/0"), whole("X/indices/1")].concat()[..3], [69, 0, 63]);
    assert_eq!(bytes("X/data/0"), [1.5f32.to_le_bytes(), 2.5f32.to_le_bytes()].concat());
    assert_eq!((whole("obsp/near/indptr/0"), whole("obsp/near/indices/0")), (vec![0, 1, 1, 2], vec![2, 0]));
    assert_eq!(attributes("obsm/X_pca")["encoding-type"], "array");
    // The index had no name, and a column has a mask only if a cell is missing.
    assert_eq!(attributes("obs")["_index"], "_index");
    assert_eq!(attributes("obs/count")["encoding-type"], "nullable-integer");
    let named = shown(Options::new().for_anndata().layer("raw")).unwrap();
    assert_eq!(document(&named, "layers/.zattrs")["encoding-type"], "dict");
    assert!(named.get("layers/data/indptr/0", Span::All).unwrap().is_some());
    let missing = shown(Options::new().layer("counts")).unwrap_err().to_string();
    assert!(missing.contains("it has no layer \"counts\": there is data, raw"), "{missing}");
}

#[test]
fn a_cell_outside_of_the_tables_is_an_error_of_a_sparse_matrix() {
    let folder = experiment("outside", &[0, 1]);
    let shown = folder.shown_with("RNA", &Options::new().for_anndata()).unwrap();
    let error = shown.get("X/indptr/0", Span::All).unwrap_err().to_string();
    assert!(error.contains("row 2 and column") && error.contains("2 rows and 70 columns"), "{error}");
}

#[test]
fn reads_have_the_memory_that_the_options_give_them() {
    let folder = experiment("memory", &[0, 1, 2]);
    let options = |bytes: u64| Options::new().for_anndata().memory(MemoryBudget::from_bytes(bytes));
    let (little, enough) = (options(64), options(1 << 24));
    for key in ["obsm/X_pca/0.0", "X/indptr/0", "X/data/0", "obs/_index/0"] {
        let of = |options: &Options| folder.shown_with("RNA", options).unwrap().get(key, Span::All);
        let error = of(&little).unwrap_err().to_string();
        assert!(error.contains("memory"), "{key}: {error}");
        assert!(of(&enough).unwrap().is_some(), "{key}");
    }
}
