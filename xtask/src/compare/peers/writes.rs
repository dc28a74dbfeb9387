//! Writes: all sides put the same cells, which are in memory, into new arrays or files in memory
//! (tmpfs).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ONCE;
use super::cases::{Case, Side};
use super::sides::{self, Sides};
use super::tables::Row;
use crate::compare::filters::size_of_folder;
use crate::compare::writes::integers;
use crate::peer::scratch;

/// What is written: fields and types of the columns, the schema, the box of a dense array, and the
/// order of tiles for files.
struct Cells {
    columns: &'static [(&'static str, &'static str)],
    schema: Value,
    bounds: Value,
    order: Value,
    /// The fields by which the answers are compared.
    compared: &'static [&'static str],
}

/// The cells of a case; `len` is the side of the square.
fn cells(array: &str, len: i64) -> Result<Cells, String> {
    let zstd = || json!([{"type": "zstd", "level": 3}]);
    let shuffled = || json!([{"type": "byteshuffle"}, {"type": "zstd", "level": 3}]);
    let attribute = |name: &str, kind: &str| json!({"name": name, "type": kind, "filters": zstd()});
    let schema = |kind: &str, dimensions: Vec<Value>, attributes: Vec<Value>| {
        json!({
            "array_type": kind, "dimensions": dimensions, "attributes": attributes, "coords_filters": [],
            "offsets_filters": shuffled(), "capacity": 50_000,
        })
    };
    Ok(match array {
        "plane" => Cells {
            columns: &[("a", "f8")],
            schema: schema(
                "dense",
                ["row", "col"].map(|name| integers(name, (0, len - 1), 512, json!([]))).into(),
                vec![attribute("a", "FLOAT64")],
            ),
            bounds: json!([[0, len - 1], [0, len - 1]]),
            order: json!([]),
            compared: &["a"],
        },
        "cells" => Cells {
            columns: &[("x", "i8"), ("y", "i8"), ("k", "i4"), ("v", "f8"), ("w", "f8")],
            schema: schema(
                "sparse",
                ["x", "y"].map(|name| integers(name, (0, 999_999), 100_000, shuffled())).into(),
                [("k", "INT32"), ("v", "FLOAT64"), ("w", "FLOAT64")]
                    .map(|(name, kind)| attribute(name, kind))
                    .into(),
            ),
            bounds: Value::Null,
            order: json!([["x", 100_000], ["y", 100_000]]),
            compared: &["x", "y", "k", "v", "w"],
        },
        "words" => {
            let mut text = attribute("s", "STRING_UTF8");
            if let Some(text) = text.as_object_mut() {
                text.insert("cell_val_num".into(), "var".into());
            }
            let dimension = integers("i", (0, 1_999_999), 50_000, shuffled());
            Cells {
                columns: &[("i", "i8"), ("s", "u1")],
                schema: schema("sparse", vec![dimension], vec![text]),
                bounds: Value::Null,
                order: json!([["i", null]]),
                compared: &["i", "s"],
            }
        }
        "append" => Cells {
            columns: &[("a", "i4")],
            schema: schema(
                "dense",
                vec![integers("i", (0, 99_999), 1000, json!([]))],
                vec![attribute("a", "INT32")],
            ),
            bounds: json!([[0, 99_999]]),
            order: json!([]),
            compared: &["a"],
        },
        other => return Err(format!("nothing is known of {other}")),
    })
}

/// Removes a folder when it is dropped.
struct Cleared(PathBuf);

