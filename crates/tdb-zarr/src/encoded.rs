//! Nodes with the attributes that AnnData wants.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::chunk::Content;
use crate::column::Rows;
use crate::form::Form;
use crate::node::{ArrayNode, Source};

/// What AnnData says of each node.
pub(crate) fn encoding(kind: &str, version: &str) -> Map<String, Value> {
    Map::from_iter([
        ("encoding-type".to_owned(), json!(kind)),
        ("encoding-version".to_owned(), json!(version)),
    ])
}

/// A field of a sparse array.
pub(crate) fn column(home: usize, rows: &Arc<Rows>, content: Content) -> ArrayNode {
    let source = Source::Column(content.field.clone(), Arc::clone(rows));
    node(home, content, source, &["row"])
}

/// An array.
pub(crate) fn node(home: usize, content: Content, source: Source, axes: &[&str]) -> ArrayNode {
    let kind = if content.shown.form == Form::Text { "string-array" } else { "array" };
    let mut dimensions: Vec<String> = axes.iter().map(|axis| (*axis).to_owned()).collect();
    if content.shown.inner.is_some() {
        dimensions.push("value".to_owned());
    }
    ArrayNode { home, attributes: encoding(kind, "0.2.0"), dimensions, content, source }
}
