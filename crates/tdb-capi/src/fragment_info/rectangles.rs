//! Non-empty domains of fragments, and the rectangles (MBRs) of their tiles.

use tdb_array::schema::Range;
use tdb_array::stored::Fragment;

use super::{FragmentInfoObject, failure, place_of};
use crate::context::Ctx;
use crate::ffi::{Failure, In, Out, Outcome, Text};

/// What cannot be had of fragments.
const DOMAIN: &str = "Cannot get non-empty domain";
const MBR: &str = "Cannot get MBR";

/// Whether the values of a dimension have a fixed size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Fixed,
    Var,
}

/// The dimension that the caller means.
#[derive(Clone, Copy)]
enum Which<'a> {
    Index(u32),
    Name(&'a str),
}

/// The range of a dimension, which must be of the expected size.
fn of_dimension(
    fragment: &Fragment,
    ranges: &[Range],
    which: Which<'_>,
    size: Size,
    what: &str,
) -> Result<Range, Failure> {
    let dimensions = &fragment.schema().domain.dimensions;
    let index = match which {
        Which::Index(index) => place_of(index),
        Which::Name(name) => dimensions
            .iter()
            .position(|dimension| dimension.name == name)
            .ok_or_else(|| failure(format!("{what}; Invalid dimension name '{name}'")))?,
    };
    let found = ranges.get(index).zip(dimensions.get(index));
    let (range, dimension) = found.ok_or_else(|| failure(format!("{what}; Invalid dimension index")))?;
    match (dimension.is_var(), size) {
        (true, Size::Fixed) => Err(failure(format!("{what}; Dimension is variable-sized"))),
        (false, Size::Var) => Err(failure(format!("{what}; Dimension is fixed-sized"))),
        _ => Ok(range.clone()),
    }
}

fn domain(info: In<FragmentInfoObject>, number: u32, which: Which<'_>, size: Size) -> Result<Range, Failure> {
    let loaded = info.get()?.loaded()?;
    let fragment = loaded.fragment(number, DOMAIN)?;
    of_dimension(fragment, fragment.non_empty_domain().unwrap_or_default(), which, size, DOMAIN)
}

fn mbr(
    info: In<FragmentInfoObject>,
    tile: (u32, u32),
    which: Which<'_>,
    size: Size,
) -> Result<Range, Failure> {
    let loaded = info.get()?.loaded()?;
    let fragment = loaded.fragment(tile.0, MBR)?;
    if fragment.is_dense() {
        return Err(failure(format!("{MBR}; Fragment is not sparse")));
    }
    let rectangles = loaded.rectangles(tile.0, MBR)?;
    let found = rectangles.get(place_of(tile.1));
    let found = found.ok_or_else(|| failure(format!("{MBR}; Invalid MBR index")))?;
    of_dimension(fragment, found, which, size, MBR)
}

fn put(range: &Range, out: Out<u8>) -> Outcome {
    out.fill(&[&*range.low, &*range.high].concat())
}

fn put_ends(range: &Range, (low, high): (Out<u8>, Out<u8>)) -> Outcome {
    low.fill(&range.low)?;
    high.fill(&range.high)
}

fn put_sizes(range: &Range, (low, high): (Out<u64>, Out<u64>)) -> Outcome {
    low.set(crate::number(range.low.len()))?;
    high.set(crate::number(range.high.len()))
}

exported! {
    fn tiledb_fragment_info_get_non_empty_domain_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, dimension: u32, out: Out<u8>) -> Code for ctx {
        put(&domain(info, number, Which::Index(dimension), Size::Fixed)?, out)
    }

    fn tiledb_fragment_info_get_non_empty_domain_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, name: Text, out: Out<u8>) -> Code for ctx {
        put(&domain(info, number, Which::Name(name.get("dim_name")?), Size::Fixed)?, out)
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_size_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, dimension: u32, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        put_sizes(&domain(info, number, Which::Index(dimension), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_size_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, name: Text, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        put_sizes(&domain(info, number, Which::Name(name.get("dim_name")?), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, dimension: u32, low: Out<u8>, high: Out<u8>) -> Code for ctx {
        put_ends(&domain(info, number, Which::Index(dimension), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_non_empty_domain_var_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, name: Text, low: Out<u8>, high: Out<u8>) -> Code for ctx {
        put_ends(&domain(info, number, Which::Name(name.get("dim_name")?), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_mbr_num(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(info.get()?.loaded()?.rectangles(number, MBR)?.len()))
    }

    fn tiledb_fragment_info_get_mbr_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, dimension: u32, out: Out<u8>) -> Code for ctx {
        put(&mbr(info, (number, tile), Which::Index(dimension), Size::Fixed)?, out)
    }

    fn tiledb_fragment_info_get_mbr_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, name: Text, out: Out<u8>) -> Code for ctx {
        put(&mbr(info, (number, tile), Which::Name(name.get("dim_name")?), Size::Fixed)?, out)
    }

    fn tiledb_fragment_info_get_mbr_var_size_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, dimension: u32, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        put_sizes(&mbr(info, (number, tile), Which::Index(dimension), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_mbr_var_size_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, name: Text, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        put_sizes(&mbr(info, (number, tile), Which::Name(name.get("dim_name")?), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_mbr_var_from_index(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, dimension: u32, low: Out<u8>, high: Out<u8>) -> Code for ctx {
        put_ends(&mbr(info, (number, tile), Which::Index(dimension), Size::Var)?, (low, high))
    }

    fn tiledb_fragment_info_get_mbr_var_from_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, tile: u32, name: Text, low: Out<u8>, high: Out<u8>) -> Code for ctx {
        put_ends(&mbr(info, (number, tile), Which::Name(name.get("dim_name")?), Size::Var)?, (low, high))
    }
}
