//! `tdb sql`: how results are written.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tdb_cli::Screen;

use crate::common::{Scratch, fixture, refused, said, tdb, text};

/// One row with everything that is hard to write.
const HARD: &str = "SELECT 'a,b' AS s, 'say \"x\"' AS q, NULL AS n, '' AS e, 'NaN'::DOUBLE AS x, DATE '2020-02-29' AS d, \
                    TIMESTAMP '2020-02-29T12:30:00.5' AS t, TRUE AS b, [1, NULL] AS l, 'a\tb' AS tab";

#[test]
fn the_readme_leads_from_a_csv_file_to_an_answer() {
    let readme = include_str!("../../../../README.md");
    let (_, sample) = readme.split_once("--features sql\ntdb import trips ").expect("the sample");
    let (import, sample) = sample.split_once("\ntdb sql \"").unwrap();
    let (query, sample) = sample.split_once("\"\n").unwrap();
    let (_, answer) = sample.split_once("```text\n").unwrap();
    let (answer, _) = answer.split_once("```").unwrap();

    let scratch = Scratch::new();
    let (array, file) = (scratch.path().join("trips"), scratch.path().join("trips.csv"));
    let rows = "2024-01-01,Bergen,14\n2024-01-02,Bergen,20\n2024-01-01,Oslo,12.5\n2023-12-31,Oslo,99\n";
    fs::write(&file, format!("day,city,price\n{rows}")).unwrap();
    let mut args = vec!["import", text(&array), text(&file)];
    args.extend(import.strip_prefix("trips.csv ").unwrap().split(' '));
    said(&args);
    let query = query.replace("'trips'", &format!("'{}'", text(&array)));
    assert_eq!(on_terminal(&[&query]), answer);
}

