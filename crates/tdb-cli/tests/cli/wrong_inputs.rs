//! Wrong inputs: every answer says what would be right, and has the right exit code. The table
//! below is the record.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Scratch, files, said, tdb, text};

/// A command line, in which `@` is the folder of the inputs; its exit code; and what the answer
/// must contain: what is wrong, and what would be right. 2 is a mistake in what was asked for, 1 is
/// something that is not there or is broken.
type Wrong = (&'static [&'static str], u8, &'static [&'static str]);

const COMMANDS: &[Wrong] = &[
    (&["read", "@/people", "--threads", "0"], 2, &["\"0\" is not a number of threads, which is 1 or more"]),
    (&["reed", "@/people"], 2, &["'reed'", "a similar subcommand exists: 'read'"]),
    (&["imprt", "@/new", "@/people.csv"], 2, &["'imprt'", "exist", "'import'"]),
    (&["read"], 2, &["<ARRAY>"]),
    (&["read", "@/people", "--feilds", "name"], 2, &["a similar argument exists: '--fields'"]),
    (&["info", "@/people", "--jsn"], 2, &["a similar argument exists: '--json'"]),
    (&["read", "@/people", "--format", "jsn"], 2, &["a similar value exists: 'json'"]),
    (&["read", "@/people", "--order", "rwo"], 2, &["row, col, global, unordered"]),
    (&["read", "@/people", "--limit", "ten"], 2, &["\"ten\" is not a whole number, such as 10"]),
    (&["read", "@/people", "--limit", "-1"], 2, &["\"-1\" is not a whole number, such as 10"]),
    (&["read", "@/people", "--memory", "5parsecs"], 2, &["use B, kB, MB, GB, TB, KiB"]),
    (&["import", "@/new", "@/people.csv", "--format", "cvs"], 2, &["csv, tsv, ndjson, json, npy"]),
    (&["import", "@/new", "@/people.csv", "--delimiter", "ab"], 2, &["a single character is needed"]),
    (&["consolidate", "@/people", "--what", "fragmets"], 2, &["a similar value exists: 'fragments'"]),
    (&["consolidate", "@/people", "--ratio", "2"], 2, &["\"2\" is not a number from 0 to 1"]),
    (&["consolidate", "@/people", "--min", "few"], 2, &["\"few\" is not a whole number"]),
    (&["vacuum", "@/people", "--before", "2020-01-01"], 2, &["--orphans"]),
    (&["evolve", "@/people"], 2, &["nothing is to change", "--add, --drop"]),
    (&["completions", "bsh"], 2, &["a similar value exists: 'bash'"]),
    (&["delete", "@/people"], 2, &["--where <CONDITION>"]),
    (&["dump", "@/people.csv", "--kind", "shema"], 2, &["a similar value exists: 'schema'"]),
];

const FIELDS: &[Wrong] = &[
    (&["read", "@/people", "--fields", "nmae"], 2, &["\"nmae\"", "did you mean \"name\"?"]),
    (&["read", "@/people", "--where", "nmae = 'Ann'"], 2, &["column 1", "did you mean \"name\"?", "\n  ^"]),
    (&["read", "@/people", "--where", "name = Ann"], 2, &["strings must be in quotes", "Ann"]),
    (&["read", "@/people", "--where", "height >"], 2, &["column 9", "a value is expected"]),
    (&["read", "@/people", "--where", "id = 1 adn id = 2"], 2, &["\"and\", \"or\" or the end is expected"]),
    (&["read", "@/people", "--where", "height is nul"], 2, &["\"null\", \"nan\" or \"not\" is expected"]),
    (&["read", "@/people", "--where", "id = 1e300"], 2, &["is of type INT64, but 1e300 is not"]),
    (&["read", "@/people", "--range", "idd=1..2"], 2, &["did you mean \"id\"?"]),
    (&["read", "@/people", "--range", "height=1..2"], 2, &["is an attribute: use --where"]),
    (&["read", "@/people", "--range", "id=2..1"], 2, &["2 is after 1"]),
    (&["read", "@/people", "--range", "id=one..two"], 2, &["\"one\" is not an integer"]),
    (&["read", "@/people", "--points", "id=@@/nofile"], 1, &["nofile: No such file"]),
    (&["read", "@/people", "--subarray", "1:2,3:4"], 2, &["2 ranges for 1 dimensions"]),
    (&["read", "@/people", "--aggregate", "summ(height)"], 2, &["count, null_count, sum, min, max or mean"]),
    (&["read", "@/people", "--aggregate", "sum(heigth)"], 2, &["did you mean \"height\"?"]),
    (&["delete", "@/people", "--where", "heigth > 1"], 2, &["did you mean \"height\"?"]),
    (&["evolve", "@/people", "--drop", "heigth"], 1, &["did you mean \"height\"?"]),
    (&["evolve", "@/people", "--add", "wind"], 2, &["NAME=TYPE, such as 'wind=float32'"]),
    (&["evolve", "@/people", "--extend-enum", "colours=red"], 2, &["no enumeration", "the array has none"]),
    (&["evolve", "@/people", "--expand", "idd=1:2"], 2, &["did you mean \"id\"?"]),
    (&["import", "@/new", "@/people.csv", "--dims", "idd"], 2, &["did you mean \"id\"?"]),
    (
        &["import", "@/new", "@/semicolons.csv", "--dims", "id"],
        2,
        &["no column \"id\"", "--delimiter says what is between cells"],
    ),
    (&["import", "@/new", "@/people.csv", "--domain", "id=1..9"], 2, &["--dims id makes it one"]),
    (&["import", "@/new", "@/people.csv", "--dims", "id", "--domain", "idd=1..9"], 2, &["mean \"id\"?"]),
    (&["meta", "@/people", "unist"], 1, &["no metadata key \"unist\"; did you mean \"units\"?"]),
    (&["meta", "rm", "@/people", "unist"], 1, &["did you mean \"units\"?"]),
];

