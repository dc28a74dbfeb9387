//! Schemas and their parts as texts, in the words of libtiledb.

mod values;

use std::fmt::Write as _;

use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Dimension, DimensionLabel, Domain, Enumeration, Filter, Pipeline,
    Range,
};

use crate::enums::{DATATYPES, FILTER_TYPES, LAYOUTS};
use values::value;
pub(crate) use values::{general, number, range};

/// The word for a datatype.
fn datatype(code: u8) -> &'static str {
    DATATYPES.word(u32::from(code)).unwrap_or("")
}

fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn count(number: CellValNum) -> String {
    match number {
        CellValNum::Var => "var".to_owned(),
        CellValNum::Fixed(count) => count.to_string(),
    }
}

fn filter(filter: &Filter) -> String {
    let word = || FILTER_TYPES.word(u32::from(filter.code())).unwrap_or("");
    match filter {
        Filter::None => "NoOp".to_owned(),
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => format!("{}: COMPRESSION_LEVEL={level}", word()),
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            let name = reinterpret.map_or("ANY", |found| datatype(found.code()));
            format!("{}: COMPRESSION_LEVEL={level}, REINTERPRET_DATATYPE={name}", word())
        }
        Filter::BitWidthReduction { max_window } => {
            format!("BitWidthReduction: BIT_WIDTH_MAX_WINDOW={max_window}")
        }
        Filter::PositiveDelta { max_window } => {
            format!("PositiveDelta: POSITIVE_DELTA_MAX_WINDOW={max_window}")
        }
        Filter::BitShuffle => "BitShuffle".to_owned(),
        Filter::ByteShuffle => "ByteShuffle".to_owned(),
        Filter::Aes256Gcm => "EncryptionAES256GCM".to_owned(),
        Filter::ChecksumMd5 => "ChecksumMD5".to_owned(),
        Filter::ChecksumSha256 => "ChecksumSHA256".to_owned(),
        Filter::ScaleFloat(options) => {
            let (scale, offset) = (general(options.scale), general(options.offset));
            format!(
                "FloatScalingFilter: BYTE_WIDTH={}, SCALE={scale}, OFFSET={offset}",
                options.byte_width.bytes()
            )
        }
        Filter::Xor => "XORFilter".to_owned(),
        Filter::WebP(_) => "WebpFilter".to_owned(),
        _ => String::new(),
    }
}

/// The number of filters, and a line for each.
fn pipeline(pipeline: &Pipeline) -> String {
    let lines: String = pipeline.filters.iter().map(|one| format!("\n  > {}", filter(one))).collect();
    format!("{}{lines}", pipeline.filters.len())
}

/// An attribute.
pub(crate) fn attribute(attribute: &Attribute) -> String {
    let mut text = String::from("### Attribute ###\n");
    // Writing to a text cannot fail.
    let _ = writeln!(text, "- Name: {}", attribute.name);
    let _ = writeln!(text, "- Type: {}", datatype(attribute.datatype.code()));
    let _ = writeln!(text, "- Nullable: {}", flag(attribute.nullable));
    let _ = writeln!(text, "- Cell val num: {}", count(attribute.cell_val_num));
    let _ = writeln!(text, "- Filters: {}", pipeline(&attribute.filters));
    let size = attribute.datatype.size().max(1);
    let values: Vec<String> =
        attribute.fill_value.chunks_exact(size).map(|bytes| value(attribute.datatype, bytes)).collect();
    let _ = write!(text, "- Fill value: {}", values.join(", "));
    if attribute.nullable {
        let _ = write!(text, "\n- Fill value validity: {}", attribute.fill_validity);
    }
    if attribute.order.code() != 0 {
        let _ = write!(text, "\n- Data ordering: {}", attribute.order.name());
    }
    if let Some(name) = &attribute.enumeration {
        let _ = write!(text, "\n- Enumeration name: {name}");
    }
    text.push('\n');
    text
}

/// A dimension.
pub(crate) fn dimension(dimension: &Dimension) -> String {
    let domain = dimension
        .domain
        .as_ref()
        .map_or_else(|| "null".to_owned(), |(low, high)| range(dimension.datatype, low, high));
    let extent = dimension.tile_extent.as_ref();
    let extent = extent.map_or_else(|| "null".to_owned(), |bytes| value(dimension.datatype, bytes));
    let mut text = String::from("### Dimension ###\n");
    let _ = writeln!(text, "- Name: {}", dimension.name);
    let _ = writeln!(text, "- Type: {}", datatype(dimension.datatype.code()));
    let _ = writeln!(text, "- Cell val num: {}", count(dimension.cell_val_num));
    let _ = writeln!(text, "- Domain: {domain}");
    let _ = writeln!(text, "- Tile extent: {extent}");
    let _ = writeln!(text, "- Filters: {}", pipeline(&dimension.filters));
    text
}

