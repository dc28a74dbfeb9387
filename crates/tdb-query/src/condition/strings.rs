//! Tests of strings: in one loop for strings back to back, and once a string where strings are stored once each.

use core::cmp::Ordering;

use tdb_codec::to_usize;
use tdb_fragment::Comparison;

use super::evaluate::holds;
use super::view::ColumnView;
use crate::buffers::index_of;

/// Strings back to back, and one more offset than strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringView<'a> {
    pub(crate) values: &'a [u8],
    pub(crate) offsets: &'a [u64],
}

impl ColumnView<'_> {
    /// Clears `mask` where `test` clears it for a cell's string. If cells have codes, each string that a wanted cell has is tested
    /// once, however many cells have it.
    pub(super) fn test_strings(&self, mask: &mut [u8], test: impl FnOnce(StringView<'_>, &mut [u8])) {
        let strings = StringView { values: self.values, offsets: self.offsets.unwrap_or_default() };
        match self.codes {
            Some(codes) => strings.test_coded(codes, mask, test),
            None => test(strings, mask),
        }
    }
}

impl<'a> StringView<'a> {
    /// Clears `mask`, which has a byte for each code, where `test` clears it for the code's string.
    pub(crate) fn test_coded(
        self,
        codes: &[u32],
        mask: &mut [u8],
        test: impl FnOnce(StringView<'_>, &mut [u8]),
    ) {
        let mut holding = vec![0u8; self.offsets.len().saturating_sub(1)];
        for (wanted, code) in mask.iter().zip(codes) {
            if let Some(holds) = holding.get_mut(index_of(*code)) {
                *holds |= wanted;
            }
        }
        test(self, &mut holding);
        for (slot, code) in mask.iter_mut().zip(codes) {
            *slot &= holding.get(index_of(*code)).copied().unwrap_or(0);
        }
    }

    /// Tests the strings that are still wanted.
    pub(crate) fn each(self, mask: &mut [u8], keep: impl Fn(&'a [u8]) -> bool) {
        for (slot, pair) in mask.iter_mut().zip(self.offsets.windows(2)).filter(|(slot, _)| **slot != 0) {
            let [start, end] = pair else { continue };
            *slot = u8::from(keep(self.string(*start, *end)));
        }
    }

    /// The strings.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.offsets.windows(2).map(move |pair| match pair {
            [start, end] => self.string(*start, *end),
            _ => &[],
        })
    }

    fn string(self, start: u64, end: u64) -> &'a [u8] {
        string_at(self.values, start, end)
    }

    /// Compares the strings that are still wanted with a constant, as bytes without signs.
    pub(super) fn compare(self, comparison: Comparison, operand: &[u8], mask: &mut [u8]) {
        match comparison {
            Comparison::Equal => {
                self.keep_length(operand.len(), mask);
                self.each(mask, |string| string == operand);
            }
            Comparison::NotEqual => self.each(mask, |string| string != operand),
            _ => self.compare_heads(comparison, operand, mask),
        }
    }

    /// Clears `mask` for strings of another length: this is one loop over the offsets, and most strings end here.
    fn keep_length(self, len: usize, mask: &mut [u8]) {
        let Ok(len) = u64::try_from(len) else { return mask.fill(0) };
        let ends = self.offsets.get(1..).unwrap_or_default();
        for ((slot, start), end) in mask.iter_mut().zip(self.offsets).zip(ends) {
            *slot &= u8::from(end.wrapping_sub(*start) == len);
        }
    }

    /// Compares first the heads, which are numbers, and the rest where they are equal.
    fn compare_heads(self, comparison: Comparison, operand: &[u8], mask: &mut [u8]) {
        let wanted = head(operand, 0, operand.len());
        for (slot, pair) in mask.iter_mut().zip(self.offsets.windows(2)).filter(|(slot, _)| **slot != 0) {
            let [start, end] = pair else { continue };
            let (Some(at), Some(len)) = (to_usize(*start), to_usize(end.wrapping_sub(*start))) else {
                continue;
            };
            let ordering = match head(self.values, at, len).cmp(&wanted) {
                Ordering::Equal => self.string(*start, *end).cmp(operand),
                ordering => ordering,
            };
            *slot = u8::from(holds(comparison, Some(ordering)));
        }
    }
}

/// The bytes of a string; none if it does not lie in the values.
pub(crate) fn string_at(values: &[u8], start: u64, end: u64) -> &[u8] {
    to_usize(start).zip(to_usize(end)).and_then(|(start, end)| values.get(start..end)).unwrap_or_default()
}

/// The first 8 bytes of a string as a number, with zeros after a shorter one: where two strings have different heads, they are ordered
/// as these. `len` is the string's length.
#[inline]
fn head(values: &[u8], at: usize, len: usize) -> u64 {
    let rest = values.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(word)
        }
    };
    match len {
        0..8 => {
            let past = u32::try_from(len.saturating_mul(8)).unwrap_or(0);
            word & !u64::MAX.checked_shr(past).unwrap_or(0)
        }
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::evaluate::tests::COMPARISONS;

    const STRINGS: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"a\0",
        b"ab",
        b"ab\0\0\0\0\0\0",
        b"ab\0\0\0\0\0\0\0",
        b"abcdefgh",
        b"abcdefghi",
        b"abcdefgz",
        b"\xff\xfe",
    ];

    fn joined(strings: &[&[u8]]) -> (Vec<u8>, Vec<u64>) {
        let ends = strings.iter().scan(0, |end, string| {
            *end += string.len() as u64;
            Some(*end)
        });
        (strings.concat(), core::iter::once(0).chain(ends).collect())
    }

    #[test]
    fn heads_and_lengths_decide_as_whole_strings_do() {
        let (values, offsets) = joined(&STRINGS);
        let strings = StringView { values: &values, offsets: &offsets };
        for operand in STRINGS {
            for comparison in COMPARISONS {
                let mut mask = [1; STRINGS.len()];
                strings.compare(comparison, operand, &mut mask);
                let expected = STRINGS.map(|string| u8::from(holds(comparison, Some(string.cmp(operand)))));
                assert_eq!(mask, expected, "{comparison:?} {operand:?}");
            }
        }
    }

    #[test]
    fn only_strings_of_wanted_cells_are_tested_and_each_once() {
        let (values, offsets) = joined(&STRINGS);
        let view = ColumnView {
            values: &values,
            offsets: Some(&offsets),
            codes: Some(&[3, 5, 3, 8, 3, 5]),
            validity: None,
            present: None,
        };
        let tested = core::cell::RefCell::new(Vec::new());
        let mut mask = [1, 1, 1, 0, 0, 1];
        view.test_strings(&mut mask, |strings, mask| {
            strings.each(mask, |string| {
                tested.borrow_mut().push(string.to_vec());
                string == b"a"
            });
        });
        assert_eq!((mask, tested.into_inner()), ([1, 0, 1, 0, 0, 0], vec![b"a".to_vec(), b"ab".to_vec()]));
    }
}
