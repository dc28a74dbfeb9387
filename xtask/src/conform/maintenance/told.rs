//! How the scripts are told of a history.

use serde_json::{Value, json};
use tdb_array::Stored;

use super::cases::{Case, Cells, Kind, START, Step};
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
        json!({
            "array_type": if self.is_dense() { "dense" } else { "sparse" },
            "dimensions": [if self == Self::Words { word } else { dimension("x", 9, 5) }, dimension("y", 3, 2)],
            "attributes": [
                { "name": "a", "type": "INT32" },
                { "name": "s", "type": "STRING_ASCII", "cell_val_num": "var", "nullable": true },
            ],
            "capacity": 3,
            "cell_order": if self == Self::Hilbert { "hilbert" } else { "row-major" },
            "allows_dups": self == Self::Duplicates,
        })
    }
}

impl Case {
    /// As `xtask/peer/write.py` takes it.
    pub(super) fn json(&self) -> Value {
        let windows: Vec<[u64; 2]> = self.windows().iter().map(|window| [window.start, window.end]).collect();
        let steps: Vec<Value> = self.steps.iter().map(|step| self.step_json(step)).collect();
        json!({ "name": self.name, "schema": self.kind.json(), "steps": steps, "windows": windows,
                "key": self.kind.key(), "group": self.kind == Kind::Group })
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
            Step::Delete { time, most } => {
                let hex: String = most.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
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
            Step::Evolve { time } => {
                json!({ "op": "evolve", "t": time, "add": [{ "name": "b", "type": "INT64" }] })
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
            let x = match self.kind {
                Kind::Words => json!({ "data": base64(&columns.words), "offsets": base64(&starts) }),
                _ => json!({ "data": ints(&columns.x) }),
            };
            fields.insert("x".into(), x);
            fields.insert("y".into(), json!({ "data": ints(&columns.y) }));
        }
        fields.insert("a".into(), json!({ "data": ints(&columns.a) }));
        let text = json!({ "data": base64(&columns.s), "offsets": base64(&starts), "validity": base64(&columns.valid) });
        fields.insert("s".into(), text);
        if columns.has_b {
            let bytes: Vec<u8> = columns.b.iter().flat_map(|value| value.to_le_bytes()).collect();
            fields.insert("b".into(), json!({ "data": base64(&bytes) }));
        }
        let layout = if self.kind.is_dense() { "row-major" } else { "unordered" };
        json!({ "op": "write", "t": time, "layout": layout, "subarray": subarray, "fields": fields })
    }
}
