//! `tdb soma import` and `export`: folders of Matrix Market.

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::{WriteColumn, WriteOptions};

use crate::common::{Scratch, refused, said, schema_json, tdb, text};
use crate::soma_cells::{Cells, experiment, marks, typed_matrix};

const MATRIX: &str =
    "%%MatrixMarket matrix coordinate integer general\n3 4 5\n1 1 1\n3 1 5\n2 2 2\n1 3 3\n3 4 7\n";
const BARCODES: &str = "AAAC-1\nAAAG-1\nAACC-1\nAACG-1\n";
const FEATURES: &str =
    "ENSG1\tTP53\tGene Expression\nENSG2\tTP53\tGene Expression\nENSG3\tCD8\tAntibody Capture\n";

/// A folder as Cell Ranger 3 writes it, but not compressed.
pub(crate) fn folder(path: &Path) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    for (name, contents) in [("matrix.mtx", MATRIX), ("barcodes.tsv", BARCODES), ("features.tsv", FEATURES)] {
        fs::write(path.join(name), contents).unwrap();
    }
    path.to_owned()
}

/// The text of a compressed file.
fn unpacked(path: &Path) -> String {
    use std::io::Read;

    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// Everything in a folder.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_folder_of_cell_ranger_becomes_an_experiment_and_again_a_folder() {
    let scratch = Scratch::new();
    let (source, place) = (folder(&scratch.path().join("matrix")), scratch.path().join("cells.soma"));
    let made = said(&["soma", "import", text(&source), text(&place)]);
    assert_eq!(made, format!("experiment {}: 4 cells, 3 genes, 5 values\n", text(&place)));
    assert_eq!(tdb(&["soma", "verify", text(&place), "--deep"]).code, 0);
    assert_eq!(
        said(&["read", text(&place.join("ms/RNA/var")), "--format", "csv"]),
        "soma_joinid,gene_ids,gene_names,feature_types\n0,ENSG1,TP53,Gene Expression\n1,ENSG2,TP53,Gene Expression\n\
         2,ENSG3,CD8,Antibody Capture\n"
    );
    let cells = said(&["read", text(&place.join("ms/RNA/X/data")), "--format", "csv"]);
    assert_eq!(cells, "soma_dim_0,soma_dim_1,soma_data\n0,0,1\n0,2,5\n1,1,2\n2,0,3\n3,2,7\n");

    // As tdb.soma makes them, and tiledbsoma but for the size of the tiles.
    let data = schema_json(&place.join("ms/RNA/X/data"));
    assert_eq!(data["dimensions"][0]["domain"], serde_json::json!([0, 9_223_372_036_854_775_742i64]));
    assert_eq!(data["dimensions"][1]["domain"], serde_json::json!([0, 9_223_372_036_854_773_758i64]));
    assert_eq!((&data["capacity"], &data["current_domain"][1]), (&8192.into(), &serde_json::json!([0, 2])));
    let obs = schema_json(&place.join("obs"));
    assert_eq!(
        (&obs["dimensions"][0]["extent"], &obs["attributes"][0]["nullable"]),
        (&4.into(), &true.into())
    );
    let index = said(&["meta", text(&place.join("ms/RNA/var")), "soma_dataframe_original_index_name"]);
    assert_eq!(index, "\"gene_ids\"\n");
    assert_eq!(said(&["meta", text(&place), "dataset_type"]), "soma\n");

    let back = scratch.path().join("back");
    said(&["soma", "export", text(&place), text(&back)]);
    assert_eq!(names(&back), ["barcodes.tsv.gz", "features.tsv.gz", "matrix.mtx.gz"]);
    // What was exported, compressed, is the same experiment.
    let again = scratch.path().join("again.soma");
    said(&["soma", "import", text(&back), text(&again)]);
    for array in ["obs", "ms/RNA/var", "ms/RNA/X/data"] {
        let read = |place: &Path| said(&["read", text(&place.join(array)), "--format", "csv"]);
        assert_eq!(read(&place), read(&again), "{array}");
        assert_eq!(schema_json(&place.join(array)), schema_json(&again.join(array)), "{array}");
    }
    assert_eq!(names(scratch.path()), ["again.soma", "back", "cells.soma", "matrix"]);
}

