//! The arrays of `cargo xtask compare growth`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Arrays that differ in the number of one thing.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) lines: Vec<Line>,
}

/// An array.
pub(super) struct Line {
    /// How many there are of what grows.
    pub(super) count: u32,
    kind: Kind,
    cells: u32,
    dimensions: usize,
    attributes: usize,
    /// In how many fragments the cells are written.
    pub(super) pieces: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A square of cells.
    Dense,
    /// Cells in no order; whether the array may have two with the same coordinates, which these
    /// have not.
    Sparse { duplicates: bool },
}

/// The domain of each dimension of sparse arrays is 0 up to, but without, this number.
const DOMAIN: u32 = 1 << 30;
/// Tile extents of sparse arrays.
const EXTENT: u32 = 1 << 26;

/// All groups.
pub(super) fn groups() -> Vec<Group> {
    let sparse = |count| Line {
        count,
        kind: Kind::Sparse { duplicates: false },
        cells: count,
        dimensions: 2,
        attributes: 1,
        pieces: 1,
    };
    let cells = [250_000, 1_000_000, 4_000_000];
    vec![
        Group {
            name: "cells, dense",
            lines: [1024u32, 2048, 4096].map(|side| Line { kind: Kind::Dense, ..sparse(side * side) }).into(),
        },
        Group { name: "cells, sparse", lines: cells.map(sparse).into() },
        Group {
            name: "cells, sparse, duplicates",
            lines: cells
                .map(|count| Line { kind: Kind::Sparse { duplicates: true }, ..sparse(count) })
                .into(),
        },
        Group {
            name: "fragments",
            lines: [1, 10, 100, 1000, 10_000]
                .map(|pieces| Line { count: pieces, pieces, ..sparse(500_000) })
                .into(),
        },
        Group {
            name: "attributes",
            lines: [1u16, 10, 100, 1000]
                .map(|count| Line { count: count.into(), attributes: count.into(), ..sparse(20_000) })
                .into(),
        },
        Group {
            name: "dimensions",
            lines: [1u8, 2, 5, 10]
                .map(|count| Line { count: count.into(), dimensions: count.into(), ..sparse(500_000) })
                .into(),
        },
    ]
}

impl Line {
    fn dimension_names(&self) -> Vec<String> {
        (0..self.dimensions).map(|number| format!("d{number}")).collect()
    }

    fn attribute_names(&self) -> Vec<String> {
        (0..self.attributes).map(|number| format!("a{number}")).collect()
    }

    /// The side of the square of a dense array.
    fn side(&self) -> u32 {
        self.cells.isqrt()
    }

    /// Writes the cells' columns to files, and returns how the worker finds them.
    pub(super) fn columns(&self, folder: &Path) -> Result<Vec<Value>, String> {
        let mut columns = Vec::new();
        let mut file = |name: &str, values: Vec<u8>| {
            let path = folder.join(name);
            fs::write(&path, values).map_err(|error| format!("{}: {error}", path.display()))?;
            columns.push(json!({"name": name, "data": path.display().to_string(), "offsets": null}));
            Ok::<_, String>(())
        };
        if self.kind != Kind::Dense {
            for (number, name) in (0u32..).zip(self.dimension_names()) {
                file(
                    &name,
                    (0..self.cells).flat_map(|cell| coordinate(cell, number).to_le_bytes()).collect(),
                )?;
            }
        }
        for (number, name) in (0u32..).zip(self.attribute_names()) {
            file(&name, (0..self.cells).flat_map(|cell| value(cell, number).to_le_bytes()).collect())?;
        }
        Ok(columns)
    }

