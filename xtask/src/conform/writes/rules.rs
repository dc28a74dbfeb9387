//! Cases in which releases of libtiledb read correct arrays wrongly: rules, each with a reason from
//! docs/correctness_issues.md.
//!
//! A rule depends on the schema of a case, the operations on it and the release, never on an
//! answer. If only queries in some orders go wrong, only these queries are not run.

use tdb_array::Layout;
use tdb_array::schema::{ArrayType, Datatype};
use tdb_filters::Filter;
use tdb_order::reals::tiles_ascend;
use tdb_schema::{ArraySchema, Dimension, Field, FieldKind};

use super::bench::Case;
use crate::conform::releases::minor;
use crate::peer::READER;

/// The largest number up to which floating point can represent all whole numbers.
const EXACT: u64 = 1 << 53;

/// Faults of releases that also occur with their own arrays, but not always with the same cells,
/// which may be in other tiles there.
const EXCUSED: [Excuse; 9] = [
    Excuse {
        releases: |_| true,
        fits: Case::writes_past_the_type,
        why: "\"Last tiles that end at the type's largest number\": a dense write that reaches such a tile",
    },
    Excuse {
        releases: |release| release >= (2, 3),
        fits: |case| counts_past_its_type(&case.made.schema),
        why: "\"Tiles of more cells than their type counts\": a dense array of three or more narrow dimensions",
    },
    Excuse {
        releases: |release| ((2, 25)..(2, 27)).contains(&release),
        fits: |case| {
            let schema = &case.made.schema;
            schema.array_type == ArrayType::Dense && schema.current_domain.is_some()
        },
        why: "\"Current domains of dense arrays\": 2.25 and 2.26 refuse to set them, and do not read by them",
    },
    Excuse {
        releases: |release| release < (2, 3),
        fits: |case| case.made.schema.array_type == ArrayType::Dense && case.writes_past(EXACT),
        why: "\"Old versions\": up to 2.2 it computes places in dense arrays in floating point",
    },
    Excuse {
        releases: |release| release < (2, 1),
        fits: |case| case.made.schema.fields().any(|field| field.is_var() && case.has_empty(field.kind)),
        why: "\"Tiles of empty strings only\": 2.0 refuses to write empty cells, and does not read tiles of them",
    },
    Excuse {
        releases: |release| ((2, 1)..(2, 4)).contains(&release),
        fits: |case| {
            case.made.schema.fields().any(|field| field.is_var() && case.writes_only_empty(field.kind))
        },
        why: "\"Tiles of empty strings only\": up to 2.3 it refuses to write empty cells only, and does not read a fragment of them",
    },
    Excuse {
        releases: |release| release == (2, 7),
        fits: |case| {
            let schema = &case.made.schema;
            // Encryption is a filter, too.
            let filters = |field: &Field<'_>| {
                case.encrypted || !schema.filters_in(field, schema.version).filters.is_empty()
            };
            let mut filtered = schema.fields().filter(|field| field.is_var() && filters(field));
            filtered.any(|field| case.has_empty(field.kind))
        },
        why: "\"Tiles of empty strings only\": 2.7 does not read such a tile where filters stand before it",
    },
    Excuse {
        releases: |release| release == (2, 2),
        fits: |case| {
            sparse_with(case, |own| own.datatype == Datatype::Float32) && sparse_with(case, Dimension::is_var)
        },
        why: "\"Points of FLOAT32 and strings, libtiledb 2.2\": tiles at one FLOAT32 coordinate beside a string are not found",
    },
    Excuse {
        releases: |release| release == minor(READER),
        fits: |case| {
            let first =
                |field: &Field<'_>| matches!(field.filters.filters.as_slice(), [.., Filter::Rle { .. }, _]);
            let mut var = case.made.schema.fields().filter(Field::is_var);
            var.any(|field| first(&field) && case.has_empty(field.kind))
        },
        why: "\"Tiles of empty strings only\": a tile of empty cells only, by RLE before another filter",
    },
];

