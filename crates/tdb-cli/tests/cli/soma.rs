//! `tdb soma`: experiments of single cells, shown and checked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tdb_array::{WriteColumn, WriteOptions};

use crate::common::{Outcome, Scratch, refused, said, tdb, text};
use crate::soma_cells::{Cells, experiment, group, mark, matrix, table};

fn made(cells: &Cells) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.soma");
    experiment(&path, cells);
    (scratch, path)
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&said(args)).unwrap()
}

#[test]
fn an_experiment_is_on_one_screen() {
    let (_scratch, path) = made(&Cells::default());
    let shown = said(&["soma", "info", text(&path)]);
    let place = text(&path);
    assert!(
        shown.starts_with(&format!(
            "object            {place}\ntype              SOMAExperiment\nencoding version  1.1.0\nsize              "
        )),
        "{shown}"
    );
    assert!(
        shown.contains(" bytes in 4 arrays\nmeasurements      RNA\n\nobs: 4 rows, 3 columns, "),
        "{shown}"
    );
    assert!(shown.contains("\n  soma_joinid  INT64        index\n  name         STRING_UTF8\n"), "{shown}");
    assert!(
        shown.contains("\n  kind         STRING_UTF8  2 values: B, T\n\nms/RNA/var: 3 rows, "),
        "{shown}"
    );
    assert!(
        shown.contains("ms/RNA/X/data      SOMASparseNDArray  FLOAT32  4 × 3      5  41.67 %"),
        "{shown}"
    );
    assert!(
        shown.contains("ms/RNA/obsm/X_pca  SOMASparseNDArray  FLOAT32  4 × 2      2  25.00 %"),
        "{shown}"
    );
    assert!(shown.contains("\nms/RNA/uns   title  STRING_UTF8  tiny\n"), "{shown}");

    let all = json(&["soma", "info", place, "--json"]);
    assert_eq!(all["type"], "SOMAExperiment");
    assert_eq!(all["members"][1]["path"], "obs");
    let rna = &all["members"][0]["members"][0];
    assert_eq!((&rna["name"], &rna["type"]), (&"RNA".into(), &"SOMAMeasurement".into()));
    let data = &rna["members"][0]["members"][0];
    assert_eq!((&data["path"], &data["cells"]), (&"ms/RNA/X/data".into(), &5.into()));
    assert_eq!(data["shape"], serde_json::json!([4, 3]));
    let kind = &all["members"][1]["columns"][2];
    assert_eq!(kind["enumeration"]["values"], serde_json::json!(["B", "T"]));
}

#[test]
fn anything_in_an_experiment_is_shown_alone_and_other_things_are_not() {
    let (scratch, path) = made(&Cells::default());
    let data = path.join("ms/RNA/X/data");
    assert!(
        said(&["soma", "info", text(&data)]).contains("\n.      SOMASparseNDArray  FLOAT32  4 × 3      5")
    );
    assert!(said(&["soma", "info", text(&path.join("obs"))]).contains("\n\n4 rows, 3 columns, "));
    assert!(!said(&["soma", "info", text(&path.join("ms"))]).contains("\nms/"));
    // Deletes make the number of values of a matrix one at most, and rows are counted.
    assert_eq!(tdb(&["delete", text(&data), "--where", "soma_data > 4"]).code, 0);
    assert!(said(&["soma", "info", text(&data)]).contains(" ≤ 5 "));
    assert_eq!(tdb(&["delete", text(&path.join("obs")), "--where", "name = 'cell0'"]).code, 0);
    assert!(said(&["soma", "info", text(&path)]).contains("obs: 3 rows, "));

    WriteOptions::new().create_group(scratch.path().join("plain")).unwrap();
    refused(&["soma", "info", text(&scratch.path().join("plain"))], 1, "this is no object of SOMA");
    refused(&["soma", "info", text(scratch.path())], 1, "neither an array nor a group");
    refused(&["soma", "info", text(&scratch.path().join("cells.som"))], 1, "did you mean");
}

