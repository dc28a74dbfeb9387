//! A history in the form of the scripts.

use serde_json::{Value, json};
use tdb_array::TimeWindow;
use tdb_array::maintain::Stored;

use super::cases::{Case, Kind, START, Step};
use super::cells::{Added, Cells, TILE};
use crate::conform::writes::base64;

impl Kind {
    fn json(self) -> Value {
        let hex =
            |value: i32| value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let dimension = |name: &str, high: i32, tile: i32| {
            let extent = (self != Self::Hilbert).then(|| hex(tile));
            json!({ "name": name, "type": "INT32", "domain": [hex(0), hex(high)], "tile_extent": extent,
                    "cell_val_num": 1 })
        };
        let word = json!({ "name": "x", "type": "STRING_ASCII", "domain": null, "tile_extent": null,
                           "cell_val_num": "var" });
        let real = |name: &str| {
            let end = |value: f64| super::super::writes::hex(&value.to_le_bytes());
            json!({ "name": name, "type": "FLOAT64", "domain": [end(-10.0), end(10.0)], "tile_extent": null,
                    "cell_val_num": 1 })
        };
        let dimensions = match self {
            Self::Words => [word, dimension("y", 3, TILE.1)],
            Self::Reals => [real("x"), real("y")],
            _ => [dimension("x", 9, TILE.0), dimension("y", 3, TILE.1)],
        };
        json!({
            "array_type": if self.is_dense() { "dense" } else { "sparse" },
            "dimensions": dimensions,
            "attributes": [
                { "name": "a", "type": "INT32" },
                { "name": "s", "type": "STRING_ASCII", "cell_val_num": "var", "nullable": true },
            ],
            "capacity": 3,
            "cell_order": if matches!(self, Self::Hilbert | Self::Reals) { "hilbert" } else { "row-major" },
            "allows_dups": self == Self::Duplicates,
        })
    }
}

impl Case {
    /// In the form of `xtask/peer/write.py`.
    pub(super) fn json(&self) -> Value {
        let window = |window: &Option<TimeWindow>| window.map(|window| [window.start, window.end]);
        let windows: Vec<Option<[u64; 2]>> = self.windows().iter().map(window).collect();
        let steps: Vec<Value> = self.steps.iter().map(|step| self.step_json(step)).collect();
        json!({ "name": self.name, "schema": self.kind.json(), "steps": steps, "windows": windows,
                "key": self.kind.key(), "group": self.kind == Kind::Group,
                "ignored": self.ignored().map(|_| "b") })
    }

