//! Changes of the schema of an array that exists.

use tdb_array::schema::Enumeration;
use tdb_array::write::SchemaEvolution;

use crate::attribute::AttributeObject;
use crate::config::ConfigObject;
use crate::context::Ctx;
use crate::current_domain::CurrentDomainObject;
use crate::enumeration::EnumerationObject;
use crate::ffi::{Failure, Freed, In, Object, OutHandle, Outcome, Text};
use crate::place::{self, Place};
use crate::shared::Shared;

/// Changes, and when they take effect.
struct Changes {
    evolution: SchemaEvolution,
    /// Enumerations with more values than the array has of them.
    extended: Vec<Enumeration>,
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

impl EvolutionObject {
    fn change(&self, change: impl FnOnce(SchemaEvolution) -> SchemaEvolution) -> Outcome {
        let mut changes = self.0.lock();
        let evolution = core::mem::take(&mut changes.evolution);
        changes.evolution = change(evolution);
        Ok(())
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
        let changes = Changes { evolution: SchemaEvolution::new(), extended: Vec::new(), time: None };
        evolution.put(EvolutionObject(Shared::new(changes)))
    }

    fn tiledb_array_schema_evolution_free(evolution: Freed<EvolutionObject>) {
        evolution.free();
    }

    fn tiledb_array_schema_evolution_add_attribute(ctx: Ctx, evolution: In<EvolutionObject>, attribute: In<AttributeObject>) -> Code for ctx {
        let attribute = attribute.get()?.0.copy();
        evolution.get()?.change(|evolution| evolution.add_attribute(attribute))
    }

    fn tiledb_array_schema_evolution_drop_attribute(ctx: Ctx, evolution: In<EvolutionObject>, name: Text) -> Code for ctx {
        let name = name.get("attribute_name")?;
        evolution.get()?.change(|evolution| evolution.drop_attribute(name))
    }

    fn tiledb_array_schema_evolution_add_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, enumeration: In<EnumerationObject>) -> Code for ctx {
        let enumeration = enumeration.get()?.0.clone();
        evolution.get()?.change(|evolution| evolution.add_enumeration(enumeration))
    }

    fn tiledb_array_schema_evolution_extend_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, enumeration: In<EnumerationObject>) -> Code for ctx {
        let enumeration = enumeration.get()?.0.clone();
        evolution.get()?.0.lock().extended.push(enumeration);
        Ok(())
    }

    fn tiledb_array_schema_evolution_drop_enumeration(ctx: Ctx, evolution: In<EvolutionObject>, name: Text) -> Code for ctx {
        let name = name.get("enumeration_name")?;
        evolution.get()?.change(|evolution| evolution.drop_enumeration(name))
    }

    fn tiledb_array_schema_evolution_expand_current_domain(ctx: Ctx, evolution: In<EvolutionObject>, current: In<CurrentDomainObject>) -> Code for ctx {
        let ranges = current.get()?.ranges()?;
        let ranges = ranges.ok_or_else(|| failure("Unable to expand the array current domain, the new current domain specified is empty"))?;
        evolution.get()?.change(|evolution| evolution.expand_current_domain(ranges))
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
        let (mut changes, extended, time) = {
            let changes = evolution.get()?.0.lock();
            (changes.evolution.clone(), changes.extended.clone(), changes.time)
        };
        if !extended.is_empty() {
            let array = place::open_options(context, context.config())?.open_storage(place.storage()?)?;
            for enumeration in &extended {
                let name = &enumeration.name;
                let old = array.enumeration(name)?;
                let old = old.ok_or_else(|| failure(format!("Unable to extend enumeration '{name}'; there is none")))?;
                changes = changes.extend_enumeration(name, new_values(enumeration, &old)?);
            }
        }
        let mut options = place::write_options(context, context.config())?;
        if let Some(time) = time {
            options = options.timestamp(time);
        }
        options.evolve_storage(place.storage()?, &changes)?;
        Ok(())
    }

    fn tiledb_array_upgrade_version(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("array_uri")?)?;
        let mut merged = context.config().clone();
        if let Some(config) = config.optional()? {
            merged.inherit(&config.0.copy());
        }
        place::write_options(context, &merged)?.evolve_storage(place.storage()?, &SchemaEvolution::new().upgrade())?;
        Ok(())
    }
}
