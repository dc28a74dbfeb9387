//! Compares what tdb says of an array's schema, fragments and enumerations with what libtiledb says
//! (`xtask/peer/reads_facts.py`).

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tdb_array::Array;
use tdb_array::schema::Enumeration;
use tdb_codec::to_u64;

use crate::conform::expected::open;
use crate::conform::form::{hex, list, text};
use crate::conform::writes::told_schema;

/// Compares the schema at one time; returns how many extensions of enumerations were compared.
pub(super) fn compare(path: &Path, case: &Value, then: &Value) -> Result<u64, String> {
    let wanted = then.get("schema").ok_or("the peer tells no schema")?;
    let array = open(path, case, then)?;
    let window = then.get("timestamps").map_or(String::new(), |window| format!(" within {window}"));
    let enumerations = enumerations(&array)?;
    let found = told(path, &array, &enumerations);
    let mut differing = Vec::new();
    differences("schema", &found, wanted, &mut differing);
    if !differing.is_empty() {
        return Err(format!("the schema{window} differs: {}", differing.join("; ")));
    }
    let mut compared = 0u64;
    for extension in list(then, "extensions") {
        extend(&enumerations, extension).map_err(|what| format!("{what}{window}"))?;
        compared = compared.saturating_add(1);
    }
    Ok(compared)
}

