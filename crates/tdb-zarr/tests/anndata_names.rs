//! Names of an experiment of SOMA in the layout of AnnData, and widths that no table has.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

mod experiment;

use std::fs;

use serde_json::json;
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::schema::{ArraySchema, Attribute, Datatype};
use tdb_array::write::MetadataChanges;
use tdb_array::{WriteColumn, WriteOptions};
use tdb_zarr::{Hierarchy, Options, Span};

use crate::experiment::{Folder, document, experiment, id, matrix};

/// Creates `obs` anew: three rows of columns of texts, and what the metadata says was the index.
fn replace_obs(folder: &Folder, columns: &[&str], index: &str) {
    let path = folder.0.join("obs");
    fs::remove_dir_all(&path).unwrap();
    let schema = ArraySchema::sparse().dimension(id("soma_joinid"));
    let schema = columns.iter().fold(schema, |schema, name| schema.attribute(Attribute::string(*name)));
    WriteOptions::new().create(&path, &schema.build().unwrap()).unwrap();
    let texts: Vec<String> = columns.iter().map(|name| format!("{name}0{name}1{name}2")).collect();
    let step = |name: &str| u64::try_from(name.len() + 1).unwrap();
    let ends: Vec<Vec<u64>> =
        columns.iter().map(|name| (0u64..=3).map(|at| at * step(name)).collect()).collect();
    let writer = WriteOptions::new().open(&path).unwrap();
    let mut write = writer.write().column(WriteColumn::fixed("soma_joinid", &[0i64, 1, 2]));
    for ((name, texts), ends) in columns.iter().zip(&texts).zip(&ends) {
        write = write.column(WriteColumn::var(name, texts.as_bytes(), ends));
    }
    write.commit().unwrap();
    let said = MetadataChanges::new().put_text("soma_dataframe_original_index_name", index);
    writer.write_metadata(&said).unwrap();
}

fn refused(shown: &Hierarchy) -> Vec<(&str, &str)> {
    shown.refused().iter().map(|one| (one.path.as_str(), one.reason.as_str())).collect()
}

#[test]
fn columns_that_zarr_cannot_have_are_not_in_their_order_either() {
    let folder = experiment("names", &[0, 1, 2]);
    let wrong = ["_index", "a/b", "..", "zarr.json"];
    replace_obs(&folder, &[&["fine", "obs_id"], &wrong[..]].concat(), "null");
    for (options, index, left_out) in
        [(Options::new().for_anndata(), "_index", &wrong[..]), (Options::new(), "obs_id", &wrong[1..])]
    {
        let shown = folder.shown_with("RNA", &options).unwrap();
        let attributes = document(&shown, "obs/.zattrs");
        assert_eq!(attributes["_index"], index);
        let columns = if index == "_index" { json!(["fine"]) } else { json!(["fine", "_index"]) };
        assert_eq!(attributes["column-order"], columns);
        let ids = shown.get(&format!("obs/{index}/0"), Span::All).unwrap().unwrap();
        assert!(ids.ends_with(b"obs_id2"), "{ids:?}");
        let found: Vec<&str> =
            refused(&shown).into_iter().filter_map(|(path, _)| path.strip_prefix("obs/")).collect();
        assert_eq!(found, left_out);
    }
}

#[test]
fn an_index_whose_name_zarr_cannot_have_is_without_it() {
    let folder = experiment("index", &[0, 1, 2]);
    for name in ["a/b", "zarr.json"] {
        replace_obs(&folder, &["n", name], &json!(name).to_string());
        for options in [Options::new(), Options::new().for_anndata()] {
            let shown = folder.shown_with("RNA", &options).unwrap();
            let attributes = document(&shown, "obs/.zattrs");
            assert_eq!(
                (&attributes["_index"], &attributes["column-order"]),
                (&json!("_index"), &json!(["n"]))
            );
            let ids = shown.get("obs/_index/0", Span::All).unwrap().unwrap();
            assert!(ids.ends_with(format!("{name}2").as_bytes()), "{ids:?}");
            let (path, why) = refused(&shown)[0];
            assert_eq!(path, format!("obs/{name}"));
            assert!(why.starts_with("this name of the index: "), "{why}");
        }
    }
}

#[test]
fn the_index_is_what_the_metadata_says_and_else_the_usual_column() {
    let folder = experiment("said", &[0, 1, 2]);
    for (index, ids, own, columns) in [
        ("\"cell\"", "cell2", "cell", ["n", "obs_id"]),
        ("\"gone\"", "obs_id2", "_index", ["n", "cell"]),
        ("null", "obs_id2", "_index", ["n", "cell"]),
    ] {
        replace_obs(&folder, &["n", "obs_id", "cell"], index);
        let shown = folder.shown_with("RNA", &Options::new().for_anndata()).unwrap();
        let attributes = document(&shown, "obs/.zattrs");
        assert_eq!((&attributes["_index"], &attributes["column-order"]), (&json!(own), &json!(columns)));
        let found = shown.get(&format!("obs/{own}/0"), Span::All).unwrap().unwrap();
        assert!(found.ends_with(ids.as_bytes()), "{index}: {found:?}");
    }
}

#[test]
fn members_with_a_slash_in_their_names_are_named_and_left_out_but_for_x() {
    let folder = experiment("slashes", &[0, 1, 2]);
    let x = folder.0.join("ms/RNA/X");
    let mut writer = WriteOptions::new().open_group(&x).unwrap();
    let member = |folder: &str| GroupMember::new(ObjectType::Array, folder).with_relative_uri();
    for (own, value) in [("scran", 1.0), ("log", 2.0), ("deep/raw", 3.0)] {
        matrix(&x.join(own), &[0], &[0], &[value]);
        // The folder of a member without a name is called as another member is.
        let member = member(own);
        let name = format!("{own}/norm");
        writer.add(if own == "deep/raw" { member } else { member.with_name(name) }).unwrap();
    }
    writer.commit().unwrap();
    let shown = folder.shown_with("RNA", &Options::new().for_anndata()).unwrap();
    let found = refused(&shown);
    let reason = |path: &str| found.iter().find(|(own, _)| *own == path).map(|(_, reason)| *reason);
    for path in ["layers/scran/norm", "layers/log/norm"] {
        assert!(reason(path).is_some_and(|reason| reason.contains("slash")), "{found:?}");
    }
    assert_eq!(reason("ms/RNA/X/raw"), Some("there is another member of this name"));
    assert_eq!(shown.children("layers").unwrap(), ["zarr.json", ".zattrs", ".zgroup", "raw"]);
    let chosen = folder.shown_with("RNA", &Options::new().for_anndata().layer("log/norm")).unwrap();
    let data = chosen.get("X/data/0", Span::All).unwrap().unwrap();
    assert_eq!(data.to_vec(), 2.0f32.to_le_bytes());
}

#[test]
fn an_old_matrix_is_as_wide_as_its_metadata_says_but_not_wider_than_its_domain() {
    let folder = experiment("width", &[0, 1, 2]);
    let pca = folder.0.join("ms/RNA/obsm/X_pca");
    let writer = WriteOptions::new().open(&pca).unwrap();
    for (said, width) in [(1i64, 3), (9, 10), (5000, 1000)] {
        let entry = MetadataChanges::new().put_values("soma_dim_1_domain_upper", Datatype::Int64, &[said]);
        writer.write_metadata(&entry).unwrap();
        let shown = folder.shown("RNA").unwrap();
        assert_eq!(document(&shown, "obsm/X_pca/.zarray")["shape"], json!([3, width]));
    }
}
