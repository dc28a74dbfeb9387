//! The questions.

use std::path::Path;

use serde_json::{Value, json};

/// A question in SQL.
pub(super) struct Case {
    pub(super) name: String,
    query: &'static str,
    /// What pyarrow does with the cells that libtiledb read: see `LibTileDb` in
    /// `xtask/peer/peers_engines.py`.
    plan: &'static str,
    tables: Vec<Table>,
}

/// A table, and what libtiledb has to read of it.
struct Table {
    name: &'static str,
    array: String,
    parquet: &'static str,
    fields: &'static [&'static str],
    dimensions: &'static [&'static str],
    ranges: Vec<Value>,
    condition: Value,
}

const XY: &[&str] = &["x", "y"];

/// The cells in four fragments.
fn square(name: &'static str, duplicates: bool, fields: &'static [&'static str]) -> Table {
    Table {
        name,
        array: if duplicates { "cells_4_dups" } else { "cells_4" }.into(),
        parquet: "cells_4",
        fields,
        dimensions: XY,
        ranges: vec![Value::Null, Value::Null],
        condition: Value::Null,
    }
}

/// All questions.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for duplicates in [true, false] {
        cases.extend(cells(duplicates));
    }
    let genes = Table {
        array: "genes".into(),
        parquet: "genes",
        dimensions: &["gene", "i"],
        ..square("a", false, &["gene", "i", "v"])
    };
    let words = Table {
        array: "words".into(),
        parquet: "words",
        dimensions: &["i"],
        ranges: vec![Value::Null],
        ..square("a", false, &["s"])
    };
    cases.push(Case {
        name: "group by a string dimension, 2,000 groups".into(),
        query: "SELECT gene, count(*), max(v), CAST(sum(i) AS BIGINT) FROM a GROUP BY gene",
        plan: "genes",
        tables: vec![genes],
    });
    cases.push(Case {
        name: "group by a string attribute, 20,000 groups".into(),
        query: "SELECT s, count(*) FROM a GROUP BY s",
        plan: "words",
        tables: vec![words],
    });
    cases
}

fn cells(duplicates: bool) -> Vec<Case> {
    let name = |name: &str| if duplicates { format!("{name}, duplicates") } else { name.to_owned() };
    let all = || square("a", duplicates, &["x", "y", "k", "v", "w"]);
    let range = || json!([450_123, 550_122]);
    let case = |title: &str, query, plan, tables| Case { name: name(title), query, plan, tables };
    vec![
        case(
            "full scan aggregate",
            "SELECT count(*), CAST(sum(k) AS BIGINT), max(v + w), min(v - w) FROM a",
            "scan",
            vec![square("a", duplicates, &["k", "v", "w"])],
        ),
        case(
            "box of 1 %",
            "SELECT x, y, k, v, w FROM a WHERE x BETWEEN 450123 AND 550122 AND y BETWEEN 450123 AND 550122",
            "read",
            vec![Table { ranges: vec![range(), range()], ..all() }],
        ),
        case(
            "condition of 0.03 %",
            "SELECT x, y, k, v, w FROM a WHERE k = 7 AND v > 0.7",
            "read",
            vec![Table {
                condition: json!(["and", ["k", "==", "07000000"], ["v", ">", "666666666666e63f"]]),
                ..all()
            }],
        ),
        case(
            "top 10",
            "SELECT x, y, w FROM a ORDER BY w DESC, x, y LIMIT 10",
            "top",
            vec![square("a", duplicates, &["x", "y", "w"])],
        ),
        case(
            "join on coordinates, 1 % with all",
            "SELECT count(*), CAST(sum(a.k) AS BIGINT), max(b.v) FROM a JOIN b ON a.x = b.x AND a.y = b.y WHERE b.k < 10",
            "join",
            vec![
                square("a", duplicates, &["x", "y", "k"]),
                Table {
                    condition: json!(["k", "<", "0a000000"]),
                    ..square("b", duplicates, &["x", "y", "v"])
                },
            ],
        ),
        case("count", "SELECT count(*) FROM a", "count", vec![square("a", duplicates, &["k"])]),
        case(
            "count of a range",
            "SELECT count(*) FROM a WHERE x BETWEEN 450123 AND 550122",
            "count",
            vec![Table { ranges: vec![range(), Value::Null], ..square("a", duplicates, &["k"]) }],
        ),
    ]
}

impl Case {
    /// The request that all sides understand, and for each table the read of libtiledb.
    pub(super) fn request(&self, data: &Path) -> Value {
        let path = |folder: &str, name: &str| data.join(folder).join(name).display().to_string();
        let tables = self.tables.iter().map(|table| {
            let read = json!({
                "op": "read", "array": path("tiledb", &table.array), "fields": table.fields, "order": "unordered",
                "dimensions": table.dimensions, "ranges": table.ranges, "condition": table.condition, "ties": false,
            });
            let both = json!({
                "array": path("tiledb", &table.array), "parquet": path("parquet", table.parquet), "read": read,
            });
            (table.name.to_owned(), both)
        });
        let tables: serde_json::Map<String, Value> = tables.collect();
        json!({"op": "sql", "query": self.query, "plan": self.plan, "tables": tables})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_names_its_tables() {
        for case in all() {
            for table in &case.tables {
                assert!(
                    case.query.contains(&format!("FROM {}", table.name))
                        || case.query.contains(&format!("JOIN {}", table.name))
                );
            }
        }
    }

    #[test]
    fn names_are_different() {
        let names: std::collections::BTreeSet<String> = all().into_iter().map(|case| case.name).collect();
        assert_eq!(names.len(), all().len());
    }
}
