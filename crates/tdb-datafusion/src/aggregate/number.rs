//! Values of aggregates as numbers, for one group or for all rows.

use tdb_array::query::{Aggregate, AggregateValue, GroupedValues};
use tdb_array::schema::CellValNum;

/// The value of an aggregate, for a group or for all rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum AggregateNumber {
    /// An integer; `None` for null.
    Integer(Option<i128>),
    /// A floating-point number; `None` for null.
    Real(Option<f64>),
    /// A number that SQL computes differently: it does not fit, or there are NaNs.
    Unknown,
}

impl AggregateNumber {
    /// Whether aggregates of groups have the values of SQL: no sum was too large, and there are no
    /// NaNs, which SQL does not leave out.
    pub(super) fn are_those_of_sql(values: &[GroupedValues]) -> bool {
        values.iter().all(|values| !values.overflowed && !values.has_nan)
    }

    /// The value of an aggregate of a group, if it is known.
    pub(super) fn of_group(values: &GroupedValues, group: usize) -> Self {
        if values.column.cell_val_num != CellValNum::ONE {
            return Self::Unknown;
        }
        if values.are_reals() { Self::Real(values.real(group)) } else { Self::Integer(values.integer(group)) }
    }

    pub(super) fn of(value: &AggregateValue) -> Self {
        if value.overflowed() || value.has_nan() {
            Self::Unknown
        } else if value.datatype.physical().is_float() {
            Self::Real(value.as_f64())
        } else {
            let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            Self::Integer(integer)
        }
    }

    const fn is_none(self) -> bool {
        matches!(self, Self::Integer(None) | Self::Real(None))
    }

    pub(super) const fn integer(self) -> Option<i128> {
        match self {
            Self::Integer(value) => value,
            Self::Real(_) | Self::Unknown => None,
        }
    }

    /// Combines the values of an aggregate of two sets of cells.
    pub(super) fn and(self, other: Self, aggregate: &Aggregate) -> Self {
        use tdb_array::query::AggregateFunction::{Max, Min};
        let function = aggregate.function();
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (none, some) | (some, none) if none.is_none() => some,
            (Self::Integer(Some(a)), Self::Integer(Some(b))) => Self::Integer(Some(match function {
                Min => a.min(b),
                Max => a.max(b),
                _ => match a.checked_add(b) {
                    Some(sum) => sum,
                    None => return Self::Unknown,
                },
            })),
            (Self::Real(Some(a)), Self::Real(Some(b))) => Self::Real(Some(match function {
                Min => a.min(b),
                Max => a.max(b),
                _ => a + b,
            })),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(value: f64) -> AggregateNumber {
        AggregateNumber::Real(Some(value))
    }

    #[test]
    fn sums_of_parts_are_added_and_extremes_compared() {
        let of_both_steps = |aggregate: &Aggregate| match real(2.5).and(real(-1.0), aggregate) {
            AggregateNumber::Real(value) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(of_both_steps(&Aggregate::sum("a")), Some(1.5));
        assert_eq!(of_both_steps(&Aggregate::min("a")), Some(-1.0));
        assert_eq!(of_both_steps(&Aggregate::max("a")), Some(2.5));
    }

    #[test]
    fn a_part_without_cells_changes_nothing() {
        for aggregate in [Aggregate::sum("a"), Aggregate::min("a"), Aggregate::max("a")] {
            let nothing = AggregateNumber::Integer(None);
            assert!(nothing.is_none() && nothing.and(nothing, &aggregate).is_none());
            for found in [nothing.and(real(7.0), &aggregate), real(7.0).and(nothing, &aggregate)] {
                assert!(matches!(found, AggregateNumber::Real(Some(7.0))), "{found:?}");
            }
        }
        assert!(matches!(
            AggregateNumber::Unknown.and(real(7.0), &Aggregate::sum("a")),
            AggregateNumber::Unknown
        ));
    }
}
