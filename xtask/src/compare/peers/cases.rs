//! What is asked of all sides, and which side can answer it.

use std::path::Path;

use serde_json::{Value, json};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Tdb,
    Libtiledb,
    /// zarrs, on chunks of the size of tiles.
    Zarrs,
    /// zarrs, on shards of the size of tiles with small chunks.
    Shards,
    /// The parquet crate.
    Parquet,
    Polars,
    DuckDb,
}

impl Side {
    /// All, in the order of the columns.
    pub(super) const ALL: [Self; 7] =
        [Self::Tdb, Self::Libtiledb, Self::Zarrs, Self::Shards, Self::Parquet, Self::Polars, Self::DuckDb];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tdb => "tdb",
            Self::Libtiledb => "libtiledb",
            Self::Zarrs => "zarrs",
            Self::Shards => "zarrs, shards",
            Self::Parquet => "parquet crate",
            Self::Polars => "Polars",
            Self::DuckDb => "DuckDB",
        }
    }

    /// Whether it reads files of Parquet.
    pub(super) const fn reads_parquet(self) -> bool {
        matches!(self, Self::Parquet | Self::Polars | Self::DuckDb)
    }
}

/// A table of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Dense,
    Sparse,
    Strings,
    Writes,
}

impl Group {
    pub(super) const ALL: [Self; 4] = [Self::Dense, Self::Sparse, Self::Strings, Self::Writes];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
            Self::Strings => "strings",
            Self::Writes => "writes",
        }
    }
}

/// One test of a condition: field, operator and value.
pub(super) struct Term {
    field: &'static str,
    test: Test,
}

enum Test {
    Equal(i32),
    Above(f64),
    Is(&'static str),
    /// Text from the first up to, but without, the second, which is the next text that does not
    /// begin so.
    Begins(&'static str, &'static str),
}

impl Term {
    /// As conditions of tdb are written.
    fn text(&self) -> String {
        let field = self.field;
        match self.test {
            Test::Equal(value) => format!("{field} == {value}"),
            Test::Above(value) => format!("{field} > {value}"),
            Test::Is(value) => format!("{field} == \"{value}\""),
            Test::Begins(low, high) => format!("{field} >= \"{low}\" and {field} < \"{high}\""),
        }
    }

    fn sql(&self) -> String {
        let field = self.field;
        match self.test {
            Test::Equal(value) => format!("{field} = {value}"),
            Test::Above(value) => format!("{field} > {value}"),
            Test::Is(value) => format!("{field} = '{value}'"),
            Test::Begins(low, _) => format!("{field} LIKE '{low}%'"),
        }
    }

    fn json(&self) -> Value {
        match self.test {
            Test::Equal(value) => json!([self.field, "==", value]),
            Test::Above(value) => json!([self.field, ">", value]),
            Test::Is(value) => json!([self.field, "==", value]),
            Test::Begins(low, _) => json!([self.field, "prefix", low]),
        }
    }

    /// In the form of libtiledb's API: operators and bytes in hexadecimal.
    fn tree(&self) -> Vec<Value> {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let one = |operator: &str, bytes: &[u8]| json!([self.field, operator, hex(bytes)]);
        match self.test {
            Test::Equal(value) => vec![one("==", &value.to_le_bytes())],
            Test::Above(value) => vec![one(">", &value.to_le_bytes())],
            Test::Is(value) => vec![one("==", value.as_bytes())],
            Test::Begins(low, high) => vec![one(">=", low.as_bytes()), one("<", high.as_bytes())],
        }
    }
}

/// What is asked.
pub(super) enum What {
    /// These cells.
    Cells { points: bool, terms: &'static [Term] },
    /// Count, a sum, the least and the greatest value.
    Totals,
    /// Count and the greatest value for each of a thousand numbers.
    Groups,
    /// Each string once.
    Distinct,
    /// All cells, from memory, in so many parts.
    Write { pieces: u64 },
}

/// A case.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) group: Group,
    /// The array; for a write, what is written.
    pub(super) array: String,
    /// The folder of files of Parquet with the same cells.
    pub(super) parquet: String,
    /// The name that `xtask/peer/peers_limit.py` has for arrays of this kind.
    kind: &'static str,
    fields: &'static [&'static str],
    dimensions: &'static [&'static str],
    ranges: Vec<Value>,
    pub(super) what: What,
}

/// Side of the square of the dense arrays; of a small run, a quarter of it.
pub(super) const SIDE: i64 = 5120;
pub(super) const SMALL_SIDE: i64 = 1280;

const DENSE: [(&str, &str); 5] = [
    ("no filter", "dense_none"),
    ("zstd", "dense_zstd"),
    ("lz4", "dense_lz4"),
    ("gzip", "dense_gzip"),
    ("i32, byteshuffle + zstd", "dense_i32"),
];

/// About one of 3,300 cells.
const RARE: &[Term] =
    &[Term { field: "k", test: Test::Equal(7) }, Term { field: "v", test: Test::Above(0.7) }];
const ONE: &[Term] = &[Term { field: "s", test: Test::Is("katomifa") }];
const BEGIN: &[Term] = &[Term { field: "s", test: Test::Begins("kato", "katp") }];

