//! Rectangles: a range for each dimension of a domain.

use tdb_array::schema::{Dimension, Domain, Range};

use crate::context::Ctx;
use crate::domain::DomainObject;
use crate::dump;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, Outcome, RangePointer, Text};
use crate::shared::Shared;
use crate::string::StringObject;

/// A range for each dimension, or none yet.
#[derive(Clone)]
pub(crate) struct Rectangle {
    pub(crate) domain: Domain,
    pub(crate) ranges: Vec<Option<Range>>,
}

/// A rectangle behind a pointer.
pub(crate) struct RectangleObject(pub(crate) Shared<Rectangle>);

impl Object for RectangleObject {
    const NAME: &'static str = "ndrectangle";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("NDRectangle", text)
}

impl Rectangle {
    /// A rectangle of these ranges.
    pub(crate) fn of(domain: Domain, ranges: &[Range]) -> Self {
        Self { domain, ranges: ranges.iter().cloned().map(Some).collect() }
    }

    fn index(&self, name: &str) -> Result<usize, Failure> {
        let found = self.domain.dimensions.iter().position(|dimension| dimension.name == name);
        found.ok_or_else(|| failure(format!("Dimension name '{name}' does not exist in the domain")))
    }

    fn dimension(&self, index: usize) -> Result<&Dimension, Failure> {
        self.domain
            .dimensions
            .get(index)
            .ok_or_else(|| failure("The index does not correspond to a valid dimension in the NDRectangle"))
    }

    fn range(&self, index: usize) -> Result<Range, Failure> {
        self.dimension(index)?;
        let range = self.ranges.get(index).cloned().flatten();
        range.ok_or_else(|| failure("The range of this dimension is not set"))
    }

    fn set(&mut self, index: usize, range: RangePointer) -> Outcome {
        let dimension = self.dimension(index)?;
        let (low, high) = range.ends(!dimension.is_var())?;
        if !dimension.is_var() && low.len() != dimension.datatype.size() {
            return Err(failure("The range size does not match the size of the type of the dimension"));
        }
        if !dimension.is_var() && Range::compare(dimension.datatype, &low, &high).is_gt() {
            return Err(failure("The lower range bound is larger than the higher bound"));
        }
        if let Some(place) = self.ranges.get_mut(index) {
            *place = Some(Range::new(low, high));
        }
        Ok(())
    }
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

exported! {
    fn tiledb_ndrectangle_alloc(ctx: Ctx, domain: In<DomainObject>, rectangle: OutHandle<RectangleObject>) -> Code for ctx {
        let domain = domain.get()?.domain();
        let ranges = vec![None; domain.dimensions.len()];
        rectangle.put(RectangleObject(Shared::new(Rectangle { domain, ranges })))
    }

    fn tiledb_ndrectangle_free(rectangle: Freed<RectangleObject>) -> Code for nobody {
        rectangle.free();
        Ok(())
    }

    fn tiledb_ndrectangle_get_range_from_name(ctx: Ctx, rectangle: In<RectangleObject>, name: Text, range: RangePointer) -> Code for ctx {
        let found = rectangle.get()?.0.copy();
        let found = found.range(found.index(name.get("name")?)?)?;
        range.put(rectangle, &found.low, &found.high)
    }

    fn tiledb_ndrectangle_get_range(ctx: Ctx, rectangle: In<RectangleObject>, index: u32, range: RangePointer) -> Code for ctx {
        let found = rectangle.get()?.0.lock().range(place(index))?;
        range.put(rectangle, &found.low, &found.high)
    }

    fn tiledb_ndrectangle_set_range_for_name(ctx: Ctx, rectangle: In<RectangleObject>, name: Text, range: RangePointer) -> Code for ctx {
        let mut rectangle = rectangle.get()?.0.lock();
        let index = rectangle.index(name.get("name")?)?;
        rectangle.set(index, range)
    }

    fn tiledb_ndrectangle_set_range(ctx: Ctx, rectangle: In<RectangleObject>, index: u32, range: RangePointer) -> Code for ctx {
        rectangle.get()?.0.lock().set(place(index), range)
    }

    fn tiledb_ndrectangle_get_dtype(ctx: Ctx, rectangle: In<RectangleObject>, index: u32, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(rectangle.get()?.0.lock().dimension(place(index))?.datatype.code()))
    }

    fn tiledb_ndrectangle_get_dtype_from_name(ctx: Ctx, rectangle: In<RectangleObject>, name: Text, datatype: Out<u32>) -> Code for ctx {
        let rectangle = rectangle.get()?.0.lock();
        let index = rectangle.index(name.get("name")?)?;
        datatype.set(u32::from(rectangle.dimension(index)?.datatype.code()))
    }

    fn tiledb_ndrectangle_get_dim_num(ctx: Ctx, rectangle: In<RectangleObject>, count: Out<u32>) -> Code for ctx {
        count.set(u32::try_from(rectangle.get()?.0.lock().ranges.len()).unwrap_or(u32::MAX))
    }

    fn tiledb_ndrectangle_dump_str(ctx: Ctx, rectangle: In<RectangleObject>, text: OutHandle<StringObject>) -> Code for ctx {
        let found = rectangle.get()?.0.lock();
        text.put(StringObject(dump::rectangle(&found.ranges, &found.domain)))
    }
}
