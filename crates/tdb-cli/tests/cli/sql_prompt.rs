//! The prompt of `tdb sql`, at a pseudo-terminal.

use std::time::{Duration, Instant};

use crate::common::{Scratch, sparse};
use crate::typist::Typist;

/// A prompt that waits for a statement.
fn prompt(folder: &Scratch) -> Typist {
    let mut typist = Typist::new(folder, &["sql"]);
    typist.wait_for("tdb> ");
    typist
}

#[test]
fn statements_have_several_lines_and_names_are_completed() {
    let scratch = Scratch::new();
    sparse(&scratch.path().join("trips"));
    let mut typist = prompt(&scratch);
    typist.asks(".tables", "trips");
    typist.asks("SELECT max(k) AS most", " ..> ");
    typist.types("FROM trip\t;\r");
    typist.wait_for("most");
    typist.wait_for("9");
    typist.asks("\\d trips", "Int32");
    typist.asks(".nothing", ".help lists them");
    typist.types("quit\r");
    assert!(typist.ends().success());
}

#[test]
fn an_interrupt_ends_a_query_that_computes_without_a_pause_and_the_next_one_runs() {
    let scratch = Scratch::new();
    let mut typist = prompt(&scratch);
    let many = "generate_series(1, 3000000)";
    for query in [
        format!("SELECT count(*) FROM {many} a, {many} b WHERE a.value * b.value = 7;"),
        format!("CREATE TABLE t AS SELECT sum(a.value * b.value) AS s FROM {many} a, {many} b;"),
    ] {
        typist.types(&format!("{query}\r"));
        // Until the query runs, an interrupt would be the prompt's.
        std::thread::sleep(Duration::from_millis(1500));
        let begun = Instant::now();
        typist.signals("-INT");
        typist.wait_for("interrupted");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        typist.asks("SELECT 41 + 1 AS answer;", "42");
    }
}

#[test]
fn an_interrupt_between_two_batches_ends_a_copy_which_leaves_no_array() {
    let scratch = Scratch::new();
    let mut typist = prompt(&scratch);
    typist.types("COPY (SELECT value AS k FROM generate_series(1, 100000000)) TO 'many' STORED AS TILEDB;\r");
    // Most of this time goes into the temporary file.
    std::thread::sleep(Duration::from_millis(1500));
    typist.signals("-INT");
    typist.wait_for("interrupted");
    typist.asks("SELECT 41 + 1 AS answer;", "42");
    assert!(!scratch.path().join("many/__schema").exists());
}
