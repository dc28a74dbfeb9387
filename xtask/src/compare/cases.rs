//! The reads that are timed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One read of one array.
pub(crate) struct Case {
    /// Its name in the table.
    pub(crate) name: &'static str,
    array: &'static str,
    /// The array's dimensions, and the selection in each.
    ranges: Ranges,
    what: What,
    /// Whether cells may have equal coordinates: the order of such cells is not defined.
    ties: bool,
    /// A lower bound for the time of a read.
    pub(crate) limit: Limit,
    /// How often libtiledb runs the case.
    pub(crate) peer_runs: PeerRuns,
    /// Whether it is also run with one thread.
    pub(crate) scales: bool,
}

/// The lower bound that a read is compared with, in addition to libtiledb.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    /// Copying the files from the page cache into fresh memory.
    Files,
    /// Only the codecs, on the same chunks.
    Codec,
}

/// The number of times libtiledb reads a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerRuns {
    AsOurs,
    /// For reads that take it minutes.
    Once,
}

/// The selection in a dimension.
pub(crate) enum Asked {
    All,
    Numbers(i64, i64),
    Text(&'static str, &'static str),
}

impl Asked {
    fn json(&self) -> Value {
        match self {
            Self::All => Value::Null,
            Self::Numbers(low, high) => json!([low, high]),
            Self::Text(low, high) => json!([low, high]),
        }
    }
}

enum What {
    /// Opening and the non-empty domain.
    Open,
    /// These fields, in this order, of the cells for which a condition is true.
    Read(&'static [&'static str], &'static str, Option<&'static Condition>),
    /// Functions, their fields, and the bytes of their results, in the order that libtiledb
    /// expects.
    Aggregate(&'static [(&'static str, Option<&'static str>, usize)], &'static str),
}

/// A condition in the form of tdb, and in the form of the peer: fields, operators, and bytes in
/// hexadecimal.
struct Condition {
    text: &'static str,
    all_of: &'static [(&'static str, &'static str, &'static str)],
}

impl Condition {
    fn tree(&self) -> Value {
        let terms = self.all_of.iter().map(|(field, operator, bytes)| json!([field, operator, bytes]));
        Value::Array(core::iter::once(json!("and")).chain(terms).collect())
    }
}

impl Case {
    /// The path of the array.
    pub(crate) fn folder(&self, data: &Path) -> PathBuf {
        data.join(self.array)
    }

    /// The class of the case: cases of one class mostly run the same code.
    pub(crate) fn class(&self) -> &'static str {
        match &self.what {
            What::Open => "opening",
            What::Aggregate(..) => "aggregates",
            What::Read(_, _, Some(_)) => "conditions",
            What::Read(_, order, None) => match self.array.split('_').next().unwrap_or_default() {
                "fragments" => "many fragments",
                "strings" | "genes" => "strings",
                "dense" if self.name.contains(": all") => "dense, whole",
                "dense" => "dense, a part",
                _ if !self.name.contains(": all") => "sparse, a box",
                _ if *order == UNORDERED => "sparse, whole, unordered",
                _ => "sparse, whole, in order",
            },
        }
    }

    /// The request that both workers understand.
    pub(crate) fn request(&self, data: &Path) -> Value {
        let array = self.folder(data).display().to_string();
        let dimensions: Vec<&str> = self.ranges.iter().map(|(name, _)| *name).collect();
        let ranges: Vec<Value> = self.ranges.iter().map(|(_, asked)| asked.json()).collect();
        match &self.what {
            What::Open => json!({"op": "open", "array": array}),
            What::Read(fields, order, condition) => json!({
                "op": "read", "array": array, "fields": fields, "order": order, "dimensions": dimensions,
                "ranges": ranges, "ties": self.ties, "where": condition.map(|condition| condition.text),
                "condition": condition.map(Condition::tree),
            }),
            What::Aggregate(aggregates, order) => json!({
                "op": "aggregate", "array": array, "aggregates": aggregates, "order": order, "ranges": ranges,
            }),
        }
    }

    /// The request for the case's limit.
    pub(crate) fn limit_request(&self, data: &Path) -> Option<Value> {
        let What::Read(fields, ..) = &self.what else { return None };
        let op = match self.limit {
            Limit::None => return None,
            Limit::Files => "files",
            Limit::Codec => "codec",
        };
        Some(json!({"op": op, "array": self.folder(data).display().to_string(), "fields": fields}))
    }
}

