//! Schemas as JSON.

use serde_json::{Value, json};
use tdb_schema::{ArraySchema, Attribute, Dimension, DimensionLabel, Enumeration, Range};

use crate::pipeline::pipeline_json;
use crate::value::{cell_json, cell_val_num_json, coordinate_json};

/// A schema with the values of its enumerations, as `tdb create` takes it.
pub fn to_json(schema: &ArraySchema, enumerations: &[Enumeration]) -> Value {
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
        "current_domain": schema.current_domain.as_ref().map(|current| ranges_json(schema, &current.ranges)),
        "dimensions": schema.domain.dimensions.iter().map(dimension).collect::<Vec<_>>(),
        "attributes": schema.attributes.iter().map(attribute).collect::<Vec<_>>(),
        "labels": schema.labels.iter().map(label).collect::<Vec<_>>(),
        "enumerations": enumerations.iter().map(enumeration).collect::<Vec<_>>(),
    })
}

/// A range of each dimension, as pairs of values.
pub fn ranges_json(schema: &ArraySchema, ranges: &[Range]) -> Value {
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
