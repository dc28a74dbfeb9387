//! Entries of a matrix: places and values.

use tdb_array::WriteColumn;
use tdb_array::schema::Datatype;

use crate::facts::DATA;

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Whole numbers.
    Integer,
    /// Whole numbers that are not negative.
    Unsigned,
    /// Real numbers.
    Real,
    /// No values: each entry is 1.
    Pattern,
}

impl Field {
    pub(crate) const fn datatype(self) -> Datatype {
        match self {
            Self::Integer => Datatype::Int64,
            Self::Unsigned => Datatype::Uint64,
            Self::Real | Self::Pattern => Datatype::Float64,
        }
    }
}

/// Values of some entries.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Real(Vec<f64>),
}

/// A place: a column and a row, counted from 0. Columns come first, as cells of SOMA are rows.
pub(crate) type Place = (i64, i64);

/// Some entries: the numbers of their rows and columns, counted from 0.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) rows: Vec<i64>,
    pub(crate) columns: Vec<i64>,
    pub(crate) values: Values,
}

impl Entries {
    pub(crate) fn new(field: Field, count: usize) -> Self {
        let values = match field {
            Field::Integer => Values::Signed(Vec::with_capacity(count)),
            Field::Unsigned => Values::Unsigned(Vec::with_capacity(count)),
            Field::Real | Field::Pattern => Values::Real(Vec::with_capacity(count)),
        };
        Self { rows: Vec::with_capacity(count), columns: Vec::with_capacity(count), values }
    }

    /// Adds an entry. Its value is a number of the field's type; none is 1.
    pub(crate) fn push(&mut self, (column, row): Place, value: Option<&[u8]>) -> Option<()> {
        match (&mut self.values, value) {
            (Values::Signed(values), Some(value)) => values.push(number(value)?),
            (Values::Unsigned(values), Some(value)) => values.push(number(value)?),
            (Values::Real(values), Some(value)) => values.push(number(value)?),
            (Values::Real(values), None) => values.push(1.0),
            _ => return None,
        }
        self.rows.push(row);
        self.columns.push(column);
        Some(())
    }

    /// Takes the last entry away.
    pub(crate) fn take_last(&mut self) -> Option<Self> {
        let at = self.rows.len().checked_sub(1)?;
        let values = match &mut self.values {
            Values::Signed(values) => Values::Signed(values.split_off(at)),
            Values::Unsigned(values) => Values::Unsigned(values.split_off(at)),
            Values::Real(values) => Values::Real(values.split_off(at)),
        };
        Some(Self { rows: self.rows.split_off(at), columns: self.columns.split_off(at), values })
    }

    /// Puts the entries in the order of their places, if they are not, and adds up the values of
    /// those at the same place, in the order in which they came. Returns how many fewer there are
    /// now.
    ///
    /// # Errors
    /// The place of values whose sum is none of their type.
    pub(crate) fn add_up(&mut self, is_ascending: bool) -> Result<u64, Place> {
        let place = |at: &usize| Some((*self.columns.get(*at)?, *self.rows.get(*at)?));
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        if !is_ascending {
            order.sort_by_key(place);
        }
        let before = core::iter::once(None).chain(order.iter().map(place));
        let is_first: Vec<bool> = order.iter().zip(before).map(|(at, before)| place(at) != before).collect();
        let more = is_first.iter().filter(|first| !**first).count();
        if more == 0 && is_ascending {
            return Ok(0);
        }
        let too_large = |at: usize| place(&at).unwrap_or((0, 0));
        let (order_of, firsts) = (order.as_slice(), is_first.as_slice());
        let values = match &self.values {
            Values::Signed(own) => {
                summed(own, order_of, firsts, i64::checked_add).map(Values::Signed).map_err(too_large)?
            }
            Values::Unsigned(own) => {
                summed(own, order_of, firsts, u64::checked_add).map(Values::Unsigned).map_err(too_large)?
            }
            Values::Real(own) => {
                summed(own, order_of, firsts, |a, b| Some(a + b)).map(Values::Real).map_err(too_large)?
            }
        };
        let firsts = order.iter().zip(&is_first).filter(|(_, first)| **first);
        let places: Vec<Place> = firsts.filter_map(|(at, _)| place(at)).collect();
        (self.columns, self.rows) = places.into_iter().unzip();
        self.values = values;
        Ok(u64::try_from(more).unwrap_or(u64::MAX))
    }

    /// The columns of a matrix of SOMA: cells are its rows.
    pub(crate) fn write_columns(&self) -> [WriteColumn<'_>; 3] {
        let data = match &self.values {
            Values::Signed(own) => WriteColumn::fixed(DATA, own),
            Values::Unsigned(own) => WriteColumn::fixed(DATA, own),
            Values::Real(own) => WriteColumn::fixed(DATA, own),
        };
        [WriteColumn::fixed("soma_dim_0", &self.columns), WriteColumn::fixed("soma_dim_1", &self.rows), data]
    }
}

/// The values in an order, where each that is no first one is added to the one before it; or the
/// number of one that cannot be.
fn summed<T: Copy>(
    values: &[T],
    order: &[usize],
    is_first: &[bool],
    add: impl Fn(T, T) -> Option<T>,
) -> Result<Vec<T>, usize> {
    let mut sums = Vec::with_capacity(order.len());
    for (at, first) in order.iter().zip(is_first) {
        let value = *values.get(*at).ok_or(*at)?;
        match sums.last_mut() {
            Some(sum) if !*first => *sum = add(*sum, value).ok_or(*at)?,
            _ => sums.push(value),
        }
    }
    Ok(sums)
}

pub(crate) fn number<T: core::str::FromStr>(word: &[u8]) -> Option<T> {
    str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(all: &[(i64, i64, &str)], field: Field) -> Entries {
        let mut found = Entries::new(field, all.len());
        for (column, row, value) in all {
            found.push((*column, *row), Some(value.as_bytes())).unwrap();
        }
        found
    }

    #[test]
    fn values_at_the_same_place_are_added_up_in_any_order_of_entries() {
        for is_ascending in [true, false] {
            let mut found =
                entries(&[(0, 1, "5"), (0, 1, "2"), (0, 2, "1"), (3, 0, "7"), (3, 0, "-9")], Field::Integer);
            assert_eq!(found.add_up(is_ascending), Ok(2));
            assert_eq!((&found.columns, &found.rows), (&vec![0, 0, 3], &vec![1, 2, 0]));
            assert_eq!(found.values, Values::Signed(vec![7, 1, -2]));
        }
        let mut found = entries(&[(3, 0, "0.5"), (0, 1, "2"), (3, 0, "0.25")], Field::Real);
        assert_eq!(found.add_up(false), Ok(1));
        assert_eq!(found.columns, [0, 3]);
        assert_eq!(found.values, Values::Real(vec![2.0, 0.75]));
    }

    #[test]
    fn a_sum_that_is_no_value_of_its_type_is_refused_with_its_place() {
        let most = u64::MAX.to_string();
        let mut found = entries(&[(4, 2, &most), (4, 2, "1")], Field::Unsigned);
        assert_eq!(found.add_up(true), Err((4, 2)));
        let most = i64::MAX.to_string();
        assert_eq!(entries(&[(4, 2, &most), (4, 2, "1")], Field::Integer).add_up(false), Err((4, 2)));
    }
}
