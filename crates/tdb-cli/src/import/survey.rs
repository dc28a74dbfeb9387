//! The schema of a new array for a table: its columns, and the ranges of its coordinates, which
//! take all rows.

use serde_json::{Value, json};
use tdb_array::schema::ArrayType;
use tdb_codec::digits::keeps_integer;
use tdb_codec::{CellValNum, Datatype};
use tdb_schema::{Dimension, Range};
use tdb_text::suggest::hint;
use tdb_text::value::coordinate_json;

use super::convert::{append, changed, is_number, one};
use super::dates::DateFormats;
use super::duplicates::{Keys, LeftOut, places};
use super::grow;
use super::infer::{self, GivenType, NewColumn, is_padded, remedy};
use super::rows;
use super::sorter::Record;
use super::table::{Mark, Table};

/// The high end of the current domain of text, as JSON: a byte that is not in any text. With an
/// open end, libtiledb 2.30 refuses ranges of the dimension, and finds no cells in global order.
const AFTER_TEXT: &str = "\\xff";

/// The options for a new array.
#[derive(Debug)]
pub(super) struct ArrayOptions<'a> {
    /// The columns that are dimensions.
    pub(super) dims: Vec<String>,
    /// Domains of dimensions, as `DIM=LO..HI`.
    pub(super) domains: &'a [String],
    /// The types of columns that were given.
    pub(super) types: Vec<GivenType>,
    /// The notations of dates.
    pub(super) dates: &'a DateFormats,
    /// Whether the array is dense along the rows.
    pub(super) dense: bool,
    pub(super) allow_duplicates: bool,
}

/// A schema in JSON, and what is known about its columns.
#[derive(Debug, Default)]
pub(super) struct Surveyed {
    pub(super) schema: Value,
    /// The names of the columns whose types were inferred.
    pub(super) inferred: Vec<String>,
    /// The number of rows.
    pub(super) rows: u64,
    /// The rows that are not imported.
    pub(super) left_out: LeftOut,
    /// The offsets from UTC of columns with times.
    pub(super) zones: Vec<Zone>,
}

/// The offset from UTC of the times of a field, which are stored as times of UTC.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) field: String,
    pub(super) is_dimension: bool,
    pub(super) zone: String,
}

/// The properties of a new array that are derived from rows of its file.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    options: &'a ArrayOptions<'a>,
    names: Vec<String>,
    columns: Vec<NewColumn>,
    axes: Vec<Axis>,
    /// The dimension that numbers the rows, if there is one.
    numbered: bool,
    rows: u64,
}

/// A dimension whose coordinates are in a column.
#[derive(Debug)]
struct Axis {
    column: usize,
    inferred: bool,
    /// The range of the coordinates so far; none for text.
    span: Option<Range>,
}

impl<'a> Survey<'a> {
    /// Begins with the columns of a table. Returns what the user should know about them, too.
    pub(super) fn begin(
        samples: &[Table],
        whole: bool,
        options: &'a ArrayOptions<'a>,
    ) -> Result<(Self, Vec<String>), String> {
        let (columns, notes) = infer::columns(samples, whole, &options.types, options.dates)?;
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let axis = |name: &String| {
            let column = names.iter().position(|known| known == name).ok_or_else(|| {
                let hint = hint(name, names.iter().map(String::as_str));
                let all = names.join(", ");
                // The names of several columns, and none of the characters that are between them.
                let one = matches!(names.as_slice(), [one] if one.contains([',', ';', '\t', '|']));
                let delimiter = if one { "; --delimiter says what is between cells" } else { "" };
                format!("--dims: there is no column {name:?} (there are {all}){hint}{delimiter}")
            })?;
            let inferred = columns.get(column).is_some_and(|column| column.inferred);
            Ok(Axis { column, inferred, span: None })
        };
        let axes = options.dims.iter().map(axis).collect::<Result<Vec<_>, String>>()?;
        check_domains(&names, options)?;
        let numbered = options.dims.is_empty() && !options.dense;
        let this = Self { options, names, columns, axes, numbered, rows: 0 };
        Ok((this, notes))
    }

    /// The dimensions, without the rows.
    fn dimensions(&self) -> Result<Vec<Dimension>, String> {
        let dimension = |axis: &Axis| {
            let column = self.columns.get(axis.column);
            let name = column.map_or("", |column| column.name.as_str());
            let mut dimension = Dimension::string(name);
            if let Some(datatype) = column.and_then(coordinates) {
                let wide = grow::wide(datatype, axis.span.as_ref())?;
                (dimension.datatype, dimension.cell_val_num) = (datatype, CellValNum::ONE);
                dimension.domain = Some((wide.low, wide.high));
                let types = |wider: &str| format!("--types '{name}={wider}' gives it another type");
                grow::refuse_whole_type(&dimension, types)?;
            }
            Ok(dimension)
        };
        self.axes.iter().map(dimension).collect()
    }

