//! What is read.

use std::path::Path;

use serde_json::{Value, json};

/// One read of one array.
pub(crate) struct Case {
    /// How the table calls it.
    pub(crate) name: &'static str,
    array: &'static str,
    /// The array's dimensions, and what is asked of each.
    ranges: &'static [(&'static str, Option<(i64, i64)>)],
    what: What,
    /// Whether cells may share coordinates: no order is defined among those that do.
    ties: bool,
}

enum What {
    /// Opening and the non-empty domain.
    Open,
    /// These fields, in this order.
    Read(&'static [&'static str], &'static str),
}

impl Case {
    /// The request that both workers understand.
    pub(crate) fn request(&self, data: &Path) -> Value {
        let array = data.join(self.array).display().to_string();
        let What::Read(fields, order) = &self.what else { return json!({"op": "open", "array": array}) };
        let dimensions: Vec<&str> = self.ranges.iter().map(|(name, _)| *name).collect();
        let ranges: Vec<Value> = self.ranges.iter().map(|(_, range)| json!(range)).collect();
        json!({
            "op": "read", "array": array, "fields": fields, "order": order, "dimensions": dimensions, "ranges": ranges,
            "ties": self.ties,
        })
    }
}

type Ranges = &'static [(&'static str, Option<(i64, i64)>)];

// libtiledb wants ranges for dense reads, so whole arrays are spelt out.
const PLANE: Ranges = &[("row", Some((0, 5119))), ("col", Some((0, 5119)))];
/// 100 × 100 cells in four tiles, aligned to nothing.
const WINDOW: Ranges = &[("row", Some((2001, 2100))), ("col", Some((3045, 3144)))];
const CELL: Ranges = &[("row", Some((2500, 2500))), ("col", Some((3333, 3333)))];
const POINTS: Ranges = &[("x", None), ("y", None)];
/// A tenth of the domain each way.
const BOX: Ranges = &[("x", Some((450_123, 550_122))), ("y", Some((450_123, 550_122)))];
const SMALL_LINE: Ranges = &[("i", Some((0, 499_999)))];
const LINE: Ranges = &[("i", Some((0, 1_999_999)))];
const SPARSE_LINE: Ranges = &[("i", None)];

const ROW: &str = "row-major";
const UNORDERED: &str = "unordered";
const CELLS: &[&str] = &["x", "y", "v"];

const fn plane(name: &'static str, array: &'static str, ranges: Ranges) -> Case {
    Case { name, array, ranges, what: What::Read(&["a"], ROW), ties: false }
}

const fn points(name: &'static str, array: &'static str, ranges: Ranges, order: &'static str) -> Case {
    Case { name, array, ranges, what: What::Read(CELLS, order), ties: false }
}

const fn line(
    name: &'static str,
    array: &'static str,
    ranges: Ranges,
    fields: &'static [&'static str],
    order: &'static str,
) -> Case {
    Case { name, array, ranges, what: What::Read(fields, order), ties: false }
}

/// All cases, in the table's order.
pub(crate) const CASES: [Case; 26] = [
    plane("dense f64, no filter: all", "dense_none", PLANE),
    plane("dense f64, zstd: all", "dense_zstd", PLANE),
    plane("dense f64, lz4: all", "dense_lz4", PLANE),
    plane("dense f64, gzip: all", "dense_gzip", PLANE),
    plane("dense i32, byteshuffle + zstd: all", "dense_i32", PLANE),
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
    points("points: all, unordered", "points", POINTS, UNORDERED),
    points("points: all, row-major", "points", POINTS, ROW),
    points("points: box of 1 %", "points", BOX, UNORDERED),
    points("points, duplicates: all, unordered", "points_dups", POINTS, UNORDERED),
    Case { ties: true, ..points("points, duplicates: all, row-major", "points_dups", POINTS, ROW) },
    points("points, duplicates: box of 1 %", "points_dups", BOX, UNORDERED),
    Case {
        name: "500 fragments: open",
        array: "fragments",
        ranges: SMALL_LINE,
        what: What::Open,
        ties: false,
    },
    line("500 fragments: all", "fragments", SMALL_LINE, &["a"], ROW),
    line("strings, dense: all", "strings_dense", LINE, &["s"], ROW),
    line("strings, sparse: all, unordered", "strings_sparse", SPARSE_LINE, &["i", "s"], UNORDERED),
    line("strings, sparse: all, row-major", "strings_sparse", SPARSE_LINE, &["i", "s"], ROW),
];