/// All cases.
pub(super) fn all(small: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, array) in DENSE {
        cases.extend(dense(name, array, if small { SMALL_SIDE } else { SIDE }));
    }
    for fragments in [1, 4, 500] {
        for duplicates in [true, false] {
            cases.extend(sparse(fragments, duplicates));
        }
    }
    cases.extend(strings());
    cases.extend(writes());
    cases
}

fn dense(filters: &str, array: &'static str, side: i64) -> Vec<Case> {
    let end = side - 1;
    let middle = side * 2 / 5;
    let parts = [
        ("whole", [0, end], [0, end]),
        // 100 × 100 cells in four tiles of large arrays, not aligned to tiles.
        ("window", [middle, middle + 99], [middle + 1000 - 100, middle + 1000 - 1]),
        ("one column", [0, end], [middle + 7, middle + 7]),
        ("one cell", [middle + 7, middle + 7], [middle + 9, middle + 9]),
    ];
    let case = |(part, rows, columns): (&str, [i64; 2], [i64; 2])| Case {
        name: format!("dense, {filters}: {part}"),
        group: Group::Dense,
        array: array.into(),
        parquet: String::new(),
        kind: array,
        fields: &["a"],
        dimensions: &["row", "col"],
        ranges: vec![json!(rows), json!(columns.map(|column| column.min(end)))],
        what: What::Cells { points: false, terms: &[] },
    };
    parts.map(case).into()
}

fn sparse(fragments: u32, duplicates: bool) -> Vec<Case> {
    let (suffix, dups) = if duplicates { ("_dups", ", duplicates") } else { ("", "") };
    let s = if fragments == 1 { "" } else { "s" };
    let none = || vec![Value::Null, Value::Null];
    // A tenth of the domain in each dimension.
    let box_ = || vec![json!([450_123, 550_122]), json!([450_123, 550_122])];
    let cells = |points, terms| What::Cells { points, terms };
    let parts = [
        ("whole", none(), cells(false, &[])),
        ("box of 1 %", box_(), cells(false, &[])),
        ("condition of 0.03 %", none(), cells(false, RARE)),
        ("100 points", none(), cells(true, &[])),
        ("totals", none(), What::Totals),
        ("totals of the box", box_(), What::Totals),
        ("group by", none(), What::Groups),
    ];
    let case = |(part, ranges, what)| Case {
        name: format!("{fragments} fragment{s}{dups}: {part}"),
        group: Group::Sparse,
        array: format!("cells_{fragments}{suffix}"),
        parquet: format!("cells_{fragments}"),
        kind: "cells",
        fields: &["x", "y", "k", "v", "w"],
        dimensions: &["x", "y"],
        ranges,
        what,
    };
    parts.map(case).into()
}

fn strings() -> Vec<Case> {
    let cells = |terms| What::Cells { points: false, terms };
    let mut cases = Vec::new();
    for (name, array) in [("words, zstd", "words"), ("words, dictionary + zstd", "words_coded")] {
        let parts = [
            ("whole", cells(&[])),
            ("one value", cells(ONE)),
            ("prefix", cells(BEGIN)),
            ("distinct", What::Distinct),
        ];
        cases.extend(parts.map(|(part, what)| Case {
            name: format!("{name}: {part}"),
            group: Group::Strings,
            array: array.into(),
            parquet: "words".into(),
            kind: array,
            fields: &["i", "s"],
            dimensions: &["i"],
            ranges: vec![Value::Null],
            what,
        }));
    }
    let parts = [
        ("whole", Value::Null),
        ("one value of 2,000", json!(["ENSG00007919000", "ENSG00007919000"])),
        ("12 values", json!(["ENSG00007900000", "ENSG00007999999"])),
    ];
    cases.extend(parts.map(|(part, range)| Case {
        name: format!("string dimension, RLE: {part}"),
        group: Group::Strings,
        array: "genes".into(),
        parquet: "genes".into(),
        kind: "genes",
        fields: &["gene", "i", "v"],
        dimensions: &["gene", "i"],
        ranges: vec![range, Value::Null],
        what: cells(&[]),
    }));
    cases
}

fn writes() -> Vec<Case> {
    let parts = [
        ("dense f64, zstd", "plane", 1),
        ("cells in no order", "cells", 1),
        ("words in no order", "words", 1),
        ("100 appends of 1,000 integers", "append", 100),
    ];
    let case = |(name, array, pieces): (&str, &str, u64)| Case {
        name: format!("write: {name}"),
        group: Group::Writes,
        array: array.into(),
        parquet: String::new(),
        kind: "",
        fields: &[],
        dimensions: &[],
        ranges: Vec::new(),
        what: What::Write { pieces },
    };
    parts.map(case).into()
}