#[test]
fn what_was_written_twice_is_not_counted_twice_after_a_consolidation() {
    let (_scratch, path) = made(&Cells::default());
    let (data, obs) = (path.join("ms/RNA/X/data"), path.join("obs"));
    let again = WriteOptions::new().open(&data).unwrap();
    let write = again.write().column(WriteColumn::fixed("soma_dim_0", &[0i64]));
    let write = write.column(WriteColumn::fixed("soma_dim_1", &[0i64]));
    write.column(WriteColumn::fixed("soma_data", &[9f32])).commit().unwrap();
    let again = WriteOptions::new().open(&obs).unwrap();
    let write = again.write().column(WriteColumn::fixed("soma_joinid", &[2i64]));
    let write = write.column(WriteColumn::var("name", b"other", &[0, 5]));
    write.column(WriteColumn::fixed("kind", &[1i32])).commit().unwrap();
    for array in [&data, &obs] {
        assert_eq!(tdb(&["consolidate", text(array)]).code, 0);
    }
    let shown = said(&["soma", "info", text(&path)]);
    assert!(shown.contains("obs: 4 rows, "), "{shown}");
    assert!(shown.contains(" ≤ 6  ≤ 50.00 % "), "{shown}");
    let data = json(&["soma", "info", text(&data), "--json"]);
    assert_eq!((&data["cells"], &data["cells_are_exact"]), (&6.into(), &false.into()));
}

#[test]
fn what_cannot_be_opened_has_its_error_in_its_place() {
    let (_scratch, path) = made(&Cells::default());
    fs::remove_dir_all(path.join("ms/RNA/X/data")).unwrap();
    let shown = tdb(&["soma", "info", text(&path)]);
    assert_eq!((shown.code, shown.err.as_str()), (1, ""));
    assert!(
        shown.out.contains("ms/RNA/X/data: ") && shown.out.contains(": there is nothing\n"),
        "{}",
        shown.out
    );
    let all = tdb(&["soma", "info", text(&path), "--json"]);
    let all: Value = serde_json::from_str(&all.out).unwrap();
    let data = &all["members"][0]["members"][0]["members"][0]["members"][0];
    assert!(data["error"].as_str().unwrap().contains("there is nothing"), "{data}");
}

fn verify(path: &Path, more: &[&str]) -> Outcome {
    tdb(&[&["soma", "verify", text(path)], more].concat())
}

/// The only line of what is wrong.
fn wrong(path: &Path, more: &[&str]) -> String {
    let found = verify(path, more);
    assert_eq!((found.code, found.err.as_str()), (1, ""), "{}", found.out);
    assert_eq!(found.out.lines().count(), 1, "{}", found.out);
    found.out.trim_end().to_owned()
}

#[test]
fn a_whole_experiment_has_no_problems() {
    let (_scratch, path) = made(&Cells::default());
    let found = verify(&path, &[]);
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{}", found.out);
    assert!(
        found.out.starts_with("ok: 4 arrays, ") && found.out.ends_with("and the rules of SOMA\n"),
        "{}",
        found.out
    );
    let rules = verify(&path, &["--rules"]).out;
    assert_eq!(rules, "ok: the rules of SOMA, for 10 objects\n");
    let found = json(&["soma", "verify", text(&path), "--json"]);
    assert_eq!(
        (&found["ok"], &found["arrays"], &found["problems"]),
        (&true.into(), &4.into(), &Value::Array(vec![]))
    );
    // Parts are checked alone.
    for part in ["obs", "ms", "ms/RNA", "ms/RNA/X/data"] {
        assert_eq!(verify(&path.join(part), &["--deep"]).code, 0, "{part}");
    }
}

