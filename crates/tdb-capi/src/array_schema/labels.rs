//! Dimension labels of a schema.

use tdb_array::schema::{CellValNum, DataOrder, Datatype, DimensionLabel};

use super::{LabelChoice, Origin, Schema, SchemaObject, failure};
use crate::codes;
use crate::context::Ctx;
use crate::dimension_label::LabelObject;
use crate::ffi::{Data, Failure, In, Out, OutHandle, Outcome, Text};
use crate::filter_list::FilterList;
use crate::place::Place;

impl Schema {
    fn add_label(&mut self, dimension: u32, name: &str, order: DataOrder, datatype: Datatype) -> Outcome {
        if order == DataOrder::Unordered {
            let why = "Unordered dimension labels are not yet supported.";
            return Err(failure(format!("Cannot add dimension label; {why}")));
        }
        let dimensions = &self.schema.domain.dimensions;
        if dimensions.is_empty() {
            let why = "Must set domain before adding dimension labels.";
            return Err(failure(format!("Cannot add dimension label; {why}")));
        }
        if usize::try_from(dimension).unwrap_or(usize::MAX) >= dimensions.len() {
            return Err(failure(format!(
                "Cannot add a label to dimension {dimension}; Invalid dimension index. "
            )));
        }
        let taken = |what: &str| {
            failure(format!(
                "Cannot add a dimension label with name '{name}'. {what} with that name already exists."
            ))
        };
        if self.schema.attribute(name).is_some() {
            return Err(taken("An attribute"));
        }
        if self.schema.dimension(name).is_some() {
            return Err(taken("A dimension"));
        }
        if self.schema.labels.iter().any(|label| label.name == name) {
            return Err(taken("A different label"));
        }
        let uri = format!("__labels/l{}", self.schema.labels.len());
        let count = if datatype == Datatype::StringAscii { CellValNum::Var } else { CellValNum::ONE };
        let mut label = DimensionLabel::new(dimension, name, uri, datatype, count);
        label.order = order;
        self.schema.labels.push(label);
        Ok(())
    }

    /// Keeps what the caller chooses for the array of a label that is not made yet, given the
    /// datatype of the dimension that it labels.
    fn choose(
        &mut self,
        name: &str,
        what: &str,
        choice: impl FnOnce(Datatype) -> Result<LabelChoice, Failure>,
    ) -> Outcome {
        let label = self.schema.labels.iter().find(|label| label.name == name);
        let label = label.ok_or_else(|| failure(format!("No dimension label with the name '{name}'.")))?;
        if self.origin.is_some() {
            let why = "No dimension label schema is set.";
            return Err(failure(format!("Cannot set {what} for dimension label '{name}'; {why}")));
        }
        let index = usize::try_from(label.dimension).unwrap_or(usize::MAX);
        let dimension = self.schema.domain.dimensions.get(index);
        let dimension = dimension.ok_or_else(|| failure("a label without its dimension"))?;
        let choice = choice(dimension.datatype)?;
        self.label_choices.push(choice);
        Ok(())
    }

    fn label(&self, find: impl Fn(usize, &DimensionLabel) -> bool) -> Option<LabelObject> {
        let mut labels = self.schema.labels.iter().enumerate();
        let found = labels.find(|(index, label)| find(*index, label)).map(|(_, label)| label.clone())?;
        let place = match &self.origin {
            Some(Origin::Array(array)) => {
                let place = array.describe("");
                place
                    .strip_prefix("memory:")
                    .map(|key| format!("mem://{key}"))
                    .unwrap_or_else(|| Place::Local(place.clone()).uri())
            }
            _ => String::new(),
        };
        Some(LabelObject { label: found, array: place })
    }
}

exported! {
    fn tiledb_array_schema_add_dimension_label(ctx: Ctx, schema: In<SchemaObject>, dimension: u32, name: Text, order: u32, datatype: u32) -> Code for ctx {
        let (order, datatype) = (codes::data_order(order)?, codes::datatype(datatype)?);
        schema.get()?.0.lock().add_label(dimension, name.get("name")?, order, datatype)
    }

    fn tiledb_array_schema_set_dimension_label_filter_list(ctx: Ctx, schema: In<SchemaObject>, name: Text, filters: In<FilterList>) -> Code for ctx {
        let (name, filters) = (name.get("label_name")?, filters.get()?.0.copy());
        let mut schema = schema.get()?.0.lock();
        schema.choose(name, "filter pipeline", |_| Ok(LabelChoice::Filters(name.to_owned(), filters)))
    }

    fn tiledb_array_schema_set_dimension_label_tile_extent(ctx: Ctx, schema: In<SchemaObject>, name: Text, datatype: u32, extent: Data) -> Code for ctx {
        let (name, datatype) = (name.get("label_name")?, codes::datatype(datatype)?);
        let mut schema = schema.get()?.0.lock();
        schema.choose(name, "tile extent", |own| {
            if own != datatype {
                let (own, given) = (own.name(), datatype.name());
                return Err(failure(format!("Cannot set tile extent for dimension label '{name}'; The dimension the label is set on has type '{own}' which does not match the provided datatype '{given}'.")));
            }
            let extent = extent.bytes(crate::number(datatype.size()))?;
            Ok(LabelChoice::Extent(name.to_owned(), extent.to_vec()))
        })
    }

    fn tiledb_array_schema_get_dimension_label_num(ctx: Ctx, schema: In<SchemaObject>, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(schema.get()?.0.lock().schema.labels.len()))
    }

    fn tiledb_array_schema_has_dimension_label(ctx: Ctx, schema: In<SchemaObject>, name: Text, has: Out<i32>) -> Code for ctx {
        let name = name.get("name")?;
        has.set(i32::from(schema.get()?.0.lock().schema.labels.iter().any(|label| label.name == name)))
    }

    fn tiledb_array_schema_get_dimension_label_from_index(ctx: Ctx, schema: In<SchemaObject>, index: u64, label: OutHandle<LabelObject>) -> Code for ctx {
        let found = schema.get()?.0.lock().label(|at, _| crate::number(at) == index);
        label.put(found.ok_or_else(|| failure(format!("No dimension label at index {index}.")))?)
    }

    fn tiledb_array_schema_get_dimension_label_from_name(ctx: Ctx, schema: In<SchemaObject>, name: Text, label: OutHandle<LabelObject>) -> Code for ctx {
        let name = name.get("name")?;
        let found = schema.get()?.0.lock().label(|_, label| label.name == name);
        label.put(found.ok_or_else(|| failure(format!("No dimension label with the name '{name}'.")))?)
    }
}
