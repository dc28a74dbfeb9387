//! Changes of the schema of an array that exists.

use tdb_array::ArrayWriter;
use tdb_array::schema::{Attribute, Enumeration, FormatVersion, Range};
use tdb_array::write::SchemaEvolution;

use crate::attribute::AttributeObject;
use crate::config::ConfigObject;
use crate::context::Ctx;
use crate::current_domain::CurrentDomainObject;
use crate::enumeration::EnumerationObject;
use crate::ffi::{Failure, Freed, In, Object, OutHandle, Outcome, Text};
use crate::object::or_missing;
use crate::place::{self, Place};
use crate::shared::Shared;

/// Changes, and when they take effect.
#[derive(Clone, Debug, Default)]
struct Changes {
    added: Vec<Attribute>,
    dropped: Vec<String>,
    enumerations: Vec<Enumeration>,
    /// Enumerations with more values than the array has of them.
    extended: Vec<Enumeration>,
    dropped_enumerations: Vec<String>,
    current_domain: Option<Vec<Range>>,
    time: Option<u64>,
}

/// Changes behind a pointer.
pub(crate) struct EvolutionObject(Shared<Changes>);

impl Object for EvolutionObject {
    const NAME: &'static str = "array schema evolution";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("ArraySchemaEvolution", text)
}

impl Changes {
    fn add_attribute(&mut self, attribute: Attribute) -> Outcome {
        if self.added.iter().any(|known| known.name == attribute.name) {
            return Err(failure("Cannot add attribute; Input attribute name is already there"));
        }
        self.dropped.retain(|name| *name != attribute.name);
        self.added.push(attribute);
        Ok(())
    }

    fn drop_attribute(&mut self, name: &str) {
        self.added.retain(|known| known.name != name);
        if !self.dropped.iter().any(|known| known == name) {
            self.dropped.push(name.to_owned());
        }
    }

    fn add_enumeration(&mut self, enumeration: Enumeration) -> Outcome {
        if self.enumerations.iter().any(|known| known.name == enumeration.name) {
            return Err(failure("Cannot add enumeration; Input enumeration name is already added"));
        }
        self.enumerations.push(enumeration);
        Ok(())
    }

    fn extend_enumeration(&mut self, enumeration: Enumeration) -> Outcome {
        if self.extended.iter().any(|known| known.name == enumeration.name) {
            let why = "Input enumeration name has already been extended in this evolution.";
            return Err(failure(format!("Cannot extend enumeration; {why}")));
        }
        self.extended.push(enumeration);
        Ok(())
    }

    fn drop_enumeration(&mut self, name: &str) {
        self.enumerations.retain(|known| known.name != name);
        self.extended.retain(|known| known.name != name);
        if !self.dropped_enumerations.iter().any(|known| known == name) {
            self.dropped_enumerations.push(name.to_owned());
        }
    }

    /// The changes of an array, or nothing if there are none.
    fn of_array(&self, array: &ArrayWriter) -> Result<Option<SchemaEvolution>, Failure> {
        let schema = array.schema();
        let has = |name: &str| schema.enumerations.iter().any(|known| known.name == name);
        let mut made = SchemaEvolution::new();
        for attribute in &self.added {
            let unknown =
                |name: &&String| !has(name) && !self.enumerations.iter().any(|known| known.name == **name);
            if let Some(enumeration) = attribute.enumeration.as_ref().filter(unknown) {
                let (name, what) = (&attribute.name, "Attribute refers to an unknown enumeration");
                return Err(failure(format!("Cannot add attribute '{name}'; {what} '{enumeration}'")));
            }
            made = made.add_attribute(attribute.clone());
        }
        made = self.dropped.iter().fold(made, SchemaEvolution::drop_attribute);
        made = self.enumerations.iter().cloned().fold(made, SchemaEvolution::add_enumeration);
        for enumeration in &self.extended {
            let name = &enumeration.name;
            let old = array.enumeration(name)?;
            let old =
                old.ok_or_else(|| failure(format!("Unable to extend enumeration '{name}'; there is none")))?;
            made = made.extend_enumeration(name, new_values(enumeration, &old)?);
        }
        // As for libtiledb, an enumeration that is not there is dropped already.
        let dropped: Vec<&String> = self.dropped_enumerations.iter().filter(|name| has(name)).collect();
        for name in &dropped {
            let stays = |attribute: &&Attribute| !self.dropped.contains(&attribute.name);
            let mut users = schema.attributes.iter().filter(stays).chain(&self.added);
            if let Some(user) = users.find(|attribute| attribute.enumeration.as_ref() == Some(*name)) {
                let why = format!("it is used by attribute '{}'", user.name);
                return Err(failure(format!("Unable to drop enumeration '{name}' because {why}")));
            }
            made = made.drop_enumeration(name.as_str());
        }
        // One that the array has already is no change.
        let own = schema.current_domain.as_ref().map(|own| &own.ranges);
        let current_domain = self.current_domain.as_ref().filter(|ranges| Some(*ranges) != own);
        if let Some(ranges) = current_domain {
            made = made.expand_current_domain(ranges.clone());
        }
        let is_empty = self.added.is_empty() && self.dropped.is_empty() && self.enumerations.is_empty();
        let is_empty = is_empty && self.extended.is_empty() && dropped.is_empty();
        Ok(Some(made).filter(|_| !is_empty || current_domain.is_some()))
    }
}

