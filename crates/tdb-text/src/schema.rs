//! Schemas from JSON, in the format that `tdb info --json` prints.

mod at;
mod filters;
mod words;
mod write;

use tdb_codec::{ArrayType, CellValNum, DataOrder, Datatype, FormatVersion, Layout};
use tdb_schema::{ArraySchema, Attribute, Dimension, DimensionLabel, Domain, Enumeration, Range};

pub use self::at::{At, Result};
pub use self::filters::pipeline_of_text;
pub use self::words::{datatype, datatypes_help, filters_help, usual_cells};
pub use self::write::{ranges_json, to_json};
use crate::json::Json;
use crate::value::json_cell;

/// Keys of `tdb info --json` that describe the array rather than its schema: they are ignored.
const OF_THE_ARRAY: [&str; 9] = [
    "array",
    "schema",
    "schemas",
    "timestamps",
    "lock_file",
    "updates",
    "non_empty_domain",
    "fragments",
    "metadata",
];

const KEYS: [&str; 13] = [
    "type",
    "version",
    "tile_order",
    "cell_order",
    "capacity",
    "allows_duplicates",
    "coords_filters",
    "offsets_filters",
    "validity_filters",
    "current_domain",
    "dimensions",
    "attributes",
    "labels",
];

/// A schema and its enumerations.
#[derive(Debug)]
pub struct Described {
    /// The schema.
    pub schema: ArraySchema,
    /// The enumerations, with their values.
    pub enumerations: Vec<Enumeration>,
}

/// Parses a schema. Omitted properties have the same defaults as in libtiledb, except that
/// attributes of texts and bytes are of variable length, where libtiledb makes cells of one byte;
/// `version` replaces the format version in the schema.
pub fn parse(at: &At<'_>, version: Option<FormatVersion>) -> Result<Described> {
    at.object(&[&KEYS[..], &["enumerations"], &OF_THE_ARRAY[..]].concat())?;
    let kind = at.need("type")?.parsed("type (dense or sparse)", array_type)?;
    let mut builder = match kind {
        ArrayType::Dense => ArraySchema::dense(),
        ArrayType::Sparse => ArraySchema::sparse(),
    };
    if let Some(version) = version.map_or_else(|| stated_version(at), |version| Ok(Some(version)))? {
        builder = builder.version(version);
    }
    if let Some(order) = at.get("tile_order") {
        builder = builder.tile_order(order.parsed("order", layout)?);
    }
    if let Some(order) = at.get("cell_order") {
        builder = builder.cell_order(order.parsed("order", layout)?);
    }
    if let Some(capacity) = at.get("capacity") {
        builder = builder.capacity(capacity.whole()?);
    }
    if at.get("allows_duplicates").map_or(Ok(false), |flag| flag.flag())? {
        builder = builder.allow_duplicates();
    }
    if let Some(filters) = at.get("coords_filters") {
        builder = builder.coords_filters(filters::pipeline(&filters)?);
    }
    if let Some(filters) = at.get("offsets_filters") {
        builder = builder.offsets_filters(filters::pipeline(&filters)?);
    }
    if let Some(filters) = at.get("validity_filters") {
        builder = builder.validity_filters(filters::pipeline(&filters)?);
    }
    let mut without_extent = Vec::new();
    let mut domain = Domain::default();
    for (index, at) in at.need("dimensions")?.items()?.iter().enumerate() {
        let (mut described, has_none) = dimension(at)?;
        domain.dimensions.push(described.clone());
        if has_none {
            // The builder fills in a default where nothing is given, but this is given.
            described.tile_extent =
                Some(json_cell(described.datatype, CellValNum::ONE, &Json::Number("1".to_owned()))?);
            without_extent.push(index);
        }
        builder = builder.dimension(described);
    }
    for at in at.list("attributes")? {
        builder = builder.attribute(attribute(&at)?);
    }
    for (index, at) in at.list("labels")?.iter().enumerate() {
        builder = builder.label(label(at, index, &domain)?);
    }
    if let Some(at) = at.get("current_domain") {
        builder = builder.current_domain(ranges(&at, &domain)?);
    }
    let enumerations = at.list("enumerations")?.iter().map(enumeration).collect::<Result<Vec<_>>>()?;
    for enumeration in &enumerations {
        builder = builder.enumeration(enumeration);
    }
    let mut schema = builder.build().map_err(|problem| problem.to_string())?;
    for index in without_extent {
        if let Some(dimension) = schema.domain.dimensions.get_mut(index) {
            dimension.tile_extent = None;
        }
    }
    Ok(Described { schema, enumerations })
}

