//! Rules for new schemas: stricter than those for reading, as in libtiledb.

use tdb_codec::{ArrayType, CellValNum, DataOrder, Datatype, DatatypeClass, Gate, Native, Physical, to_u64};
use tdb_filters::{Filter, Pipeline, TileContext};

use super::{SchemaProblem, is_single, wrong_extent};
use crate::{
    ArraySchema, Attribute, Dimension, DimensionLabel, Enumeration, Field, FieldKind, OLD_ANONYMOUS,
};

/// The prefix that names of attributes must not have.
const RESERVED: &str = "__";

impl ArraySchema {
    /// Checks a new schema: the rules of [`Self::check`], the rules for new arrays, and whether the
    /// schema's version can store it. [`SchemaBuilder::build`](crate::SchemaBuilder::build) calls
    /// this.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_new(&self) -> Result<(), SchemaProblem> {
        self.check_new_but_filters()?;
        self.fields().try_for_each(|field| self.check_filters(field))?;
        self.check_pipeline("offsets", &self.offsets_filters, TileContext::offsets(self.version))?;
        self.check_pipeline("validity", &self.validity_filters, TileContext::validity(self.version))
    }

    /// Checks a new schema as [`Self::check_new`] does, but not whether its filters fit its fields,
    /// nor the ranges of their options.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_new_but_filters(&self) -> Result<(), SchemaProblem> {
        self.check()?;
        self.check_version(self.version)?;
        self.check_known(self.version)?;
        self.check_shared_names()?;
        self.domain.dimensions.iter().try_for_each(check_dimension)?;
        self.attributes.iter().try_for_each(check_attribute)?;
        self.labels.iter().try_for_each(check_label)
    }

    /// Checks an enumeration of a new schema: it must have a name, its values must be different,
    /// every release that wrote arrays of the schema's version must be able to read it, and the
    /// attributes that index it must have a type that is large enough.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_enumeration(&self, enumeration: &Enumeration) -> Result<(), SchemaProblem> {
        enumeration.check_known(self.version)?;
        self.check_values(enumeration, RESERVED_INDEXES)
    }

    /// Checks an enumeration that the array has already, with more values: as
    /// [`Self::check_enumeration`], but for what was so before. It may have one value more, since
    /// libtiledb reserves no index where it extends one.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_extended(&self, enumeration: &Enumeration) -> Result<(), SchemaProblem> {
        self.check_values(enumeration, 0)
    }

    fn check_values(&self, enumeration: &Enumeration, reserved: u128) -> Result<(), SchemaProblem> {
        enumeration.check()?;
        let uses = |attribute: &&Attribute| attribute.enumeration.as_ref() == Some(&enumeration.name);
        let mut all = self.attributes.iter().filter(uses);
        all.try_for_each(|attribute| attribute.check_index_count(enumeration, reserved))
    }

    fn check_shared_names(&self) -> Result<(), SchemaProblem> {
        for attribute in &self.attributes {
            let anonymous = attribute.name == OLD_ANONYMOUS && !self.version.has(Gate::DimensionFiles);
            if attribute.name.starts_with(RESERVED) && !anonymous {
                return Err(SchemaProblem::ReservedName(attribute.name.clone()));
            }
            if self.dimension(&attribute.name).is_some() {
                return Err(SchemaProblem::DuplicateName(attribute.name.clone()));
            }
        }
        Ok(())
    }

    fn check_filters(&self, field: Field<'_>) -> Result<(), SchemaProblem> {
        let cell_size = field.cell_size().unwrap_or_else(|| field.datatype.size());
        let context = TileContext::new(field.datatype, to_u64(cell_size), self.version);
        let refuse = |reason: &str| {
            Err(SchemaProblem::Filters { field: field.name.to_owned(), reason: reason.to_owned() })
        };
        let filters = &field.filters.filters;
        let strings =
            matches!(field.datatype, Datatype::StringAscii | Datatype::StringUtf8) && field.is_var();
        let holds_strings =
            |filter: &Filter| matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. });
        if strings && filters.iter().skip(1).any(holds_strings) {
            return refuse("RLE and dictionary filters of strings must come first");
        }
        if filters.iter().any(|filter| matches!(filter, Filter::WebP(_))) {
            let pixels = matches!(field.kind, FieldKind::Attribute(_)) && field.datatype == Datatype::Uint8;
            let image = self.array_type == ArrayType::Dense && self.domain.dimensions.len() == 2;
            if !pixels || !image {
                return refuse("WebP is for UINT8 attributes of dense arrays with two dimensions");
            }
        }
        // Readers ignore these two filters for types that they do not work on, because old
        // libraries wrote such pipelines.
        let mut datatype = field.datatype;
        for filter in filters {
            let windows = matches!(filter, Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. });
            if windows && !has_integers(datatype) {
                return refuse("bit-width reduction and positive delta are for integers, dates and times");
            }
            if self.version.has(Gate::TypePropagation) {
                datatype = filter.output_type(datatype);
            }
        }
        if strings && filters.iter().any(holds_strings) {
            // The form in which strings are stored is decided for each tile.
            return Ok(());
        }
        self.check_pipeline(field.name, field.filters, context)
    }

    #[expect(clippy::unused_self, reason = "consistent with the methods next to it")]
    fn check_pipeline(
        &self,
        field: &str,
        pipeline: &Pipeline,
        context: TileContext,
    ) -> Result<(), SchemaProblem> {
        let failed = |error: tdb_filters::Error| SchemaProblem::Filters {
            field: field.to_owned(),
            reason: error.to_string(),
        };
        pipeline.validate(context).map_err(failed)
    }
}

