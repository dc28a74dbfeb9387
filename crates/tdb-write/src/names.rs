//! Names of new files, and other random numbers.
//!
//! Readers apply files of one time in the order of their names, libtiledb's too. So a new name
//! sorts after all names of that time in its folder, whichever process wrote them: the last write
//! wins, even if several processes give the same time, or if their clocks show the same
//! millisecond. If two writers do not wait for each other, either may be the last one.
//!
//! The unique part of a name has 32 hex digits. The first half of them decides about the order. It
//! is a small step, of random length, above the greatest one that is there: so thousands of names
//! fit behind any name that another library drew at random.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tdb_codec::FormatVersion;
use tdb_filters::Scratch;
use tdb_fragment::TimestampedName;

use crate::options::WriteTime;
use crate::storage::{WriteStorage, join};
use crate::thresholds::{MAX_DELAY, MAX_STEP, MIN_STEPS_LEFT};
use crate::{Error, Result, WriteError, clock};

const WHAT: &str = "a write";

/// Names of one time for the new files of a folder, each of which sorts after the previous one.
#[derive(Debug)]
pub(crate) struct Names {
    time: u64,
    /// The first half of the last name; `None` before the first one.
    last: Option<u64>,
}

impl Names {
    /// Names for a folder that has none of this time.
    pub(crate) const fn first(time: u64) -> Self {
        Self { time, last: None }
    }

    /// Names that sort after all names of a time that a folder has. If there are none, the names
    /// have a later time, unless the caller gave the time.
    ///
    /// # Errors
    /// No name of the given time sorts after them; any I/O error of the storage.
    pub(crate) fn behind(storage: &dyn WriteStorage, folder: &str, when: WriteTime) -> Result<Self> {
        let mut time = when.time;
        for _ in 0..MAX_DELAY {
            let there = storage.list_named(folder, &beginning(time));
            let there = there.map_err(|error| Error::io(storage.describe(folder), error))?;
            let names = there.iter().map(|entry| entry.name.as_str());
            let last = names.filter(|name| TimestampedName::parse(name).is_ok()).max();
            match (Self::after(time, last), last) {
                (Some(names), _) => return Ok(names),
                (None, Some(last)) if when.given => {
                    return Err(no_name(time, &storage.describe(&join(folder, last))));
                }
                (None, _) => {
                    let next = time.saturating_add(1);
                    time = clock::for_writing_from(next).unwrap_or(next).max(next);
                }
            }
        }
        Err(no_name(time, &storage.describe(folder)))
    }

    /// Names of a time that sort after this name; `None` if there are none.
    pub(crate) fn after(time: u64, last: Option<&str>) -> Option<Self> {
        let Some(last) = last else { return Some(Self::first(time)) };
        // A name that begins at this time and ends later has other digits here.
        let own = format!("{}{time}_", beginning(time));
        let last = match last.strip_prefix(&own) {
            Some(unique) => Some(half_of(unique)?),
            None if last < own.as_str() => None,
            None => return None,
        };
        (last != Some(u64::MAX)).then_some(Self { time, last })
    }

    /// The time of the names.
    pub(crate) const fn time(&self) -> u64 {
        self.time
    }

    /// The next name, for a file without a version in its name.
    pub(crate) fn next_file(&mut self) -> Result<TimestampedName> {
        Ok(TimestampedName::new((self.time, self.time), self.unique()?, None))
    }

    /// The next name, for a fragment in the format of its version.
    pub(crate) fn next_fragment(&mut self, version: FormatVersion) -> Result<TimestampedName> {
        Ok(TimestampedName::of_fragment((self.time, self.time), self.unique()?, version))
    }

    fn unique(&mut self) -> Result<String> {
        let drawn = u64::from_le_bytes(random()?);
        let half = match self.last {
            None => first_half(drawn),
            Some(last) => {
                let room = u64::MAX.saturating_sub(last);
                let longest = (room / MIN_STEPS_LEFT).clamp(1, MAX_STEP);
                let step = drawn.checked_rem(longest).unwrap_or(0).saturating_add(1);
                last.checked_add(step).ok_or_else(|| no_name(self.time, "what this write has written"))?
            }
        };
        self.last = Some(half);
        Ok(in_digits(half, u64::from_le_bytes(random()?)))
    }
}

/// The beginning of names whose first time is this one.
fn beginning(time: u64) -> String {
    format!("__{time}_")
}

/// The first half of a unique part, or more where it is shorter; `None` if it is no number.
fn half_of(name: &str) -> Option<u64> {
    let unique = name.split(['_', '.']).next().unwrap_or_default();
    let digits: String = unique.chars().chain(core::iter::repeat('f')).take(16).collect();
    u64::from_str_radix(&digits, 16).ok()
}

fn no_name(time: u64, last: &str) -> Error {
    let why = format!(
        "no name of time {time} sorts behind {last}, so that readers would take this for older than that; give another time"
    );
    Error::refused(WHAT, why)
}

/// The lower half of all numbers, so that others fit after each.
const fn first_half(drawn: u64) -> u64 {
    drawn >> 1
}

fn in_digits(first: u64, second: u64) -> String {
    format!("{first:016x}{second:016x}")
}

/// The end of the time range in the name at the end of a key; `None` if there is none.
pub(crate) fn time_of(key: &str) -> Option<u64> {
    let name = key.rsplit('/').next().unwrap_or_default();
    TimestampedName::parse(name).ok().map(|name| name.timestamps.1)
}

