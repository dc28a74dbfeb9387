//! `tdb info --all`: what is in a folder, a group or an array, in short.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use tdb_array::Array;
use tdb_array::schema::ArraySchema;
use tdb_codec::{CellValNum, Datatype, to_u64};
use tdb_filters::{Filter, Pipeline};
use tdb_schema::{ArrayMetadata, Attribute, Dimension, MetadataValue};
use tdb_text::report::{count_of, metadata_json};
use tdb_text::schema::to_json;
use tdb_text::value::{cell_text, interval_text};

use super::Info;
use super::text::name;
use crate::args::WindowArgs;
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::place::shown;
use crate::sheet::Sheet;
use crate::table::{Heading, shortened};
use crate::thresholds::{MAX_METADATA_WIDTH, MAX_TREE_DEPTH};
use crate::tree::{Explorer, Kind, Object};

/// Blanks before what is in something.
const INDENT: usize = 2;

/// Walks over everything that is in something.
pub(super) struct All<'a> {
    explorer: &'a Explorer,
    window: &'a WindowArgs,
    /// Where the walk has been: groups may contain each other.
    seen: HashSet<String>,
    failed: bool,
}

/// Sums over the fragments of an array.
struct Totals {
    cells: u64,
    bytes: u64,
    times: Option<(u64, u64)>,
}

impl<'a> All<'a> {
    pub(super) fn new(explorer: &'a Explorer, window: &'a WindowArgs) -> Self {
        Self { explorer, window, seen: HashSet::new(), failed: false }
    }

    /// Whether something could not be shown.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Prints a few lines for everything in something.
    pub(super) fn text(&mut self, object: &Object, out: &mut Sheet<'_>) -> Result {
        self.text_below(object, 0, out)
    }

    /// The same as JSON.
    pub(super) fn json(&mut self, object: &Object) -> Result<Value> {
        self.json_below(object, 0)
    }

    fn text_below(&mut self, object: &Object, depth: usize, out: &mut Sheet<'_>) -> Result {
        let indent = depth.saturating_mul(INDENT);
        let head = format!("{}{} {}", " ".repeat(indent), object.kind.word(), one_line(&object.name));
        if let Err(why) = self.enter(object, depth) {
            return Ok(out.line(format!("{head}: {why}"))?);
        }
        let below = indent.saturating_add(INDENT);
        let shown = match object.kind {
            Kind::Array => self.open(object).map(|info| (array_line(&info, out), field_rows(&info))),
            Kind::Group => self.explorer.group(&object.location).and_then(|group| {
                let metadata = group.metadata();
                let metadata = metadata.map_err(|error| Failure::of_array(&object.location, error))?;
                Ok((count(to_u64(group.members().count()), "member"), metadata_rows(&metadata)))
            }),
            Kind::Folder | Kind::Absent(_) => Ok((String::new(), Vec::new())),
        };
        match shown {
            Ok((line, rows)) => {
                let colon = if line.is_empty() { "" } else { ": " };
                out.line(format!("{head}{colon}{line}"))?;
                out.bare(below, &["", "", "", "", ""].map(Heading::left), &rows)?;
            }
            Err(failure) => {
                self.failed = true;
                out.line(format!("{head}: {}", one_line(failure.text())))?;
            }
        }
        match self.explorer.inside(object) {
            Ok(inside) => {
                inside.iter().try_for_each(|one| self.text_below(one, depth.saturating_add(1), out))
            }
            Err(failure) => {
                // A group that cannot be opened has said so already.
                if object.kind == Kind::Folder {
                    self.failed = true;
                    let blanks = " ".repeat(below);
                    out.line(format!("{blanks}{}", one_line(failure.text())))?;
                }
                Ok(())
            }
        }
    }

    fn json_below(&mut self, object: &Object, depth: usize) -> Result<Value> {
        let mut own = Map::new();
        own.insert("name".to_owned(), json!(object.name));
        own.insert("type".to_owned(), json!(object.kind.word()));
        own.insert("location".to_owned(), json!(shown(&object.location)));
        let mut error = self.enter(object, depth).err();
        if error.is_none() {
            let described = match object.kind {
                Kind::Array => self.open(object).map(|info| array_json(&info)),
                Kind::Group => self.explorer.group(&object.location).and_then(|group| {
                    let metadata = group.metadata();
                    let metadata = metadata.map_err(|error| Failure::of_array(&object.location, error))?;
                    Ok(json!({ "metadata": metadata_json(&metadata) }))
                }),
                Kind::Folder | Kind::Absent(_) => Ok(json!({})),
            };
            let mut failures = Vec::new();
            match described {
                Ok(Value::Object(described)) => own.extend(described),
                Ok(_) => {}
                Err(failure) => failures.push(failure),
            }
            if object.kind != Kind::Array && failures.is_empty() {
                match self.explorer.inside(object) {
                    Ok(inside) => {
                        let inside = inside.iter().map(|one| self.json_below(one, depth.saturating_add(1)));
                        own.insert("inside".to_owned(), Value::Array(inside.collect::<Result<_>>()?));
                    }
                    Err(failure) => failures.push(failure),
                }
            }
            self.failed |= !failures.is_empty();
            error = failures.first().map(|failure| failure.text().to_owned());
        }
        if let Some(error) = error {
            own.insert("error".to_owned(), json!(error));
        }
        Ok(Value::Object(own))
    }

