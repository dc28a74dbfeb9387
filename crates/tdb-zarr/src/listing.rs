//! Lists of keys.

use std::collections::BTreeSet;

use crate::key::{Notation, place};
use crate::thresholds::{MAX_KEY_BYTES, MAX_KEYS, MAX_STEPS};
use crate::{Error, Result};

/// Chunks along one axis: the first and the last.
pub(crate) type Span = (u64, u64);

/// The keys that were found below a prefix.
pub(crate) struct Keys<'p> {
    prefix: &'p str,
    found: BTreeSet<String>,
    bytes: usize,
    steps: usize,
}

impl<'p> Keys<'p> {
    /// No keys yet.
    pub(crate) const fn new(prefix: &'p str) -> Self {
        Self { prefix, found: BTreeSet::new(), bytes: 0, steps: 0 }
    }

    /// The keys, sorted.
    pub(crate) fn sorted(self) -> impl Iterator<Item = String> {
        self.found.into_iter()
    }

    /// Whether keys below a path may begin with the prefix.
    pub(crate) fn may_be_below(&self, path: &str) -> bool {
        path.starts_with(self.prefix) || self.prefix.starts_with(path)
    }

    /// Whether keys of chunks below a path may begin with the prefix.
    pub(crate) fn may_be_chunks(&self, path: &str, notation: Notation) -> bool {
        asked(self.prefix, path, notation).is_some()
    }

    /// Adds a key, if it begins with the prefix.
    pub(crate) fn add(&mut self, key: String) -> Result<()> {
        let len = key.len();
        if key.starts_with(self.prefix) && self.found.insert(key) {
            self.bytes = self.bytes.saturating_add(len);
        }
        if self.found.len() > MAX_KEYS || self.bytes > MAX_KEY_BYTES { Err(self.too_many()) } else { Ok(()) }
    }

    /// Adds the keys of the chunks of an array that begin with the prefix. The boxes may overlap.
    pub(crate) fn add_chunks(&mut self, path: &str, boxes: &[Vec<Span>], notation: Notation) -> Result<()> {
        let Some(asked) = asked(self.prefix, path, notation) else { return Ok(()) };
        let boxes: Vec<Vec<Span>> = boxes.iter().flat_map(|one| within(one, &asked)).collect();
        let mut levels = vec![self.level(boxes.iter().map(Vec::as_slice).collect())?];
        let mut index: Vec<u64> = Vec::new();
        while let Some(level) = levels.last_mut() {
            let Some(place) = level.next() else {
                levels.pop();
                index.pop();
                continue;
            };
            index.push(place);
            if level.is_last() {
                self.add(format!("{path}{}", notation.chunk(&index)))?;
                index.pop();
            } else {
                let tails = level.tails(place);
                levels.push(self.level(tails)?);
            }
        }
        Ok(())
    }

    /// The places along the first axis of boxes.
    fn level<'b>(&mut self, mut boxes: Vec<&'b [Span]>) -> Result<Level<'b>> {
        self.steps = self.steps.saturating_add(boxes.len());
        if self.steps > MAX_STEPS {
            return Err(self.too_many());
        }
        boxes.sort_unstable();
        boxes.dedup();
        // Spans that overlap are one: they are in the order of their first places.
        let mut spans: Vec<Span> = Vec::new();
        for (first, last) in boxes.iter().filter_map(|one| one.first().copied()) {
            match spans.last_mut() {
                Some((_, end)) if first <= *end => *end = last.max(*end),
                _ => spans.push((first, last)),
            }
        }
        spans.reverse();
        boxes.reverse();
        Ok(Level { boxes, here: Vec::new(), spans })
    }

    fn too_many(&self) -> Error {
        Error::TooManyKeys { prefix: self.prefix.to_owned(), max: MAX_KEYS }
    }
}

