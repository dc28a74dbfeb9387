//! What analysts type: summaries, functions of dates, text beside times, and mistakes of types.

use std::fs;

use crate::common::{Scratch, assert_fails, said, tdb, text};

/// Checks that a statement is a mistake, and that the error has all of `parts`.
fn assert_wrong(sql: &str, parts: &[&str]) {
    let outcome = tdb(&["sql", sql]);
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{sql}: {}", outcome.err);
    for part in parts {
        assert!(outcome.err.contains(part), "{part:?} is not in {:?}", outcome.err);
    }
}

/// The only row of a query, without its header.
fn row(sql: &str) -> String {
    let out = said(&["sql", sql]);
    let mut lines = out.lines().skip(1);
    let row = lines.next().unwrap_or_else(|| panic!("{sql}: {out}")).to_owned();
    assert_eq!(lines.next(), None, "{sql}: {out}");
    row
}

#[test]
fn a_summary_has_a_row_for_each_column() {
    let scratch = Scratch::new();
    let (file, array) = (scratch.path().join("t.csv"), scratch.path().join("t"));
    fs::write(
        &file,
        "i,s,d,ts,b,day\n1,a,1.5,2024-01-01T01:00:00,true,2024-01-01\n2,b,,2024-01-03T00:00:00,false,2024-02-01\n,b,2.5,,true,\n\
         4,zz,3.5,2024-01-03T00:00:00,,2024-02-01\n",
    )
    .unwrap();
    said(&["import", text(&array), text(&file)]);
    let summary = said(&["sql", &format!("SUMMARIZE SELECT i, s, d, ts, b, day FROM '{}'", text(&array))]);
    let lines: Vec<&str> = summary.lines().collect();
    // As in DuckDB, except for quantiles, which are approximate.
    assert_eq!(
        lines[0],
        "column_name,column_type,min,max,approx_unique,avg,std,q25,q50,q75,count,null_percentage"
    );
    assert!(lines[1].starts_with("i,Int64,1,4,3,2.3333333333333335,1.5275252316519465,"), "{}", lines[1]);
    assert!(lines[1].ends_with(",4,25.0"), "{}", lines[1]);
    assert_eq!(lines[2], "s,LargeUtf8,a,zz,3,,,,,,4,0.0");
    assert!(lines[3].starts_with("d,Float64,1.5,3.5,3,2.5,1.0,"), "{}", lines[3]);
    assert!(
        lines[4].starts_with("ts,Timestamp(ms),2024-01-01T01:00:00,2024-01-03T00:00:00,2,,,2024-01-0"),
        "{}",
        lines[4]
    );
    assert_eq!(lines[5], "b,Boolean,false,true,2,,,,,,4,25.0");
    assert!(lines[6].starts_with("day,Date32,2024-01-01,2024-02-01,2,,,2024-0"), "{}", lines[6]);
    let none = said(&["sql", "SUMMARIZE SELECT 1 AS a, 2 AS \"A b\" WHERE false"]);
    assert!(none.contains("\na,Int64,,,0,,,,,,0,\n") && none.contains("\nA b,Int64,"), "{none}");
    let plan = said(&["sql", "--explain", &format!("SUMMARIZE '{}'", text(&array))]);
    assert!(plan.contains("AggregateExec"), "{plan}");
    assert_wrong("SUMMARIZE nothing", &["nothing: there is no table"]);
}

#[test]
fn times_are_counted_and_written_as_duckdb_does() {
    for (sql, answer) in [
        ("date_diff('day', DATE '2024-01-31', DATE '2024-02-01')", "1"),
        ("datediff('MONTHS', TIMESTAMP '2024-03-01 00:00:00', DATE '2024-02-28')", "-1"),
        ("date_diff('hour', DATE '2024-01-01', DATE '2024-01-03')", "48"),
        ("date_diff('year', NULL, DATE '2024-01-03')", ""),
        ("date_diff(NULL, DATE '2024-01-01', DATE '2024-01-03')", ""),
        // Clocks of Rome went forward on this day; hours are hours.
        (
            "date_diff('hour', arrow_cast('2024-03-30T22:30:00Z', 'Timestamp(s, \"Europe/Rome\")'), \
             arrow_cast('2024-03-31T21:30:00Z', 'Timestamp(s, \"Europe/Rome\")'))",
            "23",
        ),
        (
            "strftime(TIMESTAMP '2024-03-05 07:08:09.123456', '%a %-d %B %Y, %H:%M:%S.%g')",
            "\"Tue 5 March 2024, 07:08:09.123\"",
        ),
        ("strftime('%Y-%m', DATE '2024-03-05')", "2024-03"),
        ("strftime(CAST(NULL AS DATE), '%Y')", ""),
        (
            "strftime(arrow_cast('2024-03-31T21:30:00Z', 'Timestamp(s, \"Europe/Rome\")'), '%H %z %Z')",
            "23 +02 Europe/Rome",
        ),
    ] {
        assert_eq!(row(&format!("SELECT {sql} AS answer")), answer, "{sql}");
    }
    let grouped = "SELECT strftime(t, '%Y-%m') AS month, max(date_diff('day', t, TIMESTAMP '2024-03-01 00:00:00')) AS days \
                   FROM (VALUES (TIMESTAMP '2024-01-05 00:00:00'), (TIMESTAMP '2024-01-07 00:00:00'), (NULL)) AS v(t) \
                   GROUP BY month ORDER BY month NULLS LAST";
    assert_eq!(said(&["sql", grouped]), "month,days\n2024-01,56\n,\n");
    for (sql, parts) in [
        (
            "date_diff('fortnight', DATE '2024-01-01', DATE '2024-01-03')",
            &["no part \"fortnight\"", "quarter"][..],
        ),
        ("date_diff('day', '2024-01-01', '2024-01-03')", &["date_diff needs a date or a time", "DATE '…'"]),
        ("date_diff('day', DATE '2024-01-01')", &["date_diff('day', start, end)"]),
        ("strftime(DATE '2024-01-01', '%e')", &["strftime has no %e", "%-d"]),
        ("strftime(DATE '2024-01-01', 5)", &["the format of strftime"]),
    ] {
        assert_wrong(&format!("SELECT {sql}"), parts);
    }
}