const TYPES_AND_FILTERS: &[Wrong] = &[
    (&["import", "@/new", "@/people.csv", "--types", "id=flot"], 2, &["write FLOAT32 or FLOAT64"]),
    (
        &["import", "@/new", "@/people.csv", "--types", "height=complex"],
        2,
        &["tdb create --help lists datatypes"],
    ),
    (&["import", "@/new", "@/people.csv", "--types", "hight=float32"], 2, &["did you mean \"height\"?"]),
    (&["import", "@/new", "@/people.csv", "--types", "height"], 2, &["NAME=TYPE, such as 'zip=string'"]),
    (&["evolve", "@/people", "--add", "wind:flaot32"], 2, &["did you mean \"FLOAT32\"?"]),
    (&["meta", "set", "@/people", "a", "1", "--type", "intt32"], 2, &["did you mean \"INT32\"?"]),
    (&["copy", "@/people", "@/new", "--filters", "zsdt"], 2, &["did you mean \"zstd\"?"]),
    (&["copy", "@/people", "@/new", "--filters", "snappy"], 2, &["filters are none, gzip, zstd"]),
    (&["copy", "@/people", "@/new", "--filters", "zstd(99)"], 2, &["99, which is out of", "level -7 to 22"]),
    (&["copy", "@/people", "@/new", "--filters", "gzip(12)"], 2, &["12, which is out of", "level 0 to 9"]),
    (&["copy", "@/people", "@/new", "--filters", "heigth=zstd"], 2, &["did you mean \"height\"?"]),
    (&["copy", "@/people", "@/new", "--filters", "zstd(9"], 2, &["a closing parenthesis is missing"]),
    (&["copy", "@/people", "@/new", "--version", "99"], 2, &["this build reads 1 to 23"]),
    (
        &["create", "@/new", "--schema", "@/level.json"],
        2,
        &["attributes[0].filters[0]: ", "99, which is out of range", "level -7 to 22"],
    ),
    (&["create", "@/new", "--schema", "@/window.json"], 2, &["coords_filters[1]", "out of range"]),
];

const DATES: &[Wrong] = &[
    (&["read", "@/people", "--at", "yesterday"], 2, &["a date such as 2020-02-29T12:30"]),
    (&["read", "@/people", "--at", "2020/01/01"], 2, &["a date such as 2020-02-29T12:30"]),
    (&["read", "@/people", "--between", "2021,2020"], 2, &["the window is empty: 2021 is after 2020"]),
    (&["read", "@/people", "--where", "born > '1990-13-01'"], 2, &["a date such as 2020-02-29T12:30"]),
    (&["read", "@/people", "--where", "born > 1990-01-01"], 2, &["dates must be in quotes"]),
    (&["vacuum", "@/people", "--orphans", "--before", "tomorrow"], 2, &["a date such as 2020-02-29T12:30"]),
];