/// The first option of a filter that is outside its limits, and what is allowed.
pub fn outside_limits(at: &At<'_>) -> Option<String> {
    let own = ["coords_filters", "offsets_filters", "validity_filters"].map(|key| at.get(key));
    let fields = ["dimensions", "attributes"].map(|key| at.list(key).unwrap_or_default());
    let fields = fields.iter().flatten().map(|field| field.get("filters"));
    own.into_iter().chain(fields).flatten().find_map(|pipeline| filters::outside_limits(&pipeline))
}

fn stated_version(at: &At<'_>) -> Result<Option<FormatVersion>> {
    let Some(at) = at.get("version") else { return Ok(None) };
    FormatVersion::parse(at.whole()?).map(Some).map_err(|error| at.error(error))
}

fn array_type(name: &str) -> Option<ArrayType> {
    [ArrayType::Dense, ArrayType::Sparse].into_iter().find(|kind| kind.name() == name)
}

/// An order by its name.
pub fn layout(name: &str) -> Option<Layout> {
    (0..=u8::MAX).map_while(Layout::from_code).find(|layout| layout.name() == name)
}

fn data_order(name: &str) -> Option<DataOrder> {
    (0..=u8::MAX).map_while(DataOrder::from_code).find(|order| order.name() == name)
}

/// The datatype of a field.
///
/// # Errors
/// The fault, and its place.
pub fn datatype_at(at: &At<'_>) -> Result<Datatype> {
    at.need("datatype")?.understood(datatype)
}

/// Number of values per cell: a number, or `"var"`.
pub fn cell_val_num(at: &At<'_>, usual: CellValNum) -> Result<CellValNum> {
    let Some(at) = at.get("cell_val_num") else { return Ok(usual) };
    if at.value.as_str() == Some("var") {
        return Ok(CellValNum::Var);
    }
    let count = CellValNum::from_code(at.whole()?).filter(|count| !count.is_var());
    count.ok_or_else(|| at.error("a number of values or \"var\" is expected"))
}

fn cell(at: &At<'_>, datatype: Datatype, count: CellValNum) -> Result<Vec<u8>> {
    json_cell(datatype, count, at.value).map_err(|error| at.error(error))
}

/// A dimension, and whether it is stated to have no tile extent.
fn dimension(at: &At<'_>) -> Result<(Dimension, bool)> {
    at.object(&["name", "datatype", "cell_val_num", "domain", "extent", "filters"])?;
    let name = at.need("name")?.text()?;
    let datatype = at.need("datatype")?.understood(words::dimension_datatype)?;
    let mut dimension = Dimension::string(name);
    dimension.datatype = datatype;
    let usual = usual_cells(datatype);
    dimension.cell_val_num = cell_val_num(at, usual)?;
    if let Some(domain) = at.get("domain") {
        dimension.domain = Some(ends(&domain, &dimension)?);
    }
    if let Some(filters) = at.get("filters") {
        dimension.filters = filters::pipeline(&filters)?;
    }
    if let Some(extent) = at.get("extent") {
        dimension.tile_extent = Some(extent_of(&extent, datatype)?);
    }
    let has_none = at.entry("extent").is_some() && dimension.tile_extent.is_none();
    Ok((dimension, has_none && !usual.is_var()))
}

/// A tile extent: a number of cells, or the length of an interval of floating-point numbers.
fn extent_of(at: &At<'_>, datatype: Datatype) -> Result<Vec<u8>> {
    if datatype.physical().is_float() {
        return cell(at, datatype, CellValNum::ONE);
    }
    let bytes = at.whole::<u64>()?.to_le_bytes();
    // Extents are stored in the dimension's type, but unsigned.
    let (extent, rest) = bytes.split_at_checked(datatype.size()).unwrap_or((&bytes, &[]));
    if rest.iter().any(|byte| *byte != 0) {
        return Err(at.error(format!("{} does not fit {datatype}", at.value)));
    }
    Ok(extent.to_vec())
}

/// The two ends of a range.
///
/// # Errors
/// The fault, and its place.
pub fn ends(at: &At<'_>, dimension: &Dimension) -> Result<(Vec<u8>, Vec<u8>)> {
    let items = at.items()?;
    let [low, high] = items.as_slice() else { return Err(at.error("two ends are expected")) };
    let end = |at| cell(at, dimension.datatype, dimension.cell_val_num);
    Ok((end(low)?, end(high)?))
}

