//! Arrays as groups of arrays.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tdb_array::Array;
use tdb_array::schema::{ArrayMetadata, ArrayType, Attribute, Dimension, Enumeration};
use tdb_cells::OrInternal;
use tdb_text::value::interval_text;

use crate::chunk::{Content, Part};
use crate::column::Rows;
use crate::form::Shown;
use crate::grid::{Coordinates, Grid, Side, fitted, is_counted_from_zero, sides};
use crate::node::{ArrayNode, Group, Node, Source};
use crate::thresholds::{COORDINATE_CHUNK, MAX_COORDINATES};
use crate::{Options, Refusal, Result, attributes};

/// The name of an attribute that has none.
const ANONYMOUS: &str = "values";
/// The name that libtiledb 1.x stores for such an attribute.
const OLD_ANONYMOUS: &str = "__attr";
/// The group of the values of enumerations.
const ENUMERATIONS: &str = "enumerations";

/// A group that is being made of an array.
struct Making<'a> {
    array: &'a Array,
    home: usize,
    /// The path of the group, with a slash at its end unless it is the root.
    path: String,
    metadata: ArrayMetadata,
    group: Group,
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
    let group = Group::new(attributes::of_all(&metadata));
    let path = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut making = Making { array, home, path, metadata, group, refused: Vec::new() };
    match array.schema().array_type {
        ArrayType::Dense => match sides(array.schema()) {
            Ok(sides) => making.dense(&sides)?,
            Err(why) => making.refuse("", why),
        },
        ArrayType::Sparse => making.sparse(&Arc::new(Rows::new(options.rows)))?,
    }
    making.enumerations()?;
    Ok((making.group, making.refused))
}

/// The name of a field's node.
fn name_of(field: &str) -> &str {
    if matches!(field, "" | OLD_ANONYMOUS) { ANONYMOUS } else { field }
}

