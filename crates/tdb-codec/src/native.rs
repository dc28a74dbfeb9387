//! The ten machine types that all datatypes are stored as, and the one place that dispatches on
//! them.

use core::cmp::Ordering;
use core::fmt::Debug;

use bytemuck::Pod;

use crate::{Datatype, Physical};

/// A machine type that cells are made of.
pub trait Native: Pod + Copy + Debug + PartialOrd + PartialEq + Send + Sync + 'static {
    /// The [`Physical`] type of this machine type.
    const PHYSICAL: Physical;
    /// Size in bytes.
    const SIZE: usize = size_of::<Self>();

    /// Reads a value from exactly [`Self::SIZE`] little-endian bytes; `None` for any other length.
    fn from_le(bytes: &[u8]) -> Option<Self>;

    /// Appends the little-endian bytes of the value to `out`.
    fn write_le(self, out: &mut Vec<u8>);

    /// A total order that agrees with `<` wherever `<` is defined; NaNs sort last.
    fn total_order(&self, other: &Self) -> Ordering;

    /// The value as the nearest `f64`.
    fn to_f64(self) -> f64;

    /// The distance of an integer from `least`, which is not greater than it; `None` for real
    /// numbers.
    ///
    /// ```
    /// use tdb_codec::Native;
    ///
    /// assert_eq!(100i8.above(-100), Some(200));
    /// assert_eq!(u64::MAX.above(1), Some(u64::MAX - 1));
    /// assert_eq!(1.5f32.above(1.0), None);
    /// ```
    fn above(self, least: Self) -> Option<u64>;
}

macro_rules! native {
    ($($type:ty => $physical:ident, $order:expr, $f64:expr, $above:expr;)*) => {$(
        impl Native for $type {
            const PHYSICAL: Physical = Physical::$physical;

            #[inline]
            fn from_le(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }

            #[inline]
            fn write_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn total_order(&self, other: &Self) -> Ordering {
                $order(self, other)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                $f64(self)
            }

            #[inline]
            fn above(self, least: Self) -> Option<u64> {
                $above(self, least)
            }
        }
    )*};
}

native! {
    i8 => I8, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).cast_unsigned().into());
    u8 => U8, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).into());
    i16 => I16, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).cast_unsigned().into());
    u16 => U16, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).into());
    i32 => I32, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).cast_unsigned().into());
    u32 => U32, Ord::cmp, f64::from, |value: Self, least| Some(value.wrapping_sub(least).into());
    i64 => I64, Ord::cmp, |value| value as f64, |value: Self, least| Some(value.wrapping_sub(least).cast_unsigned());
    u64 => U64, Ord::cmp, |value| value as f64, |value: Self, least| Some(value.wrapping_sub(least));
    f32 => F32, float_order, f64::from, |_, _| None;
    f64 => F64, float_order, core::convert::identity, |_, _| None;
}

fn float_order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    // Only a NaN is unequal to itself. -0.0 and 0.0 compare equal, as they do with `<`.
    #[expect(clippy::eq_op, reason = "a value that differs from itself is a NaN")]
    a.partial_cmp(b).unwrap_or_else(|| (a != a).cmp(&(b != b)))
}

/// A computation that exists for every machine type; see [`Physical::visit`].
pub trait PhysicalVisitor {
    /// The result of the computation.
    type Output;

    /// Runs the computation for `T`.
    fn visit<T: Native>(self) -> Self::Output;
}

