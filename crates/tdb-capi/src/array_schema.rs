//! Array schemas: made by the caller, or loaded.

pub(crate) mod get;
pub(crate) mod labels;
pub(crate) mod set;

use std::sync::Arc;

use tdb_array::group::ObjectType;
use tdb_array::schema::{ArraySchema, ArrayType, Domain, Enumeration, Filter, Gate, Pipeline};
use tdb_array::{Array, ArrayWriter};

use crate::codes;
use crate::config::{Config, ConfigObject};
use crate::context::{Context, Ctx};
use crate::dump;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, Outcome, Text};
use crate::misc::now;
use crate::object::or_missing;
use crate::place::{self, Place};
use crate::shared::Shared;
use crate::string::StringObject;

/// A schema with what its enumerations are, as far as that is known.
#[derive(Clone)]
pub(crate) struct Schema {
    /// The schema.
    pub(crate) schema: ArraySchema,
    /// Enumerations of a new schema, and those that were loaded.
    pub(crate) enumerations: Vec<Enumeration>,
    /// What the caller chose for the arrays of labels of a new schema.
    label_choices: Vec<LabelChoice>,
    /// Where the schema comes from, which can load enumerations.
    origin: Option<Origin>,
    /// The first and last time of the schema, in milliseconds.
    times: (u64, u64),
    /// Whether the caller chose the time.
    timed: bool,
}

/// Something that the caller chose for the array of a label.
#[derive(Clone)]
enum LabelChoice {
    /// The filters of its values.
    Filters(String, Pipeline),
    /// The tile extent of its dimension.
    Extent(String, Vec<u8>),
}

/// The open array that a schema was loaded from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// For reading.
    Array(Array),
    /// For writing.
    Writer(Arc<ArrayWriter>),
}

impl Origin {
    fn enumeration(&self, name: &str) -> Result<Option<Enumeration>, tdb_array::Error> {
        match self {
            Self::Array(array) => array.enumeration(name),
            Self::Writer(writer) => writer.enumeration(name),
        }
    }

    fn schema(&self) -> &ArraySchema {
        match self {
            Self::Array(array) => array.schema(),
            Self::Writer(writer) => writer.schema(),
        }
    }

    /// The times of the schema, which only a reader knows.
    fn times(&self) -> (u64, u64) {
        match self {
            Self::Array(array) => times_of(array.schema_key()).unwrap_or((0, 0)),
            Self::Writer(_) => (0, 0),
        }
    }
}

/// A schema behind a pointer.
pub(crate) struct SchemaObject(pub(crate) Shared<Schema>);

impl Object for SchemaObject {
    const NAME: &'static str = "array schema";
}

pub(super) fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("ArraySchema", text)
}

impl SchemaObject {
    /// A new schema, without dimensions and attributes.
    pub(crate) fn new(array_type: ArrayType, time: Option<u64>) -> Self {
        let mut schema = ArraySchema::new(array_type, Domain::default());
        schema.coords_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
        schema.offsets_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
        schema.validity_filters = Pipeline::new(vec![Filter::Rle { level: -1 }]);
        let when = time.unwrap_or_else(now);
        let (enumerations, label_choices, origin) = (Vec::new(), Vec::new(), None);
        let (times, timed) = ((when, when), time.is_some());
        Self(Shared::new(Schema { schema, enumerations, label_choices, origin, times, timed }))
    }
}

/// The times in the name of a schema's file, or of a fragment.
pub(crate) fn times_of(key: &str) -> Option<(u64, u64)> {
    let mut parts = key.rsplit('/').next()?.split('_').filter(|part| !part.is_empty());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

impl Schema {
    /// The schema of an open array. Dimensions without filters have those of coordinates, as in
    /// schemas that libtiledb loads, from the version on in which dimensions have filters.
    pub(crate) fn of(origin: Origin) -> Self {
        let mut schema = origin.schema().clone();
        let inherited = schema.coords_filters.clone();
        let has_filters = schema.version.has(Gate::DimensionFiles);
        let dimensions = schema.domain.dimensions.iter_mut().filter(|_| has_filters);
        let bare = dimensions.filter(|one| one.filters.filters.is_empty());
        bare.for_each(|dimension| dimension.filters = inherited.clone());
        let times = origin.times();
        let (enumerations, label_choices, origin) = (Vec::new(), Vec::new(), Some(origin));
        Self { schema, enumerations, label_choices, origin, times, timed: false }
    }

    /// Loads all enumerations.
    ///
    /// # Errors
    /// One cannot be read.
    pub(crate) fn load_enumerations(&mut self) -> Outcome {
        let names: Vec<String> = self.schema.enumerations.iter().map(|known| known.name.clone()).collect();
        names.iter().try_for_each(|name| self.enumeration(name).map(drop))
    }

    /// The enumeration of a name, loaded if it must be.
    ///
    /// # Errors
    /// The schema has none of the name, or it cannot be read.
    pub(crate) fn enumeration(&mut self, name: &str) -> Result<Enumeration, Failure> {
        if let Some(known) = self.enumerations.iter().find(|known| known.name == name) {
            return Ok(known.clone());
        }
        let origin = self.origin.as_ref();
        let loaded = origin.map(|origin| origin.enumeration(name)).transpose()?.flatten();
        let loaded = loaded.ok_or_else(|| {
            failure(format!(
                "Unable to check if unknown enumeration is loaded. No enumeration named '{name}'."
            ))
        })?;
        self.enumerations.push(loaded.clone());
        Ok(loaded)
    }

    /// Checks a schema that an array shall have.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(crate) fn check(&self, config: &Config) -> Outcome {
        let broken = |why: &str| failure(format!("Array schema check failed; {why}"));
        if self.schema.domain.dimensions.is_empty() {
            return Err(broken("Domain not set"));
        }
        if self.schema.array_type == ArrayType::Dense && self.schema.attributes.is_empty() {
            return Err(broken("No attributes provided"));
        }
        let mut schema = self.schema.clone();
        schema.set_image_extents().map_err(|problem| broken(&problem.to_string()))?;
        schema.check_new_but_filters().map_err(|problem| broken(&problem.to_string()))?;
        let (mut total, most) = (0u64, config.parsed::<u64>("sm.enumerations_max_size"));
        for enumeration in &self.enumerations {
            schema.check_enumeration(enumeration).map_err(|problem| broken(&problem.to_string()))?;
            let offsets = enumeration.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
            let size = crate::number(enumeration.data.len().saturating_add(offsets));
            total = total.saturating_add(size);
            if let Some(most) = most.filter(|most| size > *most) {
                let name = &enumeration.name;
                return Err(failure(format!(
                    "Invalid enumeration '{name}' has a size exceeding {most} bytes."
                )));
            }
        }
        match config.parsed::<u64>("sm.enumerations_max_total_size") {
            Some(most) if total > most => {
                Err(failure(format!("Total enumeration size for the entire schema exceeds {most} bytes.")))
            }
            _ => Ok(()),
        }
    }
}

