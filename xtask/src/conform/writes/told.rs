//! A schema as libtiledb's interface tells it (`Reader.schema` of `xtask/peer/expect.py`).

use serde_json::{Map, Value, json};
use tdb_array::{ArrayType, CellValNum};
use tdb_codec::Layout;
use tdb_filters::{Filter, Pipeline};

use super::schemas::Made;

/// Bytes in hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The parts of a schema that are compared.
pub(super) fn schema(made: &Made) -> Value {
    let schema = &made.schema;
    let values = |values: CellValNum| if values.is_var() { "var".into() } else { Value::from(values.code()) };
    let dimensions: Vec<Value> = schema
        .domain
        .dimensions
        .iter()
        .map(|dimension| {
            json!({
                "name": dimension.name, "type": dimension.datatype.name(),
                "cell_val_num": values(dimension.cell_val_num),
                "domain": dimension.domain.as_ref().map(|(low, high)| [hex(low), hex(high)]),
                "tile_extent": dimension.tile_extent.as_ref().map(|extent| hex(extent)),
                "filters": pipeline(dimension_filters(made, &dimension.filters)),
            })
        })
        .collect();
    let attributes: Vec<Value> = schema
        .attributes
        .iter()
        .map(|attribute| {
            let mut told = json!({
                "name": attribute.name, "type": attribute.datatype.name(),
                "cell_val_num": values(attribute.cell_val_num), "nullable": attribute.nullable,
                "filters": pipeline(&attribute.filters), "fill": hex(&attribute.fill_value),
            });
            let mut set = |name: &str, value: Value| {
                told.as_object_mut().and_then(|told| told.insert(name.into(), value))
            };
            if attribute.nullable {
                set("fill_valid", (attribute.fill_validity != 0).into());
            }
            if let Some(enumeration) = &attribute.enumeration {
                set("enumeration", enumeration.as_str().into());
            }
            told
        })
        .collect();
    json!({
        "array_type": if schema.array_type == ArrayType::Dense { "dense" } else { "sparse" },
        "tile_order": schema.tile_order.name(), "cell_order": schema.cell_order.name(),
        "capacity": schema.capacity, "version": schema.version.number(), "allows_dups": schema.allows_duplicates,
        "coords_filters": pipeline(&schema.coords_filters), "offsets_filters": pipeline(&schema.offsets_filters),
        "validity_filters": pipeline(&schema.validity_filters),
        "dimensions": dimensions, "attributes": attributes,
        "hilbert": schema.cell_order == Layout::Hilbert,
    })
}

/// libtiledb tells the coords filters of dimensions without their own.
fn dimension_filters<'m>(made: &'m Made, own: &'m Pipeline) -> &'m Pipeline {
    if own.filters.is_empty() { &made.schema.coords_filters } else { own }
}

fn pipeline(pipeline: &Pipeline) -> Value {
    let filters: Vec<Value> = pipeline.filters.iter().map(filter).collect();
    json!({"max_chunk_size": pipeline.max_chunk_size, "filters": filters})
}

fn filter(filter: &Filter) -> Value {
    let name = filter.name().replace('-', "_");
    let mut told = Map::new();
    told.insert("type".into(), name.into());
    match filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Bzip2 { level }
        | Filter::Rle { level }
        | Filter::Dictionary { level } => {
            told.insert("level".into(), (*level).into());
        }
        Filter::BitWidthReduction { max_window } => {
            told.insert("bit_width_max_window".into(), (*max_window).into());
        }
        _ => {}
    }
    told.into()
}
