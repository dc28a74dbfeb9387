//! `tdb soma import` and `export`: folders of Zarr, as AnnData has them.

use std::fs;
use std::path::Path;

use crate::common::{Scratch, refused, said, schema_json, text};
use crate::soma_market::{folder, names};

#[test]
fn an_experiment_becomes_a_folder_of_anndata_and_again_an_experiment() {
    for version in ["2", "3"] {
        let scratch = Scratch::new();
        let source = folder(&scratch.path().join("matrix"));
        let [place, zarr, again] =
            ["cells.soma", "cells.zarr", "again.soma"].map(|name| scratch.path().join(name));
        said(&["soma", "import", text(&source), text(&place)]);
        let made = said(&["soma", "export", text(&place), text(&zarr), "--zarr", version]);
        assert!(made.starts_with(&format!("{}: ", text(&zarr))) && made.contains("arrays with"), "{made}");
        let made = said(&["soma", "import", text(&zarr), text(&again)]);
        assert_eq!(made, format!("experiment {}: 4 cells, 3 genes, 5 values\n", text(&again)));
        for array in ["obs", "ms/RNA/var", "ms/RNA/X/data"] {
            let read = |place: &Path| said(&["read", text(&place.join(array)), "--format", "csv"]);
            assert_eq!(read(&place), read(&again), "{array}");
            assert_eq!(schema_json(&place.join(array)), schema_json(&again.join(array)), "{array}");
        }
        let index = said(&["meta", text(&again.join("ms/RNA/var")), "soma_dataframe_original_index_name"]);
        assert_eq!(index, "\"gene_ids\"\n");
        assert_eq!(names(scratch.path()), ["again.soma", "cells.soma", "cells.zarr", "matrix"]);
    }
}

#[test]
fn what_is_wrong_with_a_folder_of_anndata_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let source = folder(&scratch.path().join("matrix"));
    let [place, zarr, again] =
        ["cells.soma", "cells.zarr", "again.soma"].map(|name| scratch.path().join(name));
    said(&["soma", "import", text(&source), text(&place)]);
    let export = ["soma", "export", text(&place), text(&zarr)];
    refused(&[&export[..], &["--layer", "raw"]].concat(), 1, "it has no layer \"raw\": there is data");
    refused(&[&export[..], &["--obs-id", "obs_id"]].concat(), 2, "--obs-id is for Matrix Market");
    refused(&[&export[..], &["--memory", "1KiB"]].concat(), 2, "a memory budget of 1 KiB is too small");
    assert_eq!(names(scratch.path()), ["cells.soma", "matrix"]);
    said(&export);
    refused(&export, 1, "there is something here already");
    fs::remove_file(zarr.join("X/indices/0")).unwrap();
    // Where no chunk is, there are zeros: the first row has the same column twice.
    refused(&["soma", "import", text(&zarr), text(&again)], 1, "coordinates");
    fs::remove_file(zarr.join("X/indices/.zarray")).unwrap();
    let path = format!("{}: this is damaged", text(&zarr.join("X/indices")));
    refused(&["soma", "import", text(&zarr), text(&again)], 1, &path);
    let nothing = scratch.path().join("nothing.zarr");
    refused(&["soma", "import", text(&nothing), text(&again)], 1, "there is no group of Zarr here");
    assert_eq!(names(scratch.path()), ["cells.soma", "cells.zarr", "matrix"]);
}