/// Boxes, each from one axis on, and the places along this axis, which are asked for in order.
struct Level<'b> {
    /// The boxes that begin behind the last place that was asked for, the first ones last.
    boxes: Vec<&'b [Span]>,
    /// The boxes that begin before: for each, its last place, and it from the next axis on.
    here: Vec<(u64, &'b [Span])>,
    /// The places that are still to come, the first ones last.
    spans: Vec<Span>,
}

impl<'b> Level<'b> {
    /// Whether there is no axis behind this one. All boxes have as many.
    fn is_last(&self) -> bool {
        self.boxes.last().is_some_and(|one| one.len() <= 1)
    }

    fn next(&mut self) -> Option<u64> {
        let (first, last) = self.spans.last_mut()?;
        let place = *first;
        if place < *last {
            *first += 1;
        } else {
            self.spans.pop();
        }
        Some(place)
    }

    /// The boxes that have a place, from the next axis on. Looks at no others but once, so that the
    /// steps of the next level are those of this one, too.
    fn tails(&mut self, place: u64) -> Vec<&'b [Span]> {
        while let Some(((first, last), tail)) = self.boxes.last().and_then(|one| one.split_first())
            && *first <= place
        {
            self.here.push((*last, tail));
            self.boxes.pop();
        }
        self.here.retain(|(last, _)| place <= *last);
        self.here.iter().map(|(_, tail)| *tail).collect()
    }
}

/// What a prefix says about the places of chunks below a path: whole places, and the beginning of
/// another. Nothing is said by a prefix that ends before; `None` if no key can begin with it.
fn asked<'p>(prefix: &'p str, path: &str, notation: Notation) -> Option<Vec<&'p str>> {
    let Some(rest) = prefix.strip_prefix(path) else { return path.starts_with(prefix).then(Vec::new) };
    let head = notation.head();
    let Some(rest) = rest.strip_prefix(head) else { return head.starts_with(rest).then(Vec::new) };
    Some(rest.split(notation.separator()).collect())
}

/// The parts of a box whose places are asked for.
fn within(one: &[Span], asked: &[&str]) -> Vec<Vec<Span>> {
    let cut = |(first, last): Span, (low, high): Span| {
        let both = (first.max(low), last.min(high));
        (both.0 <= both.1).then_some(both)
    };
    let Some((beginning, whole)) = asked.split_last() else { return vec![one.to_vec()] };
    let Some((head, [axis, tail @ ..])) = one.split_at_checked(whole.len()) else { return Vec::new() };
    let exact = head.iter().zip(whole).map(|(axis, text)| place(text).and_then(|at| cut(*axis, (at, at))));
    let Some(head) = exact.collect::<Option<Vec<Span>>>() else { return Vec::new() };
    let spans = beginnings(beginning).into_iter().filter_map(|span| cut(*axis, span));
    spans.map(|span| [head.as_slice(), &[span], tail].concat()).collect()
}

