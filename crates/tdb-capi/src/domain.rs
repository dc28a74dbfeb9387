//! Domains: the dimensions of an array.

use std::sync::Arc;

use tdb_array::schema::{Dimension, Domain};

use crate::context::Ctx;
use crate::dimension::DimensionObject;
use crate::dump;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, Text};
use crate::shared::Shared;
use crate::string::StringObject;

/// A domain behind a pointer: dimensions, which it shares with the caller's handles of them.
pub(crate) struct DomainObject(Shared<Vec<Arc<Shared<Dimension>>>>);

impl DomainObject {
    /// A domain, to give to the caller.
    pub(crate) fn of(domain: Domain) -> Self {
        let dimensions = domain.dimensions.into_iter().map(|dimension| Arc::new(Shared::new(dimension)));
        Self(Shared::new(dimensions.collect()))
    }

    /// The dimensions as they are now.
    pub(crate) fn domain(&self) -> Domain {
        Domain::new(self.0.lock().iter().map(|dimension| dimension.copy()).collect())
    }
}

impl Object for DomainObject {
    const NAME: &'static str = "domain";
}

exported! {
    fn tiledb_domain_alloc(ctx: Ctx, domain: OutHandle<DomainObject>) -> Code for ctx {
        domain.put(DomainObject::of(Domain::default()))
    }

    fn tiledb_domain_free(domain: Freed<DomainObject>) {
        domain.free();
    }

    fn tiledb_domain_get_type(ctx: Ctx, domain: In<DomainObject>, datatype: Out<u32>) -> Code for ctx {
        let domain = domain.get()?.domain();
        let first = domain.dimensions.first();
        let first = first.ok_or("Cannot get domain type; Domain has no dimensions")?.datatype;
        if domain.dimensions.iter().any(|dimension| dimension.datatype != first) {
            return Err("Cannot get domain type; Not applicable to heterogeneous dimensions".into());
        }
        datatype.set(u32::from(first.code()))
    }

    fn tiledb_domain_get_ndim(ctx: Ctx, domain: In<DomainObject>, count: Out<u32>) -> Code for ctx {
        count.set(u32::try_from(domain.get()?.0.lock().len()).unwrap_or(u32::MAX))
    }

    fn tiledb_domain_add_dimension(ctx: Ctx, domain: In<DomainObject>, dimension: In<DimensionObject>) -> Code for ctx {
        let dimension = dimension.get()?.0.clone();
        domain.get()?.0.lock().push(dimension);
        Ok(())
    }

    fn tiledb_domain_get_dimension_from_index(ctx: Ctx, domain: In<DomainObject>, index: u32, dimension: OutHandle<DimensionObject>) -> Code for ctx {
        let dimensions = domain.get()?.0.copy();
        let count = dimensions.len();
        if count == 0 && index == 0 {
            return dimension.put_null();
        }
        let found = usize::try_from(index).ok().and_then(|index| dimensions.into_iter().nth(index));
        let found = found.ok_or_else(|| {
            let last = count.saturating_sub(1);
            Failure::new(format!("Dimension index {index} is out of bounds; valid indices are 0 to {last}"))
        })?;
        dimension.put_part(domain, DimensionObject(found))
    }

    fn tiledb_domain_get_dimension_from_name(ctx: Ctx, domain: In<DomainObject>, name: Text, dimension: OutHandle<DimensionObject>) -> Code for ctx {
        let dimensions = domain.get()?.0.copy();
        if dimensions.is_empty() {
            return dimension.put_null();
        }
        let name = name.get("name")?;
        let found = dimensions.into_iter().find(|dimension| dimension.lock().name == name);
        let found = found.ok_or_else(|| Failure::new(format!("Dimension '{name}' does not exist")))?;
        dimension.put_part(domain, DimensionObject(found))
    }

    fn tiledb_domain_has_dimension(ctx: Ctx, domain: In<DomainObject>, name: Text, has: Out<i32>) -> Code for ctx {
        let name = name.get("name")?;
        let found = domain.get()?.0.lock().iter().any(|dimension| dimension.lock().name == name);
        has.set(i32::from(found))
    }

    fn tiledb_domain_dump_str(ctx: Ctx, domain: In<DomainObject>, text: OutHandle<StringObject>) -> Code for ctx {
        text.put(StringObject(dump::domain(&domain.get()?.domain())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_that_is_changed_after_it_was_added_is_changed_in_its_domain() {
        let domain = DomainObject::of(Domain::new(vec![Dimension::new("x", 1i32..=4)]));
        let handle = DimensionObject(domain.0.lock()[0].clone());
        handle.0.lock().name = "y".to_owned();
        assert_eq!(domain.domain().dimensions[0].name, "y");
    }
}
