//! The description as text.

use std::io;

use tdb_array::schema::ArrayType;
use tdb_array::stored::Fragment;
use tdb_codec::{DataOrder, Gate};
use tdb_schema::{ArraySchema, Dimension, Range};
use tdb_text::pipeline::pipeline_text;
use tdb_text::report::kind;
use tdb_text::value::{cell_text, coordinate_text, escape_bytes, interval_text};

use super::Info;
use crate::failure::one_line;
use crate::meta;
use crate::sheet::Sheet;
use crate::table::{Heading, shortened};
use crate::thresholds::{MAX_FILL_WIDTH, MAX_SHOWN_VALUES};

pub(super) fn write(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    schema(info, out)?;
    fragments(info, out)?;
    metadata(info, out)
}

/// What the array is, without what is in it.
pub(crate) fn schema(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    let schema = info.array.schema();
    overview(info, out)?;
    dimensions(schema, out)?;
    attributes(schema, out)?;
    labels(schema, out)?;
    enumerations(info, out)
}

fn overview(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    let array = &info.array;
    let schema = array.schema();
    let mut line = |name: &str, value: String| out.line(format!("{name:<17} {value}"));
    line("array", array.describe(""))?;
    line("type", schema.array_type.to_string())?;
    line("format version", schema.version.to_string())?;
    let count = array.schema_keys().len();
    let latest = if count > 1 { format!(" (the array has {count} schemas)") } else { String::new() };
    line("schema", format!("{}{latest}", array.schema_key()))?;
    if let (Some(window), _) = &info.window {
        line("opened between", window.clone())?;
    }
    line("tile order", schema.tile_order.to_string())?;
    line("cell order", schema.cell_order.to_string())?;
    line("capacity", schema.capacity.to_string())?;
    if schema.array_type == ArrayType::Sparse {
        line("duplicates", if schema.allows_duplicates { "allowed" } else { "not allowed" }.to_owned())?;
    }
    line("coords filters", pipeline_text(&schema.coords_filters))?;
    line("offsets filters", pipeline_text(&schema.offsets_filters))?;
    line("validity filters", pipeline_text(&schema.validity_filters))?;
    if array.has_lock_file() {
        line("lock file", "__lock.tdb".to_owned())?;
    } else if !schema.version.has(Gate::NoLockFile) {
        line("lock file", "missing (libtiledb 1.7 to 2.5 cannot open the array)".to_owned())?;
    }
    for update in array.updates() {
        line("update", format!("{} (its cells read as deleted)", one_line(update)))?;
    }
    let domain = array.non_empty_domain();
    line("non-empty domain", domain.map_or("none".to_owned(), |domain| ranges(schema, &domain)))?;
    if let Some(current) = &schema.current_domain {
        line("current domain", ranges(schema, &current.ranges))?;
    }
    Ok(())
}

fn dimensions(schema: &ArraySchema, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = ["dimension", "type", "domain", "extent", "filters"].map(Heading::left);
    let row = |dimension: &Dimension| {
        let domain = dimension.domain.as_ref();
        vec![
            name(&dimension.name),
            dimension.datatype.to_string(),
            domain.map_or("any".to_owned(), |(low, high)| interval_text(dimension, low, high)),
            extent_text(dimension),
            if dimension.filters.filters.is_empty() {
                "coords".to_owned()
            } else {
                pipeline_text(&dimension.filters)
            },
        ]
    };
    let rows: Vec<_> = schema.domain.dimensions.iter().map(row).collect();
    section(out, &headings, &rows)
}

fn attributes(schema: &ArraySchema, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = ["attribute", "type", "values", "nullable", "fill", "enumeration", "order", "filters"]
        .map(Heading::left);
    let rows: Vec<_> = schema
        .attributes
        .iter()
        .map(|attribute| {
            let null = attribute.nullable && attribute.fill_validity == 0;
            // The fill value of a var-length cell is one value.
            let fill = cell_text(attribute.datatype, attribute.cell_val_num, &attribute.fill_value);
            let fill = if null { "null".to_owned() } else { shortened(fill, MAX_FILL_WIDTH) };
            vec![
                name(&attribute.name),
                attribute.datatype.to_string(),
                attribute.cell_val_num.to_string(),
                if attribute.nullable { "yes" } else { "no" }.to_owned(),
                fill,
                attribute.enumeration.as_deref().map_or("-".to_owned(), name),
                if attribute.order == DataOrder::Unordered { "-" } else { attribute.order.name() }.to_owned(),
                pipeline_text(&attribute.filters),
            ]
        })
        .collect();
    section(out, &headings, &rows)
}

