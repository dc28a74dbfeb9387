//! Rules across fields: code can safely compute with a schema that passes them.

use core::cmp::Ordering;
use std::collections::HashSet;

use tdb_codec::{
    ArrayType, CellValNum, DataOrder, Datatype, DatatypeClass, FormatVersion, Layout, Native, PhysicalVisitor,
};
use tdb_filters::Filter;
use thiserror::Error as ThisError;

use crate::attribute::fill_len_is_right;
use crate::dimension::show;
use crate::{ArraySchema, Attribute, CurrentDomain, Dimension, Range};

mod new;

/// Largest number of dimensions in Hilbert order.
pub const MAX_HILBERT_DIMENSIONS: usize = 16;

/// Why a schema is invalid.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum SchemaProblem {
    #[error("there are no dimensions")]
    NoDimensions,
    #[error("a dense array needs at least one attribute")]
    NoAttributes,
    #[error("the name \"{0}\" is used twice")]
    DuplicateName(String),
    #[error("dimension \"{dimension}\" cannot be of type {datatype}")]
    DimensionType { dimension: String, datatype: Datatype },
    #[error("dimension \"{0}\" has a wrong number of values per cell")]
    DimensionCellValNum(String),
    #[error("dimension \"{dimension}\" has the inverted or undefined domain [{low}, {high}]")]
    DimensionDomain { dimension: String, low: String, high: String },
    #[error(
        "dimension \"{dimension}\" has the tile extent {extent}, which is not positive, exceeds the domain or its type, or makes the last tile end past the largest 64-bit number"
    )]
    TileExtent { dimension: String, extent: String },
    #[error("dimension \"{0}\" of a dense array has another type than the first dimension")]
    MixedDenseDimensions(String),
    #[error("a dense array cannot allow duplicates")]
    DenseDuplicates,
    #[error("{0} is not an order of tiles")]
    TileOrder(Layout),
    #[error("{0} is not an order of cells here")]
    CellOrder(Layout),
    #[error("Hilbert order has at most 16 dimensions, not {0}")]
    HilbertDimensions(usize),
    #[error("a sparse array needs a capacity of at least 1")]
    ZeroCapacity,
    #[error("attribute \"{0}\" of type ANY must be var-length")]
    FixedAny(String),
    #[error(
        "attribute \"{attribute}\" uses the enumeration \"{enumeration}\", which the schema does not list"
    )]
    UnknownEnumeration { attribute: String, enumeration: String },
    #[error("label \"{label}\" names dimension {dimension}, which does not exist")]
    LabelDimension { label: String, dimension: u32 },
    #[error("attribute \"{0}\" has a fill value whose size is not that of its cells")]
    FillValue(String),
    #[error("attribute \"{0}\" is ordered, which only attributes of dense arrays with one dimension can be")]
    OrderedArray(String),
    #[error(
        "the current domain of dimension \"{dimension}\", [{low}, {high}], is not an interval inside its domain"
    )]
    CurrentDomain { dimension: String, low: String, high: String },
    #[error("the current domain has {count} intervals, but needs one for each dimension")]
    CurrentDomainCount { count: usize },
    #[error(
        "dimension \"{0}\" is real and inherits coords filters with double delta, which is for integers only"
    )]
    RealDoubleDelta(String),
    #[error("the name \"{0}\" begins with \"__\", which is reserved")]
    ReservedName(String),
    #[error("the domain of dimension \"{0}\" contains all values of its type; at least one must be left out")]
    WholeType(String),
    #[error("dimension \"{0}\" is a string and cannot have a domain or a tile extent")]
    StringDimension(String),
    #[error("attribute \"{0}\" has a fill validity that is neither null nor valid, or is not nullable")]
    FillValidity(String),
    #[error(
        "attribute \"{0}\" is ordered and must have one value per cell, or be an ASCII string, and no nulls"
    )]
    OrderedAttribute(String),
    #[error(
        "attribute \"{attribute}\" indexes the enumeration \"{enumeration}\" and must have one integer per cell"
    )]
    EnumerationType { attribute: String, enumeration: String },
    #[error("attribute \"{attribute}\" cannot index the {count} values of the enumeration \"{enumeration}\"")]
    EnumerationSize { attribute: String, enumeration: String, count: usize },
    #[error("the enumeration \"{enumeration}\" {reason}")]
    EnumerationValues { enumeration: String, reason: &'static str },
    #[error(
        "label \"{0}\" needs a name, an attribute, an order, a type that can be ordered, and a URI, which is relative if the array stores the label"
    )]
    Label(String),
    #[error("the filters of \"{field}\" do not fit: {reason}")]
    Filters { field: String, reason: String },
    #[error("format version {version} cannot hold the {what} \"{name}\"")]
    NotInVersion { what: &'static str, name: String, version: FormatVersion },
    #[error("format version {version} cannot hold the datatype {datatype} of \"{name}\"")]
    DatatypeNotInVersion { name: String, datatype: Datatype, version: FormatVersion },
    #[error("format version {version} cannot hold the filter '{filter}' of \"{field}\"")]
    FilterNotInVersion { field: String, filter: &'static str, version: FormatVersion },
}

impl ArraySchema {
    /// Checks the rules that code using the schema relies on; parsing calls it too.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), SchemaProblem> {
        let dimensions = &self.domain.dimensions;
        let Some(first) = dimensions.first() else { return Err(SchemaProblem::NoDimensions) };
        if !matches!(self.tile_order, Layout::RowMajor | Layout::ColMajor) {
            return Err(SchemaProblem::TileOrder(self.tile_order));
        }
        match (self.cell_order, self.array_type) {
            (Layout::RowMajor | Layout::ColMajor, _) => {}
            (Layout::Hilbert, ArrayType::Sparse) => {
                if dimensions.len() > MAX_HILBERT_DIMENSIONS {
                    return Err(SchemaProblem::HilbertDimensions(dimensions.len()));
                }
            }
            _ => return Err(SchemaProblem::CellOrder(self.cell_order)),
        }
        dimensions.iter().try_for_each(check_dimension)?;
        match self.array_type {
            ArrayType::Dense => {
                if self.attributes.is_empty() {
                    return Err(SchemaProblem::NoAttributes);
                }
                if self.allows_duplicates {
                    return Err(SchemaProblem::DenseDuplicates);
                }
                for dimension in dimensions {
                    if dimension.datatype != first.datatype {
                        return Err(SchemaProblem::MixedDenseDimensions(dimension.name.clone()));
                    }
                    if dimension.is_var() || dimension.datatype.physical().is_float() {
                        return Err(wrong_type(dimension));
                    }
                }
            }
            ArrayType::Sparse if self.capacity == 0 => return Err(SchemaProblem::ZeroCapacity),
            ArrayType::Sparse => {}
        }
        self.attributes.iter().try_for_each(|attribute| self.check_attribute(attribute))?;
        self.check_inherited_filters()?;
        self.check_current_domain()?;
        for label in &self.labels {
            if usize::try_from(label.dimension).map_or(true, |index| index >= dimensions.len()) {
                let (label, dimension) = (label.name.clone(), label.dimension);
                return Err(SchemaProblem::LabelDimension { label, dimension });
            }
        }
        self.check_names()
    }

    fn check_attribute(&self, attribute: &Attribute) -> Result<(), SchemaProblem> {
        if attribute.datatype == Datatype::Any && !attribute.is_var() {
            return Err(SchemaProblem::FixedAny(attribute.name.clone()));
        }
        if !fill_len_is_right(attribute.fill_value.len(), attribute.datatype, attribute.cell_val_num) {
            return Err(SchemaProblem::FillValue(attribute.name.clone()));
        }
        let ordered = attribute.order != DataOrder::Unordered;
        if ordered && (self.array_type != ArrayType::Dense || self.domain.dimensions.len() != 1) {
            return Err(SchemaProblem::OrderedArray(attribute.name.clone()));
        }
        match &attribute.enumeration {
            Some(name) if !self.enumerations.iter().any(|known| known.name == *name) => {
                Err(SchemaProblem::UnknownEnumeration {
                    attribute: attribute.name.clone(),
                    enumeration: name.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    fn check_inherited_filters(&self) -> Result<(), SchemaProblem> {
        let filters = &self.coords_filters.filters;
        let double_delta = filters.iter().any(|filter| matches!(filter, Filter::DoubleDelta { .. }));
        let inherits = |dimension: &&Dimension| {
            dimension.datatype.physical().is_float() && dimension.filters.filters.is_empty()
        };
        match self.domain.dimensions.iter().find(inherits).filter(|_| double_delta) {
            Some(dimension) => Err(SchemaProblem::RealDoubleDelta(dimension.name.clone())),
            None => Ok(()),
        }
    }

    fn check_current_domain(&self) -> Result<(), SchemaProblem> {
        let Some(CurrentDomain { ranges }) = &self.current_domain else { return Ok(()) };
        let dimensions = &self.domain.dimensions;
        if ranges.len() != dimensions.len() {
            return Err(SchemaProblem::CurrentDomainCount { count: ranges.len() });
        }
        for (range, dimension) in ranges.iter().zip(dimensions) {
            let datatype = dimension.datatype;
            let ordered = Range::compare(datatype, &range.low, &range.high) != Ordering::Greater;
            let fits = match &dimension.domain {
                Some((low, high)) => {
                    let size = datatype.size();
                    let domain = Range::new(low.as_slice(), high.as_slice());
                    range.low.len() == size
                        && range.high.len() == size
                        && domain.covers(datatype, range)
                        && ordered
                }
                // An empty end of a string interval means that the interval is open there.
                None => ordered || range.high.is_empty(),
            };
            if !fits {
                return Err(SchemaProblem::CurrentDomain {
                    dimension: dimension.name.clone(),
                    low: show(datatype, &range.low),
                    high: show(datatype, &range.high),
                });
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), SchemaProblem> {
        // An attribute and a dimension may have the same name in old arrays (lookup finds the
        // attribute), and anonymous fields all have the empty name; within each kind, names are
        // unique.
        let mut seen = HashSet::new();
        for name in self.domain.dimensions.iter().map(|dimension| &dimension.name) {
            if !seen.insert(name) {
                return Err(SchemaProblem::DuplicateName(name.clone()));
            }
        }
        // Labels came later, and their names are unique among all fields.
        for name in self.labels.iter().map(|label| &label.name) {
            if self.attribute(name).is_some() || !seen.insert(name) {
                return Err(SchemaProblem::DuplicateName(name.clone()));
            }
        }
        seen.clear();
        for name in self.attributes.iter().map(|attribute| &attribute.name) {
            if !seen.insert(name) {
                return Err(SchemaProblem::DuplicateName(name.clone()));
            }
        }
        Ok(())
    }
}

fn wrong_type(dimension: &Dimension) -> SchemaProblem {
    SchemaProblem::DimensionType { dimension: dimension.name.clone(), datatype: dimension.datatype }
}

fn check_dimension(dimension: &Dimension) -> Result<(), SchemaProblem> {
    let legal = match dimension.datatype.class() {
        DatatypeClass::Integer => dimension.datatype != Datatype::Bool,
        DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time => true,
        DatatypeClass::String => dimension.datatype == Datatype::StringAscii,
        _ => false,
    };
    if !legal {
        return Err(wrong_type(dimension));
    }
    let var = dimension.datatype.is_string();
    if dimension.cell_val_num != (if var { CellValNum::Var } else { CellValNum::ONE }) {
        return Err(SchemaProblem::DimensionCellValNum(dimension.name.clone()));
    }
    let Some((low, high)) = &dimension.domain else {
        return if var { Ok(()) } else { Err(wrong_domain(dimension, &[], &[])) };
    };
    let size = dimension.datatype.size();
    if low.len() != size
        || high.len() != size
        || Range::compare(dimension.datatype, low, high) == Ordering::Greater
        || !is_finite(dimension.datatype, low)
        || !is_finite(dimension.datatype, high)
    {
        return Err(wrong_domain(dimension, low, high));
    }
    if let Some(extent) = &dimension.tile_extent {
        let fits = match (dimension.extent_cells(), dimension.last_ordinal()) {
            // An extent may be at most one more than the distance between the ends.
            (Some(cells), Some(last)) => cells > 0 && cells.wrapping_sub(1) <= last,
            // For reals, it may be infinite, 0 or NaN: all cells are then in a few tiles, or in
            // one.
            _ => Range::compare(dimension.datatype, extent, &vec![0; size]) != Ordering::Less,
        };
        if extent.len() != size || !fits {
            return Err(wrong_extent(dimension));
        }
    }
    Ok(())
}

fn wrong_extent(dimension: &Dimension) -> SchemaProblem {
    let extent = dimension.tile_extent.as_deref().unwrap_or_default();
    SchemaProblem::TileExtent { dimension: dimension.name.clone(), extent: show(dimension.datatype, extent) }
}

/// Whether a cell has one value.
pub(crate) fn is_single(cell_val_num: CellValNum) -> bool {
    cell_val_num == CellValNum::ONE
}

fn wrong_domain(dimension: &Dimension, low: &[u8], high: &[u8]) -> SchemaProblem {
    SchemaProblem::DimensionDomain {
        dimension: dimension.name.clone(),
        low: show(dimension.datatype, low),
        high: show(dimension.datatype, high),
    }
}

fn is_finite(datatype: Datatype, value: &[u8]) -> bool {
    to_f64(datatype, value).is_some_and(f64::is_finite)
}

/// A value as the nearest `f64`; `None` if it has the wrong length.
fn to_f64(datatype: Datatype, value: &[u8]) -> Option<f64> {
    struct ToF64<'a>(&'a [u8]);
    impl PhysicalVisitor for ToF64<'_> {
        type Output = Option<f64>;
        fn visit<T: Native>(self) -> Option<f64> {
            T::from_le(self.0).map(Native::to_f64)
        }
    }
    datatype.physical().visit(ToF64(value))
}

#[cfg(test)]
mod tests;