#[test]
fn measurements_and_layers_have_the_names_that_they_are_given() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    // As Cell Ranger 2 writes it: genes.tsv without types, and real values in any order.
    fs::remove_file(source.join("features.tsv")).unwrap();
    fs::write(source.join("genes.tsv"), "ENSG1\tA\nENSG2\tB\nENSG3\tC\n").unwrap();
    let real = "%%MatrixMarket matrix coordinate real general\n3 4 2\n3 4 0.5\n1 1 1e-3\n";
    fs::write(source.join("matrix.mtx"), real).unwrap();
    let place = scratch.path().join("cells.soma");
    let named = ["--measurement", "a b", "--layer", "raw"];
    said(&[&["soma", "import", text(&source), text(&place)][..], &named].concat());
    assert!(place.join("ms/a%20b/X/raw").is_dir());
    let shown = said(&["soma", "info", text(&place)]);
    assert!(
        shown.contains("measurements      a b\n")
            && shown.contains("ms/a b/X/raw  SOMASparseNDArray  FLOAT64  4 × 3"),
        "{shown}"
    );
    assert!(!shown.contains("feature_types"), "{shown}");
    let back = scratch.path().join("back");
    refused(
        &["soma", "export", text(&place), text(&back)],
        1,
        "there is no measurement \"RNA\" (there is a b)",
    );
    said(&[&["soma", "export", text(&place), text(&back)][..], &named].concat());
    let again = scratch.path().join("again.soma");
    said(&["soma", "import", text(&back), text(&again)]);
    let cells = said(&["read", text(&again.join("ms/RNA/X/data")), "--format", "csv"]);
    assert_eq!(cells, "soma_dim_0,soma_dim_1,soma_data\n0,0,0.001\n3,2,0.5\n");
}

#[test]
fn what_does_not_fit_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let place = scratch.path().join("cells.soma");
    let fails = |file: &str, contents: &str, part: &str| {
        let before = fs::read(source.join(file)).unwrap();
        fs::write(source.join(file), contents).unwrap();
        let outcome = tdb(&["soma", "import", text(&source), text(&place)]);
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{}", outcome.err);
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
        assert_eq!(names(scratch.path()), ["matrix"], "{part}");
        fs::write(source.join(file), before).unwrap();
    };
    fails("barcodes.tsv", "a\nb\nc\n", "barcodes.tsv: there are 3 lines, but the matrix has 4 columns");
    fails("barcodes.tsv", "a\nb\nc\na\n", "barcodes.tsv: line 4: \"a\" is there before");
    fails("features.tsv", "a\tx\na\ty\nc\tz\n", "features.tsv: line 2: \"a\" is there before");
    fails(
        "matrix.mtx",
        &MATRIX.replace("3 4 7\n", ""),
        "matrix.mtx: line 7: the file ends, and 1 of 5 values are missing",
    );
    fails(
        "matrix.mtx",
        &MATRIX.replace("3 4 7", "3 5 7"),
        "matrix.mtx: line 7: row 3 and column 5 are outside",
    );
    fails(
        "barcodes.tsv",
        "a\nb\nc\nd\ne\n",
        "barcodes.tsv: line 5: this is one more than the matrix has columns, 4",
    );
    let endless = "x".repeat((1 << 20) + 1);
    fails("features.tsv", &endless, "features.tsv: line 1: the line has more than 1048576 bytes");
    let most = MATRIX.replace("3 4 7", &format!("1 1 {}", i64::MAX));
    fails(
        "matrix.mtx",
        &most,
        "matrix.mtx: line 7: the values in row 1 and column 1, added up, are more than INT64",
    );
    fs::remove_file(source.join("features.tsv")).unwrap();
    let outcome = tdb(&["soma", "import", text(&source), text(&place)]);
    assert!(
        outcome.code == 1 && outcome.err.contains("there is no features.tsv or genes.tsv"),
        "{}",
        outcome.err
    );
    folder(&source);
    said(&["soma", "import", text(&source), text(&place)]);
    refused(&["soma", "import", text(&source), text(&place)], 1, "there is something here already");
    refused(&["soma", "import", text(&source.join("x")), text(&place)], 1, "there is no such folder");
}