const PLACES: &[Wrong] = &[
    #[cfg(feature = "object-store")]
    (&["info", "@/people", "--store-option", "aws_regoin=eu"], 2, &["did you mean \"aws_region\"?"]),
    (&["read", "@/peopel"], 1, &["peopel: No such file", "did you mean \"@/people\"?"]),
    (&["info", "@/peopel"], 1, &["did you mean \"@/people\"?"]),
    (&["log", "@/peopel"], 1, &["did you mean \"@/people\"?"]),
    (&["read", "@/people.csv"], 1, &["an array is a folder", "tdb import makes an array of a table"]),
    (&["import", "@/people.csv", "@/people.csv"], 1, &["an array is a folder"]),
    (&["read", "@/group"], 1, &["this is a group, not an array; tdb group shows its members"]),
    (&["import", "@/group", "@/people.csv"], 1, &["this is a group, not an array"]),
    (&["group", "@/people"], 1, &["this is an array, not a group; tdb info shows it"]),
    (&["dump", "@/people"], 1, &["tdb info shows an array, tdb dump explains one of its files"]),
    (&["dump", "@/people.cvs"], 1, &["No such file", "did you mean \"@/people.csv\"?"]),
    (&["write", "@/people", "@/group"], 1, &["manifest.json: No such file", "tdb read --format raw"]),
    (&["copy", "@/people", "@/people"], 1, &["--force replaces an array"]),
    (&["read", "s3:/bucket/array"], 1, &["did you mean \"s3://bucket/array\"?"]),
    (&["read", "https//host/array"], 1, &["did you mean \"https://host/array\"?"]),
    #[cfg(feature = "object-store")]
    (&["read", "s4://bucket/array"], 1, &["supported are s3://"]),
    (&["read", "@/people", "--key-file", "@/people.csv"], 1, &["32 raw bytes or 64 hex digits"]),
];

const BROKEN: &[Wrong] = &[
    (&["import", "@/new", "@/quote.csv"], 1, &["quote.csv: line 2: a closing quote is missing"]),
    (&["import", "@/new", "@/wide.csv"], 1, &["wide.csv: line 3: there are 3 cells for 2 columns"]),
    (&["import", "@/new", "@/empty.csv"], 1, &["empty.csv: there is no header"]),
    (&["import", "@/new", "@/latin.csv"], 1, &["latin.csv: line 2: the text is not valid UTF-8 at byte 1"]),
    (&["import", "@/new", "@/cut.ndjson"], 1, &["cut.ndjson: line 2: an object in JSON is expected"]),
    (&["import", "@/new", "@/cut.npy"], 1, &["cut.npy: this is not an NPY file"]),
    (
        &["import", "@/new", "@/people.txt"],
        2,
        &["--format csv, tsv, ndjson, json, npy, parquet, arrow, arrows or zarr is needed"],
    ),
    (
        &["create", "@/new", "--schema", "@/people.csv"],
        1,
        &["this is not JSON", "tdb create --help shows a schema"],
    ),
    (&["create", "@/new", "--schema", "@/list.json"], 1, &["list.json: an object is expected"]),
    (&["create", "@/new", "--schema", "@/key.json"], 1, &["dimensions[0]", "did you mean \"domain\"?"]),
    (&["create", "@/new", "--schema", "@/type.json"], 1, &["dense or sparse"]),
    (&["read", "@/damaged"], 1, &["__schema", "offset"]),
    (&["read", "@/headless"], 1, &["the array has no schema file"]),
];

/// Files as newcomers bring them.
const FILES: &[Wrong] = &[
    (&["import", "@/new", "@/sheet.xlsx"], 2, &["this is a spreadsheet: save each of its sheets as CSV"]),
    (&["import", "@/new", "@/group"], 2, &["this is a folder: a pattern in quotes", "@/group/*.csv"]),
    (&["import", "@/new", "@/t.csv.bz2"], 2, &["unpack it first", "| tdb import ARRAY - --format csv"]),
    (&["import", "@/new", "@/data.h5"], 2, &["tdb.from_numpy", "h5py"]),
    (&["import", "@/new", "@/two.npz"], 2, &["an archive of NPY files: unzip it"]),
    (&["import", "@/new", "@/base.sqlite"], 2, &["this is a database", "CSV or Parquet"]),
    (&["import", "@/new", "@/lines.log"], 2, &["--format csv, tsv", "--delimiter '|'"]),
    (
        &["import", "@/new", "@/sep.csv"],
        1,
        &["line 3: there are 2 cells for 1 column", "--delimiter ';' --skip 1"],
    ),
    (
        &["import", "@/new", "@/twice.csv"],
        1,
        &["two columns are called \"a\"", "--header yes --names 'a,column2,a~2,column4'"],
    ),
    (&["import", "@/new", "@/mac.csv"], 1, &["its lines end with CR alone", "tr '\\r' '\\n'"]),
    (
        &["import", "@/new", "@/note.csv"],
        1,
        &["line 3: there is 1 cell for 2 columns; --comment Total leaves out"],
    ),
    (
        &["import", "@/new", "@/slash.csv"],
        1,
        &["line 2: there is text after a closing quote", "a quote is doubled"],
    ),
];

