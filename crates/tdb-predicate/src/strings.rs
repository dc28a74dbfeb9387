//! Evaluates comparisons of strings: in one loop over strings back to back, and for dictionary
//! codes once for each string that a wanted cell has.

use core::cmp::Ordering;

use tdb_codec::to_usize;
use tdb_fragment::Comparison;

use super::comparison::holds;
use super::view::ColumnView;
use crate::buffers::index_of;
use crate::{Error, OrInternal, Result};

/// Strings back to back, and one more offset than strings.
#[derive(Clone, Copy, Debug)]
pub struct StringView<'a> {
    /// The bytes of all strings, one after the other.
    pub values: &'a [u8],
    /// The start of each string in `values`, in bytes, and the end of the last.
    pub offsets: &'a [u64],
}

impl ColumnView<'_> {
    /// Clears `mask` where `test` clears it for a cell's string. If cells have codes, each string
    /// that a wanted cell has is tested once, however many cells have it.
    pub(super) fn test_strings(
        &self,
        mask: &mut [u8],
        test: impl FnOnce(StringView<'_>, &mut [u8]),
    ) -> Result<()> {
        let offsets = self.offsets.or_internal("a column of strings has no offsets")?;
        let strings = StringView { values: self.values, offsets };
        match self.codes {
            Some(codes) => strings.test_coded(codes, mask, test)?,
            None if offsets.len() <= mask.len() => return Err(Error::internal("a cell has no string")),
            None => test(strings, mask),
        }
        Ok(())
    }
}

