//! The smallest or the largest value of each group, by group id.

use super::each;
use crate::tally::WantedField;
use crate::{Error, Result};

/// The smallest or the largest value of each group.
#[derive(Debug)]
pub(super) enum Extremes {
    None,
    /// As 64 bits that have the same order (`ordered_bits`).
    Numbers(Vec<u64>),
    Strings(Vec<Option<Vec<u8>>>),
}

impl Extremes {
    pub(super) fn new(wanted: bool, field: &WantedField) -> Self {
        match wanted {
            true if field.is_number() => Self::Numbers(Vec::new()),
            true => Self::Strings(Vec::new()),
            false => Self::None,
        }
    }

    /// `none` are the bits that those of any number replace.
    pub(super) fn grow(&mut self, groups: usize, none: u64) {
        match self {
            Self::None => {}
            Self::Numbers(bits) => bits.resize(groups, none),
            Self::Strings(strings) => strings.resize(groups, None),
        }
    }

    /// The ordered bits, if extremes of numbers are wanted.
    pub(super) fn of_numbers(&mut self) -> Result<Option<&mut Vec<u64>>> {
        match self {
            Self::None => Ok(None),
            Self::Numbers(bits) => Ok(Some(bits)),
            Self::Strings(_) => Err(Error::internal("numbers have extremes of strings")),
        }
    }

    /// Approximate bytes that they take.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Numbers(bits) => bits.capacity().saturating_mul(8),
            Self::Strings(strings) => {
                let bytes = strings.iter().flatten().map(Vec::capacity).fold(0, usize::saturating_add);
                bytes.saturating_add(strings.capacity().saturating_mul(size_of::<Option<Vec<u8>>>()))
            }
        }
    }

    /// Adds those of other groups, whose ids here are `groups`.
    pub(super) fn merge(
        &mut self,
        other: Self,
        groups: &[u32],
        numbers: fn(u64, u64) -> u64,
        replaces: Replaces,
    ) -> Result<()> {
        match (self, other) {
            (Self::None, Self::None) => Ok(()),
            (Self::Numbers(bits), Self::Numbers(more)) => {
                each(bits, groups, more, |own, more| *own = numbers(*own, more))
            }
            (Self::Strings(strings), Self::Strings(more)) => each(strings, groups, more, |own, more| {
                if let Some(more) = more
                    && own.as_ref().is_none_or(|own| replaces(&more, own))
                {
                    *own = Some(more);
                }
            }),
            _ => Err(Error::internal("groups have extremes of another kind")),
        }
    }
}

/// Whether the first string replaces the second as the minimum (or maximum).
pub(super) type Replaces = fn(&[u8], &[u8]) -> bool;

pub(super) const LESS: Replaces = |a, b| a < b;
pub(super) const GREATER: Replaces = |a, b| a > b;
