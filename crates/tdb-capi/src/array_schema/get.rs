//! Parts of a schema, for the caller.

use super::SchemaObject;
use crate::attribute::AttributeObject;
use crate::context::Ctx;
use crate::current_domain::CurrentDomainObject;
use crate::domain::DomainObject;
use crate::enumeration::EnumerationObject;
use crate::ffi::{Failure, In, Out, OutHandle, Text};
use crate::filter_list::FilterList;

fn no_attribute(name: &str) -> Failure {
    let shown = if name.is_empty() { "<anonymous>" } else { name };
    Failure::new(format!("Attribute name: {shown} does not exist for array "))
}

exported! {
    fn tiledb_array_schema_get_allows_dups(ctx: Ctx, schema: In<SchemaObject>, allows: Out<i32>) -> Code for ctx {
        allows.set(i32::from(schema.get()?.0.lock().schema.allows_duplicates))
    }

    fn tiledb_array_schema_get_version(ctx: Ctx, schema: In<SchemaObject>, version: Out<u32>) -> Code for ctx {
        let found = schema.get()?.0.lock().schema.version;
        version.set(found.number())
    }

    fn tiledb_array_schema_get_array_type(ctx: Ctx, schema: In<SchemaObject>, array_type: Out<u32>) -> Code for ctx {
        array_type.set(u32::from(schema.get()?.0.lock().schema.array_type.code()))
    }

    fn tiledb_array_schema_get_capacity(ctx: Ctx, schema: In<SchemaObject>, capacity: Out<u64>) -> Code for ctx {
        capacity.set(schema.get()?.0.lock().schema.capacity)
    }

    fn tiledb_array_schema_get_cell_order(ctx: Ctx, schema: In<SchemaObject>, order: Out<u32>) -> Code for ctx {
        order.set(u32::from(schema.get()?.0.lock().schema.cell_order.code()))
    }

    fn tiledb_array_schema_get_tile_order(ctx: Ctx, schema: In<SchemaObject>, order: Out<u32>) -> Code for ctx {
        order.set(u32::from(schema.get()?.0.lock().schema.tile_order.code()))
    }

    fn tiledb_array_schema_get_coords_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: OutHandle<FilterList>) -> Code for ctx {
        let filters = schema.get()?.0.lock().schema.coords_filters.clone();
        list.put(FilterList::of(filters))
    }

    fn tiledb_array_schema_get_offsets_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: OutHandle<FilterList>) -> Code for ctx {
        let filters = schema.get()?.0.lock().schema.offsets_filters.clone();
        list.put(FilterList::of(filters))
    }

    fn tiledb_array_schema_get_validity_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: OutHandle<FilterList>) -> Code for ctx {
        let filters = schema.get()?.0.lock().schema.validity_filters.clone();
        list.put(FilterList::of(filters))
    }

    fn tiledb_array_schema_get_domain(ctx: Ctx, schema: In<SchemaObject>, domain: OutHandle<DomainObject>) -> Code for ctx {
        let found = schema.get()?.0.lock().schema.domain.clone();
        domain.put_part(schema, DomainObject::of(found))
    }

    fn tiledb_array_schema_get_attribute_num(ctx: Ctx, schema: In<SchemaObject>, count: Out<u32>) -> Code for ctx {
        let found = schema.get()?.0.lock().schema.attributes.len();
        count.set(u32::try_from(found).unwrap_or(u32::MAX))
    }

    fn tiledb_array_schema_get_attribute_from_index(ctx: Ctx, schema: In<SchemaObject>, index: u32, attribute: OutHandle<AttributeObject>) -> Code for ctx {
        let attributes = schema.get()?.0.lock().schema.attributes.clone();
        let count = attributes.len();
        if count == 0 {
            return attribute.put_null();
        }
        let found = usize::try_from(index).ok().and_then(|index| attributes.into_iter().nth(index));
        let found = found.ok_or_else(|| {
            Failure::new(format!("Attribute index: {index} out of bounds given {count} attributes in array "))
        })?;
        attribute.put_part(schema, AttributeObject::of(found))
    }

    fn tiledb_array_schema_get_attribute_from_name(ctx: Ctx, schema: In<SchemaObject>, name: Text, attribute: OutHandle<AttributeObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("'attribute_name' must not be null")?;
        let found = schema.get()?.0.lock();
        if found.schema.attributes.is_empty() {
            return attribute.put_null();
        }
        let found = found.schema.attribute(name).ok_or_else(|| no_attribute(name))?;
        attribute.put_part(schema, AttributeObject::of(found.clone()))
    }

    fn tiledb_array_schema_has_attribute(ctx: Ctx, schema: In<SchemaObject>, name: Text, has: Out<i32>) -> Code for ctx {
        let found = schema.get()?.0.lock().schema.attribute(name.get("name")?).is_some();
        has.set(i32::from(found))
    }

    fn tiledb_array_schema_get_enumeration_from_name(ctx: Ctx, schema: In<SchemaObject>, name: Text, enumeration: OutHandle<EnumerationObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("'enumeration_name' must not be null")?;
        let found = schema.get()?.0.lock().enumeration(name)?;
        enumeration.put_part(schema, EnumerationObject(found))
    }

    fn tiledb_array_schema_get_enumeration_from_attribute_name(ctx: Ctx, schema: In<SchemaObject>, name: Text, enumeration: OutHandle<EnumerationObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("'attribute_name' must not be null")?;
        let mut own = schema.get()?.0.lock();
        let attribute = own.schema.attribute(name).ok_or_else(|| no_attribute(name))?;
        match attribute.enumeration.clone() {
            Some(found) => enumeration.put_part(schema, EnumerationObject(own.enumeration(&found)?)),
            None => enumeration.put_null(),
        }
    }

    fn tiledb_array_schema_get_current_domain(ctx: Ctx, schema: In<SchemaObject>, current: OutHandle<CurrentDomainObject>) -> Code for ctx {
        let schema = schema.get()?.0.lock();
        let found = schema.schema.current_domain.as_ref();
        current.put(CurrentDomainObject::of(found, &schema.schema.domain))
    }
}
