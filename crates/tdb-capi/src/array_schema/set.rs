//! Changes of a schema that the caller makes.

use tdb_array::Layout;
use tdb_array::schema::{ArrayType, Attribute, CurrentDomain, DatatypeClass, Domain, EnumerationName};

use super::{Schema, SchemaObject, failure};
use crate::attribute::AttributeObject;
use crate::codes;
use crate::context::Ctx;
use crate::current_domain::CurrentDomainObject;
use crate::domain::DomainObject;
use crate::enumeration::EnumerationObject;
use crate::ffi::{In, Outcome};
use crate::filter_list::FilterList;

impl Schema {
    fn is_dense(&self) -> bool {
        self.schema.array_type == ArrayType::Dense
    }

    fn add_attribute(&mut self, attribute: Attribute) -> Outcome {
        if attribute.name.starts_with("__") {
            return Err(failure("Cannot add attribute: names starting with '__' are reserved"));
        }
        if let Some(name) = &attribute.enumeration {
            let Some(enumeration) = self.enumerations.iter().find(|known| known.name == *name) else {
                let why = "Attribute refers to an unknown enumeration named";
                return Err(failure(format!("Cannot add attribute; {why} '{name}'.")));
            };
            if attribute.datatype.class() != DatatypeClass::Integer {
                let (own, datatype) = (&attribute.name, attribute.datatype.name());
                let why = format!("attribute must have an integral data type, not {datatype}");
                return Err(failure(format!("Unable to use enumeration with attribute '{own}', {why}")));
            }
            attribute.check_indexes(enumeration).map_err(failure)?;
        }
        self.schema.attributes.push(attribute);
        Ok(())
    }

    fn set_domain(&mut self, mut domain: Domain) -> Outcome {
        let Some(first) = domain.dimensions.first() else {
            return Err(failure("Cannot set domain; Domain must contain at least one dimension"));
        };
        if self.is_dense() {
            let datatype = first.datatype;
            if domain.dimensions.iter().any(|dimension| dimension.datatype != datatype) {
                let why = "In dense arrays, all dimensions must have the same datatype";
                return Err(failure(format!("Cannot set domain; {why}")));
            }
            let counts = datatype.class() == DatatypeClass::Integer;
            if !(counts || datatype.is_datetime() || datatype.is_time()) {
                let why = format!("Dense arrays do not support dimension datatype '{}'", datatype.name());
                return Err(failure(format!("Cannot set domain; {why}")));
            }
        }
        if self.schema.cell_order != Layout::Hilbert {
            domain
                .dimensions
                .iter_mut()
                .try_for_each(|dimension| dimension.fill_extent().map_err(failure))?;
        }
        self.schema.domain = domain;
        Ok(())
    }

    fn set_cell_order(&mut self, order: Layout) -> Outcome {
        match order {
            Layout::Hilbert if self.is_dense() => {
                Err(failure("Cannot set cell order; Hilbert order is only applicable to sparse arrays"))
            }
            Layout::Unordered => {
                let why = "Cannot create ArraySchema with UNORDERED cell order";
                Err(failure(format!("Cannot set cell order; {why}")))
            }
            order => {
                self.schema.cell_order = order;
                Ok(())
            }
        }
    }

    fn set_tile_order(&mut self, order: Layout) -> Outcome {
        match order {
            Layout::Hilbert => {
                Err(failure("Cannot set tile order; Hilbert order is not applicable to tiles"))
            }
            Layout::Unordered => {
                let why = "Cannot create ArraySchema with UNORDERED tile order";
                Err(failure(format!("Cannot set tile order; {why}")))
            }
            order => {
                self.schema.tile_order = order;
                Ok(())
            }
        }
    }
}

exported! {
    fn tiledb_array_schema_add_attribute(ctx: Ctx, schema: In<SchemaObject>, attribute: In<AttributeObject>) -> Code for ctx {
        let attribute = attribute.get()?.0.copy();
        schema.get()?.0.lock().add_attribute(attribute)
    }

    fn tiledb_array_schema_set_allows_dups(ctx: Ctx, schema: In<SchemaObject>, allows: i32) -> Code for ctx {
        let mut schema = schema.get()?.0.lock();
        if allows != 0 && schema.is_dense() {
            return Err(failure("Dense arrays cannot allow coordinate duplicates"));
        }
        schema.schema.allows_duplicates = allows != 0;
        Ok(())
    }

    fn tiledb_array_schema_set_domain(ctx: Ctx, schema: In<SchemaObject>, domain: In<DomainObject>) -> Code for ctx {
        let domain = domain.get()?.domain();
        schema.get()?.0.lock().set_domain(domain)
    }

    fn tiledb_array_schema_set_capacity(ctx: Ctx, schema: In<SchemaObject>, capacity: u64) -> Code for ctx {
        let mut schema = schema.get()?.0.lock();
        if capacity == 0 && !schema.is_dense() {
            return Err(failure("Sparse arrays cannot have their capacity equal to zero."));
        }
        schema.schema.capacity = capacity;
        Ok(())
    }

    fn tiledb_array_schema_set_cell_order(ctx: Ctx, schema: In<SchemaObject>, order: u32) -> Code for ctx {
        schema.get()?.0.lock().set_cell_order(codes::layout(order)?)
    }

    fn tiledb_array_schema_set_tile_order(ctx: Ctx, schema: In<SchemaObject>, order: u32) -> Code for ctx {
        schema.get()?.0.lock().set_tile_order(codes::layout(order)?)
    }

    fn tiledb_array_schema_add_enumeration(ctx: Ctx, schema: In<SchemaObject>, enumeration: In<EnumerationObject>) -> Code for ctx {
        let enumeration = enumeration.get()?.0.clone();
        let mut schema = schema.get()?.0.lock();
        if schema.schema.enumerations.iter().any(|known| known.name == enumeration.name) {
            let why = format!("Enumeration with name '{}' already exists in this ArraySchema.", enumeration.name);
            return Err(failure(format!("Error adding enumeration. {why}")));
        }
        let (name, file_name) = (enumeration.name.clone(), enumeration.file_name.clone());
        schema.schema.enumerations.push(EnumerationName { name, file_name });
        schema.enumerations.push(enumeration);
        Ok(())
    }

    fn tiledb_array_schema_set_coords_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: In<FilterList>) -> Code for ctx {
        let filters = list.get()?.0.copy();
        schema.get()?.0.lock().schema.coords_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_set_offsets_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: In<FilterList>) -> Code for ctx {
        let filters = list.get()?.0.copy();
        schema.get()?.0.lock().schema.offsets_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_set_validity_filter_list(ctx: Ctx, schema: In<SchemaObject>, list: In<FilterList>) -> Code for ctx {
        let filters = list.get()?.0.copy();
        schema.get()?.0.lock().schema.validity_filters = filters;
        Ok(())
    }

    fn tiledb_array_schema_set_current_domain(ctx: Ctx, schema: In<SchemaObject>, current: In<CurrentDomainObject>) -> Code for ctx {
        let ranges = current.get()?.ranges()?;
        schema.get()?.0.lock().schema.current_domain = ranges.map(CurrentDomain::new);
        Ok(())
    }
}