/// Queries that go wrong.
const UNASKED: [Unasked; 10] = [
    Unasked {
        releases: |_| true,
        fits: |case, layout| {
            let alone = case.made.schema.domain.dimensions.len() == 1;
            case.merges_wide_strings() && (alone || merges(layout))
        },
        why: "\"Merging strings\": several fragments with bytes from 0x80 in string coordinates",
    },
    Unasked {
        releases: |_| true,
        fits: |case, layout| {
            let schema = &case.made.schema;
            let strings = matches!(schema.domain.dimensions.as_slice(), [only] if only.is_var());
            strings && schema.cell_order == Layout::Hilbert && ["row-major", "col-major"].contains(&layout)
        },
        why: "\"Order of string coordinates\": a Hilbert array of one dimension",
    },
    Unasked {
        releases: |release| release == (2, 2),
        fits: |case, layout| {
            let hilbert = case.made.schema.cell_order == Layout::Hilbert;
            hilbert
                && merges(layout)
                && sparse_with(case, |dimension| {
                    dimension.extent_cells().is_some() || dimension.last_ordinal().is_some()
                })
        },
        why: "\"Cells out of order, libtiledb 1.6 and 2.2\": another place on the Hilbert curve for whole numbers",
    },
    Unasked {
        releases: |release| release < (2, 4),
        fits: |case, layout| (merges(layout) || is_line(case)) && sparse_with(case, is_wide),
        why: "\"Tiles of small and of wide integers\": a domain wider than the largest number of its type",
    },
    Unasked {
        releases: |_| true,
        fits: |case, layout| is_line(case) && !merges(layout) && sparse_with(case, |own| !tiles_ascend(own)),
        why: "\"Tiles of reals past 64 bits\": one real dimension, in the order of its cells",
    },
    Unasked {
        releases: |release| ((2, 4)..(2, 10)).contains(&release),
        fits: |case, layout| {
            merges(layout)
                && sparse_with(case, |dimension| is_small(dimension) && begins_below_zero(dimension))
        },
        why: "\"Tiles of small and of wide integers\": INT8 or INT16, beginning below 0",
    },
    Unasked {
        releases: |release| ((2, 8)..(2, 28)).contains(&release),
        fits: |case, layout| {
            let schema = &case.made.schema;
            let orders = schema.tile_order != schema.cell_order || schema.cell_order == Layout::ColMajor;
            let several = schema.domain.dimensions.len() > 1;
            schema.array_type == ArrayType::Dense && orders && several && layout == "global-order"
        },
        why: "\"Dense cells in column-major order\": read in global order",
    },
    Unasked {
        releases: |release| ((2, 8)..(2, 18)).contains(&release),
        fits: |case, layout| {
            let schema = &case.made.schema;
            let across = ["row-major", "col-major"].contains(&layout) && layout != schema.cell_order.name();
            let along = if layout == "col-major" { 0 } else { schema.domain.dimensions.len() - 1 };
            across
                && schema.array_type == ArrayType::Dense
                && schema.fields().any(|field| field.is_var())
                && case.begins_inside(along)
        },
        why: "\"Dense strings across the cell order\": a fragment begins inside a tile, behind the first cell that is read",
    },
    Unasked {
        releases: |release| release == (2, 2),
        fits: |case, layout| {
            let schema = &case.made.schema;
            schema.cell_order == Layout::Hilbert && !schema.allows_duplicates && layout == "unordered"
        },
        why: "\"Versions of a cell, libtiledb 2.2\": a Hilbert array, unordered",
    },
    Unasked {
        releases: |release| release == (2, 7),
        fits: |case, layout| {
            let dimensions = case.made.schema.domain.dimensions.iter().enumerate();
            let mut strings = dimensions.filter(|(_, own)| own.is_var());
            merges(layout) && strings.any(|(at, _)| case.has_empty(FieldKind::Dimension(at)))
        },
        why: "\"Tiles of empty strings only\": a tile of empty strings only, read in global order",
    },
];

