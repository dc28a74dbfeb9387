//! Parquet and Arrow files: what every build says of them. The tests of builds that have them are
//! beside this file.

use crate::common::{fixture, refused, tdb, text};

#[test]
#[cfg(not(feature = "convert"))]
fn a_build_without_parquet_and_arrow_says_how_to_get_them() {
    use crate::common::{Scratch, assert_fails};

    let scratch = Scratch::new();
    let (array, file) = (fixture("2.30.0/quickstart"), scratch.path().join("file.parquet"));
    let remedy = ["the feature convert", "cargo install tdb-cli --features convert"];
    assert_fails(&tdb(&["export", text(&array), text(&file)]), &remedy);
    assert!(!file.exists());
    assert!(!tdb(&["--version"]).out.contains(" convert"));
}

#[test]
fn help_is_there_in_every_build() {
    let help = tdb(&["export", "--help"]);
    assert!(help.code == 0 && help.out.contains("tdb export weather weather.parquet"), "{}", help.out);
    refused(&["export", text(&fixture("2.30.0/quickstart"))], 2, "<FILE>");
    refused(&["export", "a", "b", "--format", "csv"], 2, "[possible values: parquet, arrow, arrows, zarr]");
}