    fn step_json(&self, step: &Step) -> Value {
        let mode = |what: &Stored| match what {
            Stored::Fragments => "fragments",
            Stored::FragmentMetadata => "fragment_meta",
            Stored::Commits => "commits",
            Stored::Metadata => "array_meta",
        };
        let change = |time: &u64| {
            json!({ "op": "group_change", "path": "", "t": time, "members": [], "remove": [],
                                          "puts": [], "deletes": [] })
        };
        let with = |mut change: Value, part: &str, value: Value| {
            change.as_object_mut().and_then(|parts| parts.insert(part.to_owned(), json!([value])));
            change
        };
        if self.kind == Kind::Group {
            return match step {
                Step::Create => json!({ "op": "group_create", "path": "" }),
                Step::Metadata { time, key, value: Some(value) } => {
                    let value = base64(&value.to_le_bytes());
                    with(
                        change(time),
                        "puts",
                        json!({ "key": key, "type": "INT32", "num": 1, "value": value }),
                    )
                }
                Step::Metadata { time, key, .. } => with(change(time), "deletes", key.as_str().into()),
                Step::Member { time, name, added: true } => {
                    with(change(time), "members", json!([name, true, name]))
                }
                Step::Member { time, name, .. } => with(change(time), "remove", name.as_str().into()),
                Step::Vacuum(_) => json!({ "op": "group_vacuum", "path": "", "config": {} }),
                _ => json!({ "op": "group_consolidate", "path": "", "config": {} }),
            };
        }
        match step {
            Step::Create => json!({ "op": "create", "t": START }),
            // Only groups have members.
            Step::Member { .. } => Value::Null,
            Step::Purge => json!({ "op": "consolidate", "config": {
                "sm.consolidation.mode": "fragments", "sm.consolidation.purge_deleted_cells": "true",
            }}),
            Step::Write { time, cells } => self.write_json(*time, cells),
            Step::Delete { time, max } => {
                let hex: String = max.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "op": "delete", "t": time, "condition": ["a", ">", hex] })
            }
            Step::Consolidate(what) => json!({ "op": "consolidate", "config": {
                "sm.consolidation.mode": mode(what), "sm.consolidation.amplification": "1000000000",
            }}),
            Step::Vacuum(what) => json!({ "op": "vacuum", "config": { "sm.vacuum.mode": mode(what) } }),
            Step::Metadata { time, key, value: Some(value) } => json!({ "op": "meta", "t": time, "puts": [
                { "key": key, "type": "INT32", "num": 1, "value": base64(&value.to_le_bytes()) },
            ]}),
            Step::Metadata { time, key, value: None } => json!({ "op": "meta", "t": time, "deletes": [key] }),
            Step::Evolve { time, added: None } => json!({ "op": "evolve", "t": time, "drop": ["b"] }),
            Step::Evolve { time, added: Some(added) } => {
                let attribute = match added {
                    Added::Long => json!({ "name": "b", "type": "INT64" }),
                    Added::Int => json!({ "name": "b", "type": "INT32" }),
                    Added::Text => json!({ "name": "b", "type": "STRING_ASCII", "cell_val_num": "var" }),
                };
                json!({ "op": "evolve", "t": time, "add": [attribute] })
            }
        }
    }

    fn write_json(&self, time: u64, cells: &Cells) -> Value {
        let columns = cells.columns(self.kind);
        let ints =
            |values: &[i32]| base64(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>());
        let starts = columns.offsets.split_last().map(|(_, starts)| starts).unwrap_or_default();
        let starts: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        let mut fields = serde_json::Map::new();
        let mut subarray = Value::Null;
        if self.kind.is_dense() {
            let hex =
                |value: i32| value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let (x, y) = cells.bounds();
            subarray = json!([[hex(x.0), hex(x.1)], [hex(y.0), hex(y.1)]]);
        } else {
            let starts = columns.word_offsets.split_last().map(|(_, starts)| starts).unwrap_or_default();
            let starts: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
            let reals = |values: &[f64]| {
                base64(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
            };
            let (x, y) = match self.kind {
                Kind::Words => {
                    (json!({ "data": base64(&columns.words), "offsets": base64(&starts) }), ints(&columns.y))
                }
                Kind::Reals => (json!({ "data": reals(&columns.reals.0) }), reals(&columns.reals.1)),
                _ => (json!({ "data": ints(&columns.x) }), ints(&columns.y)),
            };
            fields.insert("x".into(), x);
            fields.insert("y".into(), json!({ "data": y }));
        }
        fields.insert("a".into(), json!({ "data": ints(&columns.a) }));
        let text = json!({ "data": base64(&columns.s), "offsets": base64(&starts), "validity": base64(&columns.valid) });
        fields.insert("s".into(), text);
        let starts = columns.b_offsets.split_last().map(|(_, starts)| starts).unwrap_or_default();
        let starts: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        match cells.b {
            Some(Added::Text) => {
                fields.insert("b".into(), json!({ "data": base64(&columns.b), "offsets": base64(&starts) }));
            }
            Some(_) => drop(fields.insert("b".into(), json!({ "data": base64(&columns.b) }))),
            None => {}
        }
        let layout = if self.kind.is_dense() { "row-major" } else { "unordered" };
        json!({ "op": "write", "t": time, "layout": layout, "subarray": subarray, "fields": fields })
    }
}
