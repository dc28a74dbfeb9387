//! The example programs run, find what they expect, and need no other crate.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

use std::path::Path;

/// A test for each example: it calls the program's `main`. The name is that of the file.
macro_rules! examples {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[expect(unreachable_pub, reason = "the test calls the program's main function")]
            #[path = $path]
            mod $name;

            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

examples! {
    evolve_and_delete: "../../examples/evolve_and_delete.rs",
    own_storage: "../../examples/own_storage.rs",
    read_dense_window: "../../examples/read_dense_window.rs",
    stream_sparse: "../../examples/stream_sparse.rs",
    time_travel: "../../examples/time_travel.rs",
    write_array: "../../examples/write_array.rs",
}

#[test]
fn every_example_is_run_and_uses_only_the_facade() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let crates =
            ["tdb_codec", "tdb_filters", "tdb_tile", "tdb_schema", "tdb_fragment", "bytes::", "bytemuck"];
        for other in crates {
            assert!(!source.contains(other), "{name} uses {other}");
        }
        names.push(name);
    }
    names.sort();
    assert_eq!(names, NAMES);
}
