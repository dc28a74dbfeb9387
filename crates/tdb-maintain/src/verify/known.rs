//! The faults of files that releases of libtiledb are known to write, and that are harmless to a
//! reader that knows them: these are notes, not problems.
//!
//! Each row states what it excuses and for which versions, types or values; nothing else excuses a
//! finding. docs/correctness_issues.md has more about each.

use tdb_codec::{Datatype, Gate, Layout};
use tdb_schema::{Dimension, Field, FieldKind};

use super::report::Check;
use crate::coordinate::integer_limits;
use crate::facts::{Rule, counts_nulls};
use crate::fragment::Fragment;
use crate::tiles::counted_cells;

/// The subject of a finding.
#[derive(Clone, Copy)]
pub(super) struct Finding<'a> {
    pub(super) fragment: &'a Fragment,
    /// `None` if it is about all dimensions.
    pub(super) field: Option<&'a Field<'a>>,
    pub(super) values: FindingValues,
}

/// Properties of the values of a finding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FindingValues {
    pub(super) nan: bool,
    /// A NUL in a string.
    pub(super) nul: bool,
    /// A byte of 0x80 or more in a string coordinate.
    pub(super) high: bool,
    /// A tile in which no cell has a value.
    pub(super) only_nulls: bool,
    /// A statistic that is right if all cells of dense tiles are counted, including those outside
    /// the fragment.
    pub(super) around: bool,
    /// Values other than zero in those cells.
    pub(super) filled: bool,
    /// An infinity that is the smallest or the largest value.
    pub(super) infinite: bool,
    /// A tile's sum of integers that exceeded its limit.
    pub(super) limit: bool,
    /// Cells with the same position on the Hilbert curve.
    pub(super) tie: bool,
    /// An interval of strings that begins with the empty one.
    pub(super) empty: bool,
}

impl FindingValues {
    /// The properties that either of two sets of values has.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            nan: self.nan || other.nan,
            nul: self.nul || other.nul,
            high: self.high || other.high,
            only_nulls: self.only_nulls || other.only_nulls,
            around: self.around || other.around,
            filled: self.filled || other.filled,
            infinite: self.infinite || other.infinite,
            limit: self.limit || other.limit,
            tie: self.tie || other.tie,
            empty: self.empty || other.empty,
        }
    }
}