#[test]
fn values_at_the_same_place_are_added_up_as_scipy_does() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let head = "%%MatrixMarket matrix coordinate integer general\n3 4 5\n";
    // One behind the other, and in an order of their own.
    for (at, entries) in
        ["1 1 1\n1 1 4\n1 1 2\n2 1 3\n3 4 7\n", "3 4 7\n1 1 4\n2 1 3\n1 1 1\n1 1 2\n"].into_iter().enumerate()
    {
        fs::write(source.join("matrix.mtx"), format!("{head}{entries}")).unwrap();
        let place = scratch.path().join(format!("cells{at}.soma"));
        let made = tdb(&["soma", "import", text(&source), text(&place)]);
        assert_eq!(
            (made.code, made.out),
            (0, format!("experiment {}: 4 cells, 3 genes, 3 values\n", text(&place)))
        );
        assert_eq!(
            made.err,
            format!(
                "note: {}: matrix.mtx: 2 values were added to others that are at the same place\n",
                text(&source)
            )
        );
        let cells = said(&["read", text(&place.join("ms/RNA/X/data")), "--format", "csv"]);
        assert_eq!(cells, "soma_dim_0,soma_dim_1,soma_data\n0,0,7\n0,1,3\n3,2,7\n");
    }
}

#[test]
fn all_columns_of_features_are_kept_and_those_without_a_name_are_named() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let import = |features: &str, place: &str| {
        fs::write(source.join("features.tsv"), features).unwrap();
        let place = scratch.path().join(place);
        let made = tdb(&["soma", "import", text(&source), text(&place)]);
        assert_eq!(made.code, 0, "{}", made.err);
        (made.err, place.join("ms/RNA/var"))
    };
    let (notes, var) = import("g1\ta\tPeaks\tchr2\t100\t150\ng2\tb\tPeaks\tchr1\t0\t50\ng3\tc\n", "a.soma");
    assert_eq!(notes, "");
    assert_eq!(
        said(&["read", text(&var), "--format", "csv"]),
        "soma_joinid,gene_ids,gene_names,feature_types,chromosome,start,end\n0,g1,a,Peaks,chr2,100,150\n\
         1,g2,b,Peaks,chr1,0,50\n2,g3,c,\"\",\"\",,\n"
    );
    let schema = schema_json(&var);
    let of = |at: usize| {
        let own = &schema["attributes"][at];
        (own["name"].as_str().unwrap().to_owned(), own["datatype"].as_str().unwrap().to_owned())
    };
    assert_eq!(of(3), ("chromosome".to_owned(), "INT32".to_owned()));
    assert_eq!(of(4), ("start".to_owned(), "INT64".to_owned()));
    // What is no place is text.
    let (notes, var) = import("g1\ta\tPeaks\tchr2\t-1\t5\tx\ty\ng2\tb\ng3\tc\n", "b.soma");
    assert_eq!(
        notes,
        format!(
            "note: {}: features.tsv: 2 columns after end have no known names, and are left out\n",
            text(&source)
        )
    );
    let schema = schema_json(&var);
    assert_eq!(
        (&schema["attributes"][4]["datatype"], &schema["attributes"][5]["datatype"]),
        (&"STRING_UTF8".into(), &"INT64".into())
    );
}

#[test]
fn names_of_the_formats_own_folders_are_refused() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let place = scratch.path().join("cells.soma");
    for option in ["--measurement", "--layer"] {
        refused(
            &["soma", "import", text(&source), text(&place), option, "__meta"],
            1,
            "\"__meta\" is no name of a member: names that begin with __ are for the format's own folders",
        );
    }
    assert_eq!(names(scratch.path()), ["matrix"]);
}

#[test]
fn urls_of_files_are_places_like_others() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let url = |name: &str| format!("file://{}", text(&scratch.path().join(name)));
    fs::write(source.join("matrix.mtx"), MATRIX.replace("3 4 7", "3 9 7")).unwrap();
    assert_eq!(tdb(&["soma", "import", &url("matrix"), &url("cells.soma")]).code, 1);
    assert_eq!(names(scratch.path()), ["matrix"]);
    folder(&source);
    said(&["soma", "import", &url("matrix"), &url("cells.soma")]);
    assert_eq!(tdb(&["soma", "verify", &url("cells.soma"), "--deep"]).code, 0);
    said(&["soma", "export", &url("cells.soma"), &url("back")]);
    assert_eq!(names(scratch.path()), ["back", "cells.soma", "matrix"]);
    assert_eq!(
        names(&scratch.path().join("cells.soma")),
        ["__group", "__meta", "__tiledb_group.tdb", "ms", "obs"]
    );
}

