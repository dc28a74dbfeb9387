//! Computes the minimum, maximum and sum of numbers, as the metadata of tiles and fragments state
//! them (docs/format/fragment-metadata.md).
//!
//! A sum that would pass the limit of its type stays at the limit. Sums of reals are added in the
//! order of the cells. A NaN is in the sum, but is the minimum or maximum only if there is no other
//! value.

use core::ops::Range;

use tdb_codec::{Native, Physical};

use crate::{OrInternal, Result};

/// Calls a function that is generic over a [`Number`] with the machine type.
macro_rules! with_number {
    ($physical:expr, $function:ident($($argument:expr),*)) => {
        match $physical {
            Physical::I8 => $function::<i8>($($argument),*),
            Physical::U8 => $function::<u8>($($argument),*),
            Physical::I16 => $function::<i16>($($argument),*),
            Physical::U16 => $function::<u16>($($argument),*),
            Physical::I32 => $function::<i32>($($argument),*),
            Physical::U32 => $function::<u32>($($argument),*),
            Physical::I64 => $function::<i64>($($argument),*),
            Physical::U64 => $function::<u64>($($argument),*),
            Physical::F32 => $function::<f32>($($argument),*),
            Physical::F64 => $function::<f64>($($argument),*),
        }
    };
}

/// Minimum, maximum and sum of some numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Minimum and maximum; `None` if there is no value.
    pub extremes: Option<(Vec<u8>, Vec<u8>)>,
    /// The sum, as the format stores it.
    pub sum: [u8; 8],
}

/// The tally of the cells of a tile that are in `runs` and not null. `values` are those of all
/// cells; `validity` has a byte for each cell, or is empty if no cell can be null.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if a run has cells without a value or validity.
pub fn of_cells(
    physical: Physical,
    runs: impl Iterator<Item = Range<usize>>,
    values: &[u8],
    validity: &[u8],
) -> Result<Tally> {
    with_number!(physical, add_cells(runs, values, validity))
}

fn add_cells<T: Number>(
    runs: impl Iterator<Item = Range<usize>>,
    values: &[u8],
    validity: &[u8],
) -> Result<Tally> {
    // All chunks have the size of a value.
    let value = |bytes: &[u8]| T::from_le(bytes).unwrap_or_default();
    let mut tally = Running::<T>::default();
    for run in runs {
        let bytes = run.start.checked_mul(T::SIZE).zip(run.end.checked_mul(T::SIZE));
        let values = bytes.and_then(|(start, end)| values.get(start..end));
        let values = values.or_internal("cells of a tile without their values")?.chunks_exact(T::SIZE);
        if validity.is_empty() {
            tally.add_run(values.map(value));
        } else {
            let validity = validity.get(run).or_internal("cells of a tile without their validity")?;
            let valid = values.zip(validity).filter(|(_, valid)| **valid != 0);
            tally.add_each(valid.map(|(bytes, _)| value(bytes)));
        }
    }
    let extremes = tally.extremes.map(|(low, high)| (to_bytes(low), to_bytes(high)));
    Ok(Tally { extremes, sum: tally.sum.to_bytes() })
}

/// Minimum and maximum of two sets of numbers together, of which the first has `before`.
#[must_use]
pub fn join_extremes(
    physical: Physical,
    before: (Vec<u8>, Vec<u8>),
    low: &[u8],
    high: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    with_number!(physical, fold(before, low, high))
}

fn fold<T: Number>(before: (Vec<u8>, Vec<u8>), low: &[u8], high: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let value = |bytes: &[u8]| T::from_le(bytes).unwrap_or_default();
    let mut tally =
        Running::<T> { extremes: Some((value(&before.0), value(&before.1))), ..Running::default() };
    tally.extreme(value(low), value(high));
    tally.extremes.map_or(before, |(low, high)| (to_bytes(low), to_bytes(high)))
}

/// Two sums together, and whether the result is a limit that they pass.
#[must_use]
pub fn join_sums(physical: Physical, sum: [u8; 8], other: [u8; 8]) -> ([u8; 8], bool) {
    if physical.is_float() {
        add_sums::<f64>(sum, other)
    } else if physical.is_signed_integer() {
        add_sums::<i64>(sum, other)
    } else {
        add_sums::<u64>(sum, other)
    }
}

fn add_sums<S: Sum>(sum: [u8; 8], tile: [u8; 8]) -> ([u8; 8], bool) {
    match S::from_bytes(sum).add(S::from_bytes(tile)) {
        Ok(sum) => (sum.to_bytes(), false),
        Err(limit) => (limit.to_bytes(), true),
    }
}

/// The extremes of a numeric type before any value is seen: the type's largest and smallest value.
#[must_use]
pub fn unset(physical: Physical) -> (Vec<u8>, Vec<u8>) {
    fn ends<T: Number>() -> (Vec<u8>, Vec<u8>) {
        (to_bytes(T::MOST), to_bytes(T::LEAST))
    }
    with_number!(physical, ends())
}

fn to_bytes<T: Number>(value: T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(T::SIZE);
    value.write_le(&mut bytes);
    bytes
}

/// A machine type, with the type of its sum.
trait Number: Native + Default {
    type Sum: Sum;
    const LEAST: Self;
    const MOST: Self;
    fn widen(self) -> Self::Sum;
    /// Whether `count` values between these two cannot overflow the sum, in any order.
    fn sums_fit(sum: Self::Sum, count: usize, low: Self, high: Self) -> bool;
    fn is_number(self) -> bool;
}

