//! Files with columns whose types arrays do not have: those that no array can hold, of which `tdb
//! import` names the column, its type and what to do instead; and those that are kept as another
//! type with metadata, of which the exported file has the same instants and numbers.

use std::fs;

use serde_json::json;

use super::super::peers::Outcome;
use super::command::Tdb;
use super::{Asked, Counts};

/// The columns (`xtask/peer/arrow_files.py`), and what the error must say.
const COLUMNS: [(&str, &str); 13] = [
    ("decimal", "Decimal128(19, 2)"),
    ("decimal256", "Decimal256(40, 2)"),
    ("half", "Float16"),
    ("struct", "Struct("),
    ("map", "Map("),
    ("texts", "List(Utf8"),
    ("nested", "List(List(Int32"),
    ("null", "Null"),
    ("runs", "RunEndEncoded("),
    ("listview", "ListView("),
    ("interval", "Interval(MonthDayNano)"),
    ("union", "Union("),
    ("holes", "null"),
];

/// The columns that become others (`KEPT` in `xtask/peer/arrow_files.py`).
const KEPT: [&str; 2] = ["decimal", "zone"];

/// Imports each as an Arrow file and as a stream.
pub(super) fn check(peer: &Asked, tdb: &Tdb, counts: &mut Counts) -> Result<(), String> {
    let folder = peer.folder.join("refused");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let job = json!({ "do": "refused", "key": null, "folder": folder.display().to_string() });
    peer.ask("refusing", vec![job])?;
    for (column, words) in COLUMNS {
        for ending in ["arrow", "arrows"] {
            let file = folder.join(format!("{column}.{ending}"));
            let array = folder.join(format!("{column}-{ending}"));
            match tdb.import(&array, &file, &[]) {
                Err(why)
                    if why.contains(words) && why.contains(&format!("{column:?}")) && !array.exists() =>
                {
                    counts.refused += 1;
                }
                Err(why) => counts.failures.push(format!("{column}.{ending}: another refusal: {why}")),
                Ok(()) => counts.failures.push(format!("{column}.{ending} is imported")),
            }
        }
    }
    kept(peer, tdb, counts)
}

/// Imports the files of columns that become others, exports their arrays, and has the peer compare.
fn kept(peer: &Asked, tdb: &Tdb, counts: &mut Counts) -> Result<(), String> {
    let folder = peer.folder.join("kept");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let shown = folder.display().to_string();
    let job = |what: &str| json!({ "do": what, "key": null, "folder": shown });
    peer.ask("keeping", vec![job("write_kept")])?;
    for column in KEPT {
        let array = folder.join(column);
        tdb.import(&array, &folder.join(format!("{column}.arrow")), &[])?;
        tdb.export(&array, None, &[folder.join(format!("{column}-exported.arrow"))])?;
    }
    for answer in peer.ask("kept", vec![job("kept")])? {
        if answer.outcome != Outcome::Equal {
            counts.failures.push(format!("columns kept as others: {:?} {}", answer.outcome, answer.what));
        }
    }
    Ok(())
}