    /// Whether only the number of rows counts, because no column has coordinates.
    pub(super) const fn counts_only(&self) -> bool {
        self.axes.is_empty()
    }

    /// Adds rows without coordinates.
    pub(super) const fn add_rows(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
    }

    /// The dimensions as `--domain` limits them, which [`Self::look`] needs.
    pub(super) fn limits(&self) -> Result<Vec<Dimension>, String> {
        let mut limits = self.dimensions()?;
        // The domain of rows is looked at in the end.
        if !self.axes.is_empty() {
            grow::limit(&mut limits, self.options.domains)?;
        }
        Ok(limits)
    }

    /// Makes keys of coordinates.
    pub(super) fn keys(&self) -> Keys {
        let datatype = |axis: &Axis| self.columns.get(axis.column).and_then(coordinates);
        Keys::new(self.axes.iter().map(|axis| datatype(axis).map(Datatype::size)))
    }

    /// Looks at the coordinates of some rows: the range in each dimension, and the rows with their
    /// keys, if these are wanted.
    pub(super) fn look(
        &self,
        limits: &[Dimension],
        table: &Table,
        keys: Option<&Keys>,
    ) -> Result<(Vec<Option<Range>>, Vec<Record>), String> {
        self.check(table)?;
        let mut rows: Vec<Record> =
            if keys.is_some() { places(table).map(Keys::row).collect() } else { Vec::new() };
        let mut spans = Vec::with_capacity(self.axes.len());
        for (axis, limit) in self.axes.iter().zip(limits) {
            let mut row = rows.iter_mut();
            let mut take = |value: &[u8]| {
                if let Some((keys, row)) = keys.zip(row.next()) {
                    keys.add(row, value);
                }
            };
            spans.push(self.span(axis, limit, table, &mut take)?);
        }
        Ok((spans, rows))
    }

