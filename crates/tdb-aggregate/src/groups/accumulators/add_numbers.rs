//! Adds cells that are single numbers to the accumulators of their groups.

use bytemuck::Pod;
use tdb_codec::Physical;
use tdb_predicate::ColumnView;

use super::super::ordered_bits;
use super::{Accumulators, Sums, each_group};
use crate::{Error, Result};

/// Adds cells that are single numbers and not null.
pub(super) struct AddNumbers<'a> {
    pub(super) to: &'a mut Accumulators,
    pub(super) view: ColumnView<'a>,
    pub(super) cells: usize,
    pub(super) chosen: Option<&'a [u32]>,
    pub(super) groups: &'a [u32],
}

impl AddNumbers<'_> {
    fn run<T: Pod>(
        self,
        to_bits: impl Fn(T) -> Option<u64>,
        add: impl Fn(&mut Sums, &[u32], &[T]) -> Result<()>,
    ) -> Result<()> {
        let values = self.view.numbers::<T>(self.cells, self.chosen)?;
        let values = values.as_ref();
        add(&mut self.to.sums, self.groups, values)?;
        // A NaN has no ordered bits, and replaces nothing.
        let mut has_nan = false;
        let mut bits = |value: T, none: u64| {
            to_bits(value).unwrap_or_else(|| {
                has_nan = true;
                none
            })
        };
        if let Some(minima) = self.to.minima.of_numbers()? {
            each_group(minima, self.groups, values, |min, value| min.min(bits(*value, u64::MAX)))?;
        }
        if let Some(maxima) = self.to.maxima.of_numbers()? {
            each_group(maxima, self.groups, values, |max, value| max.max(bits(*value, 0)))?;
        }
        self.to.has_nan |= has_nan;
        Ok(())
    }

    fn integers<T: Pod>(self, widened: impl Fn(T) -> i128, to_bits: impl Fn(T) -> u64) -> Result<()> {
        self.run(
            |value| Some(to_bits(value)),
            |sums, groups, values: &[T]| match sums {
                Sums::None => Ok(()),
                Sums::Integers(sums) => {
                    each_group(sums, groups, values, |sum, value| sum.wrapping_add(widened(*value)))
                }
                Sums::Reals(_) => Err(Error::internal("integers have a sum of reals")),
            },
        )
    }

    fn reals<T: Pod>(self, widened: impl Fn(T) -> f64, to_bits: impl Fn(T) -> Option<u64>) -> Result<()> {
        self.run(to_bits, |sums, groups, values: &[T]| match sums {
            Sums::None => Ok(()),
            Sums::Reals(sums) => each_group(sums, groups, values, |sum, value| sum + widened(*value)),
            Sums::Integers(_) => Err(Error::internal("reals have a sum of integers")),
        })
    }

    /// Adds the cells of a column of this type. The arms are not in a generic function: each type
    /// would get the code of all ten.
    pub(super) fn with_type(self, physical: Physical) -> Result<()> {
        match physical {
            Physical::I8 => {
                self.integers(|value: i8| value.into(), |value| ordered_bits::from_integer(value.into()))
            }
            Physical::I16 => {
                self.integers(|value: i16| value.into(), |value| ordered_bits::from_integer(value.into()))
            }
            Physical::I32 => {
                self.integers(|value: i32| value.into(), |value| ordered_bits::from_integer(value.into()))
            }
            Physical::I64 => self.integers(|value: i64| value.into(), ordered_bits::from_integer),
            Physical::U8 => self.integers(|value: u8| value.into(), u64::from),
            Physical::U16 => self.integers(|value: u16| value.into(), u64::from),
            Physical::U32 => self.integers(|value: u32| value.into(), u64::from),
            Physical::U64 => self.integers(|value: u64| value.into(), core::convert::identity),
            Physical::F32 => {
                self.reals(|value: f32| value.into(), |value| ordered_bits::from_real(value.into()))
            }
            Physical::F64 => self.reals(|value: f64| value, ordered_bits::from_real),
        }
    }
}
