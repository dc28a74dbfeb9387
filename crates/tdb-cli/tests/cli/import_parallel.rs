//! Several processes that import into one array at the same time.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Scratch, said, tdb, text};
use crate::import::{csv, file};

/// Starts an import of each file at once, and waits for all.
fn at_once(array: &Path, files: &[std::path::PathBuf], options: &[&str]) -> Vec<Output> {
    let start = |file: &std::path::PathBuf| {
        let import = [&["import", text(array), text(file)], options].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(import).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = files.iter().map(start).collect();
    children.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

fn all_succeed(outputs: &[Output]) {
    for output in outputs {
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{err}");
        assert!(err.is_empty() || err.contains("another process has made this array"), "{err}");
    }
}

const PROCESSES: usize = 5;

#[test]
fn of_imports_that_all_find_no_array_one_makes_it_and_the_others_add_to_it() {
    for (options, per_file) in [(&["--dims", "x"][..], 40), (&[], 40)] {
        let scratch = Scratch::new();
        let array = scratch.path().join("array");
        let files: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let row = |row: usize| format!("{},{process}\n", process * 1000 + row);
                file(
                    &scratch,
                    &format!("{process}.csv"),
                    format!("x,a\n{}", (0..per_file).map(row).collect::<String>()),
                )
            })
            .collect();
        all_succeed(&at_once(&array, &files, options));
        assert_eq!(csv(text(&array)).lines().count(), 1 + PROCESSES * per_file);
        assert_eq!(tdb(&["verify", text(&array)]).err, "");
    }
}

#[test]
fn imports_that_need_the_same_room_and_the_same_values_at_once_all_succeed() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let schema = r#"{"type": "sparse", "dimensions": [{"name": "x", "datatype": "INT64", "domain": [0, 99999], "extent": 10}],
        "current_domain": [[0, 0]], "attributes": [{"name": "c", "datatype": "UINT8", "enumeration": "e"}],
        "enumerations": [{"name": "e", "datatype": "STRING_UTF8", "cell_val_num": "var", "values": ["A"]}]}"#;
    said(&["create", text(&array), "--schema", text(&file(&scratch, "schema.json", schema))]);
    for round in 1..4 {
        let files: Vec<_> = (0..PROCESSES)
            .map(|process| {
                // All grow to the same place, and need the same new value.
                let content = format!("x,c\n{},R{round}\n{},A\n", round * 1000, process + 1);
                file(&scratch, &format!("{process}.csv"), content)
            })
            .collect();
        all_succeed(&at_once(&array, &files, &["--extend-enumerations"]));
        let cells = csv(text(&array));
        assert_eq!(cells.lines().count(), 1 + PROCESSES + round);
        assert_eq!(cells.lines().last().unwrap(), format!("{},R{round}", round * 1000));
    }
    assert_eq!(tdb(&["verify", text(&array)]).err, "");
}
