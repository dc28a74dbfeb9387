//! A schema in the form that libtiledb's interface returns (`Reader.schema` of
//! `xtask/peer/expect.py`).

use serde_json::{Map, Value, json};
use tdb_array::Layout;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_codec::{DataOrder, Gate};
use tdb_filters::{Filter, Pipeline};
use tdb_schema::{DimensionLabel, Enumeration};

/// Bytes in hex.
pub(in crate::conform) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A schema, to be compared or to be created.
pub(in crate::conform) fn schema(schema: &ArraySchema, enumerations: &[Enumeration]) -> Value {
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
                "filters": pipeline(dimension_filters(schema, &dimension.filters)),
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
    let mut told = json!({
        "array_type": if schema.array_type == ArrayType::Dense { "dense" } else { "sparse" },
        "tile_order": schema.tile_order.name(), "cell_order": schema.cell_order.name(),
        "capacity": schema.capacity, "version": schema.version.number(), "allows_dups": schema.allows_duplicates,
        "coords_filters": pipeline(&schema.coords_filters), "offsets_filters": pipeline(&schema.offsets_filters),
        "dimensions": dimensions, "attributes": attributes,
    });
    let mut set =
        |name: &str, value: Value| told.as_object_mut().and_then(|told| told.insert(name.into(), value));
    if schema.version.has(Gate::Nullable) {
        set("validity_filters", pipeline(&schema.validity_filters));
    }
    if let Some(current) = &schema.current_domain {
        let ranges = current.ranges.iter().map(|range| json!([hex(&range.low), hex(&range.high)]));
        set("current_domain", ranges.collect());
    }
    if !schema.labels.is_empty() {
        let label = |label: &DimensionLabel| {
            json!({
                "name": label.name, "dimension": label.dimension, "type": label.datatype.name(),
                "cell_val_num": values(label.cell_val_num), "attribute": label.attribute, "uri": label.uri,
                "order": if label.order == DataOrder::Increasing { "increasing" } else { "decreasing" },
            })
        };
        set("dimension_labels", schema.labels.iter().map(label).collect());
    }
    if !enumerations.is_empty() {
        set("enumerations", enumerations.iter().map(enumeration).collect());
    }
    told
}

/// The number of values of a cell.
fn values(values: CellValNum) -> Value {
    if values.is_var() { "var".into() } else { Value::from(values.code()) }
}

/// Properties that a library which does not know them would ignore without an error.
pub(super) fn needs(schema: &ArraySchema) -> Value {
    let filtered = schema.domain.dimensions.iter().any(|dimension| !dimension.filters.filters.is_empty());
    let filled = schema.attributes.iter().any(|attribute| {
        let default = attribute.datatype.default_fill();
        attribute.fill_validity != 0
            || attribute.fill_value.chunks(default.len().max(1)).any(|value| value != default)
    });
    let ordered = schema.attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered);
    let nullable = schema.attributes.iter().any(|attribute| attribute.nullable);
    let typed = |pipeline: &Pipeline| {
        let mut filters = pipeline.filters.iter();
        filters.any(|filter| matches!(filter, Filter::DoubleDelta { reinterpret: Some(_), .. }))
    };
    let typed =
        [&schema.coords_filters, &schema.offsets_filters, &schema.validity_filters].into_iter().any(typed)
            || schema.fields().any(|field| typed(field.filters));
    let needs = [
        ("dimension filters", filtered),
        ("fill values", filled),
        ("Hilbert order", schema.cell_order == Layout::Hilbert),
        ("ordered attributes", ordered),
        ("a type for double delta", typed),
        ("validity filters", nullable && schema.validity_filters.filters != [Filter::Rle { level: -1 }]),
    ];
    needs.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect()
}

fn enumeration(enumeration: &Enumeration) -> Value {
    let mut told = json!({
        "name": enumeration.name, "type": enumeration.datatype.name(), "cell_val_num": values(enumeration.cell_val_num),
        "ordered": enumeration.ordered, "data": base64(&enumeration.data),
    });
    let starts: Vec<u8> =
        enumeration.offsets.iter().flatten().flat_map(|start| start.to_le_bytes()).collect();
    if !starts.is_empty() {
        told.as_object_mut().and_then(|told| told.insert("offsets".into(), base64(&starts).into()));
    }
    told
}

pub(in crate::conform) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, byte| (word << 8) | u32::from(*byte));
        let word = word << (8 * (3 - group.len()));
        for digit in 0..4 {
            let letter =
                usize::try_from((word >> (18 - 6 * digit)) & 63).ok().and_then(|at| ALPHABET.get(at));
            let letter = if digit <= group.len() { letter.copied().unwrap_or(b'=') } else { b'=' };
            out.push(char::from(letter));
        }
    }
    out
}

/// libtiledb returns the coords filters for dimensions without their own.
fn dimension_filters<'s>(schema: &'s ArraySchema, own: &'s Pipeline) -> &'s Pipeline {
    let inherits = own.filters.is_empty() && schema.version.has(Gate::DimensionFiles);
    if inherits { &schema.coords_filters } else { own }
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
        Filter::PositiveDelta { max_window } => {
            told.insert("positive_delta_max_window".into(), (*max_window).into());
        }
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            told.insert("level".into(), (*level).into());
            // ANY means no type.
            let datatype = reinterpret.unwrap_or(Datatype::Any);
            told.insert("reinterpret_datatype".into(), datatype.code().into());
        }
        Filter::ScaleFloat(scale) => {
            told.insert("scale_float_bytewidth".into(), scale.byte_width.bytes().into());
            told.insert("scale_float_factor".into(), scale.scale.into());
            told.insert("scale_float_offset".into(), scale.offset.into());
        }
        Filter::WebP(image) => {
            told.insert("webp_quality".into(), image.quality.into());
            told.insert("webp_input_format".into(), image.format.code().into());
            told.insert("webp_lossless".into(), u8::from(image.lossless).into());
        }
        _ => {}
    }
    told.into()
}
