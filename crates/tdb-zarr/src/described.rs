//! Arrays as groups of arrays.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tdb_array::Array;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, Dimension, Enumeration};
use tdb_cells::OrInternal;
use tdb_text::value::interval_text;

use crate::attributes::{OfFields, of_all};
use crate::chunk::{Content, Part};
use crate::column::Rows;
use crate::form::Shown;
use crate::grid::{Coordinates, Grid, Side, fitted, is_counted_from_zero, sides};
use crate::names::Names;
use crate::node::{ArrayNode, Group, Node, Source};
use crate::thresholds::{COORDINATE_CHUNK, MAX_COORDINATES};
use crate::{Error, Options, Refusal, Result};

/// A group that is being made of an array.
struct Making<'a> {
    array: &'a Array,
    home: usize,
    /// The path of the group, with a slash at its end unless it is the root.
    path: String,
    metadata: OfFields,
    names: Names<'a>,
    group: Group,
    /// The values of the enumerations that fields have.
    enumerations: Group,
    refused: Vec<Refusal>,
}

/// The group that shows an array, and what of it cannot be shown. `home` is its number among the
/// opened arrays.
pub(crate) fn described(
    array: &Array,
    home: usize,
    path: &str,
    options: &Options,
) -> Result<(Group, Vec<Refusal>)> {
    let metadata = array.metadata()?;
    let mut making = Making {
        array,
        home,
        path: if path.is_empty() { String::new() } else { format!("{path}/") },
        metadata: OfFields::new(&metadata),
        names: Names::of(array.schema()),
        group: Group::new(of_all(&metadata)),
        enumerations: Group::default(),
        refused: Vec::new(),
    };
    // First, since fields say where their values are.
    making.enumerations()?;
    match array.schema().array_type {
        ArrayType::Dense => match sides(array.schema()) {
            Ok(sides) => making.dense(&sides)?,
            Err(why) => making.refuse("", why),
        },
        ArrayType::Sparse => making.sparse(options),
    }
    if making.enumerations.children().next().is_some() {
        let (name, values) = (making.names.enumerations.clone(), core::mem::take(&mut making.enumerations));
        if let Err(why) = making.group.add(&name, Node::Group(values)) {
            making.refuse(&name, why);
        }
    }
    Ok((making.group, making.refused))
}

/// Bytes that the widest cell of a sparse array's fields takes in a chunk.
pub(crate) fn widest(schema: &ArraySchema) -> u64 {
    let dimensions = schema.domain.dimensions.iter().filter_map(|one| {
        let shown = Shown::of(one.datatype, one.cell_val_num).ok()?;
        Some(content(&one.name, shown, &shown.zeros()).weight())
    });
    let attributes = schema.attributes.iter().filter_map(|one| {
        let shown = Shown::of(one.datatype, one.cell_val_num).ok()?;
        Some(content(&one.name, shown, &one.fill_value).weight())
    });
    dimensions.chain(attributes).max().unwrap_or(0)
}

/// The values of a field.
pub(crate) fn content(field: &str, shown: Shown, fill: &[u8]) -> Content {
    Content { field: field.to_owned(), part: Part::Values, shown, fill: shown.short(fill).to_vec() }
}

