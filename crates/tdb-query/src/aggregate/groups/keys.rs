//! Numbers for the values of a key.

use tdb_codec::{Buffer, to_u64};

use super::strings::Strings;
use super::words::{EachWord, NumberWords, Words};
use crate::condition::{ColumnView, numbered};
use crate::spec::ColumnSpec;
use crate::{Column, Error, OrInternal, Result};

/// No number yet.
pub(super) const NONE: u32 = u32::MAX;
/// A table without hashes has at most this many slots: 256 KiB.
pub(super) const NEAR: usize = 1 << 16;

/// The values of a key, numbered from 0 in the order in which they first appear.
#[derive(Debug)]
pub(super) struct Values {
    store: Store,
    /// The number of null.
    null: Option<u32>,
}

#[derive(Debug)]
enum Store {
    /// Single numbers, which are compared by their bits.
    Words(Words),
    /// Everything else, which is compared by its bytes.
    Strings(Strings),
}

/// Whether each cell is one number, which a word can hold.
pub(super) fn are_words(spec: &ColumnSpec) -> bool {
    spec.cell_size == Some(spec.datatype.size())
}

impl Values {
    pub(super) fn new(spec: &ColumnSpec) -> Self {
        let store = match spec.cell_size {
            _ if are_words(spec) => Store::Words(Words::new(spec.datatype.physical())),
            size => Store::Strings(Strings::new(size)),
        };
        Self { store, null: None }
    }

    /// The word of a value, and whether it is null. Of what is no number, the word is its number
    /// here.
    pub(super) fn word(&self, number: u32) -> Result<(u64, bool)> {
        Ok(match &self.store {
            Store::Words(_) if self.null == Some(number) => (0, true),
            Store::Words(words) => (words.word(number)?, false),
            Store::Strings(_) => (number.into(), false),
        })
    }

    /// The number of values, with null.
    pub(super) const fn len(&self) -> usize {
        match &self.store {
            Store::Words(words) => words.len(),
            Store::Strings(strings) => strings.len(),
        }
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        match &self.store {
            Store::Words(words) => words.held(),
            Store::Strings(strings) => strings.held(),
        }
    }

    /// Writes the number of each cell's value to `numbers`: of the cells `chosen`, or of all
    /// `cells`.
    pub(super) fn number(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        numbers.clear();
        let Some(valid) = view.valid(cells, chosen) else {
            return self.number_valid(view, cells, chosen, numbers);
        };
        let mut own = Vec::new();
        self.number_valid(view, cells, Some(&valid), &mut own)?;
        let null = self.number_of_null();
        let mut own = own.into_iter();
        for cell in numbered(cells, chosen).iter() {
            numbers.push(match view.is_null(*cell) {
                true => null,
                false => own.next().or_internal("a cell has no number")?,
            });
        }
        Ok(())
    }

    fn number_of_null(&mut self) -> u32 {
        if let Some(null) = self.null {
            return null;
        }
        // Its value does not matter, and no other null or value is found by it.
        let null = match &mut self.store {
            Store::Words(words) => words.push_null(),
            Store::Strings(strings) => strings.push(&[]),
        };
        self.null = Some(null);
        null
    }

    fn number_valid(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        match &mut self.store {
            Store::Words(words) => {
                let physical = words.physical;
                EachWord { view, cells, chosen, to: NumberWords { words, numbers } }.of(physical)
            }
            Store::Strings(strings) => strings.number(view, cells, chosen, numbers),
        }
    }

    /// The values from this number on, for [`Self::merge`].
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        let null = self.null.and_then(|null| null.checked_sub(u32::try_from(from).ok()?));
        let store = match &self.store {
            Store::Words(words) => Store::Words(words.since(from)?),
            Store::Strings(strings) => Store::Strings(strings.since(from)?),
        };
        Ok(Self { store, null })
    }

    /// Adds the values of another table; returns the number here of each value there.
    pub(super) fn merge(&mut self, other: &Self) -> Result<Vec<u32>> {
        let mut numbers = Vec::with_capacity(other.len());
        for number in (0u32..).take(other.len()) {
            let own = match (&mut self.store, &other.store) {
                _ if other.null == Some(number) => self.number_of_null(),
                (Store::Words(words), Store::Words(from)) => words.number_of(from.word(number)?),
                (Store::Strings(strings), Store::Strings(from)) => strings.number_of(from.value(number)?)?,
                _ => return Err(Error::internal("the values of one key have two kinds")),
            };
            numbers.push(own);
        }
        Ok(numbers)
    }

    /// The values with these numbers, as a column of the field.
    pub(super) fn column(&self, spec: &ColumnSpec, numbers: &[u32]) -> Result<Column> {
        let mut offsets = Vec::new();
        let mut data = Vec::new();
        for number in numbers {
            match &self.store {
                Store::Words(words) => {
                    words.push_bytes(*number, &mut data)?;
                }
                Store::Strings(strings) => {
                    offsets.push(to_u64(data.len()));
                    if self.null == Some(*number) {
                        data.resize(data.len().saturating_add(strings.size.unwrap_or(0)), 0);
                    } else {
                        data.extend_from_slice(strings.value(*number)?);
                    }
                }
            }
        }
        offsets.push(to_u64(data.len()));
        let validity = spec
            .nullable
            .then(|| numbers.iter().map(|number| u8::from(self.null != Some(*number))).collect());
        let offsets = spec.cell_size.is_none().then_some(offsets);
        Ok(spec.clone().column(Buffer::from(data.as_slice()), offsets, validity))
    }
}