struct Known {
    checks: &'static [Check],
    applies: fn(&Finding<'_>) -> bool,
    why: &'static str,
}

const EXTREMES: &[Check] = &[Check::Smallest, Check::Largest, Check::WholeSmallest, Check::WholeLargest];
const NULLS: &[Check] = &[Check::Nulls, Check::WholeNulls];
const EXTREMES_AND_NULLS: &[Check] = &[
    Check::Smallest,
    Check::Largest,
    Check::Nulls,
    Check::WholeSmallest,
    Check::WholeLargest,
    Check::WholeNulls,
];

static TABLE: &[Known] = &[
    Known {
        checks: &[Check::Rectangle, Check::Tight, Check::Domain, Check::Parent],
        applies: |case| case.before(Gate::DimensionFiles) && case.field(|field| field.datatype.is_datetime()),
        why: "libtiledb 1.6 and 1.7 set rectangles and domains of date dimensions from the first cell only",
    },
    Known {
        checks: &[Check::Rectangle, Check::Domain, Check::Parent],
        applies: |case| case.values.empty && case.is_var() && case.before(Gate::StringRectangles),
        why: "libtiledb 2.1 to 2.4.1 lost the high end of rectangles and domains of strings that begin with the empty one",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| {
            case.before(Gate::DimensionFiles)
                && case.dimension(|dimension| dimension.datatype.physical().is_float())
        },
        why: "libtiledb 1.4 to 1.7 ignored the tiles of floating-point dimensions when it ordered cells",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| case.before(Gate::DimensionFiles) && case.dimension(begins_before_1970),
        why: "libtiledb 1.6 did not order dates before 1970 correctly",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| {
            case.before(Gate::IndexedFileNames) && case.fragment.schema().cell_order == Layout::Hilbert
        },
        why: "libtiledb 2.2 computed other positions on the Hilbert curve",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| case.before(Gate::HilbertTies) && case.values.tie,
        why: "up to 2.22 libtiledb ordered cells with the same position on the Hilbert curve by their last dimension first",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| {
            let narrow = case.before(Gate::DimensionFiles);
            case.before(Gate::SchemaFolder)
                && case.dimension(|dimension| {
                    is_wide(dimension) && (narrow || dimension.datatype.size() >= size_of::<i32>())
                })
        },
        why: "up to 2.3 libtiledb's tile numbers of integers overflowed if the domain is wider than half of the type's range",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| {
            case.before(Gate::CellTimestamps)
                && !case.before(Gate::SchemaFolder)
                && case.dimension(|dimension| {
                    dimension.datatype.size() < size_of::<i32>() && begins_below_zero(dimension)
                })
        },
        why: "libtiledb 2.4 to 2.9 computed wrong tile numbers for INT8 and INT16 if the domain begins below 0",
    },
    Known {
        checks: &[Check::Order],
        applies: |case| case.values.high,
        why: "machines with unsigned characters order bytes from 0x80 on differently",
    },
    Known {
        checks: &[Check::Times],
        applies: |case| case.before(Gate::DeleteFiles),
        why: "libtiledb 2.10 and 2.11 did not order versions of a cell by their times",
    },
    Known {
        checks: &[
            Check::Order,
            Check::Repeated,
            Check::Rectangle,
            Check::Domain,
            Check::Smallest,
            Check::Largest,
            Check::Sum,
            Check::WholeSmallest,
            Check::WholeLargest,
            Check::WholeSum,
        ],
        applies: |case| {
            let fields = || case.fragment.schema().fields();
            match case.field {
                Some(field) => field.filters.changes_values(),
                None => fields().any(|field| {
                    matches!(field.kind, FieldKind::Dimension(_)) && field.filters.changes_values()
                }),
            }
        },
        why: "they match the values before a lossy filter changed them",
    },
    Known {
        checks: &[
            Check::Smallest,
            Check::Largest,
            Check::Sum,
            Check::Nulls,
            Check::WholeSmallest,
            Check::WholeLargest,
            Check::WholeSum,
            Check::WholeNulls,
        ],
        applies: |case| {
            let (first, last) = case.fragment.timestamps();
            let consolidated = first < last || case.values.filled;
            case.fragment.is_dense()
                && case.values.around
                && (consolidated || case.before(Gate::TrustedTileStatistics))
        },
        why: "libtiledb includes cells of dense tiles outside the fragment: padding up to 2.11, later fill values when it \
              consolidates",
    },
    Known {
        checks: &[Check::Rectangle, Check::Domain],
        applies: |case| case.values.nan,
        why: "NaN is in no rectangle, and is both ends of a tile's rectangle if it comes first",
    },
    Known {
        checks: EXTREMES,
        applies: |case| case.values.nan,
        why: "libtiledb ignores the values before a NaN",
    },
    Known {
        checks: EXTREMES,
        applies: |case| case.values.infinite,
        why: "libtiledb starts from the largest and smallest finite number, which an infinity does not replace",
    },
    Known {
        checks: &[Check::Sum, Check::WholeSum],
        applies: |case| case.fragment.is_dense() && case.values.limit,
        why: "libtiledb continues adding in the next run of cells after a sum has exceeded its limit",
    },
    Known {
        checks: EXTREMES,
        applies: |case| case.values.nul && case.rule(|rule| !rule.is_number()),
        why: "libtiledb compares strings only up to a NUL",
    },
    Known {
        checks: EXTREMES_AND_NULLS,
        applies: |case| case.fragment.is_dense() && case.is_var() && case.rule(|rule| rule.extremes),
        why: "libtiledb reads strings of dense tiles from the wrong place",
    },
    Known {
        checks: EXTREMES_AND_NULLS,
        applies: |case| {
            case.fragment.is_dense()
                && case.before(Gate::NullableStringStatistics)
                && case.field(|field| field.nullable)
                && case.rule(|rule| rule.extremes && !rule.is_number())
        },
        why: "before version 21 libtiledb read nullable strings of dense tiles from the wrong place",
    },
    Known {
        checks: NULLS,
        applies: |case| case.is_var() && case.rule(|rule| !rule.extremes),
        why: "libtiledb counts no nulls of fields of variable length other than CHAR and STRING_ASCII",
    },
    Known {
        checks: NULLS,
        applies: |case| case.field(|field| !counts_nulls(field.datatype)),
        why: "libtiledb counts no nulls of STRING_UTF8, STRING_UTF16, STRING_UTF32, STRING_UCS2 and STRING_UCS4",
    },
    Known {
        checks: NULLS,
        applies: |case| case.fragment.is_dense() && case.rule(|rule| !rule.extremes),
        why: "libtiledb counts the nulls of a dense tile again for each run of cells that it copies",
    },
    Known {
        checks: NULLS,
        applies: |case| {
            let (schema, version) = (case.fragment.schema(), case.fragment.version());
            case.fragment.is_dense() && counted_cells(schema, version).is_some()
        },
        why: "libtiledb counts the nulls of the cells that it stores, of tiles with more cells than their type counts",
    },
    Known {
        checks: &[Check::Tight],
        applies: |_| true,
        why: "reads examine more tiles than needed, but return the same cells",
    },
    Known {
        checks: &[Check::WholeSum],
        applies: |case| case.field(|field| field.datatype == Datatype::Char),
        why: "libtiledb stores no sum of CHAR for fragments",
    },
    Known {
        checks: &[Check::WholeSmallest, Check::WholeLargest],
        applies: |case| {
            case.values.only_nulls
                && case.field(|field| field.nullable && !field.is_var())
                && case.rule(|rule| !rule.is_number())
        },
        why: "libtiledb uses values of fixed-size strings from the wrong tiles if a tile has none",
    },
];

/// The reason why a finding is a note; `None` if it is a problem.
pub(super) fn known(check: Check, case: &Finding<'_>) -> Option<&'static str> {
    let mut rows = TABLE.iter().filter(|row| row.checks.contains(&check));
    rows.find(|row| (row.applies)(case)).map(|row| row.why)
}

impl Finding<'_> {
    /// Whether the fragment's version is older than a feature.
    fn before(&self, gate: Gate) -> bool {
        !self.fragment.version().has(gate)
    }

    fn is_var(&self) -> bool {
        self.field.is_some_and(Field::is_var)
    }

    fn field(&self, is: impl Fn(&Field<'_>) -> bool) -> bool {
        self.field.is_some_and(is)
    }

    /// Whether any dimension satisfies a predicate.
    fn dimension(&self, is: impl Fn(&Dimension) -> bool) -> bool {
        self.fragment.schema().domain.dimensions.iter().any(is)
    }

    /// Whether it is about an attribute whose statistics satisfy a predicate.
    fn rule(&self, is: impl Fn(Rule) -> bool) -> bool {
        self.field(|field| {
            matches!(field.kind, FieldKind::Attribute(_))
                && is(Rule::attribute(field.datatype, field.cell_val_num, field.nullable))
        })
    }
}

/// Whether a date dimension begins below 0.
fn begins_before_1970(dimension: &Dimension) -> bool {
    dimension.datatype.is_datetime() && begins_below_zero(dimension)
}

/// Whether a dimension of signed integers begins below 0.
fn begins_below_zero(dimension: &Dimension) -> bool {
    let low = dimension.domain.as_ref().and_then(|(low, _)| low.last());
    dimension.datatype.physical().is_signed_integer() && low.is_some_and(|byte| *byte >= 0x80)
}

/// Whether the domain of a dimension of signed integers is wider than the largest of them.
fn is_wide(dimension: &Dimension) -> bool {
    let (_, max) = integer_limits(dimension.datatype);
    dimension.datatype.physical().is_signed_integer()
        && dimension.last_ordinal().is_some_and(|last| i128::from(last) > max)
}