/// The numbers whose digits begin with these.
fn beginnings(digits: &str) -> Vec<Span> {
    if digits.is_empty() {
        return vec![(0, u64::MAX)];
    }
    let Some(number) = place(digits) else { return Vec::new() };
    let longer = |(low, high): &Span| {
        let low = low.checked_mul(10).filter(|low| *low > 0)?;
        Some((low, high.saturating_mul(10).saturating_add(9)))
    };
    core::iter::successors(Some((number, number)), longer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(prefix: &str, boxes: &[Vec<Span>], notation: Notation) -> Vec<String> {
        let mut keys = Keys::new(prefix);
        keys.add_chunks("a/", boxes, notation).unwrap();
        keys.sorted().collect()
    }

    #[test]
    fn every_prefix_lists_the_keys_that_begin_with_it() {
        let boxes = [
            vec![(8, 12), (0, 0), (99, 101)],
            vec![(8, 12), (0, 0), (99, 101)],
            vec![(10, 110), (0, 1), (5, 5)],
            vec![(11, 11), (0, 3), (0, 10)],
        ];
        for notation in [Notation::V2, Notation::V3] {
            let mut all = BTreeSet::new();
            for one in &boxes {
                for x in one[0].0..=one[0].1 {
                    for y in one[1].0..=one[1].1 {
                        all.extend(
                            (one[2].0..=one[2].1).map(|z| format!("a/{}", notation.chunk(&[x, y, z]))),
                        );
                    }
                }
            }
            assert_eq!(all.len(), 15 + 202 - 2 + 44);
            let mut prefixes: BTreeSet<&str> =
                all.iter().flat_map(|key| (0..=key.len()).map(|len| &key[..len])).collect();
            prefixes.extend([
                "b",
                "a/c/x",
                "a/c/01",
                "a/c/1/00",
                "a/1.0.5.",
                "a/c/1/0/5/",
                "a/x",
                "a/c/1.0",
                "a/c//",
            ]);
            prefixes.extend([
                "a/.",
                "a/00",
                "a/c/99999999999999999999999",
                "aa",
                "a/c/1/0/5/5",
                "a/zarr.json",
            ]);
            for prefix in prefixes {
                let expected: Vec<&String> = all.iter().filter(|key| key.starts_with(prefix)).collect();
                assert_eq!(listed(prefix, &boxes, notation).iter().collect::<Vec<_>>(), expected, "{prefix}");
            }
        }
    }

    #[test]
    fn a_long_prefix_is_found_among_any_number_of_chunks() {
        let boxes = [vec![(0, u64::MAX), (0, u64::MAX - 1)]];
        let key = "a/c/18446744073709551615/1844674407370955161";
        let expected = (0..5).map(|digit| format!("{key}{digit}"));
        assert_eq!(listed(key, &boxes, Notation::V3), [vec![key.to_owned()], expected.collect()].concat());
        let error = Keys::new("a/c/7").add_chunks("a/", &boxes, Notation::V3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there are too many keys below \"a/c/7\" for one list, which has 1000000 at most, and 256 MiB: \
             ask for a longer prefix, or for the keys themselves"
        );
    }

    #[test]
    fn long_keys_and_boxes_without_end_are_too_many_before_memory_or_patience_end() {
        let path = "x".repeat(1 << 20);
        let error = Keys::new("").add_chunks(&path, &[vec![(0, 999)]], Notation::V2).unwrap_err();
        assert!(matches!(error, Error::TooManyKeys { .. }), "{error}");
        // As many dimensions as this would overflow a stack.
        let deep = vec![(0, 0); 100_000];
        assert_eq!(listed("", &[deep], Notation::V2)[0].len(), 2 + 199_999);
        let wide: Vec<Vec<Span>> =
            (0..20_000).map(|at| vec![(0, 99_999), (7, 7), (0, at % 7), (at, at)]).collect();
        let error = Keys::new("a/c/").add_chunks("a/", &wide, Notation::V3).unwrap_err();
        assert!(matches!(error, Error::TooManyKeys { .. }), "{error}");
    }

    #[test]
    fn many_fragments_are_listed_in_as_many_steps() {
        // Looking at each of these boxes for each place would take hours.
        let boxes: Vec<Vec<Span>> = (0..200_000).map(|at| vec![(at, at + 1), (at, at)]).collect();
        let keys = listed("a/c/", &boxes, Notation::V3);
        assert_eq!((keys.len(), keys[0].as_str()), (400_000, "a/c/0/0"));
        assert_eq!(listed("a/c/77777/", &boxes, Notation::V3), ["a/c/77777/77776", "a/c/77777/77777"]);
    }

    #[test]
    fn digits_begin_numbers_of_every_length() {
        assert_eq!(beginnings("0"), [(0, 0)]);
        assert_eq!(beginnings("")[0], (0, u64::MAX));
        assert_eq!(beginnings("12")[..3], [(12, 12), (120, 129), (1200, 1299)]);
        assert_eq!(*beginnings("18").last().unwrap(), (18_000_000_000_000_000_000, u64::MAX));
        for none in ["01", "x", "1x", "-1", "18446744073709551616"] {
            assert_eq!(beginnings(none), [], "{none}");
        }
    }
}