#[cfg(feature = "sql")]
const SQL: &[Wrong] = &[
    (&["sql", "SELEC * FROM '@/people'"], 2, &["found: SELEC; did you mean SELECT?"]),
    (&["sql", "SELECT * FORM '@/people'"], 2, &["found: FORM; did you mean FROM?"]),
    (&["sql", "SELECT * FROM '@/peopel'"], 1, &["did you mean \"@/people\"?"]),
    (&["sql", "SELECT * FROM '@/people' WHERE name = \"Ann\""], 2, &["If this is a text, write 'Ann'"]),
    (
        &["sql", "SELECT * FROM '@/people' WHERE born > 1990"],
        2,
        &["DATE '2024-12-31'", "extract(year FROM …)"],
    ),
    (&["sql", "SELECT * FROM '@/people' WHERE born = '1/2/1990'"], 2, &["write TIMESTAMP '2013-06-01'"]),
    (
        &["sql", "SELECT name, count(*) FROM '@/people'"],
        2,
        &["neither in GROUP BY", "GROUP BY ALL, or max(name)"],
    ),
    (&["sql", "SELECT year(born) FROM '@/people'"], 2, &["no function year: write extract(year FROM a)"]),
    (&["sql", "SELECT name + 1 FROM '@/people'"], 2, &["there is no text + Int64: CAST(… AS …)"]),
    (&["sql", "SELECT extract(yaer FROM born) FROM '@/people'"], 1, &["did you mean \"year\"?"]),
    (&["sql", "SELECT CAST(name AS INTT) FROM '@/people'"], 1, &["no type INTT; did you mean \"INT\"?"]),
    (&["sql", "SELECT DATE '2024-13-01'"], 1, &["'2024-13-01' is no date: dates are written '2024-12-31'"]),
    (&["sql", "SELECT INTERVAL '1 moth'"], 1, &["write INTERVAL '3 days', with years"]),
    (&["sql", "SELECT max(*) FROM '@/people'"], 1, &["max(*) is not supported: name a column"]),
    (&["sql", "SELECT * FROM '@/people' p JOIN '@/people' q"], 1, &["write the condition, or CROSS JOIN"]),
    (&["sql", "SELECT * FROM tiledb_fragmens('@/people')"], 2, &["did you mean \"tiledb_fragments\"?"]),
    (&["sql", "SELECT * FROM '@/wide.csv'"], 1, &["OPTIONS ('format.delimiter' ';')", "`tdb import`"]),
    (
        &["sql", "INSERT INTO '@/people' VALUES (1)"],
        2,
        &["4 columns (id, name, height, born)", "names those"],
    ),
    (&["sql", "TRUNCATE '@/people'"], 1, &["TRUNCATE is not supported: DELETE FROM … WHERE …"]),
    (&["sql", "ALTER TABLE '@/people' ADD COLUMN x INT"], 1, &["tdb evolve ARRAY --add 'x=int32?'"]),
    (
        &["sql", "CREATE EXTERNAL TABLE p STORED AS TILDB LOCATION '@/people'"],
        1,
        &["the formats are TILEDB, CSV", "did you mean \"TILEDB\"?"],
    ),
    (&["sql", "COPY '@/people' TO '@/people.xlsx'"], 2, &["no format is called .xlsx", ".parquet or .arrow"]),
    (&["sql", "SET colour = 'red'"], 2, &["colour is no setting: SHOW ALL lists them"]),
    (
        &["sql", "SELECT name, (SELECT count(*) FROM '@/people' q WHERE q.id < p.id) FROM '@/people' p"],
        1,
        &["by = only", "a JOIN, or a window function"],
    ),
];