impl Case {
    /// Whether a side has an answer.
    pub(super) fn has(&self, side: Side) -> bool {
        match (&self.what, side) {
            (What::Write { .. }, Side::Zarrs) => matches!(self.array.as_str(), "plane" | "append"),
            (What::Write { .. }, Side::Shards) => false,
            (What::Write { .. }, side) if side.reads_parquet() => self.array != "plane",
            (What::Write { .. }, _) => true,
            (What::Cells { .. }, Side::Tdb | Side::Libtiledb) => true,
            (What::Cells { .. }, Side::Zarrs | Side::Shards) => self.group == Group::Dense,
            (What::Cells { .. }, _) => self.group != Group::Dense,
            (What::Totals, side) => !matches!(side, Side::Zarrs | Side::Shards | Side::Parquet),
            (What::Groups | What::Distinct, side) => matches!(side, Side::Tdb | Side::Polars | Side::DuckDb),
        }
    }

    /// Whether tdb's answer comes from its crate for SQL.
    pub(super) const fn needs_sql(&self) -> bool {
        matches!(self.what, What::Groups | What::Distinct)
    }

    /// The request of a read, which all sides understand. `points` are the places of
    /// [`What::Cells`].
    pub(super) fn request(&self, side: Side, data: &Path, points: &Value) -> Value {
        let path = |folder: &str, name: &str| data.join(folder).join(name).display().to_string();
        let dense = self.group == Group::Dense;
        let op = match (&self.what, side) {
            (What::Totals, _) => "aggregate",
            (What::Groups | What::Distinct, Side::Tdb) => "sql",
            (What::Groups, _) => "group",
            (What::Distinct, _) => "distinct",
            (_, Side::Zarrs | Side::Shards) => "zarr",
            // Cells of dense arrays have an order, which record batches do not check.
            (_, Side::Tdb) if !dense => "arrow",
            (_, Side::Tdb | Side::Libtiledb) => "read",
            _ => "arrow",
        };
        let (points, terms) = match &self.what {
            What::Cells { points: wanted, terms } => {
                (if *wanted { points.clone() } else { Value::Null }, *terms)
            }
            _ => (Value::Null, &[][..]),
        };
        let joined = |parts: Vec<String>, with: &str| {
            if parts.is_empty() { Value::Null } else { parts.join(with).into() }
        };
        let tree: Vec<Value> = terms.iter().flat_map(Term::tree).collect();
        let tree =
            if tree.is_empty() { Value::Null } else { std::iter::once(json!("and")).chain(tree).collect() };
        let zarr = if side == Side::Shards { "zarr_shards" } else { "zarr" };
        json!({
            "op": op,
            "array": path("tiledb", &self.array),
            "parquet": path("parquet", &self.parquet),
            "zarr": path(zarr, &self.array),
            "type": if self.array == "dense_i32" { "int32" } else { "float64" },
            "fields": self.fields,
            "dimensions": self.dimensions,
            "ranges": self.ranges,
            "order": if dense { "row-major" } else { "unordered" },
            "ties": false,
            "points": points,
            "where": joined(terms.iter().map(Term::text).collect(), " and "),
            "sql": joined(terms.iter().map(Term::sql).collect(), " AND "),
            "terms": terms.iter().map(Term::json).collect::<Vec<_>>(),
            "condition": tree,
            "aggregates": [["count", null, 8], ["sum", "k", 8], ["min", "v", 8], ["max", "v", 8]],
            "query": match self.what {
                What::Groups => "SELECT k, count(*), max(v) FROM a GROUP BY k",
                _ => "SELECT DISTINCT s FROM a",
            },
        })
    }

    /// What `xtask/peer/peers_limit.py` needs to list the chunks of the case; `None` if the case
    /// has no limit.
    pub(super) fn limit(&self, data: &Path, points: &Value, small: bool) -> Option<Value> {
        let answer = match self.what {
            What::Cells { .. } => "cells",
            What::Totals => "totals",
            What::Groups => "groups",
            What::Distinct => "distinct",
            What::Write { .. } => return None,
        };
        let mut request = self.request(Side::Tdb, data, points);
        let file: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let out = data.join("limits").join(format!("{file}.json"));
        let more = [
            ("out", json!(out.display().to_string())),
            ("kind", self.kind.into()),
            ("answer", answer.into()),
            // The lines and the genes were written once.
            ("duplicates", (self.kind != "cells" || self.array.ends_with("_dups")).into()),
            ("side", if small { SMALL_SIDE } else { SIDE }.into()),
        ];
        request.as_object_mut()?.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_answered_by_tdb_and_by_someone_else() {
        for case in all(false) {
            let sides = Side::ALL.iter().filter(|side| case.has(**side)).count();
            assert!(case.has(Side::Tdb) && sides > 1, "{}", case.name);
        }
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<String> = all(false).into_iter().map(|case| case.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_condition_says_the_same_to_all_sides() {
        let case = sparse(4, false).swap_remove(2);
        let request = case.request(Side::Polars, Path::new("d"), &Value::Null);
        assert_eq!(request["where"], "k == 7 and v > 0.7");
        assert_eq!(request["sql"], "k = 7 AND v > 0.7");
        assert_eq!(request["terms"], json!([["k", "==", 7], ["v", ">", 0.7]]));
        assert_eq!(
            request["condition"],
            json!(["and", ["k", "==", "07000000"], ["v", ">", "666666666666e63f"]])
        );
    }
}
