//! What may be known of a field's cells without looking at them, and for which fields it is kept.

use std::borrow::Cow;

use tdb_codec::{CellValNum, Datatype, DatatypeClass, Physical};

/// What is known of a field's cells.
#[derive(Clone, Debug)]
pub enum FieldFacts<'a> {
    /// There are none: the fragment is older than the field.
    Missing,
    /// There are some, and this is known of them.
    Known(Facts<'a>),
}

/// Facts about some cells of a field.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Bounds of the values.
    pub extremes: Extremes<'a>,
    /// How many are null.
    pub nulls: Nulls,
}

/// Bounds of the values that are not null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extremes<'a> {
    /// Nothing is known of the values.
    Unknown,
    /// There is no value.
    Nothing,
    /// No value lies outside, and none is a NaN. The ends need not occur.
    Within(Cow<'a, [u8]>, Cow<'a, [u8]>),
}

/// How many cells are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// It is not known.
    Unknown,
    /// No cell is null.
    None,
    /// Some cells may be null, and some may not.
    Some,
    /// All cells are null.
    All,
}

impl Facts<'_> {
    /// Nothing is known.
    pub const UNKNOWN: Facts<'static> = Facts { extremes: Extremes::Unknown, nulls: Nulls::Unknown };
}

/// What is kept of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Smallest and largest value.
    pub extremes: bool,
    /// The sum of the values.
    pub sum: bool,
    /// The number of null cells.
    pub nulls: bool,
    /// What smallest and largest value are found by.
    pub compared: Compared,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// By the value of one number a cell.
    Number(Physical),
    /// Cells of bytes, compared whole.
    Bytes,
    /// In no way: nothing is kept of them that needs a comparison.
    Other,
}

impl Rule {
    /// Of an attribute.
    pub fn attribute(datatype: Datatype, cells: CellValNum, nullable: bool) -> Self {
        let string = matches!(datatype, Datatype::Char | Datatype::StringAscii);
        let one = cells == CellValNum::ONE;
        let compared = match datatype.class() {
            _ if string => Compared::Bytes,
            DatatypeClass::Integer | DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time
                if one =>
            {
                Compared::Number(datatype.physical())
            }
            _ => Compared::Other,
        };
        let sum = matches!(compared, Compared::Number(_)) || datatype == Datatype::Char && one;
        Self { extremes: compared != Compared::Other, sum, nulls: nullable, compared }
    }

    /// Whether values are compared as numbers.
    pub const fn is_number(self) -> bool {
        matches!(self.compared, Compared::Number(_))
    }

    /// Of a dimension of a sparse array: its extremes are in the R-tree instead, but are computed here too.
    pub fn dimension(datatype: Datatype, cells: CellValNum) -> Self {
        let rule = Self::attribute(datatype, cells, false);
        Self { extremes: false, ..rule }
    }
}
