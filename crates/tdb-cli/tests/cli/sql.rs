//! `tdb sql`: statements, the arrays that they name, and their mistakes.

use crate::common::tdb;

#[test]
#[cfg(not(feature = "sql"))]
fn a_build_without_sql_says_how_to_get_it() {
    for args in [&["sql"][..], &["sql", "SELECT 1"], &["sql", "--file", "x.sql", "--format", "json"]] {
        let refused = tdb(args);
        crate::common::assert_fails(&refused, &["the feature sql", "cargo install tdb-cli --features sql"]);
    }
    assert!(!tdb(&["--version"]).out.contains(" sql"));
}

#[test]
fn help_is_there_in_every_build() {
    let help = tdb(&["sql", "--help"]);
    assert!(help.code == 0 && help.out.contains("FROM 'trips'"), "{}", help.out);
    assert_eq!(tdb(&["sql", "--format", "xml", "SELECT 1"]).code, 2);
}

#[cfg(feature = "sql")]
mod with_sql {
    use std::fs;
    use std::io::Write;
    use std::path::absolute;
    use std::process::{Command, Stdio};

    use tdb_array::Array;

    use crate::common::{Scratch, assert_fails, fixture, refused, said, sparse, tdb, text};

    /// The only value of the only row.
    fn one(sql: &str) -> String {
        let out = said(&["sql", sql]);
        let mut lines = out.lines().skip(1);
        let value = lines.next().unwrap_or_else(|| panic!("{sql}: {out}")).to_owned();
        assert_eq!(lines.next(), None, "{sql}: {out}");
        value
    }

    #[test]
    fn paths_and_urls_after_from_are_arrays() {
        let path = fixture("2.30.0/quickstart");
        let path = absolute(&path).unwrap();
        let path = text(&path);
        for name in
            [format!("'{path}'"), format!("\"{path}\""), format!("'file://{path}'"), format!("'{path}' AS q")]
        {
            assert_eq!(one(&format!("SELECT sum(a) FROM {name} WHERE rows <= 2")), "36", "{name}");
        }
        let joined =
            format!("SELECT count(*) FROM '{path}' x JOIN '{path}' y ON x.rows = y.rows AND x.cols = y.cols");
        assert_eq!(one(&joined), "16");
        assert!(said(&["sql", &format!("DESCRIBE '{path}'")]).contains("rows,Int32,NO\n"));
    }

