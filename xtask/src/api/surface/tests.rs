use serde_json::json;

use super::*;

fn item(name: &str, kind: &str, inner: Value) -> Value {
    json!({ "name": name, "visibility": "public", "attrs": [], "inner": { kind: inner } })
}

fn method(name: &str, visibility: &str) -> Value {
    json!({ "name": name, "visibility": visibility, "attrs": [], "inner": { "function": { "has_body": true } } })
}

fn implementation(of: Value, items: &[u64]) -> Value {
    item("", "impl", json!({ "trait": of, "items": items, "is_synthetic": false, "blanket_impl": null }))
}

fn text_of(index: Value, paths: Value) -> String {
    json!({ "format_version": OLDEST_FORMAT, "root": 0, "index": index, "paths": paths }).to_string()
}

/// A crate `low`, whose private module has a struct.
fn low() -> String {
    let mut array = item(
        "Array",
        "struct",
        json!({ "kind": { "plain": { "fields": [2], "has_stripped_fields": true } }, "impls": [3, 4, 5] }),
    );
    array["attrs"] = json!([{ "other": "#[attr]" }, "non_exhaustive"]);
    let from = json!({ "path": "From", "args": { "angle_bracketed": { "args": [
        { "type": { "resolved_path": { "path": "super::Snapshot" } } }] } } });
    let mut auto = implementation(json!({ "path": "Send", "args": null }), &[]);
    auto["inner"]["impl"]["is_synthetic"] = json!(true);
    text_of(
        json!({
            "0": item("low", "module", json!({ "items": [8] })),
            "1": array,
            "2": item("len", "struct_field", json!({})),
            "3": implementation(Value::Null, &[6, 7]),
            "4": implementation(from, &[]),
            "5": auto,
            "6": method("open", "public"),
            "7": method("check", "default"),
            "8": item("", "use", json!({ "source": "array::Array", "name": "Array", "id": 1, "is_glob": false })),
        }),
        json!({ "1": { "crate_id": 0, "path": ["low", "array", "Array"], "kind": "struct" } }),
    )
}

fn lines(text: &str) -> Vec<String> {
    let mut crates = Crates::default();
    crates.add("low", &low()).unwrap();
    crates.add("high", text).unwrap();
    crates.lines("high").unwrap().into_iter().collect()
}

#[test]
fn an_item_of_another_crate_is_listed_with_its_members_under_its_shortest_path() {
    let reexport = |name: &str, id: u64| {
        item("", "use", json!({ "source": "low::Array", "name": name, "id": id, "is_glob": false }))
    };
    let high = text_of(
        json!({
            "0": item("high", "module", json!({ "items": [1, 2] })),
            "1": item("m", "module", json!({ "items": [3] })),
            "2": reexport("Table", 9),
            "3": reexport("Array", 9),
        }),
        json!({ "9": { "crate_id": 5, "path": ["low", "array", "Array"], "kind": "struct" } }),
    );
    let expected = [
        "high::Table impl From<Snapshot>",
        "high::Table struct, non-exhaustive, private fields",
        "high::Table::len field",
        "high::Table::open fn",
        "high::m mod",
        "high::m::Array struct, non-exhaustive, private fields, also high::Table",
    ];
    assert_eq!(lines(&high), expected);
}

#[test]
fn an_item_of_a_foreign_crate_is_one_line() {
    let high = text_of(
        json!({
            "0": item("high", "module", json!({ "items": [1] })),
            "1": item("", "use", json!({ "source": "bytes::Bytes", "name": "Bytes", "id": 9, "is_glob": false })),
        }),
        json!({ "9": { "crate_id": 7, "path": ["bytes", "bytes", "Bytes"], "kind": "struct" } }),
    );
    assert_eq!(lines(&high), ["high::Bytes struct of bytes::bytes::Bytes"]);
}

#[test]
fn variants_with_their_fields_and_what_a_trait_requires_are_listed() {
    let mut given = item("more", "function", json!({ "has_body": true }));
    given["visibility"] = json!("default");
    let high = text_of(
        json!({
            "0": item("high", "module", json!({ "items": [1, 4, 9] })),
            "1": item("Kind", "enum", json!({ "variants": [2, 3], "impls": [] })),
            "2": item("Plain", "variant", json!({ "kind": "plain" })),
            "3": item("Level", "variant", json!({ "kind": { "struct": { "fields": [7] } } })),
            "4": item("Read", "trait", json!({ "items": [5, 6] })),
            "5": item("read", "function", json!({ "has_body": false })),
            "6": given,
            "7": item("level", "struct_field", json!({})),
            "9": item("", "use", json!({ "source": "Kind", "name": "Kind", "id": 1, "is_glob": true })),
        }),
        json!({}),
    );
    let expected = [
        "high::Kind enum",
        "high::Kind::Level variant",
        "high::Kind::Level::level field",
        "high::Kind::Plain variant",
        "high::Level variant",
        "high::Level::level field",
        "high::Plain variant",
        "high::Read trait",
        "high::Read::more fn",
        "high::Read::read fn, required",
    ];
    assert_eq!(lines(&high), expected);
}

#[test]
fn a_module_that_contains_itself_ends() {
    let high = text_of(
        json!({
            "0": item("high", "module", json!({ "items": [1] })),
            "1": item("m", "module", json!({ "items": [2] })),
            "2": item("", "use", json!({ "source": "super::m", "name": "again", "id": 1, "is_glob": false })),
        }),
        json!({}),
    );
    assert_eq!(lines(&high), ["high::m mod", "high::m::again mod, also high::m"]);
}

#[test]
fn json_of_an_older_format_is_refused() {
    let error = Crates::default().add("low", r#"{ "format_version": 39 }"#).unwrap_err();
    assert!(error.starts_with("low: rustdoc wrote format 39"), "{error}");
}
