//! `tdb create`.

use std::fs;

use serde_json::{Value, json};

use crate::common::{
    MISCOUNTED, OLD_TYPES, Scratch, created_like, fixture, open_fixtures, refused, schema, schema_json, tdb,
    text,
};

#[test]
fn the_schema_that_info_shows_makes_the_same_schema() {
    let scratch = Scratch::new();
    let mut made = 0;
    for (index, id) in open_fixtures().into_iter().enumerate() {
        let shown = schema_json(&fixture(&id));
        let (copy, outcome) = created_like(&fixture(&id), &scratch, &format!("copy{index}"));
        if outcome.code == 1 && shown["version"].as_u64().unwrap() < 7 {
            continue;
        }
        if id == OLD_TYPES {
            assert!(outcome.err.contains("do not fit"), "{}", outcome.err);
            continue;
        }
        if MISCOUNTED.contains(&id.as_str()) {
            assert!(outcome.err.contains("cannot hold the tiles of more cells than fit"), "{}", outcome.err);
            continue;
        }
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{id}");
        assert_eq!(schema_json(&copy), shown, "{id}");
        let (mut ours, mut theirs) = (schema(&copy), schema(&fixture(&id)));
        ours.enumerations.clear();
        theirs.enumerations.clear();
        if id.starts_with("2.30.0/") {
            assert_eq!(ours, theirs, "{id}");
        }
        made += 1;
    }
    assert!(made > 150, "{made}");
}

#[test]
fn a_schema_says_little_and_its_mistakes_are_named_with_their_place() {
    let scratch = Scratch::new();
    let (file, array) = (scratch.path().join("schema.json"), scratch.path().join("array"));
    let good = json!({
        "type": "sparse",
        "dimensions": [
            {"name": "day", "datatype": "DATETIME_DAY", "domain": ["2020-01-01", "2020-12-31"], "extent": 7},
            {"name": "i", "datatype": "uint8", "domain": [0, 9]},
        ],
        "attributes": [{"name": "a", "datatype": "FLOAT32", "nullable": true, "filters": ["byteshuffle", {"name": "zstd", "level": 5}]}],
    });
    let create = |schema: &Value| {
        fs::write(&file, schema.to_string()).unwrap();
        tdb(&["create", text(&array), "--schema", text(&file), "--version", "20", "--time", "7"])
    };
    for (pointer, wrong, why) in [
        ("/type", json!("thick"), "type: \"thick\" is not a valid type"),
        ("/type", Value::Null, "\"type\" is missing"),
        ("/dimensions/0/domain/1", json!("soon"), "dimensions[0].domain[1]: \"soon\""),
        ("/dimensions/1/domain", json!([0]), "dimensions[1].domain: two ends"),
        ("/dimensions/1/domain/1", json!(256), "dimensions[1].domain[1]: 256 does not fit"),
        ("/dimensions/0/extent", json!(1.5), "dimensions[0].extent: 1.5"),
        ("/dimensions/0/extent", json!(400), "day"),
        (
            "/attributes/0/datatype",
            json!("FLOAT31"),
            "attributes[0].datatype: \"FLOAT31\" is not a valid datatype",
        ),
        ("/attributes/0/filters/1/level", json!("high"), "attributes[0].filters[1].level"),
        ("/attributes/0/name", json!("i"), "\"i\""),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        let outcome = create(&bad);
        assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{pointer}");
        assert!(outcome.err.contains(why) && outcome.err.contains("schema.json"), "{}", outcome.err);
        assert!(!array.exists(), "{pointer}");
    }
    let mut bad = good.clone();
    bad["attributes"][0]["fil_value"] = json!(3);
    assert!(create(&bad).err.contains("attributes[0]: \"fil_value\" is not a known key"));
    assert_eq!(create(&good).code, 0);
    let made = schema_json(&array);
    assert_eq!((made["version"].as_u64(), made["capacity"].as_u64()), (Some(20), Some(10_000)));
    assert_eq!(made["dimensions"][1]["extent"], json!(10), "the whole domain, as in libtiledb");
    assert_eq!(made["coords_filters"], json!([{"name": "zstd", "level": -1}]));
    assert!(create(&good).err.contains("already"));
    refused(&["create", text(&array), "--schema", "/no/such/file"], 1, "/no/such/file");
}

#[test]
fn the_images_of_webp_have_the_extents_of_the_tiles() {
    let scratch = Scratch::new();
    let file = scratch.path().join("schema.json");
    let attempt = |tile: (u32, u32), filter: Value, name: &str| {
        let dimension = |name: &str, tile: u32| json!({"name": name, "datatype": "UINT32", "domain": [0, 767], "extent": tile});
        let described = json!({
            "type": "dense",
            "dimensions": [dimension("y", tile.0), dimension("x", tile.1)],
            "attributes": [{"name": "i", "datatype": "UINT8", "filters": [filter]}],
        });
        fs::write(&file, described.to_string()).unwrap();
        let array = scratch.path().join(name);
        (tdb(&["create", text(&array), "--schema", text(&file)]), array)
    };
    for (index, tile) in [(16, 48), (32, 96), (256, 768), (1, 12)].into_iter().enumerate() {
        for (kind, filter) in [
            json!("webp"),
            json!({"name": "webp", "format": "rgba"}),
            json!({"name": "webp", "y_extent": tile.0}),
        ]
        .into_iter()
        .enumerate()
        {
            let (outcome, array) = attempt(tile, filter, &format!("a{index}_{kind}"));
            assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{tile:?}");
            let shown = &schema_json(&array)["attributes"][0]["filters"][0];
            let shown = if shown.is_null() {
                schema_json(&array)["attributes"][0]["filters"]["filters"][0].clone()
            } else {
                shown.clone()
            };
            assert_eq!((&shown["y_extent"], &shown["x_extent"]), (&json!(tile.0), &json!(tile.1)));
        }
    }
    let (outcome, array) = attempt((32, 96), json!({"name": "webp", "x_extent": 48}), "other");
    assert!(outcome.code != 0 && outcome.err.contains("x_extent is 96"), "{}", outcome.err);
    assert!(!array.exists());
}