fn labels(schema: &ArraySchema, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = ["label", "dimension", "type", "values", "order", "array", "attribute"].map(Heading::left);
    let rows: Vec<_> = schema
        .labels
        .iter()
        .map(|label| {
            let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
            let dimension = schema.domain.dimensions.get(index);
            vec![
                name(&label.name),
                dimension.map_or("?".to_owned(), |dimension| name(&dimension.name)),
                label.datatype.to_string(),
                label.cell_val_num.to_string(),
                label.order.name().to_owned(),
                name(&label.uri),
                name(&label.attribute),
            ]
        })
        .collect();
    section(out, &headings, &rows)
}

fn enumerations(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = ["enumeration", "type", "ordered", "count", "values"].map(Heading::left);
    let rows: Vec<_> = info
        .enumerations
        .iter()
        .map(|entries| {
            let shown = (0..entries.len().min(MAX_SHOWN_VALUES)).filter_map(|index| entries.value(index));
            let mut values: Vec<_> =
                shown.map(|value| cell_text(entries.datatype, entries.cell_val_num, value)).collect();
            if entries.len() > MAX_SHOWN_VALUES {
                values.push("…".to_owned());
            }
            vec![
                name(&entries.name),
                entries.datatype.to_string(),
                if entries.ordered { "yes" } else { "no" }.to_owned(),
                entries.len().to_string(),
                values.join(", "),
            ]
        })
        .collect();
    section(out, &headings, &rows)
}

fn fragments(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = [
        Heading::left("fragment"),
        Heading::left("type"),
        Heading::right("version"),
        Heading::right("cells"),
        Heading::right("bytes"),
        Heading::left("written"),
        Heading::left("non-empty domain"),
    ];
    let row = |fragment: &Fragment| {
        let (start, end) = fragment.timestamps();
        vec![
            name(fragment.name()),
            kind(fragment).to_string(),
            fragment.version().to_string(),
            fragment.cell_count().to_string(),
            fragment.size().to_string(),
            out.span(start, end),
            fragment.non_empty_domain().map_or("none".to_owned(), |domain| ranges(fragment.schema(), domain)),
        ]
    };
    let rows: Vec<_> = info.array.fragments().iter().map(|fragment| row(fragment)).collect();
    if rows.is_empty() {
        out.line(String::new())?;
        return out.line("no fragments".to_owned());
    }
    section(out, &headings, &rows)
}

fn metadata(info: &Info, out: &mut Sheet<'_>) -> io::Result<()> {
    section(out, &meta::headings(), &meta::rows(&info.metadata))
}

/// A table after an empty line; nothing if there are no rows.
fn section(out: &mut Sheet<'_>, headings: &[Heading], rows: &[Vec<String>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    out.line(String::new())?;
    out.table(headings, rows)
}

pub(super) fn ranges(schema: &ArraySchema, ranges: &[Range]) -> String {
    let range = |(range, dimension): (&Range, &Dimension)| interval_text(dimension, &range.low, &range.high);
    ranges.iter().zip(&schema.domain.dimensions).map(range).collect::<Vec<_>>().join(", ")
}

pub(crate) fn name(name: &str) -> String {
    if name.is_empty() { "(anonymous)".to_owned() } else { escape_controls(name) }
}

fn escape_controls(name: &str) -> String {
    if name.chars().any(char::is_control) { escape_bytes(name.as_bytes()) } else { name.to_owned() }
}

/// Extents are lengths: those of dates are numbers of units.
fn extent_text(dimension: &Dimension) -> String {
    match (&dimension.tile_extent, dimension.extent_cells()) {
        (None, _) => "none".to_owned(),
        (Some(_), Some(cells)) if !dimension.datatype.unit().is_empty() => {
            format!("{cells} {}", dimension.datatype.unit())
        }
        (Some(_), Some(cells)) => cells.to_string(),
        (Some(extent), None) => coordinate_text(dimension, extent),
    }
}