impl Drop for Cleared {
    fn drop(&mut self) {
        // The folder is in memory and of this process: if it cannot be removed, the next start of
        // the machine does.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has all sides write a case, once to compare what was written, then in turns.
pub(super) fn measure(
    case: &Case,
    pieces: u64,
    data: &Path,
    rounds: usize,
    sides: &mut Sides,
) -> Result<Row, String> {
    let folder = Cleared(scratch("compare-peers"));
    fs::create_dir_all(&folder.0).map_err(|error| format!("{}: {error}", folder.0.display()))?;
    let raw = data.join("raw").join(&case.array);
    let file = raw.join("a");
    let bytes = fs::metadata(&file).map_or(0, |file| file.len());
    let len = (0..20_000i64).find(|len| u64::try_from(len * len * 8) == Ok(bytes)).unwrap_or(0);
    let cells = cells(&case.array, len)?;
    let columns: Vec<Value> = cells.columns.iter().map(|(name, kind)| column(&raw, name, kind)).collect();
    let load = json!({"op": "load", "columns": columns, "pieces": pieces});
    let (mut row, mut requests) = (Row::new(&case.name, case.group), Vec::new());
    let mut ours = None;
    for side in Side::ALL.into_iter().filter(|side| case.has(*side)) {
        let path = folder.0.join(side.name().replace(' ', "_"));
        let request = request(case, side, &cells, pieces, &path, &raw);
        if side != Side::Zarrs {
            sides.ask(side, case, &load)?;
        }
        let first = sides.ask(side, case, &request)?.seconds;
        row.stored.push((side, size_of_folder(&path)));
        let found = read_back(case, side, &cells, &path, sides)?;
        row.cells = found.0;
        match &ours {
            None => ours = Some(found),
            Some(ours) if *ours != found => {
                row.wrong = Some(format!("{} wrote {found:?}, tdb {ours:?}", side.name()));
            }
            Some(_) => {}
        }
        requests.push((side, request, first));
    }
    for _ in 0..rounds {
        for (side, request, _) in requests.iter().filter(|(_, _, first)| *first < ONCE * 2.0) {
            row.sample(*side).add(sides.ask(*side, case, request)?.seconds, None);
        }
    }
    for (side, _, first) in requests.into_iter().filter(|(_, _, first)| *first >= ONCE * 2.0) {
        row.sample(side).add(first, None);
    }
    Ok(row)
}

fn column(raw: &Path, name: &str, kind: &str) -> Value {
    let offsets = raw.join(format!("{name}.offsets"));
    let offsets = offsets.exists().then(|| offsets.display().to_string());
    json!({"name": name, "type": kind, "data": raw.join(name).display().to_string(), "offsets": offsets})
}

fn request(case: &Case, side: Side, cells: &Cells, pieces: u64, path: &Path, raw: &Path) -> Value {
    if side == Side::Zarrs {
        let mut request = sides::make(path, &raw.join("a"), "zstd", side, false);
        if let (Some(request), "append") = (request.as_object_mut(), case.array.as_str()) {
            request.insert("type".into(), "int32".into());
            request.insert("shape".into(), json!([100_000]));
            request.insert("chunks".into(), json!([1000]));
        } else if let (Some(request), Some(ends)) = (request.as_object_mut(), cells.bounds.get(0)) {
            let len = ends.get(1).and_then(Value::as_i64).unwrap_or(0) + 1;
            request.insert("shape".into(), json!([len, len]));
        }
        if let Some(request) = request.as_object_mut() {
            request.insert("pieces".into(), pieces.into());
        }
        return request;
    }
    let path = path.display().to_string();
    json!({
        "op": "write", "array": path, "parquet": path, "schema": cells.schema, "box": cells.bounds, "pieces": pieces,
        "kept_open": false, "synced": false, "order": cells.order,
    })
}

/// How many cells a side wrote, and their digest: what libtiledb wrote, tdb reads.
fn read_back(
    case: &Case,
    side: Side,
    cells: &Cells,
    path: &Path,
    sides: &mut Sides,
) -> Result<(u64, String), String> {
    let path = path.display().to_string();
    let ranges = cells.bounds.as_array().cloned().unwrap_or_default();
    let dimensions: &[&str] = if ranges.len() == 2 { &["row", "col"] } else { &["i"] };
    let request = json!({
        "op": if side == Side::Zarrs { "zarr" } else { "arrow" }, "array": path, "parquet": path, "zarr": path,
        "fields": cells.compared, "order": if ranges.is_empty() { "unordered" } else { "row-major" },
        "dimensions": if ranges.is_empty() || side.reads_parquet() { &[] } else { dimensions },
        "ranges": if side.reads_parquet() { Vec::new() } else { ranges }, "ordered": false,
        "type": if case.array == "append" { "int32" } else { "float64" },
    });
    let reader = if side == Side::Libtiledb { Side::Tdb } else { side };
    Ok((sides.ask(reader, case, &request)?.cells, sides.hash(reader, case)?))
}
