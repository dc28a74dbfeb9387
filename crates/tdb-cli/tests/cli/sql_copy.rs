//! `COPY … TO 'folder' STORED AS TILEDB`, and rows that SQL adds to and changes in imported arrays.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, Scratch};

/// `tdb` in a folder.
fn tdb_in(folder: &Path, args: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_tdb")).args(args).current_dir(folder).output().unwrap();
    Outcome {
        code: u8::try_from(output.status.code().unwrap()).unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The outputs of statements that succeed.
fn ran(folder: &Path, sql: &str) -> (String, String) {
    let done = tdb_in(folder, &["sql", sql]);
    assert_eq!(done.code, 0, "{sql}: {}", done.err);
    (done.out, done.err)
}

/// The error of statements that fail.
fn failed(folder: &Path, sql: &str) -> String {
    let done = tdb_in(folder, &["sql", sql]);
    assert_ne!(done.code, 0, "{sql}: {}", done.out);
    done.err
}

fn cells(folder: &Path, array: &str) -> String {
    let read = tdb_in(folder, &["read", array, "--format", "csv", "--order", "row"]);
    assert_eq!(read.code, 0, "{}", read.err);
    read.out
}

fn trips() -> Scratch {
    let scratch = Scratch::new();
    let rows =
        "city,day,price\nOslo,2024-01-01,12.5\nRome,2024-01-02,\nOslo,2024-01-03,9.25\nPisa,2024-01-01,1\n";
    fs::write(scratch.path().join("trips.csv"), rows).unwrap();
    scratch
}

#[test]
fn the_rows_of_a_query_become_an_array() {
    let scratch = trips();
    let folder = scratch.path();
    let copy = "COPY (SELECT city, day, price * 2 AS twice FROM 'trips.csv') TO 'twice' STORED AS TILEDB OPTIONS (dims 'city,day')";
    assert_eq!(ran(folder, copy), (String::new(), "4 rows written to the array twice\n".to_owned()));
    let stored =
        "city,day,twice\nOslo,2024-01-01,25.0\nOslo,2024-01-03,18.5\nPisa,2024-01-01,2.0\nRome,2024-01-02,\n";
    assert_eq!(cells(folder, "twice"), stored);
    // Once more: the same cells replace themselves.
    ran(folder, copy);
    assert_eq!(cells(folder, "twice"), stored);
    // Without dimensions, rows are numbered; later ones follow.
    let rows = "COPY (SELECT city FROM 'trips.csv' ORDER BY city LIMIT 2) TO 'cities' STORED AS tiledb";
    ran(folder, &format!("{rows}; {rows}"));
    assert_eq!(cells(folder, "cities"), "row,city\n0,Oslo\n1,Oslo\n2,Oslo\n3,Oslo\n");
    // A table of the session, whose making says what becomes of it.
    let (_, said) = ran(
        folder,
        "CREATE TABLE t AS SELECT 1 AS k, 'x' AS v UNION ALL SELECT 2, 'y'; COPY t TO 't' STORED AS TILEDB OPTIONS (dims k)",
    );
    assert!(
        said.starts_with("note: table t is in memory")
            && said.contains("STORED AS TILEDB makes an array of it"),
        "{said}"
    );
    assert_eq!(cells(folder, "t"), "k,v\n1,x\n2,y\n");
    // The array itself may be what is read.
    ran(folder, "COPY (SELECT k + 10 AS k, v FROM t) TO 't' STORED AS TILEDB");
    assert_eq!(cells(folder, "t"), "k,v\n1,x\n2,y\n11,x\n12,y\n");
    assert!(ran(folder, "SELECT count(*) FROM 't' WHERE v = 'x'").0.ends_with("\n2\n"));
}

#[test]
fn options_of_a_copy_are_those_of_an_import_and_others_are_refused_by_name() {
    let scratch = trips();
    let folder = scratch.path();
    let copy = |options: &str| {
        format!("COPY (SELECT city, price FROM 'trips.csv') TO 'a' STORED AS TILEDB OPTIONS ({options})")
    };
    for (options, parts) in [
        ("dims 'city', compress 'small'", &["compress is not an option of an array", "dims, types"][..]),
        ("dim 'city'", &["did you mean \"dims\"?"]),
        ("dims 'town'", &["no column \"town\"", "city, price"]),
        ("dims 'city', dense true", &["--dims", "--dense"]),
        ("dims 'city', force maybe", &["force must be true or false"]),
        ("dims 'city'", &["same coordinates", "city=Oslo"]),
        ("types 'price=int8'", &["price"]),
    ] {
        let said = failed(folder, &copy(options));
        for part in parts {
            assert!(said.contains(part), "{options}: {said}");
        }
        assert!(!folder.join("a").exists(), "{options}: all or nothing");
    }
    let (_, said) = ran(folder, &copy("dims 'city', duplicates last, types 'price=float32?'"));
    assert_eq!(
        said,
        "3 rows written to the array a; 1 row was left out, whose coordinates another row has\n"
    );
    assert_eq!(cells(folder, "a"), "city,price\nOslo,9.25\nPisa,1.0\nRome,\n");
    ran(folder, &copy("dims 'city', allow_duplicates true, force true"));
    assert_eq!(cells(folder, "a").lines().count(), 5);
    for (sql, part) in [
        (
            "COPY (SELECT l.city, r.city FROM 'trips.csv' l JOIN 'trips.csv' r USING (day)) TO 'b' STORED AS TILEDB",
            "two columns are called \"city\"",
        ),
        ("COPY (SELECT 1 AS a) TO 'b' STORED AS TILEDB PARTITIONED BY (a)", "PARTITIONED BY"),
        ("EXPLAIN COPY (SELECT 1 AS a) TO 'b' STORED AS TILEDB", "EXPLAIN of COPY"),
        ("COPY (SELECT 1 AS a) TO 'b'", "STORED AS TILEDB makes an array"),
        ("COPY (SELECT 1 AS a, NULL AS n) TO 'b' STORED AS TILEDB", "n"),
        ("COPY (SELECT nothing FROM 'trips.csv') TO 'b' STORED AS TILEDB", "nothing"),
    ] {
        assert!(failed(folder, sql).contains(part), "{sql}: {}", failed(folder, sql));
        assert!(!folder.join("b").exists(), "{sql}");
    }
    let planned = tdb_in(folder, &["sql", "--explain", "COPY 'trips.csv' TO 'b' STORED AS TILEDB"]);
    assert!(planned.out.contains("trips.csv") && !folder.join("b").exists(), "{}", planned.err);
}

#[test]
fn every_type_of_a_result_that_arrays_have_is_copied() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let query = "SELECT CAST(1 AS TINYINT) AS i8, CAST(2 AS INT UNSIGNED) AS u32, CAST(0.5 AS REAL) AS f32, true AS b, 'é' AS t, \
                 arrow_cast('v', 'Utf8View') AS v, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29T12:00:00' AS ts, X'00ff' AS bytes, \
                 CAST(1.25 AS DECIMAL(5, 2)) AS dec, arrow_cast('red', 'Dictionary(Int8, Utf8)') AS dict, CAST(NULL AS BIGINT) AS n";
    ran(folder, &format!("COPY ({query}) TO 'a' STORED AS TILEDB"));
    let (out, _) = ran(folder, "SELECT i8, u32, f32, b, t, v, d, ts, dict, n, dec FROM 'a'");
    let row = out.lines().nth(1).unwrap();
    assert_eq!(row, "1,2,0.5,true,é,v,2024-02-29,2024-02-29T12:00:00.000000000,red,,125");
}

#[test]
fn an_index_of_pandas_without_a_name_is_left_out_by_wish() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    ran(folder, "COPY (SELECT 'r1' AS \"__index_level_0__\", 2 AS a) TO 'x.parquet'");
    for more in [&[][..], &["--dims", "a"], &["--dense"]] {
        let refused = tdb_in(folder, &[&["import", "x", "x.parquet"], more].concat());
        assert_eq!(refused.code, 2);
        let cure = "--drop __index_level_0__ leaves the column out";
        assert!(refused.err.contains(cure) && refused.err.contains("rename_axis"), "{}", refused.err);
        assert!(!folder.join("x").exists());
    }
    assert_eq!(tdb_in(folder, &["import", "x", "x.parquet", "--drop", "__index_level_0__"]).code, 0);
    assert_eq!(cells(folder, "x"), "row,a\n0,2\n");
}