#[test]
fn damage_in_an_array_is_said_with_its_name() {
    let (_scratch, path) = made(&Cells::default());
    let data = path.join("ms/RNA/X/data");
    let file = crate::common::file_named(&data, "a0.tdb");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 0x80;
    fs::write(&file, bytes).unwrap();
    let found = verify(&path, &[]);
    assert!(found.code == 1 && found.out.starts_with("ms/RNA/X/data: "), "{}", found.out);
    assert!(found.out.contains("the smallest value of tile 0 of attribute \"soma_data\""), "{}", found.out);
    let found = tdb(&["soma", "verify", text(&path), "--json"]).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["ok"], &found["problems"][0]["rule"]), (&false.into(), &"files".into()), "{found}");
}

#[test]
fn every_object_says_what_it_is_in_a_version_that_is_known() {
    let (_scratch, path) = made(&Cells::default());
    let place = text(&path);
    mark(&path.join("ms/RNA/X/data"), "soma_object_type", "SOMAMatrix");
    assert_eq!(
        wrong(&path, &["--rules"]),
        "ms/RNA/X/data: type: soma_object_type is \"SOMAMatrix\", which is no kind of object of SOMA"
    );
    mark(&path.join("ms/RNA/X/data"), "soma_object_type", "SOMADenseNDArray");
    assert!(wrong(&path, &["--rules"]).ends_with("which is a dense array, but this is a sparse array"));
    mark(&path.join("ms/RNA/X/data"), "soma_object_type", "SOMASparseNDArray");
    mark(&path, "soma_encoding_version", "9");
    let line = format!("{place}: encoding-version: soma_encoding_version is \"9\"; 1 and 1.1.0 are known");
    assert_eq!(wrong(&path, &["--rules"]), line);
    said(&["meta", "rm", place, "soma_encoding_version"]);
    assert!(wrong(&path, &["--rules"]).ends_with("the metadata has no soma_encoding_version"));
    mark(&path, "soma_encoding_version", "1");
    assert_eq!(verify(&path, &[]).code, 0);
}

#[test]
fn members_are_there_and_where_they_belong() {
    let (scratch, path) = made(&Cells::default());
    said(&["group", "remove", text(&path), "obs"]);
    assert_eq!(wrong(&path, &["--rules"]), format!("{}: members: SOMAExperiment has no obs", text(&path)));
    said(&["group", "remove", text(&path.join("ms/RNA")), "uns"]);
    said(&["group", "add", text(&path), "ms/RNA/uns", "--relative", "--name", "obs"]);
    let found = verify(&path, &["--rules"]).out;
    assert!(
        found.contains("members: obs of SOMAExperiment is a SOMADataFrame, not a SOMACollection"),
        "{found}"
    );
    let (_scratch, path) = made(&Cells::default());
    said(&["group", "remove", text(&path.join("ms/RNA")), "X"]);
    let found = verify(&path, &["--rules"]);
    assert!(
        found.code == 0 && found.out.starts_with("note: ms/RNA: members: there is no X"),
        "{}",
        found.out
    );
    let (_scratch, path) = made(&Cells::default());
    table(&path.join("ms/RNA/X/table"), &(vec![0], 1), "a");
    said(&["group", "add", text(&path.join("ms/RNA/X")), "table", "--relative", "--name", "table"]);
    assert!(
        wrong(&path, &["--rules"]).contains("what is in X is a SOMASparseNDArray or SOMADenseNDArray, not")
    );
    fs::remove_dir_all(path.join("ms/RNA/X/table")).unwrap();
    assert!(wrong(&path, &["--rules"]).contains("ms/RNA/X/table: members: this member cannot be opened: "));
    drop(scratch);
}

