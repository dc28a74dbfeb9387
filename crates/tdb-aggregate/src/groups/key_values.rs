//! Ids of the distinct values of a group key, in the order in which the values first appear.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::{ColumnView, numbered};

use super::numeric_keys::{AssignIds, BitsOf, NumericKeys};
use super::string_keys::StringKeys;
use super::thresholds::MAX_GROUPS;
use crate::spec::ColumnSpec;
use crate::{Column, Error, OrInternal, QueryError, Result};

/// Stands for an id that was not assigned yet.
pub(super) const NO_ID: u32 = u32::MAX;

/// The id of the next value of a list. [`check_ids`] must be called before ids are used: there may
/// be none left.
pub(super) fn next_id(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NO_ID)
}

/// Fails if `count` values have used up the ids, so that some share [`NO_ID`].
pub(super) fn check_ids(count: usize) -> Result<()> {
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(QueryError::TooManyGroups { max: MAX_GROUPS }.into()),
    }
}

/// The distinct values of a key.
#[derive(Debug)]
pub(super) struct KeyValues {
    store: Store,
    /// The id of null.
    null: Option<u32>,
}

#[derive(Debug)]
enum Store {
    /// Single numbers, which are compared by their bits.
    Numbers(NumericKeys),
    /// Everything else, which is compared by its bytes.
    Strings(StringKeys),
}

/// Whether each cell of a key is one number, so that 64 bits can hold it.
pub(super) fn is_numeric(spec: &ColumnSpec) -> bool {
    spec.cell_size == Some(spec.datatype.size())
}

impl KeyValues {
    pub(super) fn new(spec: &ColumnSpec) -> Self {
        let store = match spec.cell_size {
            _ if is_numeric(spec) => Store::Numbers(NumericKeys::new(spec.datatype.physical())),
            size => Store::Strings(StringKeys::new(size)),
        };
        Self { store, null: None }
    }

    /// The value with an id as 64 bits, and whether it is null. Strings are represented by their
    /// id.
    pub(super) fn bits(&self, id: u32) -> Result<(u64, bool)> {
        Ok(match &self.store {
            Store::Numbers(_) if self.null == Some(id) => (0, true),
            Store::Numbers(numbers) => (numbers.bits(id)?, false),
            Store::Strings(_) => (id.into(), false),
        })
    }

    /// The number of values, with null.
    pub(super) const fn len(&self) -> usize {
        match &self.store {
            Store::Numbers(numbers) => numbers.len(),
            Store::Strings(strings) => strings.len(),
        }
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        match &self.store {
            Store::Numbers(numbers) => numbers.held(),
            Store::Strings(strings) => strings.held(),
        }
    }

    /// Replaces `ids` by the id of each cell's value: of the cells `chosen`, or of all
    /// `cells`.
    pub(super) fn assign_ids(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        ids.clear();
        let Some(valid) = view.valid(cells, chosen) else {
            return self.assign_valid_ids(view, cells, chosen, ids);
        };
        let mut own = Vec::new();
        self.assign_valid_ids(view, cells, Some(&valid), &mut own)?;
        let null = self.id_of_null();
        check_ids(self.len())?;
        let mut own = own.into_iter();
        for cell in numbered(cells, chosen).iter() {
            ids.push(match view.is_null(*cell) {
                true => null,
                false => own.next().or_internal("a cell has no number")?,
            });
        }
        Ok(())
    }

    fn id_of_null(&mut self) -> u32 {
        if let Some(null) = self.null {
            return null;
        }
        // Its value does not matter, and no other null or value is found by it.
        let null = match &mut self.store {
            Store::Numbers(numbers) => numbers.push_null(),
            Store::Strings(strings) => strings.push(&[]),
        };
        self.null = Some(null);
        null
    }

    fn assign_valid_ids(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        match &mut self.store {
            Store::Numbers(keys) => {
                let physical = keys.physical;
                BitsOf { view, cells, chosen, to: AssignIds { keys, ids } }.with_type(physical)
            }
            Store::Strings(strings) => strings.assign_ids(view, cells, chosen, ids),
        }
    }

    /// The values from an id on, for [`Self::merge`].
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        // A null with an id below `from` is not among them.
        let null = self.null.and_then(|null| null.checked_sub(u32::try_from(from).ok()?));
        let store = match &self.store {
            Store::Numbers(numbers) => Store::Numbers(numbers.since(from)?),
            Store::Strings(strings) => Store::Strings(strings.since(from)?),
        };
        Ok(Self { store, null })
    }

    /// Adds the values of another table; returns the id here of each value there.
    pub(super) fn merge(&mut self, other: &Self) -> Result<Vec<u32>> {
        let mut ids = Vec::with_capacity(other.len());
        for id in (0u32..).take(other.len()) {
            let own = match (&mut self.store, &other.store) {
                _ if other.null == Some(id) => self.id_of_null(),
                (Store::Numbers(numbers), Store::Numbers(from)) => numbers.id_of(from.bits(id)?),
                (Store::Strings(strings), Store::Strings(from)) => strings.id_of(from.value(id)?)?,
                _ => return Err(Error::internal("the values of one key have two kinds")),
            };
            ids.push(own);
        }
        check_ids(self.len())?;
        Ok(ids)
    }

    /// The values with these ids, as a column of the field.
    pub(super) fn column(&self, spec: &ColumnSpec, ids: &[u32]) -> Result<Column> {
        let mut offsets = Vec::new();
        let mut data = Vec::new();
        for id in ids {
            match &self.store {
                Store::Numbers(numbers) => numbers.push_bytes(*id, &mut data)?,
                Store::Strings(strings) => {
                    offsets.push(to_u64(data.len()));
                    if self.null == Some(*id) {
                        // Zeros, or with values of variable length no bytes.
                        data.resize(data.len() + strings.size.unwrap_or(0), 0);
                    } else {
                        data.extend_from_slice(strings.value(*id)?);
                    }
                }
            }
        }
        offsets.push(to_u64(data.len()));
        let validity = spec.nullable.then(|| ids.iter().map(|id| u8::from(self.null != Some(*id))).collect());
        let offsets = spec.cell_size.is_none().then_some(offsets);
        Ok(spec.clone().column(Buffer::from(data.as_slice()), offsets, validity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_than_ids_are_too_many_groups() {
        let last = usize::try_from(u32::MAX).unwrap();
        assert_eq!((next_id(3), next_id(last - 1)), (3, NO_ID - 1));
        assert!(check_ids(last).is_ok());
        let error = check_ids(last + 1).unwrap_err();
        assert!(matches!(error, Error::Query(QueryError::TooManyGroups { .. })), "{error}");
    }
}