impl<'a> StringView<'a> {
    /// Clears `mask`, which has a byte for each code, where `test` clears it for the code's string.
    pub fn test_coded(
        self,
        codes: &[u32],
        mask: &mut [u8],
        test: impl FnOnce(StringView<'_>, &mut [u8]),
    ) -> Result<()> {
        let codes = codes.get(..mask.len()).or_internal("a cell has no code")?;
        let Some(first) = codes.first() else { return Ok(()) };
        let mut wanted_strings = vec![0u8; self.offsets.len().saturating_sub(1)];
        let mut want = |code: u32, wanted: u8| -> Result<()> {
            *wanted_strings.get_mut(index_of(code)).or_internal(NO_STRING)? |= wanted;
            Ok(())
        };
        if is_in_runs(codes) {
            // A byte that was just written is slow to be read again: it is written once for all
            // cells of a run.
            let (mut run, mut any) = (*first, 0);
            for (wanted, code) in mask.iter().zip(codes) {
                if *code != run {
                    want(run, any)?;
                    (run, any) = (*code, 0);
                }
                any |= wanted;
            }
            want(run, any)?;
        } else {
            mask.iter().zip(codes).try_for_each(|(wanted, code)| want(*code, *wanted))?;
        }
        test(self, &mut wanted_strings);
        for (slot, code) in mask.iter_mut().zip(codes) {
            *slot &= wanted_strings.get(index_of(*code)).copied().or_internal(NO_STRING)?;
        }
        Ok(())
    }

    /// Tests the strings that are still wanted.
    pub(crate) fn each(self, mask: &mut [u8], keep: impl Fn(&'a [u8]) -> bool) {
        for (slot, pair) in mask.iter_mut().zip(self.offsets.windows(2)).filter(|(slot, _)| **slot != 0) {
            let [start, end] = pair else { continue };
            *slot = u8::from(keep(self.string(*start, *end)));
        }
    }

    /// The strings.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
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

    /// Clears `mask` for strings of another length: this is one loop over the offsets, and most
    /// strings end here.
    fn keep_length(self, len: usize, mask: &mut [u8]) {
        let Ok(len) = u64::try_from(len) else { return mask.fill(0) };
        let ends = self.offsets.get(1..).unwrap_or_default();
        for ((slot, start), end) in mask.iter_mut().zip(self.offsets).zip(ends) {
            *slot &= u8::from(end.wrapping_sub(*start) == len);
        }
    }

    /// Compares the heads of all strings, which are numbers, in loops without branches that depend
    /// on them. The rest of a string matters only if its head is that of the constant.
    fn compare_heads(self, comparison: Comparison, operand: &[u8], mask: &mut [u8]) {
        let wanted = head(operand, 0, operand.len());
        let [below, above] =
            [Ordering::Less, Ordering::Greater].map(|own| u8::from(holds(comparison, Some(own))));
        let mut heads = [0u64; BLOCK];
        let ends = self.offsets.get(1..).unwrap_or_default();
        let places = self.offsets.chunks(BLOCK).zip(ends.chunks(BLOCK));
        for (mask, (starts, ends)) in mask.chunks_mut(BLOCK).zip(places) {
            // Other tests may have left few cells.
            if !mask.contains(&1) {
                continue;
            }
            for ((slot, start), end) in heads.iter_mut().zip(starts).zip(ends) {
                let len = to_usize(end.wrapping_sub(*start)).unwrap_or(usize::MAX);
                *slot = head(self.values, to_usize(*start).unwrap_or(usize::MAX), len);
            }
            let mut equal = 0;
            for ((slot, own), _) in mask.iter_mut().zip(&heads).zip(ends) {
                let same = u8::from(*own == wanted);
                *slot &= (below & u8::from(*own < wanted)) | (above & u8::from(*own > wanted)) | same;
                equal |= same;
            }
            if equal != 0 {
                let cells = mask.iter_mut().zip(&heads).zip(starts.iter().zip(ends));
                for ((slot, _), (start, end)) in cells.filter(|((_, own), _)| **own == wanted) {
                    *slot &= u8::from(holds(comparison, Some(self.string(*start, *end).cmp(operand))));
                }
            }
        }
    }
}

/// The internal error of a code that stands for no string.
const NO_STRING: &str = "a cell has a code that stands for no string";

/// Strings whose heads are compared together.
const BLOCK: usize = 64;

/// Whether neighbours mostly have the same code, judged by the first 65.
fn is_in_runs(codes: &[u32]) -> bool {
    let some = codes.get(..codes.len().min(65)).unwrap_or_default();
    let same = some.windows(2).filter(|pair| matches!(pair, [a, b] if a == b)).count();
    same > some.len() / 2
}

/// The bytes of a string; none if it does not lie in the values.
#[inline]
pub fn string_at(values: &[u8], start: u64, end: u64) -> &[u8] {
    to_usize(start).zip(to_usize(end)).and_then(|(start, end)| values.get(start..end)).unwrap_or_default()
}

/// The first 8 bytes of a string as a number, with zeros after a shorter one: where two strings
/// have different heads, they are ordered as these. `len` is the string's length.
#[inline]
fn head(values: &[u8], at: usize, len: usize) -> u64 {
    word_at(values, at, len).swap_bytes()
}

/// Up to 8 bytes, the first of them the lowest, as a number: of more, the first 8; of fewer,
/// followed by zeros.
#[inline]
pub fn word_at(values: &[u8], at: usize, len: usize) -> u64 {
    let rest = values.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    // Not a branch: lengths are hard to foresee.
    word & LOWEST.get(len.min(8)).copied().unwrap_or(u64::MAX)
}

/// The bits of the lowest 0 to 8 bytes.
const LOWEST: [u64; 9] = [0, !0 >> 56, !0 >> 48, !0 >> 40, !0 >> 32, !0 >> 24, !0 >> 16, !0 >> 8, !0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::tests::COMPARISONS;

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
        // Four blocks, of which nothing is wanted of the second, and the last one is not full.
        let many: Vec<&[u8]> = STRINGS.iter().copied().cycle().take(3 * BLOCK + 31).collect();
        let wanted: Vec<u8> =
            (0..many.len()).map(|cell| u8::from(cell % 5 != 3 && cell / BLOCK != 1)).collect();
        let (values, offsets) = joined(&many);
        let strings = StringView { values: &values, offsets: &offsets };
        for operand in STRINGS {
            for comparison in COMPARISONS {
                let mut mask = wanted.clone();
                strings.compare(comparison, operand, &mut mask);
                let holds = |string: &&[u8]| u8::from(holds(comparison, Some((*string).cmp(operand))));
                let expected: Vec<u8> =
                    many.iter().zip(&wanted).map(|(string, wanted)| wanted & holds(string)).collect();
                assert_eq!(mask, expected, "{comparison:?} {operand:?}");
            }
        }
    }

    #[test]
    fn strings_outside_of_the_values_are_compared_without_what_is_not_there() {
        let offsets = [0, 2, 9, 4, u64::MAX, 0];
        let strings = StringView { values: b"ab", offsets: &offsets };
        let mut mask = [1; 5];
        strings.compare(Comparison::LessOrEqual, b"b", &mut mask);
        assert_eq!(mask, [1; 5], "the others are empty");
    }

    #[test]
    fn cells_with_codes_are_tested_as_their_strings_are_in_runs_or_not() {
        let (values, offsets) = joined(&STRINGS);
        let strings = StringView { values: &values, offsets: &offsets };
        let scattered = (0..400u32).map(|cell| cell * 7 % 12);
        let runs = (0..400u32).map(|cell| cell / 29 % 12);
        for codes in [scattered.collect::<Vec<u32>>(), runs.collect(), vec![3], Vec::new()] {
            let wanted: Vec<u8> = (0..codes.len()).map(|cell| u8::from(cell / 40 % 3 != 1)).collect();
            let mut mask = wanted.clone();
            let test = |strings: StringView<'_>, mask: &mut [u8]| {
                strings.each(mask, |own| own > b"ab".as_slice());
            };
            strings.test_coded(&codes, &mut mask, test).unwrap();
            let holds = |code: &u32| u8::from(STRINGS[index_of(*code)] > b"ab".as_slice());
            let expected: Vec<u8> =
                codes.iter().zip(&wanted).map(|(code, wanted)| wanted & holds(code)).collect();
            assert_eq!(mask, expected);
        }
    }

    #[test]
    fn a_cell_without_a_string_is_a_fault_and_not_a_cell_that_fails() {
        let (values, offsets) = joined(&STRINGS);
        let strings = StringView { values: &values, offsets: &offsets };
        let test = |codes: &[u32]| strings.test_coded(codes, &mut [1; 4], |_, _| {}).is_err();
        assert!(!test(&[0, 3, 11, 0]));
        assert!(test(&[0, 3, 12, 0]) && test(&[12, 12, 12, 12]), "there are 12 strings");
        assert!(test(&[0, 3, 11]), "a cell has no code");
        let view = ColumnView { values: &values, offsets: None, codes: None, validity: None, present: None };
        assert!(view.test_strings(&mut [1], |_, _| {}).is_err(), "strings without offsets");
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
        })
        .unwrap();
        assert_eq!((mask, tested.into_inner()), ([1, 0, 1, 0, 0, 0], vec![b"a".to_vec(), b"ab".to_vec()]));
    }
}