/// Indexes of a type that no value of a new enumeration has: the largest, as libtiledb wants it.
const RESERVED_INDEXES: u128 = 1;

impl Attribute {
    /// Checks that the attribute's type has an index for each value of its enumeration.
    ///
    /// # Errors
    /// [`SchemaProblem::EnumerationSize`].
    pub fn check_indexes(&self, enumeration: &Enumeration) -> Result<(), SchemaProblem> {
        self.check_index_count(enumeration, RESERVED_INDEXES)
    }

    /// The same where so many of the largest indexes are not used.
    fn check_index_count(&self, enumeration: &Enumeration, reserved: u128) -> Result<(), SchemaProblem> {
        let max = largest(self.datatype.physical());
        let count = u128::from(to_u64(enumeration.len()));
        if max.is_none_or(|max| count.saturating_add(reserved) > max) {
            return Err(SchemaProblem::EnumerationSize {
                attribute: self.name.clone(),
                enumeration: enumeration.name.clone(),
                count: enumeration.len(),
            });
        }
        Ok(())
    }
}

/// Whether values of a type can be grouped into windows of integers.
const fn has_integers(datatype: Datatype) -> bool {
    use DatatypeClass::{Byte, Datetime, Integer, Time};
    matches!(datatype.class(), Integer | Datetime | Time | Byte)
}

/// The largest value of an integer type.
const fn largest(physical: Physical) -> Option<u128> {
    Some(match physical {
        Physical::I8 => i8::MAX as u128,
        Physical::U8 => u8::MAX as u128,
        Physical::I16 => i16::MAX as u128,
        Physical::U16 => u16::MAX as u128,
        Physical::I32 => i32::MAX as u128,
        Physical::U32 => u32::MAX as u128,
        Physical::I64 => i64::MAX as u128,
        Physical::U64 => u64::MAX as u128,
        _ => return None,
    })
}

/// The rules of libtiledb for domains and extents, dense and sparse.
fn check_dimension(dimension: &Dimension) -> Result<(), SchemaProblem> {
    let Some(last) = dimension.last_ordinal() else { return check_real_extent(dimension) };
    let signed = dimension.datatype.physical().is_signed_integer();
    let bits = u32::try_from(dimension.datatype.size().saturating_mul(8)).unwrap_or(64);
    if u128::from(last).saturating_add(1) == 1u128 << bits {
        return Err(SchemaProblem::WholeType(dimension.name.clone()));
    }
    let Some(extent) = dimension.extent_cells() else { return Ok(()) };
    // In a signed type, only the extent of the whole domain may be above the maximum of the type:
    // it stands for no extent.
    let whole = extent.wrapping_sub(1) == last;
    if signed && !whole && bits < u64::BITS && extent >> bits.saturating_sub(1) != 0 {
        return Err(wrong_extent(dimension));
    }
    // The last tile may extend past the domain, and past the type as far as 64 bits allow.
    let max = (1i128 << u64::BITS.saturating_sub(u32::from(signed))).saturating_sub(1);
    let low = match &dimension.domain {
        Some((low, _)) if signed => self::signed(low),
        Some((low, _)) => unsigned(low),
        None => None,
    };
    let room = low.map(|low| max.saturating_sub(low));
    let end = last.checked_div(extent).map(|tiles| {
        (i128::from(tiles).saturating_add(1)).saturating_mul(i128::from(extent)).saturating_sub(1)
    });
    match (end, room) {
        (Some(end), Some(room)) if end > room => Err(wrong_extent(dimension)),
        _ => Ok(()),
    }
}

