//! Facts about a field's cells that statistics give without reading the cells (minimum, maximum,
//! null count), and which fields have such statistics.

use std::borrow::Cow;

use tdb_codec::{CellValNum, Datatype, DatatypeClass, Physical};

/// The facts that are known about a field's cells.
#[derive(Clone, Debug)]
pub enum FieldFacts<'a> {
    /// There are no cells: the fragment is older than the field.
    Missing,
    /// The fragments of some cells may be older than the field; nothing is known about the others.
    Perhaps,
    /// There are cells, with these facts.
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

/// Minimum and maximum, or bounds of them, of the values that are not null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extremes<'a> {
    /// Nothing is known of the values.
    Unknown,
    /// There is no value.
    Nothing,
    /// All values are between these two, and none is a NaN. The two need not be values of a cell.
    Within(Cow<'a, [u8]>, Cow<'a, [u8]>),
    /// As `Within`, but there may be NaNs too: rectangles of real coordinates do not include them.
    Numbers(Cow<'a, [u8]>, Cow<'a, [u8]>),
}

impl<'a> Extremes<'a> {
    /// The bounds of coordinates in the metadata of tiles and fragments.
    #[must_use]
    pub fn of_coordinates(datatype: Datatype, low: &'a [u8], high: &'a [u8]) -> Self {
        if datatype.physical().is_float() {
            Self::Numbers(low.into(), high.into())
        } else {
            Self::Within(low.into(), high.into())
        }
    }
}

/// Whether cells are null.
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

/// The statistics that are kept of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Smallest and largest value.
    pub extremes: bool,
    /// The sum of the values.
    pub sum: bool,
    /// The number of null cells.
    pub nulls: bool,
    /// How the smallest and the largest value are found.
    pub compared: Compared,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// As numbers; each cell is one number.
    Number(Physical),
    /// As bytes; each cell is compared as a whole.
    Bytes,
    /// Not at all: no statistics that need a comparison are kept.
    Other,
}

/// Whether libtiledb counts nulls of a datatype: of strings that are neither `CHAR` nor
/// `STRING_ASCII` it stores 0, whatever there is (`tile_metadata_generator.cc`).
pub fn counts_nulls(datatype: Datatype) -> bool {
    datatype.class() != DatatypeClass::String || datatype == Datatype::StringAscii
}

impl Rule {
    /// The statistics of an attribute.
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

    /// The statistics of a dimension of a sparse array: its extremes are in the R-tree instead, but
    /// are computed here too.
    pub fn dimension(datatype: Datatype, cells: CellValNum) -> Self {
        let rule = Self::attribute(datatype, cells, false);
        Self { extremes: false, ..rule }
    }
}