#[test]
fn text_of_a_month_beside_a_time_is_all_of_it_and_other_text_is_refused() {
    let values = "(VALUES (TIMESTAMP '2013-05-31 23:59:59.999999999'), (TIMESTAMP '2013-06-01 00:00:00'), \
                  (TIMESTAMP '2013-06-30 23:59:59.999999999'), (TIMESTAMP '2013-07-01 00:00:00'), (NULL)) AS v(t)";
    for (condition, count) in [
        ("t >= '2013-06'", "3"),
        ("t > '2013-06'", "1"),
        ("t < '2013-06'", "1"),
        ("'2013-06' >= t", "3"),
        ("t = '2013-06'", "2"),
        ("t <> '2013-06'", "2"),
        ("t BETWEEN '2013-06' AND '2013-06'", "2"),
        ("t NOT BETWEEN '2013-06' AND '2013-06'", "2"),
        ("t IN ('2013-06', '2013-07')", "3"),
        ("t = '2013-05-31T23'", "1"),
        ("CAST(t AS DATE) = '2013-06'", "2"),
        ("CAST(t AS DATE) < '2013-06'", "1"),
    ] {
        let sql = format!("SELECT count(*) FROM {values} WHERE {condition}");
        assert_eq!(row(&sql), count, "{condition}");
    }
    for wrong in ["t > 'June'", "t = '2013'", "CAST(t AS DATE) IN ('soon')"] {
        let sql = format!("SELECT count(*) FROM {values} WHERE {wrong}");
        assert_wrong(&sql, &["is compared with a time, but is none: write TIMESTAMP"]);
    }
}

#[test]
fn mistakes_of_types_are_said_in_plain_words() {
    let values = "(VALUES ('AA'), ('B6')) AS v(carrier)";
    let wrong = |sql: &str| tdb(&["sql", &format!("{sql} FROM {values}")]);
    assert_wrong(
        &format!("SELECT avg(carrier) FROM {values}"),
        &["there is no avg(text), but avg(Decimal)", "CAST"],
    );
    assert_fails(
        &tdb(&["sql", &format!("SELECT * FROM {values} WHERE carrier = 5")]),
        &["'AA' is no number", "'5'", "TRY_CAST"],
    );
    for failure in
        [wrong("SELECT avg(carrier)"), tdb(&["sql", &format!("SELECT * FROM {values} WHERE carrier = 5")])]
    {
        assert!(!failure.err.contains("Internal") && !failure.err.contains("Cast error"), "{}", failure.err);
    }
}

#[test]
fn an_analysed_plan_says_what_was_read_of_arrays() {
    let scratch = Scratch::new();
    let (file, array) = (scratch.path().join("t.csv"), scratch.path().join("t"));
    fs::write(&file, "a,b\n1,x\n2,y\n3,z\n").unwrap();
    said(&["import", text(&array), text(&file)]);
    for sql in [
        "SELECT b FROM {} WHERE a > 1",
        "SELECT max(b) FROM {} WHERE a > 1",
        "SELECT b, count(*) FROM {} GROUP BY b",
    ] {
        let sql = sql.replace("{}", &format!("'{}'", text(&array)));
        let plan = said(&["sql", &format!("EXPLAIN ANALYZE {sql}")]);
        let line = plan.lines().find(|line| line.contains("Tdb")).unwrap_or_else(|| panic!("{plan}"));
        for figure in ["output_rows=", "elapsed_compute=", "bytes_read=", "tiles_decoded="] {
            assert!(line.contains(figure), "{figure} in {plan}");
        }
        assert!(!line.contains("bytes_decoded=0,"), "{plan}");
    }
}
