use serde_json::json;

use super::*;

fn array(document: Value) -> Result<ArrayDocument, Problem> {
    match v3(document.as_object().unwrap())? {
        Node::Array(array) => Ok(*array),
        Node::Group(_) => panic!("a group"),
    }
}

fn sample() -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [10, 20], "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 8]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": 7, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "K", "_ARRAY_DIMENSIONS": ["a", "b"]}, "dimension_names": ["y", null],
    })
}

fn changed(key: &str, value: Value) -> Value {
    let mut document = sample();
    document[key] = value;
    document
}

#[test]
fn an_array_is_what_its_document_says() {
    let found = array(sample()).unwrap();
    assert_eq!(
        (found.shape.as_slice(), found.chunk(), found.fill.as_slice()),
        (&[10, 20][..], &[4, 8][..], &[7, 0, 0, 0][..])
    );
    assert_eq!(found.names, [Some("y".to_owned()), None]);
    assert_eq!(found.keys, Keys { prefix: true, separator: '.' });
    assert_eq!(Value::Object(found.attributes), json!({"units": "K"}));
}

#[test]
fn what_is_missing_wrong_or_not_known_is_refused_by_name() {
    let wrong = [
        ("zarr_format", json!(2), "zarr_format"),
        ("node_type", json!("store"), "node_type"),
        ("shape", json!([-1, 3]), "shape"),
        ("shape", json!("10"), "shape"),
        ("shape", json!(vec![1; 65]), "65 dimensions"),
        ("shape", json!([10]), "1 axes"),
        ("chunk_grid", json!({"name": "rectilinear"}), "\"rectilinear\""),
        ("chunk_grid", json!({"name": "regular", "configuration": {"chunk_shape": [0, 8]}}), "chunk_shape"),
        ("chunk_grid", json!({"name": "regular"}), "chunk_shape"),
        ("chunk_key_encoding", json!({"name": "../x"}), "\"../x\""),
        (
            "chunk_key_encoding",
            json!({"name": "default", "configuration": {"separator": "/../"}}),
            "separator",
        ),
        ("storage_transformers", json!([{"name": "x"}]), "transformers"),
        ("dimension_names", json!(["x"]), "dimension_names"),
        ("dimension_names", json!([1, 2]), "dimension_names"),
        ("attributes", json!([]), "attributes"),
        ("secret", json!({}), "\"secret\""),
        ("fill_value", json!("x"), "fill value"),
        ("fill_value", json!("NaT"), "fill value"),
        ("data_type", json!("complex64"), "complex64"),
        (
            "data_type",
            json!({"name": "raw_bytes", "configuration": {"length_bytes": 1 << 21}}),
            "1048576 bytes",
        ),
        ("codecs", json!(["bytes", {"name": "crc32c", "configuration": {"location": "start"}}]), "location"),
        ("codecs", json!(["bytes", {"name": "blosc", "configuration": {"cname": "x"}}]), "cname"),
        ("codecs", json!(["bytes", {"name": "gzip", "configuration": {"level": 1.5}}]), "level"),
        ("codecs", json!([{"name": "transpose", "configuration": {"order": [0]}}, "bytes"]), "transpose"),
        ("codecs", json!(vec!["crc32c"; 65]), "65 codecs"),
    ];
    for (key, value, what) in wrong {
        let problem = array(changed(key, value.clone())).unwrap_err().to_string();
        assert!(problem.contains(what), "{key} {value}: {problem}");
    }
    // Without codecs, bytes are plain.
    assert_eq!(array(changed("codecs", json!([]))).unwrap().chain.widest, 4);
    for key in ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "fill_value", "codecs"] {
        let mut document = sample();
        document.as_object_mut().unwrap().remove(key);
        assert!(array(document).unwrap_err().to_string().contains(key));
    }
    assert!(array(changed("note", json!({"must_understand": false}))).is_ok());
}

#[test]
fn a_shard_has_whole_chunks_and_an_index_that_is_read() {
    let sharded = |chunk: Value, index: Value, location: Value| {
        let configuration = json!({"chunk_shape": chunk, "codecs": ["bytes"], "index_codecs": index, "index_location": location});
        array(changed("codecs", json!([{"name": "sharding_indexed", "configuration": configuration}])))
    };
    let found = sharded(json!([2, 8]), json!(["bytes", "crc32c"]), json!("start")).unwrap();
    assert_eq!(found.chunk(), [2, 8]);
    assert!(!found.shard.as_ref().unwrap().index_at_end && found.shard.unwrap().index_sum.is_some());
    for (chunk, index, location, what) in [
        (json!([3, 8]), json!(["bytes"]), json!("end"), "whole number of chunks"),
        (json!([2, 0]), json!(["bytes"]), json!("end"), "chunk_shape"),
        (json!([2, 8]), json!(["bytes", "gzip"]), json!("end"), "index of a shard has other codecs"),
        (json!([2, 8]), json!(["bytes"]), json!("middle"), "index_location"),
    ] {
        let problem = sharded(chunk, index, location).unwrap_err().to_string();
        assert!(problem.contains(what), "{problem}");
    }
}

#[test]
fn documents_of_version_2_say_the_same_in_other_words() {
    let document = json!({
        "zarr_format": 2, "shape": [10, 20], "chunks": [4, 8], "dtype": ">i4", "order": "F", "fill_value": null,
        "compressor": {"id": "zlib", "level": 1}, "filters": [{"id": "delta", "dtype": ">i4"}], "dimension_separator": "/",
    });
    let attributes = json!({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "K"});
    let found = array_v2(document.as_object().unwrap(), attributes.as_object().unwrap().clone()).unwrap();
    assert_eq!(found.names, [Some("y".to_owned()), Some("x".to_owned())]);
    assert_eq!(Value::Object(found.attributes), json!({"units": "K"}));
    assert_eq!(found.keys, Keys { prefix: false, separator: '/' });
    for (key, value, what) in [
        ("order", json!("A"), "neither C nor F"),
        ("dtype", json!("|O"), "delta is for cells of a width of 4, and those here are of any length"),
        ("dtype", json!("<U4294967295"), "more than 1048576 bytes"),
        ("filters", json!([{"name": "delta"}]), "no id"),
        ("filters", json!([{"id": "delta", "dtype": ">i2"}]), "delta is for cells of a width of 2"),
        ("filters", json!({}), "filters is not a list"),
        ("filters", json!(vec![json!({"id": "crc32"}); 64]), "65 codecs"),
        ("compressor", json!({"id": "lzma"}), "\"lzma\""),
        ("compressor", json!({"id": "crc32", "location": "middle"}), "location"),
        ("dimension_separator", json!("-"), "dimension_separator"),
        ("zarr_format", json!(3), "zarr_format"),
    ] {
        let mut changed = document.clone();
        changed[key] = value.clone();
        let problem = array_v2(changed.as_object().unwrap(), Map::new()).unwrap_err().to_string();
        assert!(problem.contains(what), "{key} {value}: {problem}");
    }
}

#[test]
fn numbers_that_only_python_writes_are_read() {
    let text = br#"{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN, \"NaN\\"}"#;
    let parsed = Value::Object(parse(text).unwrap());
    assert_eq!(parsed, json!({"a": "NaN", "b": ["-Infinity", "Infinity"], "c": "NaN, \"NaN\\"}));
    for wrong in [&b"{"[..], b"[]", b"\xff", b"{\"a\": nan}", b"NaN"] {
        assert!(parse(wrong).is_err());
    }
    // Deeper than the parser allows.
    assert!(parse(&b"{\"a\":".repeat(100_000)).is_err());
}