/// The type of an array's attribute, and the values of its enumeration.
fn enumeration(folder: &Path, array: &str, attribute: &str) -> (String, Option<String>) {
    let info = tdb_in(folder, &["info", array, "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    let all = |key: &str| info[key].as_array().cloned().unwrap_or_default();
    let own = all("attributes").into_iter().find(|own| own["name"] == attribute).unwrap();
    let values = all("enumerations").into_iter().find(|one| one["name"] == own["enumeration"]);
    let values = values.map(|one| format!("{} {}", one["values"], one["ordered"]));
    (own["datatype"].as_str().unwrap().to_owned(), values)
}

#[test]
fn columns_of_enumerations_are_copied_with_their_values() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/enumeration");
    let copy = |query: &str, to: &str, options: &str| {
        ran(folder, &format!("COPY ({query}) TO '{to}' STORED AS TILEDB OPTIONS ({options})"));
    };
    copy(&format!("SELECT x, f, n FROM '{from}' WHERE f <> 'kiwi'"), "some", "dims 'x'");
    // Values that no row has are there, too, in their order.
    let fruits = Some("[\"apple\",\"fig\",\"kiwi\"] false".to_owned());
    assert_eq!(enumeration(folder, "some", "f"), ("UINT8".to_owned(), fruits));
    assert_eq!(enumeration(folder, "some", "n"), ("INT32".to_owned(), Some("[-5,0,700] false".to_owned())));
    assert_eq!(
        ran(folder, "SELECT f, count(*) AS c, min(n) AS n FROM some GROUP BY f ORDER BY f").0,
        ran(
            folder,
            &format!(
                "SELECT f, count(*) AS c, min(n) AS n FROM '{from}' WHERE f <> 'kiwi' GROUP BY f ORDER BY f"
            )
        )
        .0
    );
    assert_eq!(tdb_in(folder, &["verify", "some"]).code, 0);
    // Later rows have values of the enumeration, or extend it.
    let later = "SELECT CAST(50 + x AS INT) AS x, arrow_cast('plum', 'Dictionary(Int8, Utf8)') AS f, n FROM 'some' WHERE x = 1";
    let refused = failed(folder, &format!("COPY ({later}) TO 'some' STORED AS TILEDB"));
    assert!(refused.contains("enumeration \"f\""), "{refused}");
    copy(later, "some", "extend_enumerations true");
    assert!(enumeration(folder, "some", "f").1.unwrap().starts_with("[\"apple\",\"fig\",\"kiwi\",\"plum\"]"));
    // Two tables, whose values are put together; one column twice; another type by wish; a dimension.
    let union = "SELECT x, f FROM 'some' UNION ALL SELECT x + 100, arrow_cast('date', 'Dictionary(UInt8, LargeUtf8)') FROM 'some'";
    copy(union, "both", "memory '64MiB'");
    let values = enumeration(folder, "both", "f").1.unwrap();
    assert!(
        values.contains("\"date\"") && values.contains("\"fig\"") && values.ends_with(" false"),
        "{values}"
    );
    copy("SELECT x, f, f AS g, n FROM 'some'", "twice", "types 'n=int64?'");
    assert_eq!(enumeration(folder, "twice", "f").1, enumeration(folder, "twice", "g").1);
    assert_eq!(enumeration(folder, "twice", "n"), ("INT64".to_owned(), None));
    copy("SELECT f, count(*) AS c FROM 'some' GROUP BY f", "counts", "dims 'f'");
    assert_eq!(cells(folder, "counts").lines().nth(1).unwrap().split(',').next(), Some("apple"));
}

#[test]
fn insert_numbers_rows_and_lets_an_imported_array_grow() {
    let scratch = trips();
    let folder = scratch.path();
    assert_eq!(tdb_in(folder, &["import", "trips", "trips.csv"]).code, 0);
    assert_eq!(tdb_in(folder, &["import", "days", "trips.csv", "--dims", "city,day"]).code, 0);
    let (_, said) = ran(
        folder,
        "INSERT INTO trips (city, day, price) VALUES ('Bari', DATE '2025-05-05', 3); \
         INSERT INTO trips (city, day) SELECT city, day FROM 'trips.csv' WHERE city = 'Rome'",
    );
    assert_eq!(said, "1 row inserted\n1 row inserted\n");
    let all = cells(folder, "trips");
    assert!(all.ends_with("4,Bari,2025-05-05,3.0\n5,Rome,2024-01-02,\n"), "{all}");
    // Without a list of columns: one column fewer than the array has means all but the number.
    ran(
        folder,
        "INSERT INTO trips SELECT city, day, price FROM 'trips.csv' WHERE city = 'Pisa'; \
         INSERT INTO trips VALUES ('Como', DATE '2025-05-05', 2)",
    );
    let all = cells(folder, "trips");
    assert!(all.ends_with("6,Pisa,2024-01-01,1.0\n7,Como,2025-05-05,2.0\n"), "{all}");
    for (sql, said) in [
        (
            "INSERT INTO trips SELECT city, day FROM 'trips.csv'",
            "the values have 2 columns, and trips has 4 columns (row, city, day, price): INSERT INTO trips (…) names those",
        ),
        (
            "INSERT INTO trips (city, day) VALUES ('Como')",
            "the values have 1 column, and INSERT INTO trips (…) names 2 columns",
        ),
        ("INSERT INTO days SELECT city, day FROM 'trips.csv'", "days has 3 columns (city, day, price)"),
    ] {
        let failed = failed(folder, sql);
        assert!(failed.contains(said), "{sql}: {failed}");
    }
    // A number may be given.
    ran(
        folder,
        "INSERT INTO trips VALUES (100, 'Turin', DATE '2025-05-06', 1), (NULL, 'Turin', DATE '2025-05-07', NULL)",
    );
    let all = cells(folder, "trips");
    assert!(all.ends_with("8,Turin,2025-05-07,\n100,Turin,2025-05-06,1.0\n"), "{all}");
    ran(folder, "INSERT INTO days VALUES ('Zug', DATE '2031-01-01', 7)");
    assert!(cells(folder, "days").ends_with("Zug,2031-01-01,7.0\n"));
    assert_eq!(tdb_in(folder, &["verify", "days"]).code, 0);
    let said = failed(folder, "INSERT INTO days (city, price) VALUES ('Oslo', 1)");
    assert!(said.contains("row 1 has no value for the column day, which cannot be null"), "{said}");
    let domain =
        ["import", "century", "trips.csv", "--dims", "city,day", "--domain", "day=2000-01-01..2099-12-31"];
    assert_eq!(tdb_in(folder, &domain).code, 0);
    let said = failed(
        folder,
        "INSERT INTO century VALUES ('Oslo', DATE '2050-01-01', 1), ('Oslo', DATE '2100-01-01', 1)",
    );
    assert!(said.contains("row 2 in the column day is outside of the domain"), "{said}");
}

#[test]
fn cells_whose_coordinates_are_any_text_are_written_as_import_writes_them() {
    let scratch = trips();
    let folder = scratch.path();
    fs::write(folder.join("k.csv"), "station,lanes\nBrücke,1\nTor,2\n").unwrap();
    assert_eq!(tdb_in(folder, &["import", "stations", "k.csv", "--dims", "station"]).code, 0);
    let (_, said) = ran(folder, "UPDATE stations SET lanes = 5 WHERE station = 'Brücke'");
    assert_eq!(said, "1 row updated\n");
    ran(folder, "INSERT INTO stations VALUES ('Höhe', 3)");
    assert_eq!(cells(folder, "stations"), "station,lanes\nBrücke,5\nHöhe,3\nTor,2\n");
}

#[test]
fn an_update_changes_attributes_and_nothing_else() {
    let scratch = trips();
    let folder = scratch.path();
    assert_eq!(tdb_in(folder, &["import", "days", "trips.csv", "--dims", "city,day"]).code, 0);
    assert_eq!(tdb_in(folder, &["import", "rows", "trips.csv", "--dense"]).code, 0);
    let (_, said) = ran(folder, "UPDATE days SET Price = price + 1 WHERE city = 'Oslo'");
    assert_eq!(said, "2 rows updated\n");
    assert_eq!(
        cells(folder, "days"),
        "city,day,price\nOslo,2024-01-01,13.5\nOslo,2024-01-03,10.25\nPisa,2024-01-01,1.0\nRome,2024-01-02,\n"
    );
    let (_, said) = ran(
        folder,
        "UPDATE rows SET price = 5 WHERE price IS NULL; UPDATE rows SET price = 6 WHERE price > 1000",
    );
    assert_eq!(said, "1 row updated\n0 rows updated\n");
    assert!(cells(folder, "rows").contains("1,Rome,2024-01-02,5.0\n"));
    for (sql, part) in [
        ("UPDATE days SET city = 'X'", "SET city: the coordinates of a cell cannot change"),
        ("UPDATE days SET price = 'much'", "cannot be stored in the column price"),
        ("UPDATE days SET cost = 1", "cost"),
    ] {
        let said = failed(folder, sql);
        assert!(said.contains(part), "{sql}: {said}");
    }
    assert_eq!(tdb_in(folder, &["import", "twice", "trips.csv"]).code, 0);
    assert!(failed(folder, "UPDATE twice SET price = 1").contains("allows duplicates"));
}

#[test]
fn a_table_of_the_past_has_its_time_as_a_date() {
    let scratch = trips();
    let folder = scratch.path();
    let import = ["import", "days", "trips.csv", "--dims", "city,day", "--time", "2020-01-01"];
    assert_eq!(tdb_in(folder, &import).code, 0);
    let at = |time: &str| {
        let sql = format!(
            "CREATE EXTERNAL TABLE old STORED AS TILEDB LOCATION 'days' OPTIONS (timestamp '{time}'); SELECT count(*) AS n FROM old"
        );
        tdb_in(folder, &["sql", &sql])
    };
    assert_eq!(at("2020-01-01").out, "n\n4\n");
    assert_eq!(at("2019-12-31T23:59:59").out, "n\n0\n");
    assert_eq!(at("2019-01-01,2020-01-01").out, "n\n4\n");
    assert!(at("yesterday").err.contains("a date such as 2026-11-28T17:02"));
}