/// The folder of the inputs that the tables name.
fn inputs() -> Scratch {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path().join(name);
    let schema = |dimension: &str, more: &str| {
        format!(
            "{{\"type\": \"sparse\", \"dimensions\": [{{\"name\": \"x\", \"datatype\": \"INT32\", {dimension}}}]{more}}}"
        )
    };
    let table = "id,name,height,born\n1,Ann,1.7,1990-01-02\n2,Bob,1.8,1985-05-06\n";
    let (level, window) = (
        ", \"attributes\": [{\"name\": \"a\", \"datatype\": \"INT32\", \"filters\": [{\"name\": \"zstd\", \"level\": 99}]}]",
        ", \"coords_filters\": [\"zstd\", {\"name\": \"bit-width-reduction\", \"max_window\": 0}]",
    );
    let schemas = [("\"domian\": [0, 9]", ""), ("\"domain\": [0, 9]", level), ("\"domain\": [0, 9]", window)];
    let [key, level, window] = schemas.map(|(dimension, more)| schema(dimension, more));
    let inputs: &[(&str, &[u8])] = &[
        ("people.csv", table.as_bytes()),
        ("people.txt", b"{}"),
        ("semicolons.csv", b"id;name\n1;Ann\n"),
        ("sheet.xlsx", b"PK"),
        ("t.csv.bz2", b"BZh9"),
        ("data.h5", b"\x89HDF"),
        ("two.npz", b"PK"),
        ("base.sqlite", b"SQLite format 3"),
        ("lines.log", b"a b\n"),
        ("sep.csv", b"sep=;\na;b\n1,5;2\n"),
        ("twice.csv", b"a,,a,\n1,2,3,4\n"),
        ("mac.csv", b"a,b\r1,2\r"),
        ("note.csv", b"a,b\n1,2\nTotal: 1 row\n"),
        ("slash.csv", b"a,b\n\"say \\\"x\\\"\",1\n"),
        ("quote.csv", b"a,b\n1,\"x\n2,y\n"),
        ("wide.csv", b"a,b\n1,2\n1,2,3\n"),
        ("empty.csv", b""),
        ("latin.csv", b"a\n\xff\n"),
        ("cut.ndjson", b"{\"a\":1}\n{\"a\":\n"),
        ("cut.npy", b"\x93NUM"),
        ("list.json", b"[]"),
        ("type.json", b"{\"type\": \"dens\", \"dimensions\": []}"),
        ("key.json", key.as_bytes()),
        ("level.json", level.as_bytes()),
        ("window.json", window.as_bytes()),
    ];
    for (name, bytes) in inputs {
        fs::write(at(name), bytes).unwrap();
    }
    for name in ["people", "damaged", "headless"] {
        said(&["import", text(&at(name)), text(&at("people.csv")), "--dims", "id"]);
    }
    said(&["meta", "set", text(&at("people")), "units", "metres"]);
    said(&["group", "create", text(&at("group"))]);
    for (array, damage) in [("damaged", true), ("headless", false)] {
        let schema = files(&at(array).join("__schema")).into_iter().find(|file| is_schema(file)).unwrap();
        if damage {
            fs::write(&schema, &fs::read(&schema).unwrap()[..40]).unwrap();
        } else {
            fs::remove_file(&schema).unwrap();
        }
    }
    scratch
}

fn is_schema(file: &Path) -> bool {
    !text(file).contains("__enumerations")
}

#[test]
fn every_wrong_input_is_answered_with_what_would_be_right() {
    let scratch = inputs();
    let new: PathBuf = scratch.path().join("new");
    let tables = [COMMANDS, FIELDS, TYPES_AND_FILTERS, DATES, PLACES, BROKEN, FILES];
    #[cfg(feature = "sql")]
    let tables = [&tables[..], &[SQL]].concat();
    assert!(tables.iter().map(|table| table.len()).sum::<usize>() >= 100);
    let mut bad = Vec::new();
    for (args, code, parts) in tables.into_iter().flatten() {
        let here = |word: &&str| word.replace("@/", &format!("{}/", text(scratch.path())));
        let given: Vec<String> = args.iter().map(here).collect();
        let outcome = tdb(&given.iter().map(String::as_str).collect::<Vec<_>>());
        let missing: Vec<_> = parts.iter().map(here).filter(|part| !outcome.err.contains(part)).collect();
        // Answers of clap, and those with a caret, have several lines.
        let is_right = outcome.code == *code && outcome.out.is_empty() && outcome.err.starts_with("error: ");
        if !is_right || !missing.is_empty() || new.exists() {
            bad.push(format!(
                "tdb {}: {} lacks {missing:?} in {}",
                args.join(" "),
                outcome.code,
                outcome.err
            ));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