/// A name for the file of a new enumeration, in the same format as libtiledb's.
///
/// # Errors
/// If random bytes cannot be obtained.
pub fn enumeration_file_name() -> Result<String, WriteError> {
    Ok(format!("__{}_0", uuid()?))
}

/// 32 hex digits for a name whose order among others does not matter.
pub(crate) fn uuid() -> Result<String, WriteError> {
    let [first, second] = [random()?, random()?].map(u64::from_le_bytes);
    Ok(in_digits(first_half(first), second))
}

/// A unique part for the name of a new file.
pub fn fresh_uuid() -> Result<String> {
    Ok(uuid()?)
}

fn random<const N: usize>() -> Result<[u8; N], WriteError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| WriteError::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// Nonces for one write: a random start, counted up. All threads of the write share the counter, so
/// no value is used twice, and a collision between two writes is as rare as with purely random
/// values.
#[derive(Clone, Debug)]
pub struct Nonces {
    start: u128,
    next: Arc<AtomicU64>,
}

impl Nonces {
    /// Begins at a random value.
    pub fn new() -> Result<Self, WriteError> {
        Ok(Self { start: u128::from_le_bytes(random()?), next: Arc::default() })
    }

    /// Working memory that takes its nonces from here.
    pub fn scratch(&self) -> Scratch {
        let Self { start, next } = self.clone();
        Scratch::new().with_nonces(move || {
            let count = next.fetch_add(1, Ordering::Relaxed);
            // Without a default: zeros would be the same nonce again.
            let [a, b, c, d, e, f, g, h, i, j, k, l, ..] =
                start.wrapping_add(u128::from(count)).to_le_bytes();
            [a, b, c, d, e, f, g, h, i, j, k, l]
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::storage::MemoryStorage;

    const GIVEN: WriteTime = WriteTime { time: 5, given: true };

    /// A storage with these files in a folder.
    fn storage(names: &[String]) -> MemoryStorage {
        MemoryStorage::new(names.iter().map(|name| (format!("f/{name}"), Vec::new())))
    }

    /// The name that comes behind the ones that are there.
    fn next(names: &[String], when: WriteTime) -> Result<String> {
        Ok(Names::behind(&storage(names), "f", when)?.next_file()?.to_string())
    }

    #[test]
    fn names_of_one_write_are_unique_and_sort_as_they_were_made() {
        let mut names = Names::first(5);
        let version = FormatVersion::CURRENT;
        let made: Vec<String> =
            (0..2000).map(|_| names.next_fragment(version).unwrap().to_string()).collect();
        assert!(made.is_sorted() && made.iter().collect::<BTreeSet<_>>().len() == made.len());
        assert!(made.iter().all(|name| TimestampedName::parse(name).unwrap().uuid.len() == 32));
        let others: BTreeSet<String> = (0..1000).map(|_| uuid().unwrap()).collect();
        assert!(others.len() == 1000 && others.iter().all(|uuid| uuid.len() == 32));
    }

    #[test]
    fn a_name_sorts_behind_all_of_its_time_that_others_wrote() {
        let others = [
            "__5_5_00000000000000000000000000000000_22".to_owned(),
            "__5_5_7fffffffffffffffffffffffffffffff".to_owned(),
            "__5_5_DEADBEEF00000000000000000000000a_2".to_owned(),
            "__5_5_fffffffffffffff0ffffffffffffffff_22.vac".to_owned(),
            // Of another time, or no name at all.
            "__50_50_ffffffffffffffffffffffffffffffff_22".to_owned(),
            "__4_4_ffffffffffffffffffffffffffffffff_22".to_owned(),
            "__5_x".to_owned(),
        ];
        for len in 0..=others.len() {
            let there = &others[..len];
            let made = next(there, GIVEN).unwrap();
            assert!(made.starts_with("__5_5_"), "{made}");
            let of_its_time = there.iter().filter(|name| name.starts_with("__5_5_"));
            assert!(of_its_time.into_iter().all(|name| *name < made), "{made} in {there:?}");
        }
    }

    #[test]
    fn thousands_of_writers_fit_behind_one_another_and_behind_any_name() {
        for first in ["00000000", "7fffffff", "fffff000"] {
            let mut last = format!("__5_5_{first}{}", "f".repeat(24));
            for count in 0..5000 {
                let made = Names::after(5, Some(&last)).unwrap().next_file().unwrap().to_string();
                assert!(made > last, "{made} after {last}, number {count}");
                last = made;
            }
        }
    }

    #[test]
    fn where_no_name_is_behind_the_time_moves_on_unless_it_was_given() {
        let last = format!("__5_5_{}_22", "f".repeat(32));
        let refused = next(core::slice::from_ref(&last), GIVEN).unwrap_err().to_string();
        assert!(refused.contains("time 5") && refused.contains(&last), "{refused}");
        // What begins at this time and ends later is newer than anything of this time.
        let range = format!("__5_6_{}_22", "0".repeat(32));
        assert!(next(&[range], GIVEN).unwrap_err().to_string().contains("time 5"));

        let time = clock::for_writing().unwrap() + 50;
        let full = |time| format!("__{time}_{time}_{}", "f".repeat(32));
        let moved = next(&[full(time), full(time + 1)], WriteTime { time, given: false }).unwrap();
        assert!(moved.starts_with(&format!("__{0}_{0}_", time + 2)), "{moved}");
        assert!(clock::present().unwrap() >= time + 2, "its writer sees what it wrote");
    }
}