    /// The request that writes the array.
    pub(super) fn write(&self, array: &Path) -> Value {
        let hex = |value: u32| {
            i64::from(value).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let zstd = json!([{"type": "byteshuffle"}, {"type": "zstd", "level": 3}]);
        let (names, end, extent) = match self.kind {
            Kind::Dense => (vec!["d0".to_owned(), "d1".into()], self.side() - 1, 256),
            Kind::Sparse { .. } => (self.dimension_names(), DOMAIN - 1, EXTENT),
        };
        let dimensions: Vec<Value> = names
            .iter()
            .map(|name| {
                json!({"name": name, "type": "INT64", "domain": [hex(0), hex(end)], "tile_extent": hex(extent), "filters": zstd})
            })
            .collect();
        let attributes: Vec<Value> = self
            .attribute_names()
            .iter()
            .map(|name| json!({"name": name, "type": "FLOAT64", "cell_val_num": 1, "filters": zstd}))
            .collect();
        let whole = || names.iter().map(|_| json!([0, end])).collect::<Vec<_>>();
        json!({
            "op": "write",
            "array": array.display().to_string(),
            "schema": {
                "array_type": if self.kind == Kind::Dense { "dense" } else { "sparse" },
                "dimensions": dimensions,
                "attributes": attributes,
                "coords_filters": zstd,
                "offsets_filters": zstd,
                "allows_dups": self.kind == Kind::Sparse { duplicates: true },
            },
            "box": if self.kind == Kind::Dense { whole().into() } else { Value::Null },
            "pieces": self.pieces,
            "kept_open": true,
            "synced": false,
        })
    }

    /// The request that reads the array, or about a thousandth of its cells.
    pub(super) fn read(&self, array: &Path, order: &str, part: bool) -> Value {
        let dense = self.kind == Kind::Dense;
        let names = if dense { vec!["d0".to_owned(), "d1".into()] } else { self.dimension_names() };
        let mut ranges = vec![Value::Null; names.len()];
        if let (true, Some(first)) = (part, ranges.first_mut()) {
            let all = if dense { self.side() } else { DOMAIN };
            *first = json!([all / 2, all / 2 + (all / 1000).max(1) - 1]);
        }
        let fields: Vec<String> = if dense {
            self.attribute_names()
        } else {
            names.iter().cloned().chain(self.attribute_names()).collect()
        };
        json!({
            "op": "read",
            "array": array.display().to_string(),
            "fields": fields,
            "dimensions": names,
            "ranges": ranges,
            "order": if dense { "row-major" } else { order },
            "ties": false,
            "points": null,
        })
    }
}

/// The coordinate of a cell in a dimension: different for each cell, and in no order.
fn coordinate(cell: u32, dimension: u32) -> i64 {
    // Multiplying by an odd number is one-to-one.
    let odd = 0x9e37_79b1u32.wrapping_add(dimension.wrapping_mul(0x0002_0002));
    i64::from(cell.wrapping_mul(odd).wrapping_add(dimension) % DOMAIN)
}

/// The value of a cell: like a measurement of few digits.
fn value(cell: u32, attribute: u32) -> f64 {
    let mixed = cell.wrapping_add(attribute.wrapping_mul(7919)).wrapping_mul(0x85eb_ca6b);
    f64::from((mixed ^ (mixed >> 13)) % 100_000) / 100.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_cells_have_the_same_coordinate() {
        for dimension in [0, 1, 9] {
            let found: BTreeSet<i64> = (0..100_000).map(|cell| coordinate(cell, dimension)).collect();
            assert_eq!(found.len(), 100_000);
            assert!(found.iter().all(|coordinate| (0..i64::from(DOMAIN)).contains(coordinate)));
        }
    }

    #[test]
    fn each_line_of_a_group_has_more_than_the_one_before() {
        for group in groups() {
            let counts: Vec<u32> = group.lines.iter().map(|line| line.count).collect();
            assert!(counts.len() > 2 && counts.is_sorted(), "{}", group.name);
        }
    }

    #[test]
    fn a_part_is_asked_for_in_the_first_dimension_alone() {
        let line = groups().swap_remove(5).lines.swap_remove(2);
        let request = line.read(Path::new("a"), "unordered", true);
        let ranges = request["ranges"].as_array().unwrap();
        assert_eq!(ranges.len(), 5);
        assert!(ranges[0].is_array() && ranges[1..].iter().all(Value::is_null));
    }
}