/// The value of a little-endian signed integer.
fn signed(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.last()? & 0x80 != 0;
    let mut wide = if negative { [0xff; 16] } else { [0; 16] };
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(wide))
}

/// The value of a little-endian unsigned integer.
fn unsigned(bytes: &[u8]) -> Option<i128> {
    let mut wide = [0; 16];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(wide))
}

fn check_real_extent(dimension: &Dimension) -> Result<(), SchemaProblem> {
    if dimension.is_var() {
        let plain = dimension.domain.is_none() && dimension.tile_extent.is_none();
        return if plain { Ok(()) } else { Err(SchemaProblem::StringDimension(dimension.name.clone())) };
    }
    let (Some(length), Some(extent)) = (dimension.real_length(), &dimension.tile_extent) else {
        return Ok(());
    };
    let number = |bytes: &[u8]| super::to_f64(dimension.datatype, bytes).unwrap_or(f64::NAN);
    let max = match (f32::from_le(&length), f64::from_le(&length)) {
        (Some(length), _) => f64::from(length + 1.0),
        (None, Some(length)) => length + 1.0,
        (None, None) => return Ok(()),
    };
    // libtiledb accepts NaN as an extent: all cells are then in one tile. The same is true for an
    // extent of 0 and a single point.
    let (length, extent) = (number(&length), number(extent));
    let fits = extent.is_nan() || (extent <= max && (extent > 0.0 || length == 0.0));
    if fits { Ok(()) } else { Err(wrong_extent(dimension)) }
}

fn check_attribute(attribute: &Attribute) -> Result<(), SchemaProblem> {
    let name = || attribute.name.clone();
    if attribute.fill_validity > u8::from(attribute.nullable) {
        return Err(SchemaProblem::FillValidity(name()));
    }
    if attribute.order != DataOrder::Unordered {
        let var = attribute.datatype == Datatype::StringAscii;
        let cell = if var { attribute.is_var() } else { attribute.cell_val_num == CellValNum::ONE };
        if attribute.nullable || !cell {
            return Err(SchemaProblem::OrderedAttribute(name()));
        }
    }
    if let Some(enumeration) = &attribute.enumeration {
        let integer =
            attribute.datatype.class() == DatatypeClass::Integer && attribute.datatype != Datatype::Bool;
        if !integer || !is_single(attribute.cell_val_num) {
            let (attribute, enumeration) = (name(), enumeration.clone());
            return Err(SchemaProblem::EnumerationType { attribute, enumeration });
        }
    }
    Ok(())
}

/// The rules of libtiledb for labels: it does not open an array with a label that breaks one.
fn check_label(label: &DimensionLabel) -> Result<(), SchemaProblem> {
    let string = label.datatype.is_string();
    let legal_type = match label.datatype.class() {
        DatatypeClass::Integer => label.datatype != Datatype::Bool,
        DatatypeClass::Real | DatatypeClass::Datetime | DatatypeClass::Time => true,
        _ => label.datatype == Datatype::StringAscii,
    };
    let legal_cell = if string { label.cell_val_num.is_var() } else { is_single(label.cell_val_num) };
    let named = ![&label.name, &label.attribute, &label.uri].iter().any(|name| name.is_empty());
    let found = label.relative || label.external;
    if label.order == DataOrder::Unordered || !legal_type || !legal_cell || !named || !found {
        return Err(SchemaProblem::Label(label.name.clone()));
    }
    Ok(())
}