    #[test]
    fn a_folder_is_an_array_by_its_name_alone_too_and_other_names_are_said_not_to_be() {
        let scratch = Scratch::new();
        sparse(&scratch.path().join("trips"));
        let asked = |sql: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
            command.args(["sql", sql]).current_dir(scratch.path()).output().unwrap()
        };
        assert_eq!(asked("SELECT max(k) AS most FROM trips").stdout, b"most\n9\n");
        let lost = asked("SELECT * FROM trops");
        assert_eq!(lost.status.code(), Some(2));
        let said = String::from_utf8(lost.stderr).unwrap();
        assert!(said.starts_with("error: trops: there is no table of this name, and no array"), "{said}");
        // A file of the name is no array either, and does not take it.
        fs::write(scratch.path().join("rr"), "x").unwrap();
        assert_eq!(
            asked("CREATE TABLE rr AS VALUES (1), (2); SELECT count(*) AS n FROM rr").stdout,
            b"n\n2\n"
        );
    }

    /// Checks that the command line is wrong, and that the error has all of `parts`.
    fn assert_wrong(outcome: &crate::common::Outcome, parts: &[&str]) {
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{}", outcome.err);
        for part in parts {
            assert!(outcome.err.contains(part), "{part:?} is not in {:?}", outcome.err);
        }
    }

    /// `tdb sql` in a folder.
    fn asked(folder: &std::path::Path, args: &[&str]) -> crate::common::Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        let output = command.arg("sql").args(args).current_dir(folder).output().unwrap();
        crate::common::Outcome {
            code: u8::try_from(output.status.code().unwrap()).unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        let scratch = Scratch::new();
        sparse(&scratch.path().join("MyTrips"));
        let found = asked(scratch.path(), &["SELECT max(K), avg(k) FROM MyTrips WHERE K > 1 ORDER BY 1"]);
        assert!(found.out.starts_with("max(K),avg(k)\n9,"), "{}", found.err);
        let first = asked(scratch.path(), &["FROM MyTrips LIMIT 1"]);
        assert!(first.out.lines().count() == 2 && first.out.starts_with("x,"), "{}", first.err);
    }

    #[test]
    fn show_tables_lists_the_arrays_around_it() {
        let scratch = Scratch::new();
        sparse(&scratch.path().join("trips"));
        fs::create_dir(scratch.path().join("no_array")).unwrap();
        let tables =
            asked(scratch.path(), &["CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE t (a INT); SHOW TABLES"]);
        assert_eq!(tables.out, "table,kind\nt,table\nv,view\ntrips,array\n", "{}", tables.err);
        assert_fails(&asked(scratch.path(), &["SHOW FULL TABLES"]), &["FULL"]);
    }

    #[test]
    fn local_files_are_tables_by_their_names() {
        let scratch = Scratch::new();
        sparse(&scratch.path().join("trips"));
        fs::write(scratch.path().join("x.csv"), "k,name\n9,nine\n10,ten\n").unwrap();
        fs::write(scratch.path().join("x.dat"), "k\n").unwrap();
        let joined = asked(scratch.path(), &["SELECT name FROM trips JOIN 'x.csv' USING (k) GROUP BY name"]);
        assert_eq!(joined.out, "name\nnine\n", "{}", joined.err);
        assert_eq!(asked(scratch.path(), &["SELECT count(*) AS n FROM './x*.csv'"]).out, "n\n2\n");
        assert_wrong(
            &asked(scratch.path(), &["SELECT * FROM 'x.dat'"]),
            &["x.dat", ".parquet", "tdb import"],
        );
    }

    #[test]
    fn times_with_a_zone_are_instants_with_their_zone() {
        let scratch = Scratch::new();
        fs::write(
            scratch.path().join("t.csv"),
            "k,at\n1,2024-03-31T01:30:00+02:00\n2,2024-03-31T04:00:00+02:00\n3,2024-04-01T00:00:00+02:00\n",
        )
        .unwrap();
        let place = scratch.path().join("t");
        tdb(&["import", text(&place), text(&scratch.path().join("t.csv")), "--dims", "k"]);
        let rows = asked(scratch.path(), &["SELECT k, at FROM t ORDER BY at DESC LIMIT 1"]);
        assert!(rows.out.contains("2024-04-01T00:00:00+02:00"), "{}{}", rows.out, rows.err);
        for (condition, count) in [
            ("at = '2024-03-30T23:30:00Z'", 1),
            // A literal has no zone, so it is a time in that of the column.
            ("at = TIMESTAMP '2024-03-31T01:30:00'", 1),
            ("at > '2024-03-31T03:59:59+02:00'", 2),
            ("at < '2024-03-31T02:00:00Z'", 1),
            ("at BETWEEN '2024-03-30T23:30:00Z' AND '2024-03-31T02:00:00Z'", 2),
        ] {
            let found = asked(scratch.path(), &[&format!("SELECT count(*) AS n FROM t WHERE {condition}")]);
            assert_eq!(found.out, format!("n\n{count}\n"), "{condition}: {}", found.err);
        }
        let plan =
            asked(scratch.path(), &["--explain", "SELECT k FROM t WHERE at > '2024-03-31T03:59:59+02:00'"]);
        assert!(plan.out.contains("condition=at > "), "{}", plan.out);
        let most = asked(scratch.path(), &["SELECT max(at) AS m FROM t"]);
        assert_eq!(most.out, "m\n2024-04-01T00:00:00+02:00\n", "{}", most.err);
        let mixed = asked(scratch.path(), &["SELECT k FROM t WHERE at > to_local_time(at)"]);
        assert!(mixed.err.contains("to_local_time(t.at) has the clocks of that zone"), "{}", mixed.err);
        let local = "SELECT count(*) AS n FROM t WHERE to_local_time(at) >= TIMESTAMP '2024-03-31 04:00:00'";
        let local = asked(scratch.path(), &[local]);
        assert_eq!(local.out, "n\n2\n", "{}", local.err);
        // A cast that takes the zone away has the clocks of the zone, as the cast to a date has.
        let clocks = "SELECT k, at::timestamp AS t, TRY_CAST(at AS timestamp(0)) AS s, at::date AS d FROM t \
                      WHERE at::timestamp >= '2024-03-31 04:00:00' ORDER BY k";
        let clocks = asked(scratch.path(), &[clocks]);
        let rows = "k,t,s,d\n2,2024-03-31T04:00:00.000000000,2024-03-31T04:00:00,2024-03-31\n\
                    3,2024-04-01T00:00:00.000000000,2024-04-01T00:00:00,2024-04-01\n";
        assert_eq!(clocks.out, rows, "{}", clocks.err);
        let past = "SELECT count(*) AS n, bool_and(now() - at > INTERVAL '100 days' AND \
                    date_diff('day', at::timestamp(0), now()) > 100) AS old FROM t \
                    WHERE at < now() AND at < current_timestamp - INTERVAL '1 year'";
        let past = asked(scratch.path(), &[past]);
        assert_eq!(past.out, "n,old\n3,true\n", "{}", past.err);
    }

    #[test]
    fn words_without_an_effect_are_refused() {
        let scratch = Scratch::new();
        sparse(&scratch.path().join("trips"));
        for (sql, word) in [
            ("SELECT count(*) FROM trips TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
            ("SELECT k, count(*) FROM trips GROUP BY k WITH ROLLUP", "WITH ROLLUP"),
            ("DELETE FROM trips WHERE k > 1 LIMIT 1", "LIMIT"),
        ] {
            assert_fails(&asked(scratch.path(), &[sql]), &[word, "is not supported: "]);
        }
        assert_eq!(asked(scratch.path(), &["SELECT max(k) AS most FROM trips"]).out, "most\n9\n");
    }

    #[test]
    fn an_array_is_dropped_only_where_that_is_allowed() {
        let scratch = Scratch::new();
        let trips = scratch.path().join("trips");
        sparse(&trips);
        let refused = asked(scratch.path(), &["DROP TABLE trips"]);
        assert_wrong(&refused, &["trips", "history", "--allow-drop"]);
        assert!(trips.is_dir());
        let forgotten = asked(
            scratch.path(),
            &[
                "CREATE EXTERNAL TABLE t STORED AS TILEDB LOCATION 'trips'; DROP TABLE t; SELECT max(k) AS m FROM trips",
            ],
        );
        assert_eq!(forgotten.out, "m\n9\n", "{}", forgotten.err);
        let dropped = asked(scratch.path(), &["--allow-drop", "DROP TABLE 'trips'"]);
        assert!(dropped.code == 0 && dropped.err == "array trips removed\n", "{}", dropped.err);
        assert!(!trips.exists());
        assert!(asked(scratch.path(), &["DROP TABLE trips"]).err.contains("trips"));
        assert_eq!(asked(scratch.path(), &["DROP TABLE IF EXISTS trips"]).code, 0);
    }

    #[test]
    fn places_without_an_array_are_named() {
        let at = |place: &str| tdb(&["sql", &format!("SELECT * FROM '{place}'")]);
        assert_fails(&at("/no/such/array"), &["/no/such/array"]);
        assert_fails(&at(text(&fixture("2.30.0/group_flat"))), &["group_flat", "this is a group"]);
        assert_fails(&at("ftp://host/array"), &["ftp"]);
        assert_fails(&at(text(&fixture("2.30.0/encrypted_sparse"))), &["encrypted", "no key was given"]);
    }

    #[test]
    fn keys_and_times_are_options_of_the_command_and_of_tables() {
        let scratch = Scratch::new();
        let key = scratch.path().join("key");
        fs::write(&key, "0123456789abcdeF0123456789abcdeF").unwrap();
        let secret = fixture("2.30.0/encrypted_sparse");
        let count = format!("SELECT count(*) FROM '{}'", text(&secret));
        let cells = said(&["sql", &count, "--key-file", text(&key)]);
        assert!(cells.lines().nth(1).unwrap().parse::<u64>().unwrap() > 0, "{cells}");

        let array = scratch.path().join("array");
        sparse(&array);
        let count = format!("SELECT count(*) AS n FROM '{}'", text(&array));
        assert_eq!(said(&["sql", &count]), "n\n10\n");
        assert_eq!(said(&["sql", &count, "--at", "1"]), "n\n0\n");
        assert_eq!(said(&["sql", &count, "--between", "2,"]), "n\n10\n");
        assert_eq!(said(&["sql", &count, "--between", "3,"]), "n\n0\n");
        let table = format!(
            "CREATE EXTERNAL TABLE old STORED AS TILEDB LOCATION '{}' OPTIONS (timestamp '1'); SELECT count(*) AS n FROM old",
            text(&array)
        );
        assert_eq!(said(&["sql", &table]), "n\n0\n");
        let insert = format!("INSERT INTO '{}' (x, k) VALUES (50, 1)", text(&array));
        assert_fails(&tdb(&["sql", &insert, "--at", "5"]), &["read-only"]);
    }

    #[test]
    fn rows_are_inserted_and_their_number_is_no_part_of_the_results() {
        let scratch = Scratch::new();
        let array = scratch.path().join("array");
        sparse(&array);
        let place = text(&array);
        let sql = format!(
            "INSERT INTO '{place}' SELECT x + 10, k, v, c FROM '{place}' WHERE x < 3;
             SELECT x, k, v, c FROM '{place}' WHERE x >= 9 ORDER BY x;"
        );
        let outcome = tdb(&["sql", &sql]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, "3 rows inserted\n"));
        assert_eq!(outcome.out, "x,k,v,c\n9,9,9.0,green\n10,0,,red\n11,1,1.0,green\n12,2,2.0,red\n");
    }

    #[test]
    fn a_slip_in_the_last_statement_is_shown_and_no_statement_runs() {
        let scratch = Scratch::new();
        let array = scratch.path().join("array");
        sparse(&array);
        let sql = format!("INSERT INTO '{0}' SELECT x + 10, k, v, c FROM '{0}';\nSELECT 1 1", text(&array));
        let outcome = tdb(&["sql", &sql]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""));
        let lines: Vec<&str> = outcome.err.lines().collect();
        assert!(lines[0].starts_with("error: Expected: ") && lines[0].contains("found: 1"), "{lines:?}");
        assert_eq!(lines[1..], ["  SELECT 1 1", "           ^"]);
        assert_eq!(Array::open(&array).unwrap().read().collect().unwrap().len(), 10);
    }

    #[test]
    fn a_column_that_is_not_there_is_shown_in_its_line() {
        let path = fixture("2.30.0/quickstart");
        let sql = format!("SELECT rows,\n  colls\nFROM '{}'", text(&path));
        let outcome = tdb(&["sql", &sql]);
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""));
        let lines: Vec<&str> = outcome.err.lines().collect();
        assert!(lines[0].contains("colls"), "{lines:?}");
        assert_eq!(lines[1..], ["    colls", "    ^"]);
        refused(&["sql", "SELECT nonsense(1)"], 2, "nonsense");
        refused(&["sql", "SELECT CAST('x' AS INT)"], 1, "'x'");
    }

    #[test]
    fn statements_come_from_a_file_or_from_standard_input() {
        let scratch = Scratch::new();
        let file = scratch.path().join("report.sql");
        fs::write(&file, "-- two;\nSELECT 1 AS a;\nSELECT ';' AS b;").unwrap();
        let expected = "a\n1\n\nb\n;\n";
        assert_eq!(said(&["sql", "--file", text(&file)]), expected);
        for args in [&["sql"][..], &["sql", "--file", "-"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
            let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(&fs::read(&file).unwrap()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        }
        assert_fails(&tdb(&["sql", "--file", "/no/such/file"]), &["/no/such/file"]);
        refused(&["sql", "SELECT 1", "--file", text(&file)], 2, "cannot be used with");
    }

    #[test]
    fn explain_shows_what_the_read_does_and_runs_nothing() {
        let scratch = Scratch::new();
        let array = scratch.path().join("array");
        sparse(&array);
        let place = text(&array);
        let query = format!("SELECT k FROM '{place}' WHERE x BETWEEN 2 AND 5 AND k <> 3");
        let shown = said(&["sql", "--explain", &query]);
        for part in ["TdbExec: fields=[k]", "ranges=[x in 2..=5]", "condition=k != 3", "fragments=1 of 1"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        let by_sql = said(&["sql", "--format", "table", &format!("EXPLAIN {query}")]);
        assert!(
            by_sql.contains("physical_plan\n") && by_sql.contains("\n  TdbExec: ")
                || by_sql.contains("\nTdbExec: "),
            "{by_sql}"
        );
        let insert = format!("INSERT INTO '{place}' VALUES (50, 1, 1, 'red')");
        assert!(said(&["sql", "--explain", &insert]).contains("DataSinkExec"));
        assert_eq!(one(&format!("SELECT count(*) FROM '{place}'")), "10");
    }

    #[test]
    fn functions_of_dates_strings_and_numbers_are_there() {
        let sql = "SELECT upper('a') || substr('xyz', 2) AS s, round(1.25, 1) AS r, date_trunc('month', DATE '2020-02-29') AS d, \
                   regexp_replace('abc', 'b+', '-') AS x";
        assert_eq!(said(&["sql", sql]), "s,r,d,x\nAyz,1.3,2020-02-01T00:00:00.000000000,a-c\n");
    }
}
