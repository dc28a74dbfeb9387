//! Codes: what the cells of an enumerated attribute contain, which are positions of values.

use tdb_codec::{Native, PhysicalVisitor, to_usize};

use crate::{Attribute, Enumeration};

/// The position that a code means; `None` for a negative one.
///
/// ```
/// assert_eq!(tdb_schema::position(3i8), Some(3));
/// assert_eq!(tdb_schema::position(-1i8), None);
/// ```
pub fn position<T: Native>(code: T) -> Option<usize> {
    let zero = [0; 8].get(..T::SIZE).and_then(T::from_le)?;
    if code < zero { None } else { code.above(zero).and_then(to_usize) }
}

/// Which codes an attribute may have: those of an enumeration's values, and its fill value.
///
/// A null has no code, whatever its bytes are. Codes past the end mean nothing: they read as null.
#[derive(Clone, Debug)]
pub struct Codes {
    attribute: Attribute,
    /// The number of values.
    values: usize,
}

impl Codes {
    /// The codes of an attribute with this enumeration.
    #[must_use]
    pub fn new(attribute: &Attribute, enumeration: &Enumeration) -> Self {
        Self { attribute: attribute.clone(), values: enumeration.len() }
    }

    /// The attribute.
    #[must_use]
    pub const fn attribute(&self) -> &Attribute {
        &self.attribute
    }

    /// The number of values.
    #[must_use]
    pub const fn values(&self) -> usize {
        self.values
    }

    /// The first cell, from this one on, whose code is past the end and not the fill value. Without
    /// validity, no cell is null.
    ///
    /// ```
    /// use tdb_codec::{CellValNum, Datatype};
    /// use tdb_schema::{Attribute, Codes, Enumeration};
    ///
    /// let colours = Enumeration::new("c", "f", Datatype::StringUtf8, CellValNum::Var, ["red", "green"])?;
    /// let codes = Codes::new(&Attribute::new("a", Datatype::Uint8, CellValNum::ONE), &colours);
    /// assert_eq!(codes.past_end(&[0, 1, 255, 2, 7], &[], 0), Some(3), "255 is the fill value");
    /// assert_eq!(codes.past_end(&[0, 1, 255, 2, 7], &[1, 1, 1, 0, 1], 0), Some(4));
    /// # Ok::<(), tdb_schema::SchemaProblem>(())
    /// ```
    #[must_use]
    pub fn past_end(&self, codes: &[u8], validity: &[u8], from: usize) -> Option<usize> {
        self.attribute.datatype.physical().visit(PastEnd { of: self, codes, validity, from })
    }
}

struct PastEnd<'a> {
    of: &'a Codes,
    codes: &'a [u8],
    validity: &'a [u8],
    from: usize,
}

impl PhysicalVisitor for PastEnd<'_> {
    type Output = Option<usize>;

    fn visit<T: Native>(self) -> Option<usize> {
        let Self { of, codes, validity, from } = self;
        let fill = T::from_le(&of.attribute.fill_value);
        let wrong = |code: &T| position(*code).is_none_or(|at| at >= of.values) && Some(*code) != fill;
        let cells = codes.chunks_exact(T::SIZE).enumerate().skip(from);
        let mut wrong = cells.filter(|(_, code)| T::from_le(code).as_ref().is_some_and(wrong));
        wrong.find(|(cell, _)| validity.get(*cell) != Some(&0)).map(|(cell, _)| cell)
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{CellValNum, Datatype};

    use super::*;

    fn codes(datatype: Datatype) -> Codes {
        let values = ["red", "green", "blue"];
        let colours = Enumeration::new("c", "f", Datatype::StringUtf8, CellValNum::Var, values).unwrap();
        Codes::new(&Attribute::new("a", datatype, CellValNum::ONE), &colours)
    }

    #[test]
    fn a_code_is_a_position_unless_it_is_negative() {
        assert_eq!((position(0i8), position(127i8), position(-128i8)), (Some(0), Some(127), None));
        assert_eq!((position(u16::MAX), position(-1i64)), (Some(65_535), None));
        assert_eq!(position(1.0f32), None, "no integer");
    }

    #[test]
    fn the_first_code_past_the_end_is_found_unless_it_is_the_fill_value_or_null() {
        let small = codes(Datatype::Int8);
        assert_eq!((small.attribute().datatype, small.values()), (Datatype::Int8, 3));
        let cells = [0, 2, 0x80, 3, 1, 0xff].map(u8::cast_signed);
        let bytes = cells.map(i8::cast_unsigned);
        assert_eq!(small.past_end(&bytes, &[], 0), Some(3), "-128 is the fill value");
        assert_eq!(small.past_end(&bytes, &[], 3), Some(3));
        assert_eq!(small.past_end(&bytes, &[], 4), Some(5), "-1 is no position");
        assert_eq!(small.past_end(&bytes, &[1, 1, 1, 0, 1, 0], 0), None, "nulls have no code");
        assert_eq!(small.past_end(&bytes, &[1, 1, 1, 0, 1, 1], 0), Some(5));
        assert_eq!(small.past_end(&bytes[..3], &[], 0), None);
        let wide = [0u32, 2, 3, 9].map(u32::to_le_bytes).concat();
        assert_eq!(codes(Datatype::Uint32).past_end(&wide, &[], 0), Some(2));
        assert_eq!(codes(Datatype::Uint32).past_end(&wide, &[], 3), Some(3));
    }
}