#[test]
fn ids_are_a_column_of_their_own_type_and_unique() {
    let (_scratch, path) = made(&Cells::default());
    let rna = path.join("ms/RNA");
    // A matrix where var is.
    fs::remove_dir_all(rna.join("var")).unwrap();
    matrix(&rna.join("var"), (3, 3), &[(0, 0, 1.0)]);
    mark(&rna.join("var"), "soma_object_type", "SOMADataFrame");
    let found = verify(&path, &["--rules"]).out;
    assert!(found.contains("ms/RNA/var: joinid: the table has no column soma_joinid\n"), "{found}");
    assert!(found.contains("column \"soma_dim_0\": names that begin with soma_ are SOMA's own"), "{found}");

    // Ids as an attribute: nothing but a rule keeps them unique.
    for (ids, what) in [([0i64, 1, 1], "two rows have the id 1"), ([0, -1, 2], "the id -1 is negative")] {
        let (_scratch, path) = made(&Cells::default());
        let var = path.join("ms/RNA/var");
        fs::remove_dir_all(&var).unwrap();
        let schema = tdb_array::schema::ArraySchema::sparse()
            .dimension(tdb_array::schema::Dimension::new("at", 0i64..=9))
            .attribute(tdb_array::schema::Attribute::of::<i64>("soma_joinid"))
            .build()
            .unwrap();
        WriteOptions::new().create(&var, &schema).unwrap();
        let writer = WriteOptions::new().open(&var).unwrap();
        writer.write_metadata(&crate::soma_cells::marks("SOMADataFrame")).unwrap();
        let write = writer.write().column(WriteColumn::fixed("at", &[0i64, 1, 2]));
        write.column(WriteColumn::fixed("soma_joinid", &ids)).commit().unwrap();
        let found = verify(&path, &["--rules"]);
        assert!(
            found.code == 1 && found.out.contains(&format!("ms/RNA/var: joinid: {what}\n")),
            "{}",
            found.out
        );
    }
}

#[test]
fn shapes_agree_with_those_of_the_tables() {
    let (_scratch, path) = made(&Cells { shape: (5, 3), ..Cells::default() });
    let found = verify(&path, &["--rules"]);
    let line = "the matrix has 5 on soma_dim_0, but obs has room for 4 ids";
    assert_eq!(found.code, 1);
    assert!(found.out.contains(&format!("ms/RNA/X/data: shape: {line}\n")), "{}", found.out);
    assert!(found.out.contains(&format!("ms/RNA/obsm/X_pca: shape: {line}\n")), "{}", found.out);
}

#[test]
fn coordinates_are_ids() {
    // There is a fourth cell in X only.
    let (_scratch, path) = made(&Cells { obs: (vec![0, 1, 2], 4), ..Cells::default() });
    assert_eq!(
        wrong(&path, &["--rules"]),
        "ms/RNA/X/data: coordinates: soma_dim_0 goes from 0 to 3, but the ids of obs from 0 to 2"
    );
    // Ids with a gap, in which there is a value.
    let (_scratch, path) = made(&Cells { obs: (vec![0, 1, 3], 4), ..Cells::default() });
    let shallow = verify(&path, &[]);
    assert!(
        shallow.code == 0 && shallow.out.starts_with("note: ms/RNA/X/data: coordinates: "),
        "{}",
        shallow.out
    );
    assert_eq!(
        wrong(&path, &["--rules", "--deep"]),
        "ms/RNA/X/data: coordinates: 1 values have a soma_dim_0 that is no id of obs, one of them 2"
    );
    // With a gap in which there is none, all is well.
    let data = vec![(0, 0, 1.0), (3, 1, 2.0)];
    let (_scratch, path) = made(&Cells { obs: (vec![0, 1, 3], 4), data, ..Cells::default() });
    assert_eq!(verify(&path, &["--deep"]).code, 0);
    let (_scratch, path) = made(&Cells { obs: (vec![], 4), ..Cells::default() });
    assert!(verify(&path, &["--rules"]).out.contains("values from 0 to 3, but obs has no rows"));
}

#[test]
fn an_experiment_that_contains_itself_does_not_end_in_a_circle() {
    let (_scratch, path) = made(&Cells::default());
    let up = path.join("ms/RNA/uns");
    said(&["group", "add", text(&up), text(&path), "--name", "up"]);
    let found = wrong(&path, &["--rules"]);
    assert!(
        found
            .contains("ms/RNA/uns/up: members: this member cannot be opened: it is in the experiment before")
    );
    let alone = path.join("alone");
    group(&alone, "SOMAExperiment", &[]);
    assert_eq!(verify(&alone, &["--rules"]).out.lines().count(), 2);
}