/// Compares the fragments that are listed now; false if libtiledb does not list them.
pub(super) fn fragments(path: &Path, case: &Value) -> Result<bool, String> {
    let Some(wanted) = case.get("fragments").and_then(Value::as_array) else { return Ok(false) };
    let array = open(path, case, &Value::Null)?;
    let name = |name: &str| name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let mut found: Vec<(String, Value)> = Vec::new();
    // libtiledb lists no consolidated fragment that ends in the future, of which it reads a part.
    for fragment in array.fragments().iter().filter(|one| array.window().contains(one.timestamps())) {
        let (first, last) = fragment.timestamps();
        let told = json!({
            "dense": fragment.is_dense(), "timestamps": [first, last], "cell_num": fragment.cell_count(),
            "version": fragment.version().number(),
        });
        found.push((name(fragment.name()), told));
    }
    let mut all = Vec::new();
    for fragment in wanted {
        let mut told = fragment.clone();
        if let Some(told) = told.as_object_mut() {
            told.remove("name");
        }
        all.push((name(text(fragment, "name")), told));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    all.sort_by(|a, b| a.0.cmp(&b.0));
    if found == all {
        return Ok(true);
    }
    let only = |these: &[(String, Value)], those: &[(String, Value)]| {
        let other: Vec<String> = these
            .iter()
            .filter(|fragment| !those.contains(fragment))
            .map(|(name, told)| format!("{name} {told}"))
            .collect();
        other.join(", ")
    };
    Err(format!(
        "{} fragments instead of {}: tdb alone has [{}], libtiledb alone has [{}]",
        found.len(),
        all.len(),
        only(&found, &all),
        only(&all, &found)
    ))
}

/// All enumerations of the schema, in the order of their names.
fn enumerations(array: &Array) -> Result<Vec<Enumeration>, String> {
    let names: BTreeSet<&str> = array.schema().enumerations.iter().map(|entry| entry.name.as_str()).collect();
    let load = |name: &str| {
        let found = array.enumeration(name).map_err(|error| error.to_string())?;
        found.ok_or_else(|| format!("the enumeration {name:?} is not found"))
    };
    names.into_iter().map(load).collect()
}

/// What tdb says, in the form of the peer: labels are where they are, not where they are relative
/// to the array.
fn told(path: &Path, array: &Array, enumerations: &[Enumeration]) -> Value {
    let mut told = told_schema(array.schema(), enumerations);
    let labels = array.schema().labels.iter();
    let places = labels.map(|label| {
        if label.relative { format!("file://{}/{}", path.display(), label.uri) } else { label.uri.clone() }
    });
    let places: Vec<String> = places.collect();
    let told_labels = told.get_mut("dimension_labels").and_then(Value::as_array_mut);
    for (label, place) in told_labels.into_iter().flatten().zip(places) {
        if let Some(label) = label.as_object_mut() {
            label.insert("uri".to_owned(), place.into());
        }
    }
    told
}

/// Whether a part of a schema that only one side tells is as good as nothing.
fn nothing(name: &str, value: &Value) -> bool {
    // The schemas of old versions have no filters for validity.
    name.ends_with(".validity_filters")
        || name.ends_with(".view")
        || value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
}

/// Adds the parts in which two schemas differ.
fn differences(name: &str, found: &Value, wanted: &Value, out: &mut Vec<String>) {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            let names: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
            for part in names {
                let whole = format!("{name}.{part}");
                match (found.get(part), wanted.get(part)) {
                    (Some(found), Some(wanted)) => differences(&whole, found, wanted, out),
                    (Some(only), None) if !nothing(&whole, only) => {
                        out.push(format!("{whole} is {only}, of which libtiledb says nothing"));
                    }
                    (None, Some(only)) if !nothing(&whole, only) => {
                        out.push(format!("{whole} is missing instead of {only}"));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(found), Value::Array(wanted)) if found.len() == wanted.len() => {
            for (place, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                differences(&format!("{name}[{place}]"), found, wanted, out);
            }
        }
        _ if found == wanted => {}
        _ => out.push(format!("{name} is {found} instead of {wanted}")),
    }
}

/// Compares whether an enumeration may be extended by some values.
fn extend(enumerations: &[Enumeration], extension: &Value) -> Result<(), String> {
    let name = text(extension, "name");
    let old = enumerations.iter().find(|enumeration| enumeration.name == name);
    let old = old.ok_or_else(|| format!("no enumeration {name:?}"))?;
    let mut new = old.clone();
    new.file_name.push('x');
    for value in list(extension, "values") {
        let start = to_u64(new.data.len());
        if new.cell_val_num.is_var() {
            new.offsets.get_or_insert_default().push(start);
        }
        new.data.extend(hex(value.as_str().unwrap_or_default())?);
    }
    let found = new.check_extends(old).and_then(|()| new.check()).map_err(|error| error.to_string());
    let refused = extension.get("refused").and_then(Value::as_str);
    match (&found, refused) {
        (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
        _ => Err(format!(
            "{name:?} extended by {:?}: {found:?}, libtiledb: {refused:?}",
            list(extension, "values")
        )),
    }
}

#[cfg(test)]
mod tests {
    use tdb_array::schema::{CellValNum, Datatype};

    use super::*;

    #[test]
    fn every_part_that_differs_is_named_and_missing_lists_are_empty_ones() {
        let found = json!({"a": 1, "b": [1, {"c": 2}], "d": []});
        let mut out = Vec::new();
        differences("s", &found, &found, &mut out);
        differences("s", &found, &json!({"a": 1, "b": [1, {"c": 2}], "e": null}), &mut out);
        assert!(out.is_empty(), "{out:?}");
        differences("s", &found, &json!({"a": 2, "b": [1, {"c": 3}], "f": true}), &mut out);
        assert_eq!(
            out,
            ["s.a is 1 instead of 2", "s.b[1].c is 2 instead of 3", "s.f is missing instead of true"]
        );
        out.clear();
        differences("s", &json!([1, 2]), &json!([1]), &mut out);
        assert_eq!(out, ["s is [1,2] instead of [1]"]);
    }

    #[test]
    fn a_value_twice_extends_nothing_and_a_disagreement_is_reported() {
        let old = Enumeration::new("e", "f", Datatype::StringAscii, CellValNum::Var, ["a"]).unwrap();
        let extension =
            |value: &str, refused: Value| json!({"name": "e", "values": [value], "refused": refused});
        let check = |extension: Value| extend(std::slice::from_ref(&old), &extension).is_ok();
        assert!(check(extension("61", "no".into())) && check(extension("62", Value::Null)));
        assert!(!check(extension("61", Value::Null)) && !check(extension("62", "no".into())));
    }
}