/// Queries that go wrong in one release only, and not in the releases before and after it.
const UNASKED_OF_ONE: [(&str, Unasked); 1] = [(
    "2.2.2",
    Unasked {
        releases: |_| true,
        fits: |case, layout| {
            let hilbert = case.made.schema.cell_order == Layout::Hilbert;
            hilbert && case.has_several_fragments() && layout != "unordered"
        },
        why: "\"Cells out of order, libtiledb 1.6 and 2.2\": 2.2.2 may fail to merge fragments of a Hilbert array",
    },
)];

/// A case that a release may not read.
struct Excuse {
    releases: fn((u32, u32)) -> bool,
    fits: fn(&Case) -> bool,
    why: &'static str,
}

/// A query that a release may answer wrongly; its layout is one of `Layout::name`.
struct Unasked {
    releases: fn((u32, u32)) -> bool,
    fits: fn(&Case, &str) -> bool,
    why: &'static str,
}

/// The reason why a release does not have to read a case.
pub(super) fn excused(case: &Case, release: &str) -> Option<&'static str> {
    let release = minor(release);
    EXCUSED.iter().find(|rule| (rule.releases)(release) && (rule.fits)(case)).map(|rule| rule.why)
}

/// The reason why a case's cells are not queried in an order with a release.
pub(super) fn unasked(case: &Case, layout: &str, release: &str) -> Option<&'static str> {
    let own = UNASKED_OF_ONE.iter().filter(|(only, _)| *only == release).map(|(_, rule)| rule);
    let release = minor(release);
    let mut rules = UNASKED.iter().chain(own);
    rules.find(|rule| (rule.releases)(release) && (rule.fits)(case, layout)).map(|rule| rule.why)
}

/// Whether a layout merges fragments in the order in which their cells are stored.
fn merges(layout: &str) -> bool {
    ["global-order", "unordered"].contains(&layout)
}

/// Whether the array has one dimension, in which the order of cells is the order of their
/// coordinates.
fn is_line(case: &Case) -> bool {
    case.made.schema.domain.dimensions.len() == 1
}

fn sparse_with(case: &Case, fits: impl Fn(&Dimension) -> bool) -> bool {
    let schema = &case.made.schema;
    schema.array_type == ArrayType::Sparse && schema.domain.dimensions.iter().any(fits)
}

/// Whether the domain of a dimension of signed integers is wider than the largest number of the
/// type.
fn is_wide(dimension: &Dimension) -> bool {
    let bits = u32::try_from(dimension.datatype.size() * 8).unwrap_or(64);
    dimension.datatype.physical().is_signed_integer()
        && dimension.last_ordinal().is_some_and(|last| u128::from(last) >= 1 << (bits - 1))
}

/// Whether the product of all extents of a dense array but the last is more than the type of its
/// dimensions can count.
fn counts_past_its_type(schema: &ArraySchema) -> bool {
    let dimensions = schema.domain.dimensions.as_slice();
    let Some((last, others)) = dimensions.split_last() else { return false };
    let bits = u32::try_from(last.datatype.size() * 8).unwrap_or(64);
    let cells = others.iter().try_fold(1u128, |cells, own| Some(cells * u128::from(own.extent_cells()?)));
    schema.array_type == ArrayType::Dense && cells.is_some_and(|cells| cells >> bits > 0)
}

fn is_small(dimension: &Dimension) -> bool {
    dimension.datatype.size() < size_of::<i32>()
}

fn begins_below_zero(dimension: &Dimension) -> bool {
    let low = dimension.domain.as_ref().and_then(|(low, _)| low.last());
    dimension.datatype.physical().is_signed_integer() && low.is_some_and(|byte| *byte >= 0x80)
}
