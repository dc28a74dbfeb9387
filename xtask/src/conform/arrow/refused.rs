//! Files with columns that no array can hold: `tdb import` names the column, its type and what to
//! do instead.

use std::fs;

use serde_json::json;

use super::command::Tdb;
use super::{Asked, Counts};

/// The columns (`xtask/peer/arrow_files.py`), and what the error must say.
const COLUMNS: [(&str, &str); 14] = [
    ("decimal", "Decimal128(10, 2)"),
    ("decimal256", "Decimal256(40, 2)"),
    ("half", "Float16"),
    ("struct", "Struct("),
    ("map", "Map("),
    ("texts", "List(Utf8"),
    ("nested", "List(List(Int32"),
    ("zone", "Europe/Paris"),
    ("null", "Null"),
    ("runs", "RunEndEncoded("),
    ("listview", "ListView("),
    ("interval", "Interval(MonthDayNano)"),
    ("union", "Union("),
    ("holes", "null"),
];

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
    Ok(())
}