impl Making<'_> {
    fn refuse(&mut self, name: &str, why: impl Into<String>) {
        let path = match name {
            "" => self.path.trim_end_matches('/').to_owned(),
            _ => format!("{}{name}", self.path),
        };
        self.refused.push(Refusal { path, reason: why.into() });
    }

    /// Adds a node, or says why it is not shown. Whether it is.
    fn add(&mut self, name: &str, node: ArrayNode) -> bool {
        let added = self.group.add(name, Node::Array(node));
        added.map_err(|why| self.refuse(name, why)).is_ok()
    }

    /// Adds the arrays of a dense array.
    fn dense(&mut self, sides: &[Side]) -> Result<()> {
        let schema = self.array.schema();
        let axes: Vec<String> = schema.domain.dimensions.iter().map(|one| one.name.clone()).collect();
        for (at, (dimension, side)) in schema.domain.dimensions.iter().zip(sides).enumerate() {
            self.coordinates(at, dimension, *side);
        }
        self.labels(sides)?;
        for attribute in &schema.attributes {
            let source = |content: &Content| {
                let sides = fitted(sides.to_vec(), content);
                Source::Grid(Grid { label: None, field: attribute.name.clone(), sides })
            };
            self.attribute(attribute, &axes, source);
        }
        Ok(())
    }

    /// Adds the columns of a sparse array.
    fn sparse(&mut self, options: &Options) {
        let axes = ["cell".to_owned()];
        let schema = self.array.schema();
        let rows = &Arc::new(Rows::new(options, widest(schema)));
        for dimension in &schema.domain.dimensions {
            let Some(shown) = self.dimension(dimension) else { continue };
            let content = content(&dimension.name, shown, &shown.zeros());
            let source = Source::Column(dimension.name.clone(), Arc::clone(rows));
            let own = self.metadata.field(&dimension.name, true);
            let node = self.node(content, &axes, source, own);
            self.add(&dimension.name, node);
        }
        for attribute in &schema.attributes {
            let source = |_: &Content| Source::Column(attribute.name.clone(), Arc::clone(rows));
            self.attribute(attribute, &axes, source);
        }
    }

    /// How a dimension is shown, if it can be.
    fn dimension(&mut self, dimension: &Dimension) -> Option<Shown> {
        let shown = if self.names.is_attribute(&dimension.name) {
            Err("an attribute has this name, too".to_owned())
        } else {
            Shown::of(dimension.datatype, dimension.cell_val_num)
        };
        shown.map_err(|why| self.refuse(&dimension.name, why)).ok()
    }

    /// Adds an attribute, and its validity if it has one.
    fn attribute(&mut self, attribute: &Attribute, axes: &[String], source: impl Fn(&Content) -> Source) {
        let name = self.names.of_field(&attribute.name).to_owned();
        let shown = Shown::of(attribute.datatype, attribute.cell_val_num);
        let shown = match self.group.may_have(&name).map_err(str::to_owned).and(shown) {
            Ok(shown) => shown,
            Err(why) => return self.refuse(&name, why),
        };
        let mut own = self.metadata.field(&attribute.name, false);
        if let Some(enumeration) = &attribute.enumeration
            && self.enumerations.child(enumeration).is_some()
        {
            let path = format!("{}/{enumeration}", self.names.enumerations);
            own.insert("tdb_enumeration".to_owned(), json!(path));
        }
        let mut validity = attribute.nullable.then(|| self.names.validity(&name));
        if let Some(other) = &validity {
            match self.group.may_have(other) {
                Ok(()) => _ = own.insert("tdb_validity".to_owned(), json!(other)),
                Err(why) => {
                    self.refuse(&other.clone(), why);
                    validity = None;
                }
            }
        }
        let content = content(&attribute.name, shown, &attribute.fill_value);
        let of_values = source(&content);
        let node = self.node(content, axes, of_values, own);
        self.add(&name, node);
        if let Some(validity) = validity {
            let fill = vec![u8::from(attribute.fill_validity != 0)];
            let (field, shown) = (attribute.name.clone(), Shown::validity());
            let content = Content { field, part: Part::Validity, shown, fill };
            let of_validity = source(&content);
            let node = self.node(content, axes, of_validity, Map::new());
            self.add(&validity, node);
        }
    }

    fn node(
        &self,
        content: Content,
        axes: &[String],
        source: Source,
        attributes: Map<String, Value>,
    ) -> ArrayNode {
        let mut dimensions = axes.to_vec();
        if content.shown.inner.is_some() {
            let name = format!("{}_value", self.names.of_field(&content.field));
            dimensions.push(self.names.axis(name));
        }
        ArrayNode { home: self.home, attributes, dimensions, content, source }
    }

    /// Adds the coordinates of a dimension whose positions are not its coordinates.
    fn coordinates(&mut self, at: usize, dimension: &Dimension, side: Side) {
        if is_counted_from_zero(dimension) {
            return;
        }
        if side.count > MAX_COORDINATES {
            let (low, high) = dimension
                .domain
                .as_ref()
                .map_or((&[][..], &[][..]), |(low, high)| (low.as_slice(), high.as_slice()));
            let why = format!(
                "the array of its {} coordinates, {}, would be too long for readers that load it whole",
                side.count,
                interval_text(dimension, low, high),
            );
            return self.refuse(&dimension.name, why);
        }
        let Some(shown) = self.dimension(dimension) else { return };
        let content = content(&dimension.name, shown, &shown.zeros());
        let side = Side { count: side.count, chunk: COORDINATE_CHUNK.min(side.count) };
        let source = Source::Coordinates(Coordinates { dimension: at, side });
        let own = self.metadata.field(&dimension.name, true);
        let node = self.node(content, core::slice::from_ref(&dimension.name), source, own);
        self.add(&dimension.name, node);
    }

    /// Adds the labels of dimensions, each as an array of its own.
    fn labels(&mut self, sides: &[Side]) -> Result<()> {
        let schema = self.array.schema();
        let mut names = Vec::new();
        for label in &schema.labels {
            let axis = usize::try_from(label.dimension).ok();
            let axis = axis.and_then(|at| schema.domain.dimensions.get(at).zip(sides.get(at)));
            let (dimension, side) = axis.or_internal("a label is of no dimension")?;
            let opened = match self.array.label(&label.name) {
                Ok(opened) => opened.or_internal("an array lost a label")?,
                Err(tdb_array::Error::Unsupported { what, .. }) => {
                    self.refuse(&label.name, what);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let found = opened.schema().attribute(&label.attribute);
            let [_] = opened.schema().domain.dimensions.as_slice() else {
                self.refuse(&label.name, "the label's array has more than one dimension");
                continue;
            };
            let attribute = found.or_internal("a label's array has no such attribute")?;
            let shown = match Shown::of(attribute.datatype, attribute.cell_val_num) {
                Ok(shown) => shown,
                Err(why) => {
                    self.refuse(&label.name, why);
                    continue;
                }
            };
            let content = content(&label.name, shown, &attribute.fill_value);
            let sides = fitted(vec![*side], &content);
            let field = attribute.name.clone();
            let source = Source::Grid(Grid { label: Some(label.name.clone()), field, sides });
            let node = self.node(content, core::slice::from_ref(&dimension.name), source, Map::new());
            if self.add(&label.name, node) {
                names.push(label.name.clone());
            }
        }
        if !names.is_empty() {
            // Readers that know the conventions of CF make coordinates of these.
            self.group.attributes.entry("coordinates").or_insert_with(|| json!(names.join(" ")));
        }
        Ok(())
    }

    /// Adds the values of the enumerations that fields have.
    fn enumerations(&mut self) -> Result<()> {
        let fields = self.array.schema().attributes.iter();
        let mut names: Vec<&String> = fields.filter_map(|one| one.enumeration.as_ref()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let enumeration = self.array.enumeration(name)?.or_internal("an enumeration has no values")?;
            let added = self.values(&enumeration)?;
            let added = added.and_then(|node| self.enumerations.add(name, Node::Array(node)));
            if let Err(why) = added {
                self.refuse(&format!("{}/{name}", self.names.enumerations), why);
            }
        }
        Ok(())
    }

    /// The values of an enumeration, or why they cannot be shown.
    fn values(&self, enumeration: &Enumeration) -> Result<Result<ArrayNode, String>> {
        let found = values(enumeration)?;
        Ok(found.map(|(content, source)| {
            let own = Map::from_iter([("tdb_ordered".to_owned(), json!(enumeration.ordered))]);
            self.node(content, &["value".to_owned()], source, own)
        }))
    }
}

/// The values of an enumeration, or why they cannot be shown.
pub(crate) fn values(enumeration: &Enumeration) -> Result<Result<(Content, Source), String>> {
    let shown = match Shown::of(enumeration.datatype, enumeration.cell_val_num) {
        Ok(shown) => shown,
        Err(why) => return Ok(Err(why)),
    };
    let content = content(&enumeration.name, shown, &shown.zeros());
    let mut encoder = content.encoder();
    for number in 0..enumeration.len() {
        let value = enumeration.value(number);
        match encoder.push(value.or_internal("an enumeration has fewer values than it says")?) {
            Err(Error::NotText { cell, datatype, .. }) => {
                return Ok(Err(format!("its value {cell} is not valid {datatype} text")));
            }
            pushed => pushed?,
        }
    }
    let chunk = encoder.finish()?;
    let count = u64::try_from(enumeration.len()).ok().or_internal("an enumeration is too long")?;
    Ok(Ok((content, Source::Values(count, chunk))))
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use tdb_array::schema::{CellValNum, Datatype, SchemaBuilder};

    use super::*;

    #[test]
    fn the_widest_field_of_an_array_may_be_a_dimension() {
        let widest = |attributes: &[(Datatype, u32)]| {
            let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=9).with_tile(10i32));
            let attribute = |schema: SchemaBuilder, (at, (datatype, count)): (usize, &(Datatype, u32))| {
                let count = CellValNum::Fixed(NonZeroU32::new(*count).unwrap());
                schema.attribute(Attribute::new(format!("a{at}"), *datatype, count))
            };
            widest(&attributes.iter().enumerate().fold(schema, attribute).build().unwrap())
        };
        assert_eq!(widest(&[(Datatype::Int8, 1)]), 4);
        assert_eq!(widest(&[(Datatype::Int8, 1), (Datatype::Float64, 1000), (Datatype::Char, 5)]), 8000);
        // What is not shown has no chunks.
        assert_eq!(widest(&[(Datatype::Int8, 7), (Datatype::Blob, (1 << 20) + 1)]), 7);
    }
}
