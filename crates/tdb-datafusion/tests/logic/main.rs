//! The queries of `tests/slt`: arrays that libtiledb wrote answer as the cells that libtiledb reads
//! from them, in tables in memory.
//!
//! The answers in the files are those of the tables in memory. `TDB_RECORD=1` writes them
//! (`cargo xtask fixtures sql`, which then asks DuckDB the same).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "helpers of tests: a panic is a failure"
)]

mod cells;
mod engine;

use std::path::{Path, PathBuf};

use engine::{By, Engine, Letter};
use sqllogictest::{Normalizer, Record, Runner, parse_file, strict_column_validator};

/// The least number of queries in all files together.
const QUERIES: usize = 300;
/// What is between the columns of a row.
const BETWEEN: &str = " | ";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        names.filter(|path| path.extension().is_some_and(|extension| extension == "slt")).collect();
    files.sort();
    files
}

/// Rows agree if all their characters do.
fn agree(_: Normalizer, found: &[Vec<String>], recorded: &[String]) -> bool {
    found.iter().map(|row| row.join(BETWEEN)).eq(recorded.iter().cloned())
}

/// Runs all files, or records their answers.
async fn all_files(by: By) {
    let record = std::env::var_os("TDB_RECORD").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let mut runner = Runner::new(move || async move { Ok(Engine::new(by)) });
        runner.with_validator(agree);
        runner.with_normalizer(String::clone);
        runner.with_column_validator(strict_column_validator);
        if record {
            let done =
                runner.update_test_file(&path, BETWEEN, agree, String::clone, strict_column_validator).await;
            done.unwrap();
            continue;
        }
        for record in parse_file::<Letter>(&path).unwrap() {
            if let Err(error) = runner.run_async(record).await {
                wrong.push(error.display(false).to_string());
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{} answers by {by:?} differ", wrong.join("\n\n"), wrong.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arrays_and_the_cells_of_libtiledb_in_memory_give_the_recorded_answers() {
    // What only arrays answer is recorded from these; everything else from memory, which has the
    // last word.
    all_files(By::Arrays).await;
    all_files(By::Memory).await;
}

#[test]
fn there_are_enough_different_queries() {
    let mut queries = std::collections::BTreeSet::new();
    for path in files() {
        for record in parse_file::<Letter>(&path).unwrap() {
            if let Record::Query { sql, .. } = record {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                assert!(queries.insert((name, sql.clone())), "{}: twice: {sql}", path.display());
            }
        }
    }
    assert!(queries.len() >= QUERIES, "{} queries", queries.len());
}