/// Loads the newest schema of an array.
fn load(context: &Context, config: &Config, uri: &str) -> Result<SchemaObject, Failure> {
    let place = Place::of(context, uri)?;
    let opened = place::open_options(context, config)?.open_storage(place.storage()?);
    let array = opened.map_err(|error| or_missing(&place, error))?;
    Ok(SchemaObject(Shared::new(Schema::of(Origin::Array(array)))))
}

exported! {
    fn tiledb_array_schema_alloc(ctx: Ctx, array_type: u32, schema: OutHandle<SchemaObject>) -> Code for ctx {
        schema.put(SchemaObject::new(codes::array_type(array_type)?, None))
    }

    fn tiledb_array_schema_alloc_at_timestamp(ctx: Ctx, array_type: u32, time: u64, schema: OutHandle<SchemaObject>) -> Code for ctx {
        if time == 0 {
            return Err("timestamp cannot be 0".into());
        }
        schema.put(SchemaObject::new(codes::array_type(array_type)?, Some(time)))
    }

    fn tiledb_array_schema_free(schema: Freed<SchemaObject>) {
        schema.free();
    }

    fn tiledb_array_schema_check(ctx: Ctx, schema: In<SchemaObject>) -> Code for ctx {
        let schema = schema.get()?.0.copy();
        schema.check(ctx.get()?.config())
    }

    fn tiledb_array_schema_load(ctx: Ctx, uri: Text, schema: OutHandle<SchemaObject>) -> Code for ctx {
        let context = ctx.get()?;
        schema.put(load(context, context.config(), uri.get("array_uri")?)?)
    }

    fn tiledb_array_schema_load_with_config(ctx: Ctx, config: In<ConfigObject>, uri: Text, schema: OutHandle<SchemaObject>) -> Code for ctx {
        let context = ctx.get()?;
        let merged = context.config().with(config)?;
        schema.put(load(context, &merged, uri.get("array_uri")?)?)
    }

    fn tiledb_array_schema_timestamp_range(ctx: Ctx, schema: In<SchemaObject>, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        let times = schema.get()?.0.lock().times;
        low.set(times.0)?;
        high.set(times.1)
    }

    fn tiledb_array_schema_dump_str(ctx: Ctx, schema: In<SchemaObject>, text: OutHandle<StringObject>) -> Code for ctx {
        let schema = schema.get()?.0.copy();
        text.put(StringObject(dump::schema(&schema.schema, &schema.enumerations)))
    }

    fn tiledb_array_create(ctx: Ctx, uri: Text, schema: In<SchemaObject>) -> Code for ctx {
        let (context, schema) = (ctx.get()?, schema.get()?.0.copy());
        schema.check(context.config())?;
        let mut options = place::write_options(context, context.config())?;
        for enumeration in &schema.enumerations {
            options = options.enumeration(enumeration.clone());
        }
        for choice in schema.label_choices.clone() {
            options = match choice {
                LabelChoice::Filters(label, filters) => options.label_filters(label, filters),
                LabelChoice::Extent(label, extent) => options.label_tile_bytes(label, extent),
            };
        }
        if let Some(time) = schema.timed.then_some(schema.times.0) {
            options = options.timestamp(time);
        }
        let place = Place::of(context, uri.get("array_uri")?)?;
        if place.object_type()? == ObjectType::Array {
            let why = format!("Cannot create array; Array '{}' already exists", place.uri());
            return Err(Failure::of("Array", why));
        }
        options.create_storage(&*place.storage()?, &schema.schema)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_schema_are_in_the_name_of_its_file() {
        assert_eq!(times_of("__schema/__1_20_150ad70dde6077a1ad7a309044a39426"), Some((1, 20)));
        assert_eq!(times_of("__array_schema.tdb"), None);
    }
}
