//! Small one-byte and four-byte codes: cell value counts, orders, array types.

use core::fmt;
use core::num::NonZeroU32;

/// Number of values in a cell: fixed, or variable (`0xFFFFFFFF` on the wire).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellValNum {
    /// Every cell holds this many values.
    Fixed(NonZeroU32),
    /// A cell holds any number of values; offsets give the start of each cell.
    Var,
}

impl CellValNum {
    /// One value in each cell.
    pub const ONE: Self = Self::Fixed(NonZeroU32::MIN);
    /// The wire value of [`CellValNum::Var`].
    pub const VAR_CODE: u32 = u32::MAX;

    /// From the wire value; `None` for 0.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        if code == Self::VAR_CODE {
            return Some(Self::Var);
        }
        match NonZeroU32::new(code) {
            Some(count) => Some(Self::Fixed(count)),
            None => None,
        }
    }

    /// The wire value.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::Fixed(count) => count.get(),
            Self::Var => Self::VAR_CODE,
        }
    }

    /// Whether cells are of variable length.
    #[must_use]
    pub const fn is_var(self) -> bool {
        matches!(self, Self::Var)
    }
}

impl fmt::Display for CellValNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(count) => count.fmt(f),
            Self::Var => f.write_str("var"),
        }
    }
}

/// Dense or sparse (specification, "Array schema": array type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayType {
    /// Every cell of the domain exists.
    Dense,
    /// Only written cells exist; coordinates are stored.
    Sparse,
}

impl ArrayType {
    /// From the wire code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Dense),
            1 => Some(Self::Sparse),
            _ => None,
        }
    }

    /// The wire code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Dense => 0,
            Self::Sparse => 1,
        }
    }

    /// Lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Sparse => "sparse",
        }
    }
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An order of cells or tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Last dimension fastest.
    RowMajor,
    /// First dimension fastest.
    ColMajor,
    /// Tile by tile in tile order, cells of a tile in cell order.
    GlobalOrder,
    /// Any order: the one that is cheapest to produce.
    Unordered,
    /// The order along a Hilbert curve; only a cell order of sparse arrays.
    Hilbert,
}

impl Layout {
    const TABLE: [(u8, Self, &'static str); 5] = [
        (0, Self::RowMajor, "row-major"),
        (1, Self::ColMajor, "col-major"),
        (2, Self::GlobalOrder, "global-order"),
        (3, Self::Unordered, "unordered"),
        (4, Self::Hilbert, "hilbert"),
    ];

    /// From the wire code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.0 == code).map(|row| row.1)
    }

    /// The wire code.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }

    /// The name libtiledb prints.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.2)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The order that an attribute's values are guaranteed to have in a dense 1-D array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DataOrder {
    /// No guarantee.
    #[default]
    Unordered,
    /// Values never decrease.
    Increasing,
    /// Values never increase.
    Decreasing,
}

impl DataOrder {
    /// From the wire code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Unordered),
            1 => Some(Self::Increasing),
            2 => Some(Self::Decreasing),
            _ => None,
        }
    }

    /// The wire code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Unordered => 0,
            Self::Increasing => 1,
            Self::Decreasing => 2,
        }
    }

    /// Lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_values_have_codes_and_a_text() {
        let three = CellValNum::Fixed(NonZeroU32::new(3).unwrap());
        for (code, value, text) in
            [(1, CellValNum::ONE, "1"), (3, three, "3"), (u32::MAX, CellValNum::Var, "var")]
        {
            assert_eq!((CellValNum::from_code(code), value.code()), (Some(value), code));
            assert_eq!((value.to_string(), value.is_var()), (text.to_owned(), text == "var"));
        }
        assert_eq!(CellValNum::from_code(0), None);
    }

    #[test]
    fn types_of_arrays_have_codes_and_names() {
        for (code, value, name) in [(0, ArrayType::Dense, "dense"), (1, ArrayType::Sparse, "sparse")] {
            assert_eq!((ArrayType::from_code(code), value.code()), (Some(value), code));
            assert_eq!((value.name(), value.to_string()), (name, name.to_owned()));
        }
        assert_eq!(ArrayType::from_code(2), None);
    }

    #[test]
    fn orders_of_cells_have_codes_and_names() {
        use Layout::{ColMajor, GlobalOrder, Hilbert, RowMajor, Unordered};
        let names = ["row-major", "col-major", "global-order", "unordered", "hilbert"];
        for ((code, value), name) in
            (0..).zip([RowMajor, ColMajor, GlobalOrder, Unordered, Hilbert]).zip(names)
        {
            assert_eq!((Layout::from_code(code), value.code()), (Some(value), code));
            assert_eq!((value.name(), value.to_string()), (name, name.to_owned()));
        }
        assert_eq!(Layout::from_code(5), None);
    }

    #[test]
    fn orders_of_values_have_codes_and_names() {
        use DataOrder::{Decreasing, Increasing, Unordered};
        let names = ["unordered", "increasing", "decreasing"];
        for ((code, value), name) in (0..).zip([Unordered, Increasing, Decreasing]).zip(names) {
            assert_eq!((DataOrder::from_code(code), value.code(), value.name()), (Some(value), code, name));
        }
        assert_eq!(DataOrder::from_code(3), None);
    }
}