/// A domain.
pub(crate) fn domain(domain: &Domain) -> String {
    domain.dimensions.iter().map(|one| format!("\n{}", dimension(one))).collect()
}

/// An enumeration.
pub(crate) fn enumeration(enumeration: &Enumeration) -> String {
    let mut text = String::from("### Enumeration ###\n");
    let _ = writeln!(text, "- Name: {}", enumeration.name);
    let _ = writeln!(text, "- Type: {}", datatype(enumeration.datatype.code()));
    let _ = writeln!(text, "- Cell Val Num: {}", enumeration.cell_val_num.code());
    let _ = writeln!(text, "- Ordered: {}", flag(enumeration.ordered));
    let _ = writeln!(text, "- Element Count: {}", enumeration.len());
    text
}

/// The ranges of a rectangle, of the dimensions of a domain.
pub(crate) fn rectangle(ranges: &[Option<Range>], domain: &Domain) -> String {
    let mut text = String::from(" - NDRectangle ###\n");
    for (one, dimension) in ranges.iter().zip(&domain.dimensions) {
        let shown = one
            .as_ref()
            .map_or_else(|| "null".to_owned(), |one| range(dimension.datatype, &one.low, &one.high));
        let _ = writeln!(text, "  - {shown}");
    }
    text
}

/// A current domain, of the ranges of a rectangle; there is none in many arrays.
pub(crate) fn current_domain(ranges: Option<&[Option<Range>]>, domain: &Domain) -> String {
    let head = "### Current domain ###\n- Version: 0\n";
    match ranges {
        None => format!("{head}- Empty: 1\n"),
        Some(ranges) => format!("{head}- Empty: 0\n- Type: NDRECTANGLE\n{}", rectangle(ranges, domain)),
    }
}

fn label(label: &DimensionLabel) -> String {
    let mut text = String::from("### Dimension Label ###\n");
    let _ = writeln!(text, "- Dimension Index: {}", label.dimension);
    let _ = writeln!(text, "- Dimension Label Name: {}", label.name);
    let _ = writeln!(text, "- URI: {}", label.uri);
    let _ = writeln!(text, "- Label Attribute Name: {}", label.name);
    let _ = writeln!(text, "- Label Type: {}", datatype(label.datatype.code()));
    let _ = writeln!(text, "- Label cell val num: {}", count(label.cell_val_num));
    text
}

/// A schema; enumerations that were loaded are shown whole.
pub(crate) fn schema(schema: &ArraySchema, loaded: &[Enumeration]) -> String {
    let order = |code: u8| LAYOUTS.word(u32::from(code)).unwrap_or("");
    let mut text = String::new();
    let _ = writeln!(text, "- Array type: {}", schema.array_type.name());
    let _ = writeln!(text, "- Cell order: {}", order(schema.cell_order.code()));
    let _ = writeln!(text, "- Tile order: {}", order(schema.tile_order.code()));
    let _ = writeln!(text, "- Capacity: {}", schema.capacity);
    let _ = writeln!(text, "- Allows duplicates: {}", flag(schema.allows_duplicates));
    let _ = writeln!(text, "- Coordinates filters: {}", pipeline(&schema.coords_filters));
    let _ = writeln!(text, "- Offsets filters: {}", pipeline(&schema.offsets_filters));
    let _ = writeln!(text, "- Validity filters: {}", pipeline(&schema.validity_filters));
    text.push_str(&domain(&schema.domain));
    for one in &schema.attributes {
        let _ = write!(text, "\n{}", attribute(one));
    }
    for known in &schema.enumerations {
        match loaded.iter().find(|enumeration| enumeration.name == known.name) {
            Some(found) => {
                let _ = write!(text, "\n{}", enumeration(found));
            }
            None => {
                let _ = write!(text, "\n### Enumeration ###\n- Name: {}\n- Loaded: false\n", known.name);
            }
        }
    }
    for one in &schema.labels {
        let _ = write!(text, "\n{}", label(one));
    }
    let ranges: Option<Vec<Option<Range>>> =
        schema.current_domain.as_ref().map(|current| current.ranges.iter().cloned().map(Some).collect());
    let _ = write!(text, "\n{}", current_domain(ranges.as_deref(), &schema.domain));
    text
}