#[test]
fn rows_that_nobody_could_tell_apart_are_not_exported() {
    let scratch = Scratch::new();
    let (place, back) = (scratch.path().join("cells.soma"), scratch.path().join("back"));
    experiment(&place, &Cells::default());
    let export = ["soma", "export", text(&place), text(&back)];
    refused(
        &[&export[..], &["--obs-id", "kind", "--var-id", "name"]].concat(),
        1,
        "obs: column \"kind\": the rows with the ids 0 and 2 are both called \"B\"",
    );
    let var = place.join("ms/RNA/var");
    fs::remove_dir_all(&var).unwrap();
    let ids = Dimension::new("soma_joinid", 0i64..=9);
    let schema = ArraySchema::sparse().dimension(ids).attribute(Attribute::string("name").with_nulls());
    WriteOptions::new().create(&var, &schema.build().unwrap()).unwrap();
    let writer = WriteOptions::new().open(&var).unwrap();
    writer.write_metadata(&marks("SOMADataFrame")).unwrap();
    let write = writer.write().column(WriteColumn::fixed("soma_joinid", &[0i64, 5]));
    write.column(WriteColumn::var("name", b"ab", &[0, 1, 2]).nullable(&[1, 0])).commit().unwrap();
    refused(
        &[&export[..], &["--obs-id", "name", "--var-id", "name"]].concat(),
        1,
        "ms/RNA/var: column \"name\": the name of the row with the id 5 is null",
    );
    assert_eq!(names(scratch.path()), ["cells.soma"]);
}

#[test]
fn truth_values_and_large_numbers_are_exported_as_they_are() {
    let scratch = Scratch::new();
    let place = scratch.path().join("cells.soma");
    experiment(&place, &Cells::default());
    let layer = place.join("ms/RNA/X");
    let values = |name: &str, values: WriteColumn<'_>, attribute: Attribute| {
        typed_matrix(&layer.join(name), (4, 3), attribute, &[0, 3], &[1, 2], values);
        let mut group = WriteOptions::new().open_group(&layer).unwrap();
        group.add_path(name, true, Some(name)).unwrap();
        group.commit().unwrap();
    };
    values(
        "truth",
        WriteColumn::bytes("soma_data", &[0, 1]),
        Attribute::new("soma_data", Datatype::Bool, CellValNum::ONE),
    );
    values("large", WriteColumn::fixed("soma_data", &[5u64, u64::MAX]), Attribute::of::<u64>("soma_data"));
    for (name, head, first, last) in [
        ("truth", "integer", "2 1 0", "3 4 1".to_owned()),
        ("large", "unsigned-integer", "2 1 5", format!("3 4 {}", u64::MAX)),
    ] {
        let back = scratch.path().join(name);
        said(&[
            "soma",
            "export",
            text(&place),
            text(&back),
            "--layer",
            name,
            "--obs-id",
            "name",
            "--var-id",
            "name",
        ]);
        let again = scratch.path().join(format!("{name}.soma"));
        said(&["soma", "import", text(&back), text(&again)]);
        let matrix = unpacked(&back.join("matrix.mtx.gz"));
        let expected = format!("%%MatrixMarket matrix coordinate {head} general\n3 4 2\n{first}\n{last}\n");
        assert_eq!(matrix, expected);
    }
}