    /// The range of a column's coordinates, none for text; each coordinate is passed on.
    fn span(
        &self,
        axis: &Axis,
        limit: &Dimension,
        table: &Table,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Range>, String> {
        let datatype = self.columns.get(axis.column).and_then(coordinates);
        let Some(datatype) = datatype else {
            let mut text = Vec::new();
            for (line, cell) in table.cells(axis.column) {
                text.clear();
                append(limit.datatype, limit.cell_val_num, cell.text, &mut text)
                    .map_err(|error| format!("{}, column {:?}: {error}", table.at(line), limit.name))?;
                take(&text);
            }
            return Ok(None);
        };
        let given = self.options.domains.iter().any(|text| text.starts_with(&format!("{}=", limit.name)));
        let name = &limit.name;
        let dates = self.options.dates.of_column(name, datatype);
        let mut span: Option<Range> = None;
        for (line, cell) in table.cells(axis.column) {
            let wrong = |what: String| {
                let remedy = if axis.inferred { remedy(name, cell) } else { String::new() };
                format!("{}, column {name:?}: {what}{remedy}", table.at(line))
            };
            if axis.inferred && is_number(datatype) && is_padded(cell.text) {
                return Err(wrong(format!("{} would lose its leading zeros as {datatype}", cell.text)));
            }
            if axis.inferred && !keeps_integer(datatype, cell.text) {
                return Err(wrong(changed(datatype, cell.text)));
            }
            let text = dates.as_ref().map(|dates| dates.text(cell.text)).transpose().map_err(wrong)?;
            let value = one(datatype, text.as_deref().unwrap_or(cell.text)).map_err(wrong)?;
            take(&value);
            if given && !grow::is_inside(limit, &value) {
                return Err(grow::outside(limit, &table.at(line), &value));
            }
            match &mut span {
                Some(span) if span.contains(datatype, &value) => {}
                Some(span) => span.unite(datatype, &Range::new(value.clone(), value)),
                None => span = Some(Range::new(value.clone(), value)),
            }
        }
        Ok(span)
    }

    /// Adds rows with coordinates in these ranges.
    pub(super) fn unite(&mut self, rows: u64, spans: Vec<Option<Range>>) {
        self.add_rows(rows);
        for (axis, span) in self.axes.iter_mut().zip(spans) {
            let Some(datatype) = self.columns.get(axis.column).and_then(coordinates) else { continue };
            match (&mut axis.span, span) {
                (Some(all), Some(span)) => all.unite(datatype, &span),
                (all, span) => *all = all.take().or(span),
            }
        }
    }

    /// Returns an error for the first cell that cannot be a coordinate of any type.
    fn check(&self, table: &Table) -> Result<(), String> {
        for axis in &self.axes {
            let Some(column) = self.columns.get(axis.column) else { continue };
            let is_real = column.datatype.physical().is_float();
            for (line, cell) in table.cells(axis.column) {
                if cell.mark == Mark::Null {
                    return Err(format!(
                        "{}: column {:?} is empty, but coordinates cannot be null",
                        table.at(line),
                        column.name
                    ));
                }
                if is_real && cell.text.parse().is_ok_and(|value: f64| !value.is_finite()) {
                    return Err(format!(
                        "{}: column {:?} is {}, which is no coordinate",
                        table.at(line),
                        column.name,
                        cell.text
                    ));
                }
            }
        }
        Ok(())
    }

    /// The schema, after all rows.
    pub(super) fn finish(self) -> Result<Surveyed, String> {
        let ArrayOptions { dims, domains, dense, allow_duplicates, .. } = self.options;
        let mut new = self.dimensions()?;
        let mut spans: Vec<Option<Range>> = self.axes.iter().map(|axis| axis.span.clone()).collect();
        if self.numbered {
            let (dimension, span) = rows::dimension(&self.names, self.rows);
            new.push(dimension);
            spans.push(Some(span));
        }
        grow::limit(&mut new, domains)?;
        let outside = |(dimension, span): &(&Dimension, &Option<Range>)| {
            span.as_ref().is_some_and(|span| !grow::is_inside(dimension, &span.high))
        };
        if let Some((dimension, Some(span))) = new.iter().zip(&spans).find(outside) {
            return Err(grow::outside(dimension, "the last row", &span.high));
        }
        let mut dimensions: Vec<Value> = new.iter().map(dimension_json).collect();
        if *dense {
            let (name, extent) = (rows::name(&self.names), self.rows.min(10_000));
            let last = self.rows.saturating_sub(1);
            dimensions
                .push(json!({"name": name, "datatype": "INT64", "domain": [0, last], "extent": extent}));
        }
        let kind = if *dense { ArrayType::Dense } else { ArrayType::Sparse };
        let others = || self.columns.iter().filter(|column| !dims.contains(&column.name));
        let attributes: Vec<Value> = others().map(infer::attribute).collect();
        let mut schema = json!({"type": kind.name(), "dimensions": dimensions, "attributes": attributes});
        if let Some(schema) = schema.as_object_mut() {
            // Two imports at the same time may number rows alike; neither may hide those of the
            // other.
            if *allow_duplicates || self.numbered {
                schema.insert("allows_duplicates".to_owned(), json!(true));
            }
            if spans.iter().any(Option::is_some) {
                let current = new.iter().zip(&spans);
                let current = current.map(|(dimension, span)| current_json(dimension, span.as_ref()));
                schema.insert("current_domain".to_owned(), current.collect());
            }
        }
        let inferred = self.columns.iter().filter(|column| column.inferred);
        let inferred = inferred.map(|column| column.name.clone()).collect();
        let zone = |column: &NewColumn| {
            let (field, zone) = (column.name.clone(), column.zone.clone()?);
            Some(Zone { is_dimension: dims.contains(&field), field, zone })
        };
        let zones = self.columns.iter().filter_map(zone).collect();
        Ok(Surveyed { schema, inferred, rows: self.rows, left_out: LeftOut::default(), zones })
    }
}

/// Returns an error if a domain is given for something that has none.
fn check_domains(names: &[String], options: &ArrayOptions<'_>) -> Result<(), String> {
    for text in options.domains {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        if options.dense {
            return Err(format!(
                "--domain {text:?}: the domain of an array that is --dense is that of its rows"
            ));
        }
        if options.dims.is_empty() && names.iter().any(|known| known == name) {
            return Err(format!("--domain {text:?}: {name:?} is no dimension: --dims {name} makes it one"));
        }
    }
    Ok(())
}

/// The type of a column's coordinates; `None` for text, which booleans become, too.
fn coordinates(column: &NewColumn) -> Option<Datatype> {
    let datatype = column.datatype;
    let is_text = tdb_text::value::is_text(datatype) || datatype == Datatype::Bool;
    (!is_text).then_some(datatype)
}

fn dimension_json(dimension: &Dimension) -> Value {
    let (name, datatype) = (&dimension.name, dimension.datatype.name());
    match &dimension.domain {
        None => json!({"name": name, "datatype": datatype}),
        Some((low, high)) => {
            let domain = [low, high].map(|end| coordinate_json(dimension, end));
            json!({"name": name, "datatype": datatype, "domain": domain, "extent": null})
        }
    }
}

/// The current domain of a dimension: the range of the coordinates, and for text everything.
fn current_json(dimension: &Dimension, span: Option<&Range>) -> Value {
    span.map_or_else(
        || json!(["", AFTER_TEXT]),
        |span| json!([&span.low, &span.high].map(|end| coordinate_json(dimension, end))),
    )
}
