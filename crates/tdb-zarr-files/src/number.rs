//! Numbers of chunks: one by one, in the types that numpy computes with.

use tdb_array::schema::Physical;

/// A type of numbers, and whether each begins with its highest byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) physical: Physical,
    pub(crate) is_big: bool,
}

impl Number {
    /// Bytes of a number.
    pub(crate) const fn size(self) -> usize {
        self.physical.size()
    }
}

/// A number in one of the types that hold all others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wide {
    /// A whole number, as its lowest 64 bits.
    Whole(u64),
    Real(f64),
}

/// The number that these bytes are; `None` if they are too many or too few.
pub(crate) fn read(number: Number, bytes: &[u8]) -> Option<Wide> {
    let mut turned = [0; 8];
    let bytes = if number.is_big {
        let turned = turned.get_mut(..bytes.len())?;
        turned.copy_from_slice(bytes);
        turned.reverse();
        &*turned
    } else {
        bytes
    };
    macro_rules! signed {
        ($type:ty) => {
            Wide::Whole(i64::from(<$type>::from_le_bytes(bytes.try_into().ok()?)).cast_unsigned())
        };
    }
    macro_rules! unsigned {
        ($type:ty) => {
            Wide::Whole(u64::from(<$type>::from_le_bytes(bytes.try_into().ok()?)))
        };
    }
    Some(match number.physical {
        Physical::I8 => signed!(i8),
        Physical::I16 => signed!(i16),
        Physical::I32 => signed!(i32),
        Physical::I64 => signed!(i64),
        Physical::U8 => unsigned!(u8),
        Physical::U16 => unsigned!(u16),
        Physical::U32 => unsigned!(u32),
        Physical::U64 => unsigned!(u64),
        Physical::F32 => Wide::Real(f64::from(f32::from_le_bytes(bytes.try_into().ok()?))),
        Physical::F64 => Wide::Real(f64::from_le_bytes(bytes.try_into().ok()?)),
    })
}

/// The value as a real number; whole ones that are too large are rounded, as numpy does it.
#[expect(clippy::cast_precision_loss, reason = "numpy rounds, too")]
pub(crate) fn real(number: Number, value: Wide) -> f64 {
    match value {
        Wide::Whole(value) if number.physical.is_signed_integer() => value.cast_signed() as f64,
        Wide::Whole(value) => value as f64,
        Wide::Real(value) => value,
    }
}

/// The value as a real number of 32 bits: rounded once, as numpy does it.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "numpy rounds, too")]
pub(crate) fn single(number: Number, value: Wide) -> f32 {
    match value {
        Wide::Whole(value) if number.physical.is_signed_integer() => value.cast_signed() as f32,
        Wide::Whole(value) => value as f32,
        Wide::Real(value) => value as f32,
    }
}

/// Writes a value that was read as `from`; `None` if it is a real number, and these are whole.
pub(crate) fn write(number: Number, value: Wide, from: Number, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    match (number.physical, value) {
        (Physical::F64, value) => out.extend(real(from, value).to_le_bytes()),
        (Physical::F32, value) => out.extend(single(from, value).to_le_bytes()),
        // The lowest bytes, as numpy keeps them.
        (_, Wide::Whole(value)) => out.extend_from_slice(value.to_le_bytes().get(..number.size())?),
        (_, Wide::Real(_)) => return None,
    }
    if number.is_big {
        out.get_mut(start..)?.reverse();
    }
    Some(())
}

/// Numbers as others; `None` if they are not such.
pub(crate) fn converted(
    stored: &[u8],
    from: Number,
    to: Number,
    map: impl Fn(Wide) -> Wide,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity((stored.len() / from.size()).checked_mul(to.size())?);
    for value in stored.chunks_exact(from.size()) {
        write(to, map(read(from, value)?), from, &mut out)?;
    }
    Some(out)
}