/// `tdb sql` on a terminal.
fn on_terminal(args: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Some(Screen { columns: 60, rows: 20 });
    let code = tdb_cli::run_on(screen, [&["tdb", "sql"], args].concat(), &mut out, &mut err);
    assert_eq!((code, String::from_utf8(err).unwrap().as_str()), (0, ""));
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_quotes_what_needs_it_and_writes_nulls_as_nothing() {
    let csv = "s,q,n,e,x,d,t,b,l,tab\n\
               \"a,b\",\"say \"\"x\"\"\",,\"\",NaN,2020-02-29,2020-02-29T12:30:00.500000000,true,\"[1, null]\",a\tb\n";
    assert_eq!(said(&["sql", HARD]), csv);
    let tsv = "s\tq\tn\te\tx\td\tt\tb\tl\ttab\n\
               a,b\t\"say \"\"x\"\"\"\t\t\"\"\tNaN\t2020-02-29\t2020-02-29T12:30:00.500000000\ttrue\t[1, null]\t\"a\tb\"\n";
    assert_eq!(said(&["sql", "--format", "tsv", HARD]), tsv);
    assert_eq!(said(&["sql", "SELECT 1 AS a WHERE FALSE"]), "a\n", "the header tells columns of no rows");
}

#[test]
fn json_is_a_list_of_objects_and_ndjson_a_line_for_each() {
    let expected = json!({ "s": "a,b", "q": "say \"x\"", "n": null, "e": "", "x": "NaN", "d": "2020-02-29",
        "t": "2020-02-29T12:30:00.500000000", "b": true, "l": [1, null], "tab": "a\tb" });
    let line = said(&["sql", "--format", "ndjson", HARD]);
    assert_eq!(line.lines().count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
    let list = said(&["sql", "--format", "json", HARD]);
    assert_eq!(serde_json::from_str::<Value>(&list).unwrap(), json!([expected]));
    assert_eq!(
        said(&["sql", "--format", "json", "VALUES (1), (2)"]),
        "[{\"column1\":1},\n{\"column1\":2}]\n"
    );
    assert_eq!(said(&["sql", "--format", "json", "SELECT 1 WHERE FALSE"]), "[]\n");
    let same = "SELECT * FROM (VALUES (1)) AS t(a) CROSS JOIN (VALUES (2)) AS u(a)";
    assert_eq!(said(&["sql", "--format", "ndjson", same]), "{\"a\":1,\"a~2\":2}\n");
}

#[test]
fn cells_are_written_as_tdb_read_writes_them() {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    for id in SAME {
        let path = fixture(&format!("2.30.0/{id}"));
        let read = said(&["read", text(&path), "--format", "csv"]);
        let asked = said(&["sql", &format!("SELECT * FROM '{}'", text(&path))]);
        assert_eq!(sorted(&asked), sorted(&read), "{id}");
    }
}

/// Fixtures of sparse arrays whose types SQL has. Dense ones have rows in their non-empty domain
/// only.
const SAME: [&str; 23] = [
    "attr_all_int_sparse",
    "attr_float_sparse",
    "base_sparse",
    "base_strings",
    "consolidated_sparse",
    "deletes",
    "deletes_consolidated",
    "enumeration",
    "evolved_sparse",
    "fragments_sparse",
    "hilbert_float64",
    "hilbert_string",
    "nan_coordinates",
    "sparse_dim_datetime_day",
    "sparse_dim_datetime_ns",
    "sparse_dim_float32",
    "sparse_dim_float64",
    "sparse_dim_int8",
    "sparse_dim_string",
    "sparse_dim_uint64",
    "sparse_dims_mixed",
    "sparse_dups",
    "sparse3d",
];

#[test]
fn the_table_of_types_says_what_columns_have() {
    let page = include_str!("../../../../docs/tables/sql.md");
    let mut checked = 0;
    for row in tdb_arrow::types::rows_with(tdb_arrow::Options::new().days(tdb_arrow::Days::Date32)) {
        let begin = format!("| {} | ", row.datatype.name());
        let line = page.lines().find(|line| line.starts_with(&begin)).expect("a line for each datatype");
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['`', ' '])).collect();
        let (name, value) = (cells[1], cells[2]);
        // Text and blobs have large offsets in arrays, and others in literals.
        if value.is_empty() {
            continue;
        }
        let typed =
            if name.starts_with('\'') { value.to_owned() } else { format!("CAST({value} AS {name})") };
        let found = said(&["sql", "--format", "ndjson", &format!("SELECT arrow_typeof({typed}) AS t")]);
        assert_eq!(found, format!("{}\n", json!({ "t": row.one.to_string() })), "{line}");
        checked += 1;
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn a_terminal_gets_a_table_that_fits_it() {
    let shown =
        on_terminal(&["SELECT 'Oslo' AS city, 1.5 AS price UNION ALL SELECT NULL, 22.0 ORDER BY price"]);
    assert_eq!(shown, "city  price\n----  -----\nOslo    1.5\nnull   22.0\n");
    let many = "SELECT value AS n, value * 10 AS m FROM generate_series(1, 5000)";
    let shown = on_terminal(&[many]);
    assert!(shown.lines().count() < 20, "{shown}");
    let last = "5000 rows, of which the first 7 and the last 7 are shown; --all shows all";
    assert_eq!(shown.lines().last(), Some(last));
    assert_eq!(on_terminal(&[many, "--all"]).lines().count(), 5002);
    assert_eq!(on_terminal(&[many, "--format", "csv"]), said(&["sql", many]));
    let wide: Vec<String> = (0..20).map(|at| format!("{at} AS column{at}")).collect();
    let shown = on_terminal(&[&format!("SELECT {}", wide.join(", "))]);
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
    assert!(shown.contains("20 columns, of which "), "{shown}");
}

#[test]
fn a_table_for_a_pipe_has_all_rows_page_by_page() {
    let table = said(&["sql", "--format", "table", "SELECT value AS n FROM generate_series(1, 2500)"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[2], lines[2501]), (2502, "   n", "   1", "2500"), "{table}");
    assert_eq!(said(&["sql", "--format", "table", "SELECT 1 AS a; SELECT 2 AS b"]), "a\n-\n1\n\nb\n-\n2\n");
}

#[test]
fn results_go_to_a_file_whose_ending_says_the_format() {
    let scratch = Scratch::new();
    let file = |name: &str| scratch.path().join(name);
    for (name, args, expected) in [
        ("a.csv", &[][..], "a\n1\n"),
        ("a.jsonl", &[], "{\"a\":1}\n"),
        ("a.tsv", &["--format", "json"], "[{\"a\":1}]\n"),
        ("a", &[], "a\n1\n"),
    ] {
        let path = file(name);
        assert_eq!(said(&[&["sql", "SELECT 1 AS a", "-o", text(&path)], args].concat()), "", "{name}");
        assert_eq!(fs::read_to_string(path).unwrap(), expected, "{name}");
    }
    let kept = file("a.csv");
    refused(&["sql", "SELECT 2 AS a", "--out", text(&kept)], 1, "--force replaces it");
    refused(&["sql", "SELECT oops", "--out", text(&kept), "--force"], 2, "oops");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "a\n1\n", "a mistake leaves the file as it was");
    said(&["sql", "SELECT 2 AS a", "--out", text(&kept), "--force"]);
    assert_eq!(fs::read_to_string(kept).unwrap(), "a\n2\n");
    let nowhere = file("no/such/folder.csv");
    refused(&["sql", "SELECT 1", "--out", text(&nowhere)], 1, "folder.csv");
}

#[test]
fn memory_is_a_limit_for_queries_and_large_sorts_use_files() {
    let path = fixture("2.30.0/sparse3d");
    let query = format!("SELECT * FROM '{}'", text(&path));
    refused(&["sql", &query, "--memory", "2kB"], 2, "--memory");
    let sort = "SELECT value, repeat('x', 100) AS text FROM generate_series(1, 300000) ORDER BY value DESC";
    let sorted = tdb(&["sql", sort, "--memory", "24MiB", "--threads", "2"]);
    assert_eq!(sorted.code, 0, "{}", sorted.err);
    assert_eq!(sorted.out.lines().count(), 300_001);
    assert!(sorted.out.lines().nth(1).unwrap().starts_with("300000,xxx"));
    assert!(sorted.out.lines().last().unwrap().starts_with("1,xxx"));
    refused(&["sql", "SELECT 1", "--memory", "2 miles"], 2, "not a unit of memory");
    refused(&["sql", "SELECT 1", "--threads", "0"], 2, "0");
}

/// An output whose reader is gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_query_quietly() {
    let endless = "SELECT value FROM generate_series(1, 1000000000000)";
    for format in ["csv", "table", "json", "ndjson"] {
        let mut err = Vec::new();
        let code = tdb_cli::run(["tdb", "sql", endless, "--format", format], &mut Closed, &mut err);
        assert_eq!((code, String::from_utf8(err).unwrap().as_str()), (0, ""), "{format}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
    command.args(["sql", endless]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