impl Making<'_> {
    fn refuse(&mut self, name: &str, why: impl Into<String>) {
        let path = match name {
            "" => self.path.trim_end_matches('/').to_owned(),
            _ => format!("{}{name}", self.path),
        };
        self.refused.push(Refusal { path, reason: why.into() });
    }

    fn add(&mut self, name: &str, node: ArrayNode) {
        if let Err(why) = self.group.add(name, Node::Array(node)) {
            self.refuse(name, why);
        }
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
            let fields = attribute.name.clone();
            let source = move |shown: &Shown| {
                let sides = fitted(sides.to_vec(), shown);
                Source::Grid(Grid { label: None, field: fields.clone(), sides })
            };
            self.attribute(attribute, &axes, source);
        }
        Ok(())
    }

    /// Adds the columns of a sparse array.
    fn sparse(&mut self, rows: &Arc<Rows>) -> Result<()> {
        let axes = ["cell".to_owned()];
        let schema = self.array.schema();
        for dimension in &schema.domain.dimensions {
            let shown = match Shown::of(dimension.datatype, dimension.cell_val_num) {
                Ok(shown) => shown,
                Err(why) => {
                    self.refuse(&dimension.name, why);
                    continue;
                }
            };
            let content = Content {
                field: dimension.name.clone(),
                part: Part::Values,
                shown,
                fill: vec![0; shown.cell_bytes().unwrap_or(0)],
            };
            let source = Source::Column(dimension.name.clone(), Arc::clone(rows));
            let own = attributes::of_field(&self.metadata, &dimension.name, true);
            let node = self.node(content, &axes, source, own);
            self.add(&dimension.name, node);
        }
        for attribute in &schema.attributes {
            let source = |_: &Shown| Source::Column(attribute.name.clone(), Arc::clone(rows));
            self.attribute(attribute, &axes, source);
        }
        Ok(())
    }

    /// Adds an attribute, and its validity if it has one.
    fn attribute(&mut self, attribute: &Attribute, axes: &[String], source: impl Fn(&Shown) -> Source) {
        let name = name_of(&attribute.name);
        let shown = match Shown::of(attribute.datatype, attribute.cell_val_num) {
            Ok(shown) => shown,
            Err(why) => return self.refuse(name, why),
        };
        let mut own = attributes::of_field(&self.metadata, &attribute.name, false);
        if let Some(enumeration) = &attribute.enumeration {
            own.insert("tdb_enumeration".to_owned(), json!(format!("{ENUMERATIONS}/{enumeration}")));
        }
        let validity = format!("{name}_validity");
        if attribute.nullable {
            own.insert("tdb_validity".to_owned(), json!(validity));
        }
        let content = Content {
            field: attribute.name.clone(),
            part: Part::Values,
            shown,
            fill: attribute.fill_value.clone(),
        };
        let node = self.node(content, axes, source(&shown), own);
        self.add(name, node);
        if attribute.nullable {
            let shown = Shown::validity();
            let fill = vec![u8::from(attribute.fill_validity != 0)];
            let content = Content { field: attribute.name.clone(), part: Part::Validity, shown, fill };
            let node = self.node(content, axes, source(&shown), Map::new());
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
            dimensions.push(format!("{}_value", name_of(&content.field)));
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
        let shown = match Shown::of(dimension.datatype, dimension.cell_val_num) {
            Ok(shown) => shown,
            Err(why) => return self.refuse(&dimension.name, why),
        };
        let content = Content {
            field: dimension.name.clone(),
            part: Part::Values,
            shown,
            fill: vec![0; dimension.datatype.size()],
        };
        let side = Side { count: side.count, chunk: COORDINATE_CHUNK.min(side.count) };
        let source = Source::Coordinates(Coordinates { dimension: at, side });
        let own = attributes::of_field(&self.metadata, &dimension.name, true);
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
            let content = Content {
                field: label.name.clone(),
                part: Part::Values,
                shown,
                fill: attribute.fill_value.clone(),
            };
            let sides = fitted(vec![*side], &shown);
            let field = attribute.name.clone();
            let source = Source::Grid(Grid { label: Some(label.name.clone()), field, sides });
            let node = self.node(content, core::slice::from_ref(&dimension.name), source, Map::new());
            self.add(&label.name, node);
            names.push(label.name.clone());
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
        let mut group = Group::default();
        for name in names {
            let path = format!("{ENUMERATIONS}/{name}");
            let enumeration = self.array.enumeration(name)?.or_internal("an enumeration has no values")?;
            match self.values(&enumeration)? {
                Ok(node) => {
                    if let Err(why) = group.add(name, Node::Array(node)) {
                        self.refuse(&path, why);
                    }
                }
                Err(why) => self.refuse(&path, why),
            }
        }
        if group.children().next().is_none() {
            return Ok(());
        }
        if let Err(why) = self.group.add(ENUMERATIONS, Node::Group(group)) {
            self.refuse(ENUMERATIONS, why);
        }
        Ok(())
    }

    /// The values of an enumeration, or why they cannot be shown.
    fn values(&self, enumeration: &Enumeration) -> Result<Result<ArrayNode, String>> {
        let shown = match Shown::of(enumeration.datatype, enumeration.cell_val_num) {
            Ok(shown) => shown,
            Err(why) => return Ok(Err(why)),
        };
        let content = Content {
            field: enumeration.name.clone(),
            part: Part::Values,
            shown,
            fill: vec![0; shown.cell_bytes().unwrap_or(0)],
        };
        let mut encoder = content.encoder();
        for number in 0..enumeration.len() {
            encoder.push(
                enumeration.value(number).or_internal("an enumeration has fewer values than it says")?,
            )?;
        }
        let chunk = encoder.finish()?;
        let count = u64::try_from(enumeration.len()).ok().or_internal("an enumeration is too long")?;
        let own = Map::from_iter([("tdb_ordered".to_owned(), json!(enumeration.ordered))]);
        Ok(Ok(self.node(content, &["value".to_owned()], Source::Values(count, chunk), own)))
    }
}

/// Names of fields, for tests.
#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn an_attribute_without_a_name_is_called_values() {
        assert_eq!([name_of(""), name_of("__attr"), name_of("a")], ["values", "values", "a"]);
    }
}
