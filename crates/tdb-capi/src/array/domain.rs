//! Non-empty domains of open arrays: the least and the greatest coordinate of each dimension.

use tdb_array::schema::{Dimension, Range};

use super::{ArrayObject, OpenArray, failure};
use crate::context::Ctx;
use crate::ffi::{Failure, In, Out, Outcome, Text};

/// What cannot be done with an array that is closed or open for writing.
const WHAT: &str = "[non_empty_domain] Cannot get non-empty domain";

fn index_of(open: &OpenArray, name: &str) -> Result<usize, Failure> {
    let found = open.schema().schema.dimension_index(name);
    found.ok_or_else(|| failure("Cannot get non-empty domain; Invalid dimension name"))
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The range of a dimension; nothing in an array without cells.
fn range(open: &OpenArray, index: usize, is_var: bool) -> Result<Option<Range>, Failure> {
    let dimension = open.schema().schema.domain.dimensions.get(index);
    let dimension =
        dimension.ok_or_else(|| failure("Cannot get non-empty domain; Invalid dimension index"))?;
    if dimension.is_var() != is_var {
        let (name, kind) = (&dimension.name, if is_var { "fixed-sized" } else { "var-sized" });
        return Err(failure(format!("Cannot get non-empty domain; Dimension '{name}' is {kind}")));
    }
    let ranges = open.reading(WHAT)?.non_empty_domain();
    Ok(ranges.and_then(|ranges| ranges.into_iter().nth(index)))
}

fn put_fixed(range: Option<Range>, domain: Out<u8>, is_empty: Out<i32>) -> Outcome {
    is_empty.set(i32::from(range.is_none()))?;
    range.map_or(Ok(()), |range| domain.fill(&[range.low, range.high].concat()))
}

fn put_sizes(range: Option<Range>, (low, high): (Out<u64>, Out<u64>), is_empty: Out<i32>) -> Outcome {
    is_empty.set(i32::from(range.is_none()))?;
    let sizes = range.map_or((0, 0), |range| (range.low.len(), range.high.len()));
    low.set(crate::number(sizes.0))?;
    high.set(crate::number(sizes.1))
}

fn put_var(range: Option<Range>, (low, high): (Out<u8>, Out<u8>), is_empty: Out<i32>) -> Outcome {
    is_empty.set(i32::from(range.is_none()))?;
    range.map_or(Ok(()), |range| {
        low.fill(&range.low)?;
        high.fill(&range.high)
    })
}

exported! {
    fn tiledb_array_get_non_empty_domain(ctx: Ctx, array: In<ArrayObject>, domain: Out<u8>, is_empty: Out<i32>) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| {
            let dimensions = &open.schema().schema.domain.dimensions;
            let first = dimensions.first().map(|dimension| dimension.datatype);
            if dimensions.iter().any(|dimension| Some(dimension.datatype) != first) {
                let why = "Function non-applicable to arrays with heterogenous dimensions";
                return Err(failure(format!("[non_empty_domain] {why}")));
            }
            if dimensions.iter().any(Dimension::is_var) {
                let why = "Function non-applicable to arrays with variable-sized dimensions";
                return Err(failure(format!("[non_empty_domain] {why}")));
            }
            let ranges = open.reading(WHAT)?.non_empty_domain();
            is_empty.set(i32::from(ranges.is_none()))?;
            let ranges = ranges.unwrap_or_default();
            let bytes: Vec<u8> = ranges.into_iter().flat_map(|range| [range.low, range.high].concat()).collect();
            domain.fill(&bytes)
        })
    }

    fn tiledb_array_get_non_empty_domain_from_index(ctx: Ctx, array: In<ArrayObject>, index: u32, domain: Out<u8>, is_empty: Out<i32>) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| put_fixed(range(open, place(index), false)?, domain, is_empty))
    }

    fn tiledb_array_get_non_empty_domain_from_name(ctx: Ctx, array: In<ArrayObject>, name: Text, domain: Out<u8>, is_empty: Out<i32>) -> Code for ctx {
        let name = name.get("name")?;
        array.get()?.with_open(WHAT, |open| put_fixed(range(open, index_of(open, name)?, false)?, domain, is_empty))
    }

    fn tiledb_array_get_non_empty_domain_var_size_from_index(ctx: Ctx, array: In<ArrayObject>, index: u32, low: Out<u64>, high: Out<u64>, is_empty: Out<i32>) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| put_sizes(range(open, place(index), true)?, (low, high), is_empty))
    }

    fn tiledb_array_get_non_empty_domain_var_size_from_name(ctx: Ctx, array: In<ArrayObject>, name: Text, low: Out<u64>, high: Out<u64>, is_empty: Out<i32>) -> Code for ctx {
        let name = name.get("name")?;
        array.get()?.with_open(WHAT, |open| put_sizes(range(open, index_of(open, name)?, true)?, (low, high), is_empty))
    }

    fn tiledb_array_get_non_empty_domain_var_from_index(ctx: Ctx, array: In<ArrayObject>, index: u32, low: Out<u8>, high: Out<u8>, is_empty: Out<i32>) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| put_var(range(open, place(index), true)?, (low, high), is_empty))
    }

    fn tiledb_array_get_non_empty_domain_var_from_name(ctx: Ctx, array: In<ArrayObject>, name: Text, low: Out<u8>, high: Out<u8>, is_empty: Out<i32>) -> Code for ctx {
        let name = name.get("name")?;
        array.get()?.with_open(WHAT, |open| put_var(range(open, index_of(open, name)?, true)?, (low, high), is_empty))
    }
}
