//! The documents of nodes, in version 3 and in version 2 of Zarr.

use serde_json::{Map, Value, json};

use crate::node::{ArrayNode, Group, Sizes};

/// The key of an array's attributes in which readers of version 2 look for the names of its axes.
pub const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// `zarr.json` of a group.
pub(crate) fn group_v3(group: &Group) -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": group.attributes})
}

/// `.zgroup`.
pub(crate) fn group_v2() -> Value {
    json!({"zarr_format": 2})
}

/// `zarr.json` of an array.
pub(crate) fn array_v3(node: &ArrayNode, sizes: &Sizes) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": sizes.shape,
        "data_type": node.content.shown.v3_type(),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": sizes.chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": node.content.fill_value(),
        "codecs": [node.content.shown.v3_codec()],
        "attributes": node.attributes,
        "dimension_names": node.dimensions,
        "storage_transformers": [],
    })
}

/// `.zarray`.
pub(crate) fn array_v2(node: &ArrayNode, sizes: &Sizes) -> Value {
    json!({
        "zarr_format": 2,
        "shape": sizes.shape,
        "chunks": sizes.chunks,
        "dtype": node.content.shown.v2_type(),
        "compressor": null,
        "fill_value": node.content.fill_value(),
        "order": "C",
        "filters": node.content.shown.v2_filters(),
        "dimension_separator": ".",
    })
}

/// `.zattrs` of an array.
pub(crate) fn attributes_v2(node: &ArrayNode) -> Value {
    let mut attributes = node.attributes.clone();
    attributes.insert(DIMENSIONS.to_owned(), json!(node.dimensions));
    Value::Object(attributes)
}

/// `.zmetadata`: the other documents of version 2 below their keys.
pub(crate) fn consolidated(documents: Map<String, Value>) -> Value {
    json!({"zarr_consolidated_format": 1, "metadata": documents})
}