/// A sum that stays at its limit once it would exceed it.
trait Sum: Copy + Default {
    /// The sum, or the limit that it exceeded.
    fn add(self, value: Self) -> Result<Self, Self>;
    /// The sum of values known to fit.
    fn add_fitting(self, value: Self) -> Self;
    fn to_bytes(self) -> [u8; 8];
    fn from_bytes(bytes: [u8; 8]) -> Self;
}

macro_rules! integers {
    ($($type:ty => $sum:ty),*) => {$(
        impl Number for $type {
            type Sum = $sum;
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
            fn widen(self) -> $sum {
                <$sum>::from(self)
            }
            fn sums_fit(sum: $sum, count: usize, low: Self, high: Self) -> bool {
                let Ok(count) = i128::try_from(count) else { return false };
                let total = |value: i128| value.checked_mul(count)?.checked_add(i128::from(sum));
                let (low, high) = (i128::from(low).min(0), i128::from(high).max(0));
                total(low).is_some_and(|total| total >= i128::from(<$sum>::MIN))
                    && total(high).is_some_and(|total| total <= i128::from(<$sum>::MAX))
            }
            fn is_number(self) -> bool {
                true
            }
        }
    )*};
}

integers!(i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => u64, u16 => u64, u32 => u64, u64 => u64);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            type Sum = f64;
            const LEAST: Self = Self::MIN;
            const MOST: Self = Self::MAX;
            fn widen(self) -> f64 {
                f64::from(self)
            }
            fn sums_fit(sum: f64, count: usize, low: Self, high: Self) -> bool {
                let Ok(count) = u32::try_from(count) else { return false };
                let most = f64::from(low.abs().max(high.abs()));
                // With room for rounding errors.
                sum.abs() + most * f64::from(count) < f64::MAX / 4.0
            }
            fn is_number(self) -> bool {
                !self.is_nan()
            }
        }
    )*};
}

floats!(f32, f64);

macro_rules! integer_sums {
    ($($type:ty),*) => {$(
        impl Sum for $type {
            fn add(self, value: Self) -> Result<Self, Self> {
                self.checked_add(value).ok_or_else(|| self.saturating_add(value))
            }
            fn add_fitting(self, value: Self) -> Self {
                self.wrapping_add(value)
            }
            fn to_bytes(self) -> [u8; 8] {
                self.to_le_bytes()
            }
            fn from_bytes(bytes: [u8; 8]) -> Self {
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}

integer_sums!(i64, u64);

impl Sum for f64 {
    fn add(self, value: Self) -> Result<Self, Self> {
        let same_side = (self < 0.0) == (value < 0.0);
        if same_side && self.abs() > Self::MAX - value.abs() {
            return Err(if self < 0.0 { Self::MIN } else { Self::MAX });
        }
        Ok(self + value)
    }

    fn add_fitting(self, value: Self) -> Self {
        self + value
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
}

/// Minimum, maximum and sum so far.
struct Running<T: Number> {
    extremes: Option<(T, T)>,
    sum: T::Sum,
    /// The sum has reached its limit and does not change any more.
    stopped: bool,
}

impl<T: Number> Default for Running<T> {
    fn default() -> Self {
        Self { extremes: None, sum: T::Sum::default(), stopped: false }
    }
}

impl<T: Number> Running<T> {
    /// Adds values one by one.
    fn add_each(&mut self, values: impl Iterator<Item = T>) {
        for value in values {
            self.extreme(value, value);
            if !self.stopped {
                match self.sum.add(value.widen()) {
                    Ok(sum) => self.sum = sum,
                    Err(limit) => (self.sum, self.stopped) = (limit, true),
                }
            }
        }
    }

    /// Adds the values of a run without nulls: in loops without branches if their sum cannot
    /// overflow.
    fn add_run(&mut self, values: impl ExactSizeIterator<Item = T> + Clone) {
        if self.stopped || values.len() == 0 {
            return self.add_each(values);
        }
        let (mut low, mut high) = (T::MOST, T::LEAST);
        let mut sum = self.sum;
        let mut numbers = true;
        if T::PHYSICAL.is_float() {
            // Sums of floating-point numbers depend on the order, so they are added one after the
            // other; everything else is done at the same time.
            for value in values.clone() {
                low = if low < value { low } else { value };
                high = if high > value { high } else { value };
                numbers &= value.is_number();
                sum = sum.add_fitting(value.widen());
            }
        } else {
            (low, high) = values.clone().fold((low, high), |(low, high), value| {
                (if value < low { value } else { low }, if value > high { value } else { high })
            });
        }
        if !numbers || !T::sums_fit(self.sum, values.len(), low, high) {
            return self.add_each(values);
        }
        if !T::PHYSICAL.is_float() {
            sum = values.fold(sum, |sum, value| sum.add_fitting(value.widen()));
        }
        self.sum = sum;
        self.extreme(low, high);
    }

    /// Takes two more values into account. If values are equal, such as 0.0 and −0.0, the last one
    /// is kept. NaN is kept only if there is no other value.
    fn extreme(&mut self, low: T, high: T) {
        self.extremes = Some(match self.extremes {
            Some((least, most)) if least.is_number() => {
                if !low.is_number() {
                    return;
                }
                (if least < low { least } else { low }, if most > high { most } else { high })
            }
            _ => (low, high),
        });
    }
}