#[test]
fn little_memory_is_enough_and_finds_equal_places_in_different_parts() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let (genes, cells) = (200u32, 1000u32);
    let lines = |count: u32, prefix: &str| (0..count).map(|at| format!("{prefix}{at}\n")).collect::<String>();
    fs::write(source.join("barcodes.tsv"), lines(cells, "c")).unwrap();
    fs::write(source.join("features.tsv"), lines(genes, "g")).unwrap();
    // Gene by gene, so that no two parts can be put one behind the other.
    let mut entries: Vec<String> = Vec::new();
    for gene in 1..=genes {
        entries.extend((1..=cells).map(|cell| format!("{gene} {cell} {}\n", gene * cell)));
    }
    let write = |entries: &[String]| {
        let head =
            format!("%%MatrixMarket matrix coordinate integer general\n{genes} {cells} {}\n", entries.len());
        fs::write(source.join("matrix.mtx"), head + &entries.concat()).unwrap();
    };
    write(&entries);
    let place = scratch.path().join("cells.soma");
    let import = ["soma", "import", text(&source), text(&place), "--memory", "4MiB"];
    said(&import);
    let shown = said(&["soma", "info", text(&place), "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let data = &shown["members"][0]["members"][0]["members"][0]["members"][0];
    assert!(data["fragments"].as_u64().unwrap() > 1, "{data}");
    assert_eq!(tdb(&["soma", "verify", text(&place)]).code, 0);
    fs::remove_dir_all(&place).unwrap();
    entries.push("1 1 9\n".to_owned());
    write(&entries);
    let outcome = tdb(&import);
    assert!(
        outcome.code == 1
            && outcome.err.contains("matrix.mtx: values at the same place are far from each other"),
        "{}",
        outcome.err
    );
    assert_eq!(names(scratch.path()), ["matrix"]);
}

#[test]
fn an_export_counts_cells_by_their_order_and_refuses_what_files_cannot_keep() {
    let scratch = Scratch::new();
    let (place, back) = (scratch.path().join("cells.soma"), scratch.path().join("back"));
    // A cell was deleted: the third one is the second now.
    let data = vec![(0, 0, 1.0), (2, 2, 0.1)];
    experiment(&place, &Cells { obs: (vec![0, 2, 3], 4), data, ..Cells::default() });
    refused(
        &["soma", "export", text(&place), text(&back)],
        1,
        "obs: no column is known to have the ids; there are soma_joinid, name, kind",
    );
    let named = ["--obs-id", "name", "--var-id", "name", "--var-name", "kind"];
    let export = [&["soma", "export", text(&place), text(&back)][..], &named].concat();
    assert_eq!(said(&export), format!("{}: 3 cells, 3 genes, 2 values\n", text(&back)));
    let again = scratch.path().join("again.soma");
    said(&["soma", "import", text(&back), text(&again)]);
    let cells = said(&["read", text(&again.join("ms/RNA/X/data")), "--format", "csv"]);
    assert_eq!(cells, "soma_dim_0,soma_dim_1,soma_data\n0,0,1.0\n1,2,0.1\n");
    let genes = said(&["read", text(&again.join("ms/RNA/var")), "--format", "csv"]);
    assert!(genes.contains("\n1,gene1,T,Gene Expression\n"), "{genes}");
    refused(&export, 1, "there is something here already");
    let wrong = ["--obs-id", "nothing", "--var-id", "name"];
    let other = scratch.path().join("other");
    refused(
        &[&["soma", "export", text(&place), text(&other)][..], &wrong].concat(),
        1,
        "obs: there is no column \"nothing\"",
    );
    // A value of a cell that is gone.
    let (_scratch, place) = (Scratch::new(), scratch.path().join("more.soma"));
    experiment(&place, &Cells { obs: (vec![0, 2, 3], 4), ..Cells::default() });
    let gone = [&["soma", "export", text(&place), text(&other)][..], &named].concat();
    refused(&gone, 1, "ms/RNA/X/data: there is a value for the id 1, which obs does not have");
    assert!(!other.exists());
    assert_eq!(names(scratch.path()), ["again.soma", "back", "cells.soma", "more.soma"]);
}

#[test]
fn hdf5_is_read_and_written_by_the_python_package() {
    let line = "python -m tdb.soma import 'my cells.h5ad' cells.soma --layer raw";
    refused(&["soma", "import", "my cells.h5ad", "cells.soma", "--layer", "raw"], 2, line);
    refused(&["soma", "import", "raw.h5", "cells.soma"], 2, "python -m tdb.soma import raw.h5 cells.soma");
    refused(&["soma", "export", "cells.soma", "x.h5ad"], 2, "python -m tdb.soma export cells.soma x.h5ad");
}