    /// Why the walk does not go into something, if it does not.
    fn enter(&mut self, object: &Object, depth: usize) -> Result<(), String> {
        if let Kind::Absent(why) = &object.kind {
            return Err(one_line(why));
        }
        if object.kind == Kind::Array {
            return Ok(());
        }
        if !self.seen.insert(self.explorer.identity(object)) {
            return Err("shown above".to_owned());
        }
        if depth >= MAX_TREE_DEPTH {
            self.failed = true;
            return Err("too deep to follow".to_owned());
        }
        Ok(())
    }

    fn open(&self, object: &Object) -> Result<Info> {
        let array = self.explorer.array(&object.location)?;
        Info::load(array, self.window).map_err(|error| Failure::of_array(&object.location, error))
    }
}

impl Totals {
    fn of(array: &Array) -> Self {
        let mut totals = Self { cells: 0, bytes: 0, times: None };
        for fragment in array.fragments() {
            totals.cells = totals.cells.saturating_add(fragment.cell_count());
            totals.bytes = totals.bytes.saturating_add(fragment.size());
            let (first, last) = fragment.timestamps();
            let (earliest, latest) = totals.times.unwrap_or((first, last));
            totals.times = Some((earliest.min(first), latest.max(last)));
        }
        totals
    }
}

fn array_line(info: &Info, out: &Sheet<'_>) -> String {
    let array = &info.array;
    let Totals { cells, bytes, times } = Totals::of(array);
    let fragments = count(to_u64(array.fragments().len()), "fragment");
    let sizes = format!("{} in {fragments}, {}", count(cells, "cell"), count(bytes, "byte"));
    let times = times.map_or(String::new(), |(first, last)| format!(", {}", out.span(first, last)));
    format!("{}, version {}, {sizes}{times}", array.schema().array_type, array.schema().version)
}

fn array_json(info: &Info) -> Value {
    let array = &info.array;
    let Totals { cells, bytes, times } = Totals::of(array);
    let mut described = to_json(array.schema(), &info.enumerations);
    let mut part = |key: &str| described.get_mut(key).map(Value::take);
    json!({
        "array_type": part("type"),
        "version": part("version"),
        "cells": cells,
        "bytes": bytes,
        "fragments": array.fragments().len(),
        "timestamps": times.map(|(first, last)| [first, last]),
        "current_domain": part("current_domain"),
        "dimensions": part("dimensions"),
        "attributes": part("attributes"),
        "labels": part("labels"),
        "metadata": metadata_json(&info.metadata),
    })
}

/// A row for each dimension, attribute, label and key of metadata.
fn field_rows(info: &Info) -> Vec<Vec<String>> {
    let schema = info.array.schema();
    let mut rows = Vec::new();
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let own = &dimension.filters;
        let filters = if own.filters.is_empty() { &schema.coords_filters } else { own };
        rows.push(vec![
            "dimension".to_owned(),
            name(&dimension.name),
            type_text(dimension.datatype, dimension.cell_val_num, false),
            domain_text(schema, index, dimension),
            filters_text(filters),
        ]);
    }
    let attribute = |attribute: &Attribute| {
        let values = attribute.enumeration.as_deref();
        vec![
            "attribute".to_owned(),
            name(&attribute.name),
            type_text(attribute.datatype, attribute.cell_val_num, attribute.nullable),
            values.map_or(String::new(), |values| format!("of {}", name(values))),
            filters_text(&attribute.filters),
        ]
    };
    rows.extend(schema.attributes.iter().map(attribute));
    for label in &schema.labels {
        let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
        let dimension = schema.domain.dimensions.get(index).map_or("?", |dimension| &dimension.name);
        rows.push(vec![
            "label".to_owned(),
            name(&label.name),
            type_text(label.datatype, label.cell_val_num, false),
            format!("of {}", name(dimension)),
            String::new(),
        ]);
    }
    rows.extend(metadata_rows(&info.metadata));
    rows
}

fn metadata_rows(metadata: &ArrayMetadata) -> Vec<Vec<String>> {
    let row = |(key, value): (&[u8], &MetadataValue)| {
        vec![
            "metadata".to_owned(),
            cell_text(Datatype::StringUtf8, CellValNum::Var, key),
            value.datatype.to_string(),
            shortened(cell_text(value.datatype, count_of(value), &value.data), MAX_METADATA_WIDTH),
        ]
    };
    metadata.iter().map(row).collect()
}

/// A type with what its cells are: `INT32?` may be null, `FLOAT32[3]` is three values, `UINT8[]`
/// any number of them. Strings have any length unless one is shown.
fn type_text(datatype: Datatype, cells: CellValNum, nullable: bool) -> String {
    let count = match cells {
        CellValNum::ONE => String::new(),
        CellValNum::Fixed(count) => format!("[{count}]"),
        CellValNum::Var if datatype.is_string() => String::new(),
        CellValNum::Var => "[]".to_owned(),
    };
    format!("{datatype}{count}{}", if nullable { "?" } else { "" })
}

/// The domain, after the current one if there is one.
fn domain_text(schema: &ArraySchema, index: usize, dimension: &Dimension) -> String {
    let domain = dimension.domain.as_ref();
    let whole = domain.map_or("any".to_owned(), |(low, high)| interval_text(dimension, low, high));
    let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
    match current.map(|range| interval_text(dimension, &range.low, &range.high)) {
        Some(current) if current != whole => format!("{current} of {whole}"),
        _ => whole,
    }
}

/// The names of filters.
fn filters_text(pipeline: &Pipeline) -> String {
    pipeline.filters.iter().map(Filter::name).collect::<Vec<_>>().join(" ")
}
