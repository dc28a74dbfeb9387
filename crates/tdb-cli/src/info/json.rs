//! The description as JSON.

use serde_json::{Map, Value, json};
use tdb_array::Fragment;
use tdb_schema::{ArraySchema, Attribute, Dimension, DimensionLabel, Enumeration, Range};

use super::Info;
use super::text::kind;
use crate::calendar;
use crate::describe::pipeline_json;
use crate::meta::count_of;
use crate::value::{cell_json, cell_val_num_json, coordinate_json, escape_bytes};

pub(super) fn describe(info: &Info) -> Value {
    let array = &info.array;
    let own = array.schema();
    let mut object = Map::new();
    let mut tell = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    tell("array", json!(array.describe("")));
    tell("schema", json!(array.schema_key()));
    tell("schemas", json!(array.schema_keys()));
    tell("timestamps", json!(info.window.1));
    tell("lock_file", json!(array.has_lock_file()));
    tell("updates", array.updates().collect());
    tell("non_empty_domain", json!(array.non_empty_domain().map(|domain| ranges(own, &domain))));
    if let Value::Object(properties) = schema(own, &info.enumerations) {
        properties.into_iter().for_each(|(key, value)| tell(&key, value));
    }
    tell("fragments", array.fragments().iter().map(|one| fragment(one)).collect());
    tell("metadata", metadata(info));
    Value::Object(object)
}

/// A schema with the values of its enumerations, as `tdb create` takes it.
pub(crate) fn schema(schema: &ArraySchema, enumerations: &[Enumeration]) -> Value {
    json!({
        "type": schema.array_type.name(),
        "version": schema.version.number(),
        "tile_order": schema.tile_order.name(),
        "cell_order": schema.cell_order.name(),
        "capacity": schema.capacity,
        "allows_duplicates": schema.allows_duplicates,
        "coords_filters": pipeline_json(&schema.coords_filters),
        "offsets_filters": pipeline_json(&schema.offsets_filters),
        "validity_filters": pipeline_json(&schema.validity_filters),
        "current_domain": schema.current_domain.as_ref().map(|current| ranges(schema, &current.ranges)),
        "dimensions": schema.domain.dimensions.iter().map(dimension).collect::<Vec<_>>(),
        "attributes": schema.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "labels": schema.labels.iter().map(label).collect::<Vec<_>>(),
        "enumerations": enumerations.iter().map(enumeration).collect::<Vec<_>>(),
    })
}

fn ranges(schema: &ArraySchema, ranges: &[Range]) -> Value {
    let range = |(range, dimension): (&Range, &Dimension)| {
        json!([coordinate_json(dimension, &range.low), coordinate_json(dimension, &range.high)])
    };
    ranges.iter().zip(&schema.domain.dimensions).map(range).collect()
}

fn dimension(dimension: &Dimension) -> Value {
    let domain = dimension.domain.as_ref();
    let extent = match dimension.extent_cells() {
        Some(cells) => json!(cells),
        None => json!(dimension.tile_extent.as_ref().map(|extent| coordinate_json(dimension, extent))),
    };
    json!({
        "name": dimension.name,
        "datatype": dimension.datatype.name(),
        "cell_val_num": cell_val_num_json(dimension.cell_val_num),
        "domain": domain.map(|(low, high)| [coordinate_json(dimension, low), coordinate_json(dimension, high)]),
        "extent": extent,
        "filters": pipeline_json(&dimension.filters),
    })
}

fn attribute(attribute: &Attribute) -> Value {
    json!({
        "name": attribute.name,
        "datatype": attribute.datatype.name(),
        "cell_val_num": cell_val_num_json(attribute.cell_val_num),
        "nullable": attribute.nullable,
        "fill_value": cell_json(attribute.datatype, attribute.cell_val_num, &attribute.fill_value),
        "fill_valid": !attribute.nullable || attribute.fill_validity != 0,
        "enumeration": attribute.enumeration,
        "order": attribute.order.name(),
        "filters": pipeline_json(&attribute.filters),
    })
}

fn label(label: &DimensionLabel) -> Value {
    json!({
        "name": label.name,
        "dimension": label.dimension,
        "datatype": label.datatype.name(),
        "cell_val_num": cell_val_num_json(label.cell_val_num),
        "order": label.order.name(),
        "uri": label.uri,
        "relative": label.relative,
        "attribute": label.attribute,
        "external": label.external,
    })
}

fn enumeration(entries: &Enumeration) -> Value {
    let values = (0..entries.len()).filter_map(|index| entries.value(index));
    json!({
        "name": entries.name,
        "datatype": entries.datatype.name(),
        "cell_val_num": cell_val_num_json(entries.cell_val_num),
        "ordered": entries.ordered,
        "values": values.map(|value| cell_json(entries.datatype, entries.cell_val_num, value)).collect::<Vec<_>>(),
    })
}

fn fragment(fragment: &Fragment) -> Value {
    let (start, end) = fragment.timestamps();
    json!({
        "name": fragment.name(),
        "type": kind(fragment).name(),
        "version": fragment.version().number(),
        "timestamps": [start, end],
        "dates": [calendar::format_millis(start), calendar::format_millis(end)],
        "cells": fragment.cell_count(),
        "bytes": fragment.size(),
        "non_empty_domain": fragment.non_empty_domain().map(|domain| ranges(fragment.schema(), domain)),
    })
}

fn metadata(info: &Info) -> Value {
    let mut object = Map::new();
    for (key, value) in info.metadata.iter() {
        let key = core::str::from_utf8(key).map_or_else(|_| escape_bytes(key), str::to_owned);
        let shown = cell_json(value.datatype, count_of(value), &value.data);
        object.insert(key, json!({"datatype": value.datatype.name(), "value": shown}));
    }
    Value::Object(object)
}