type Ranges = &'static [(&'static str, Asked)];

// libtiledb needs ranges for dense reads, so the ranges of whole arrays are explicit.
const PLANE: Ranges = &[("row", Asked::Numbers(0, 5119)), ("col", Asked::Numbers(0, 5119))];
/// 100 × 100 cells in four tiles, not aligned to tiles.
const WINDOW: Ranges = &[("row", Asked::Numbers(2001, 2100)), ("col", Asked::Numbers(3045, 3144))];
const CELL: Ranges = &[("row", Asked::Numbers(2500, 2500)), ("col", Asked::Numbers(3333, 3333))];
const POINTS: Ranges = &[("x", Asked::All), ("y", Asked::All)];
/// A tenth of the domain in each dimension.
const BOX: Ranges = &[("x", Asked::Numbers(450_123, 550_122)), ("y", Asked::Numbers(450_123, 550_122))];
const SMALL_LINE: Ranges = &[("i", Asked::Numbers(0, 499_999))];
const LINE: Ranges = &[("i", Asked::Numbers(0, 1_999_999))];
const SPARSE_LINE: Ranges = &[("i", Asked::All)];

const ROW: &str = "row-major";
const UNORDERED: &str = "unordered";
const CELLS: &[&str] = &["x", "y", "v"];

const COL: &str = "col-major";
const GLOBAL: &str = "global-order";

const PLANE_1: Ranges = &[("row", Asked::Numbers(0, 1279)), ("col", Asked::Numbers(0, 1279))];
const PLANE_4: Ranges = &[("row", Asked::Numbers(0, 2559)), ("col", Asked::Numbers(0, 2559))];
const GENES: Ranges = &[("gene", Asked::All), ("i", Asked::All)];
const GENE: Ranges = &[("gene", Asked::Text("ENSG00007919000", "ENSG00007919000")), ("i", Asked::All)];
const MANY_LINE: Ranges = &[("i", Asked::Numbers(0, 499_999))];

const DENSE_TOTALS: &[(&str, Option<&str>, usize)] =
    &[("count", None, 8), ("sum", Some("a"), 8), ("min", Some("a"), 4), ("max", Some("a"), 4)];
const TOTALS: &[(&str, Option<&str>, usize)] =
    &[("count", None, 8), ("sum", Some("k"), 8), ("min", Some("v"), 8), ("max", Some("v"), 8)];

const fn read(
    name: &'static str,
    array: &'static str,
    ranges: Ranges,
    fields: &'static [&'static str],
    order: &'static str,
) -> Case {
    Case {
        name,
        array,
        ranges,
        what: What::Read(fields, order, None),
        ties: false,
        limit: Limit::None,
        peer_runs: PeerRuns::AsOurs,
        scales: false,
    }
}

const fn open(name: &'static str, array: &'static str) -> Case {
    Case { what: What::Open, ..read(name, array, SMALL_LINE, &[], ROW) }
}

const fn plane(name: &'static str, array: &'static str, ranges: Ranges) -> Case {
    read(name, array, ranges, &["a"], ROW)
}

const fn points(name: &'static str, array: &'static str, ranges: Ranges, order: &'static str) -> Case {
    read(name, array, ranges, CELLS, order)
}

const fn aggregate(
    name: &'static str,
    array: &'static str,
    ranges: Ranges,
    aggregates: &'static [(&'static str, Option<&'static str>, usize)],
    order: &'static str,
) -> Case {
    Case { what: What::Aggregate(aggregates, order), ..read(name, array, ranges, &[], order) }
}

/// About one of 3,300 cells.
const RARE: Condition = Condition {
    text: "k == 7 and v > 0.7",
    all_of: &[("k", "==", "07000000"), ("v", ">", "666666666666e63f")],
};

const fn measured(name: &'static str, array: &'static str) -> Case {
    let fields = &["x", "y", "k", "v", "w"];
    Case { what: What::Read(fields, UNORDERED, Some(&RARE)), ..read(name, array, POINTS, fields, UNORDERED) }
}

/// With the time of the codecs alone.
const fn coded(case: Case) -> Case {
    Case { limit: Limit::Codec, ..case }
}

/// Also with one thread.
const fn scaling(case: Case) -> Case {
    Case { scales: true, ..case }
}