/// The values of an enumeration that are not among the first ones, which another one has.
fn new_values(extended: &Enumeration, old: &Enumeration) -> Result<Vec<Vec<u8>>, Failure> {
    let is_same = |index: usize| extended.value(index) == old.value(index);
    if extended.len() < old.len() || !(0..old.len()).all(is_same) {
        let why = "the enumeration does not begin with the values that the array has";
        return Err(failure(format!("Unable to extend enumeration '{}'; {why}", old.name)));
    }
    let new = (old.len()..extended.len()).filter_map(|index| extended.value(index));
    Ok(new.map(<[u8]>::to_vec).collect())
}

exported! {
    fn tiledb_array_schema_evolution_alloc(ctx: Ctx, evolution: OutHandle<EvolutionObject>) -> Code for ctx {
        evolution.put(EvolutionObject(Shared::new(Changes::default())))
    }

    fn tiledb_array_schema_evolution_free(evolution: Freed<EvolutionObject>) {
        evolution.free();
    }

    fn tiledb_array_schema_evolution_add_attribute(ctx: Ctx, evolution: In<EvolutionObject>, attribute: In<AttributeObject>) -> Code for ctx {
        let attribute = attribute.get()?.0.copy();
        evolution.get()?.0.lock().add_attribute(attribute)
    }

    fn tiledb_array_schema_evolution_drop_attribute(ctx: Ctx, evolution: In<EvolutionObject>, name: Text) -> Code for ctx {
        let name = name.get("attribute_name")?;
        evolution.get()?.0.lock().drop_attribute(name);
        Ok(())
    }

    fn tiledb_array_schema_evolution_add_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, enumeration: In<EnumerationObject>) -> Code for ctx {
        let enumeration = enumeration.get()?.0.clone();
        evolution.get()?.0.lock().add_enumeration(enumeration)
    }

    fn tiledb_array_schema_evolution_extend_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, enumeration: In<EnumerationObject>) -> Code for ctx {
        let enumeration = enumeration.get()?.0.clone();
        evolution.get()?.0.lock().extend_enumeration(enumeration)
    }

    fn tiledb_array_schema_evolution_drop_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, name: Text) -> Code for ctx {
        let name = name.get("enumeration_name")?;
        evolution.get()?.0.lock().drop_enumeration(name);
        Ok(())
    }

    fn tiledb_array_schema_evolution_expand_current_domain(ctx: Ctx, evolution: In<EvolutionObject>, current: In<CurrentDomainObject>) -> Code for ctx {
        let ranges = current.get()?.ranges()?;
        let ranges = ranges.ok_or_else(|| failure("Unable to expand the array current domain, the new current domain specified is empty"))?;
        evolution.get()?.0.lock().current_domain = Some(ranges);
        Ok(())
    }

    fn tiledb_array_schema_evolution_set_timestamp_range(ctx: Ctx, evolution: In<EvolutionObject>, low: u64, high: u64) -> Code for ctx {
        if low != high {
            return Err(failure(format!("Cannot set timestamp range; first element {low} and second element {high} are not equal!")));
        }
        evolution.get()?.0.lock().time = Some(low);
        Ok(())
    }

    fn tiledb_array_evolve(ctx: Ctx, uri: Text, evolution: In<EvolutionObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("array_uri")?)?;
        let changes = evolution.get()?.0.copy();
        let opened = place::write_options(context, context.config())?.open_storage(place.storage()?);
        let array = opened.map_err(|error| or_missing(&place, error))?;
        let Some(made) = changes.of_array(&array)? else { return Ok(()) };
        let mut options = place::write_options(context, context.config())?;
        if let Some(time) = changes.time {
            options = options.timestamp(time);
        }
        options.evolve_storage(place.storage()?, &made)?;
        Ok(())
    }

    fn tiledb_array_upgrade_version(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("array_uri")?)?;
        let merged = context.config().with(config)?;
        let options = place::write_options(context, &merged)?;
        // An array that has the version already stays as it is.
        let opened = options.clone().open_storage(place.storage()?);
        let writer = opened.map_err(|error| or_missing(&place, error))?;
        let has_it = |known: FormatVersion| writer.schema().version == known;
        if !has_it(FormatVersion::CURRENT) && !has_it(FormatVersion::NEWEST) {
            options.evolve_storage(place.storage()?, &SchemaEvolution::new().upgrade())?;
        }
        Ok(())
    }
}
