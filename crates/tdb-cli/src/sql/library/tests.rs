use core::time::Duration;
use std::io;
use std::time::Instant;

use tdb_datafusion::datafusion::arrow::array::{AsArray, Int64Array};
use tdb_datafusion::datafusion::arrow::datatypes::{Int64Type, UInt64Type};

use super::*;

fn session(memory: Option<MemoryBudget>) -> SqlSession {
    SqlSession::new(&TdbTableFactory::new(), TableOptions::new(), memory, NonZeroU16::new(2)).unwrap()
}

fn never() -> io::Result<()> {
    Ok(())
}

fn run(text: &str) -> Result<SqlAnswer, SqlError> {
    session(None).run(text, &never)
}

fn all(answer: &SqlAnswer) -> Result<Vec<RecordBatch>, SqlError> {
    let mut rows = answer.rows(&never)?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next(&never)? {
        batches.push(batch);
    }
    Ok(batches)
}

fn fixture(name: &str) -> String {
    format!("{}/../../xtask/fixtures/arrays/2.30.0/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn an_answer_is_that_of_the_last_statement_each_time_it_is_asked_for() {
    let text = format!(
        "CREATE VIEW v AS SELECT sum(a) AS s FROM '{}'; SELECT v.s, w.s FROM v JOIN v w ON v.s = w.s",
        fixture("quickstart")
    );
    let answer = run(&text).unwrap();
    let names: Vec<_> = answer.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["s", "s~2"]);
    for _ in 0..2 {
        let batches = all(&answer).unwrap();
        assert_eq!(batches[0].column(1).as_primitive::<Int64Type>().values(), &[136]);
    }
    let (table, is_cut) =
        run("SELECT * FROM (VALUES (1), (2), (3)) AS t(a)").unwrap().table(2, &never).unwrap();
    assert!(is_cut && table.lines().count() == 4, "{table}");
    let summary = run(&format!("SUMMARIZE '{}'", fixture("quickstart"))).unwrap();
    assert_eq!(all(&summary).unwrap()[0].num_rows(), 3);
}

#[test]
fn rows_and_arrays_have_names_and_are_only_read() {
    let session = session(None);
    let rows = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1, 2])) as _)]).unwrap();
    session.name_rows("T", rows.schema(), vec![rows]).unwrap();
    session.name_array("q", Array::open(fixture("quickstart")).unwrap()).unwrap();
    let answer = session.run("SELECT count(*) AS n FROM T JOIN q ON x = q.rows", &never).unwrap();
    assert_eq!(all(&answer).unwrap()[0].column(0).as_primitive::<Int64Type>().values(), &[8]);
    let session = self::session(None);
    let rows = RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![1, 2])) as _)]).unwrap();
    session.name_rows("t", rows.schema(), vec![rows]).unwrap();
    assert!(session.run("INSERT INTO t VALUES (3)", &never).is_err());
}

#[test]
fn a_statement_that_does_something_is_carried_out_once() {
    let answer = run("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1), (2)").unwrap();
    for _ in 0..2 {
        assert_eq!(all(&answer).unwrap()[0].column(0).as_primitive::<UInt64Type>().values(), &[2]);
    }
}

#[test]
fn what_only_the_command_has_is_refused_by_name() {
    let array = fixture("quickstart");
    for (text, kind, part) in [
        ("COPY (SELECT 1 AS a) TO '/x' STORED AS TILEDB".to_owned(), SqlErrorKind::Unsupported, "from_arrow"),
        (format!("DROP TABLE '{array}'"), SqlErrorKind::Unsupported, "tdb rm"),
        (format!("DROP TABLE IF EXISTS '{array}'"), SqlErrorKind::Unsupported, "tdb rm"),
        ("CREATE TABLE t AS SELECT 1 AS a".to_owned(), SqlErrorKind::Statement, "behind it"),
        ("SET datafusion.execution.batch_size = 10".to_owned(), SqlErrorKind::Statement, "behind it"),
        (String::new(), SqlErrorKind::Statement, "no statement"),
        ("SELECT\n  nothing FROM (VALUES (1)) AS t(a)".to_owned(), SqlErrorKind::Statement, "^"),
        ("SELECT * FROM nowhere".to_owned(), SqlErrorKind::Statement, "no table of this name"),
    ] {
        let error = run(&text).unwrap_err();
        assert!(error.kind == kind && error.message.contains(part), "{text}: {error:?}");
    }
    assert!(run("CREATE TABLE t AS SELECT 1 AS a; DROP TABLE t; SELECT 2").is_ok());
}

#[test]
fn a_look_ends_a_query_that_would_take_minutes() {
    let begun = Instant::now();
    let look = || match begun.elapsed() > Duration::from_millis(200) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    };
    let text = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a.value * 7 = b.value - 3";
    let answer = run(text).unwrap();
    // Beginning may compute, too.
    let error = answer.rows(&look).and_then(|mut rows| rows.next(&look)).unwrap_err();
    assert_eq!(error.kind, SqlErrorKind::Interrupted);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn memory_is_a_limit_and_errors_of_arrays_are_kept() {
    let session = session(Some("1MiB".parse().unwrap()));
    let text = "SELECT array_agg(a.value) FROM generate_series(1, 10000000) a";
    let answer = session.run(text, &never).unwrap();
    let error = all(&answer).unwrap_err();
    assert!(error.message.contains("memory= sets"), "{error:?}");
    let error = run("SELECT * FROM '/no/such/array'").unwrap_err();
    assert!(error.of_array().is_some(), "{error:?}");
}