impl Physical {
    /// Runs `visitor` for this machine type.
    ///
    /// A visitor whose code differs from type to type does not look at [`Native::PHYSICAL`]: all
    /// ten variants of that code would be compiled for each of the ten types. It matches on the
    /// [`Physical`] instead, in a function that is not generic.
    ///
    /// ```
    /// use tdb_codec::{Native, Physical, PhysicalVisitor};
    ///
    /// struct SizeOf;
    /// impl PhysicalVisitor for SizeOf {
    ///     type Output = usize;
    ///     fn visit<T: Native>(self) -> usize {
    ///         T::SIZE
    ///     }
    /// }
    /// assert_eq!(Physical::F64.visit(SizeOf), 8);
    /// ```
    #[inline]
    pub fn visit<V: PhysicalVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::I8 => visitor.visit::<i8>(),
            Self::U8 => visitor.visit::<u8>(),
            Self::I16 => visitor.visit::<i16>(),
            Self::U16 => visitor.visit::<u16>(),
            Self::I32 => visitor.visit::<i32>(),
            Self::U32 => visitor.visit::<u32>(),
            Self::I64 => visitor.visit::<i64>(),
            Self::U64 => visitor.visit::<u64>(),
            Self::F32 => visitor.visit::<f32>(),
            Self::F64 => visitor.visit::<f64>(),
        }
    }
}

impl Datatype {
    /// The number type whose values are those of a Rust type.
    ///
    /// ```
    /// use tdb_codec::Datatype;
    ///
    /// assert_eq!(Datatype::of::<f32>(), Datatype::Float32);
    /// ```
    #[must_use]
    pub const fn of<T: Native>() -> Self {
        match T::PHYSICAL {
            Physical::I8 => Self::Int8,
            Physical::U8 => Self::Uint8,
            Physical::I16 => Self::Int16,
            Physical::U16 => Self::Uint16,
            Physical::I32 => Self::Int32,
            Physical::U32 => Self::Uint32,
            Physical::I64 => Self::Int64,
            Physical::U64 => Self::Uint64,
            Physical::F32 => Self::Float32,
            Physical::F64 => Self::Float64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_sort_last_and_zeros_are_equal() {
        let mut values = [f64::NAN, 1.0, f64::NEG_INFINITY, f64::INFINITY];
        values.sort_by(Native::total_order);
        assert_eq!(&values[..3], [f64::NEG_INFINITY, 1.0, f64::INFINITY]);
        assert!(values[3].is_nan());
        assert_eq!((-0.0f32).total_order(&0.0), Ordering::Equal);
    }

    /// The value that some bytes mean, and back; its distance above another; as `f64`.
    fn check<T: Native>(value: T, least: T, above: Option<u64>, real: f64) {
        let mut bytes = vec![9];
        value.write_le(&mut bytes);
        assert_eq!((bytes[0], bytes.len()), (9, 1 + T::SIZE));
        assert_eq!(T::from_le(&bytes[1..]), Some(value));
        assert_eq!(T::from_le(&bytes), None, "one byte too many");
        assert_eq!((value.above(least), value.to_f64()), (above, real));
        assert_eq!(value.total_order(&least), Ordering::Greater);
        assert_eq!(least.total_order(&value), Ordering::Less);
        assert_eq!(value.total_order(&value), Ordering::Equal);
        assert_eq!(T::PHYSICAL.size(), T::SIZE);
    }

    #[test]
    fn every_machine_type_is_read_written_compared_and_measured() {
        check(127i8, -128, Some(255), 127.0);
        check(200u8, 3, Some(197), 200.0);
        check(-2i16, -32_768, Some(32_766), -2.0);
        check(60_000u16, 1, Some(59_999), 60_000.0);
        check(i32::MAX, i32::MIN, Some(u32::MAX.into()), 2_147_483_647.0);
        check(7u32, 0, Some(7), 7.0);
        check(i64::MAX, i64::MIN, Some(u64::MAX), 9_223_372_036_854_775_808.0);
        check(9u64, 2, Some(7), 9.0);
        check(1.5f32, -1.0, None, 1.5);
        check(2.25f64, 2.0, None, 2.25);
    }

    #[test]
    fn a_visitor_sees_the_machine_type() {
        struct Name;
        impl PhysicalVisitor for Name {
            type Output = (Physical, &'static str);
            fn visit<T: Native>(self) -> Self::Output {
                (T::PHYSICAL, core::any::type_name::<T>())
            }
        }
        use Physical::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let names = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"];
        for (physical, name) in [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64].into_iter().zip(names) {
            assert_eq!(physical.visit(Name), (physical, name));
        }
    }
}