/// All cases, in the table's order.
pub(crate) const CASES: &[Case] = &[
    Case { limit: Limit::Files, ..scaling(plane("dense f64, no filter: all", "dense_none", PLANE)) },
    scaling(coded(plane("dense f64, zstd: all", "dense_zstd", PLANE))),
    coded(plane("dense f64, zstd: all, a quarter", "dense_4", PLANE_4)),
    coded(plane("dense f64, zstd: all, a sixteenth", "dense_1", PLANE_1)),
    coded(plane("dense f64, lz4: all", "dense_lz4", PLANE)),
    coded(plane("dense f64, gzip: all", "dense_gzip", PLANE)),
    coded(plane("dense i32, byteshuffle + zstd: all", "dense_i32", PLANE)),
    plane("dense f64, no filter: window", "dense_none", WINDOW),
    plane("dense f64, zstd: window", "dense_zstd", WINDOW),
    plane("dense f64, lz4: window", "dense_lz4", WINDOW),
    plane("dense f64, gzip: window", "dense_gzip", WINDOW),
    plane("dense i32, byteshuffle + zstd: window", "dense_i32", WINDOW),
    plane("dense f64, no filter: one cell", "dense_none", CELL),
    plane("dense f64, zstd: one cell", "dense_zstd", CELL),
    plane("dense f64, lz4: one cell", "dense_lz4", CELL),
    plane("dense f64, gzip: one cell", "dense_gzip", CELL),
    plane("dense i32, byteshuffle + zstd: one cell", "dense_i32", CELL),
    coded(points("points: all, unordered", "points", POINTS, UNORDERED)),
    scaling(points("points: all, row-major", "points", POINTS, ROW)),
    points("points: box of 1 %", "points", BOX, UNORDERED),
    scaling(coded(points("points, duplicates: all, unordered", "points_dups", POINTS, UNORDERED))),
    Case { ties: true, ..points("points, duplicates: all, row-major", "points_dups", POINTS, ROW) },
    points("points, duplicates: box of 1 %", "points_dups", BOX, UNORDERED),
    points("4 M cells in 8 fragments: all, global order", "scaled_16", POINTS, GLOBAL),
    points("4 M cells in 8 fragments, a quarter: all, global order", "scaled_4", POINTS, GLOBAL),
    points("4 M cells in 8 fragments, a sixteenth: all, global order", "scaled_1", POINTS, GLOBAL),
    coded(points("8 M cells, duplicates: all, unordered", "merged_dups", POINTS, UNORDERED)),
    points("8 M cells: all, unordered", "merged", POINTS, UNORDERED),
    Case { peer_runs: PeerRuns::Once, ..points("8 M cells: all, global order", "merged", POINTS, GLOBAL) },
    Case { peer_runs: PeerRuns::Once, ..points("8 M cells: all, column-major", "merged", POINTS, COL) },
    read("string dimension: one value of 2,000", "genes", GENE, &["gene", "i", "v"], UNORDERED),
    read("string dimension: all, unordered", "genes", GENES, &["gene", "i", "v"], UNORDERED),
    read("string dimension: all, global order", "genes", GENES, &["gene", "i", "v"], GLOBAL),
    measured("condition on two attributes, 0.03 %, duplicates", "measures_dups"),
    measured("condition on two attributes, 0.03 %", "measures"),
    aggregate("count, sum, min, max: dense", "dense_i32", PLANE, DENSE_TOTALS, ROW),
    aggregate("count, sum, min, max: sparse, duplicates", "measures_dups", POINTS, TOTALS, UNORDERED),
    aggregate("count, sum, min, max: sparse", "measures", POINTS, TOTALS, UNORDERED),
    aggregate("count, sum, min, max: sparse, box of 1 %", "measures_dups", BOX, TOTALS, UNORDERED),
    open("500 fragments: open", "fragments"),
    read("500 fragments: all", "fragments", SMALL_LINE, &["a"], ROW),
    open("5,000 fragments: open", "fragments_5000"),
    read("5,000 fragments: all", "fragments_5000", MANY_LINE, &["a"], ROW),
    open("5,000 fragments, consolidated metadata: open", "fragments_5000_meta"),
    read("5,000 fragments, consolidated metadata: all", "fragments_5000_meta", MANY_LINE, &["a"], ROW),
    coded(read("strings, dense: all", "strings_dense", LINE, &["s"], ROW)),
    coded(read("strings, sparse: all, unordered", "strings_sparse", SPARSE_LINE, &["i", "s"], UNORDERED)),
    read("strings, sparse: all, row-major", "strings_sparse", SPARSE_LINE, &["i", "s"], ROW),
];