fn ranges(at: &At<'_>, domain: &Domain) -> Result<Vec<Range>> {
    let items = at.items()?;
    if items.len() != domain.dimensions.len() {
        return Err(at.error(format!("{} ranges for {} dimensions", items.len(), domain.dimensions.len())));
    }
    let range = |(at, dimension)| ends(at, dimension).map(|(low, high)| Range::new(low, high));
    items.iter().zip(&domain.dimensions).map(range).collect()
}

/// An attribute.
///
/// # Errors
/// The fault, and its place.
pub fn attribute(at: &At<'_>) -> Result<Attribute> {
    at.object(&[
        "name",
        "datatype",
        "cell_val_num",
        "nullable",
        "fill_value",
        "fill_valid",
        "enumeration",
        "order",
        "filters",
    ])?;
    // The anonymous attribute has no name.
    let name = at.get("name").map_or(Ok(""), |name| name.text())?;
    let datatype = datatype_at(at)?;
    let mut attribute = Attribute::new(name, datatype, cell_val_num(at, usual_cells(datatype))?);
    if at.get("nullable").map_or(Ok(false), |flag| flag.flag())? {
        attribute = attribute.with_nulls();
        attribute.fill_validity = u8::from(at.get("fill_valid").map_or(Ok(false), |flag| flag.flag())?);
    }
    if let Some(fill) = at.get("fill_value") {
        attribute.fill_value = cell(&fill, attribute.datatype, attribute.cell_val_num)?;
    }
    if let Some(enumeration) = at.get("enumeration") {
        attribute.enumeration = Some(enumeration.text()?.to_owned());
    }
    if let Some(order) = at.get("order") {
        attribute.order = order.parsed("order", data_order)?;
    }
    if let Some(filters) = at.get("filters") {
        attribute.filters = filters::pipeline(&filters)?;
    }
    Ok(attribute)
}

fn label(at: &At<'_>, index: usize, domain: &Domain) -> Result<DimensionLabel> {
    at.object(&[
        "name",
        "dimension",
        "datatype",
        "cell_val_num",
        "order",
        "uri",
        "relative",
        "attribute",
        "external",
    ])?;
    let datatype = datatype_at(at)?;
    let usual = usual_cells(datatype);
    let dimension = at.need("dimension")?;
    let number = match dimension.value.as_str() {
        Some(name) => {
            let place = domain.dimensions.iter().position(|dimension| dimension.name == name);
            let place = place.and_then(|place| u32::try_from(place).ok());
            place.ok_or_else(|| dimension.error(format!("there is no dimension {name:?}")))?
        }
        None => dimension.whole()?,
    };
    let text = |key: &str, usual: String| at.get(key).map_or(Ok(usual), |at| at.text().map(str::to_owned));
    let flag = |key: &str, usual: bool| at.get(key).map_or(Ok(usual), |at| at.flag());
    let name = at.need("name")?.text()?;
    let relative = flag("relative", true)?;
    let uri = text("uri", format!("__labels/l{index}"))?;
    let attribute = text("attribute", "label".to_owned())?;
    let order =
        at.get("order").map_or(Ok(DataOrder::Increasing), |order| order.parsed("order", data_order))?;
    let mut label = DimensionLabel::new(number, name, uri, datatype, cell_val_num(at, usual)?);
    label.relative = relative;
    label.attribute = attribute;
    label.order = order;
    label.external = flag("external", false)?;
    Ok(label)
}

/// An enumeration with its values.
///
/// # Errors
/// The fault, and its place.
pub fn enumeration(at: &At<'_>) -> Result<Enumeration> {
    at.object(&["name", "datatype", "cell_val_num", "ordered", "values"])?;
    let datatype = datatype_at(at)?;
    let usual = usual_cells(datatype);
    let count = cell_val_num(at, usual)?;
    let values = at.list("values")?;
    let values = values.iter().map(|value| cell(value, datatype, count)).collect::<Result<Vec<_>>>()?;
    let file_name = tdb_array::schema::enumeration_file_name().map_err(|error| at.error(error))?;
    let name = at.need("name")?.text()?;
    let mut enumeration =
        Enumeration::new(name, file_name, datatype, count, values).map_err(|error| at.error(error))?;
    enumeration.ordered = at.get("ordered").map_or(Ok(false), |flag| flag.flag())?;
    Ok(enumeration)
}
