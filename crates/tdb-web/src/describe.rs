//! What an array and its parts are, in the form that the host gets: names and numbers in the
//! document, values as blocks of bytes, which the host understands by their datatype.

use serde_json::{Value, json};
use tdb_array::schema::{
    ArrayMetadata, ArraySchema, ArrayType, Attribute, CellValNum, Dimension, Filter, MetadataValue, Pipeline,
    Range,
};
use tdb_array::stored::Fragment;
use tdb_array::{Array, Layout};
use tdb_text::pipeline::pipeline_json;

use crate::message::Blocks;

/// The schema of an array.
pub fn schema(schema: &ArraySchema, blocks: &mut Blocks) -> Value {
    let current = schema.current_domain.as_ref();
    let dimensions = schema.domain.dimensions.iter().enumerate();
    let dimensions: Vec<Value> = dimensions
        .map(|(index, own)| {
            dimension(schema, own, current.and_then(|domain| domain.ranges.get(index)), blocks)
        })
        .collect();
    let attributes: Vec<Value> = schema.attributes.iter().map(|own| attribute(own, blocks)).collect();
    let labels = schema.labels.iter().map(|label| {
        let dimension =
            usize::try_from(label.dimension).ok().and_then(|index| schema.domain.dimensions.get(index));
        json!({
            "name": label.name,
            "dimension": dimension.map(|dimension| &dimension.name),
            "datatype": label.datatype.name(),
        })
    });
    json!({
        "type": if schema.array_type == ArrayType::Dense { "dense" } else { "sparse" },
        "version": schema.version.number(),
        "dimensions": dimensions,
        "attributes": attributes,
        "labels": labels.collect::<Vec<_>>(),
        "cellOrder": order(schema.cell_order),
        "tileOrder": order(schema.tile_order),
        "capacity": schema.capacity,
        "allowsDuplicates": schema.allows_duplicates,
        "offsetsFilters": pipeline_json(&schema.offsets_filters),
        "validityFilters": pipeline_json(&schema.validity_filters),
    })
}

/// Values in a cell; null where it varies.
pub const fn cell_val_num(cell_val_num: CellValNum) -> Option<u32> {
    match cell_val_num {
        CellValNum::Fixed(count) => Some(count.get()),
        CellValNum::Var => None,
    }
}

fn order(layout: Layout) -> &'static str {
    layout.name()
}

fn dimension(schema: &ArraySchema, own: &Dimension, current: Option<&Range>, blocks: &mut Blocks) -> Value {
    let filters = if own.filters.filters.is_empty() { &schema.coords_filters } else { &own.filters };
    json!({
        "name": own.name,
        "datatype": own.datatype.name(),
        "domain": own.domain.as_ref().map(|(low, high)| json!([blocks.add(low), blocks.add(high)])),
        "tile": own.tile_extent.as_ref().map(|extent| blocks.add(extent)),
        "currentDomain": current.map(|range| interval(range, blocks)),
        "filters": pipeline_json(filters),
    })
}

fn attribute(own: &Attribute, blocks: &mut Blocks) -> Value {
    let is_null = own.nullable && own.fill_validity == 0;
    json!({
        "name": own.name,
        "datatype": own.datatype.name(),
        "cellValNum": cell_val_num(own.cell_val_num),
        "nullable": own.nullable,
        "filters": pipeline_json(&own.filters),
        "enumeration": own.enumeration,
        "fill": if is_null { Value::Null } else { blocks.add(&own.fill_value) },
        "order": own.order.name(),
    })
}

/// Both ends of a range.
fn interval(range: &Range, blocks: &mut Blocks) -> Value {
    json!([blocks.add(&range.low), blocks.add(&range.high)])
}

/// One interval a dimension.
pub fn domain(ranges: Option<&[Range]>, blocks: &mut Blocks) -> Value {
    ranges.map_or(Value::Null, |ranges| ranges.iter().map(|range| interval(range, blocks)).collect())
}

/// The visible fragments, oldest first.
pub fn fragments(array: &Array, blocks: &mut Blocks) -> Value {
    let one = |fragment: &Fragment, blocks: &mut Blocks| {
        let (start, end) = fragment.timestamps();
        json!({
            "name": fragment.name(),
            "timeRange": [start, end],
            "dense": fragment.is_dense(),
            "version": fragment.version().number(),
            "cells": fragment.cell_count(),
            "bytes": fragment.size(),
            "nonEmptyDomain": domain(fragment.non_empty_domain(), blocks),
        })
    };
    array.fragments().iter().map(|fragment| one(fragment, blocks)).collect()
}

/// Key-value metadata, in the order of the keys. Keys are shown as text.
pub fn metadata(metadata: &ArrayMetadata, blocks: &mut Blocks) -> Value {
    let one = |(key, value): (&[u8], &MetadataValue)| {
        json!({
            "key": String::from_utf8_lossy(key),
            "datatype": value.datatype.name(),
            "count": value.count(),
            "value": blocks.add(&value.data),
        })
    };
    metadata.iter().map(one).collect()
}

/// The names of the codecs that an array uses and this build lacks.
pub fn missing_codecs(array: &Array) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let schemas = array.fragments().iter().map(|fragment| fragment.schema());
    for schema in schemas.chain([array.schema()]) {
        for pipeline in pipelines(schema) {
            let lacks = pipeline.filters.iter().filter(|filter| is_missing(filter));
            missing.extend(lacks.map(Filter::name));
        }
    }
    missing.sort_unstable();
    missing.dedup();
    missing
}

fn pipelines(schema: &ArraySchema) -> impl Iterator<Item = &Pipeline> {
    let fields = schema.domain.dimensions.iter().map(|own| &own.filters);
    let fields = fields.chain(schema.attributes.iter().map(|own| &own.filters));
    fields.chain([&schema.coords_filters, &schema.offsets_filters, &schema.validity_filters])
}

const fn is_missing(filter: &Filter) -> bool {
    cfg!(not(feature = "full")) && matches!(filter, Filter::Bzip2 { .. } | Filter::WebP(_))
}
