//! Names of new files, and other random numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tdb_codec::FormatVersion;
use tdb_filters::Scratch;
use tdb_fragment::TimestampedName;

use crate::WriteError;

/// A unique name with this time as both ends of its range.
pub(crate) fn unique(timestamp: u64, version: Option<FormatVersion>) -> Result<TimestampedName, WriteError> {
    Ok(TimestampedName::new((timestamp, timestamp), uuid()?, version))
}

/// The name of a new fragment, in the format of its version.
pub(crate) fn fragment(timestamp: u64, version: FormatVersion) -> Result<TimestampedName, WriteError> {
    Ok(TimestampedName::of_fragment((timestamp, timestamp), uuid()?, version))
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

/// Counter of the last label; `None` before the first one.
static LAST: Mutex<Option<u32>> = Mutex::new(None);

/// 32 hex digits in the same format as libtiledb's: 8 of a counter, 24 random. The counter begins at a random value and
/// only increases (libtiledb's begins anew with each millisecond of the clock), so that names with the same time sort
/// in the order in which this process made them, also if the caller gives the time.
pub(crate) fn uuid() -> Result<String, WriteError> {
    let [a, b, c, d, rest @ ..] = random::<16>()?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    // The start leaves room for 2^31 labels.
    let count = last.map_or(u32::from_le_bytes([a, b, c, d]) & 0x7fff_ffff, |last| last.wrapping_add(1));
    *last = Some(count);
    let mut text = format!("{count:08x}");
    rest.iter().for_each(|byte| text += &format!("{byte:02x}"));
    Ok(text)
}

fn random<const N: usize>() -> Result<[u8; N], WriteError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| WriteError::NoRandomness(error.to_string()))?;
    Ok(bytes)
}

/// Nonces for one write: a random start, counted up. All threads of the write share the counter, so no value is used
/// twice, and a collision between two writes is as rare as with purely random values.
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
            let value = start.wrapping_add(u128::from(count)).to_le_bytes();
            value.first_chunk().copied().unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_sort_as_they_were_made() {
        let names: Vec<String> = (0..1000).map(|_| uuid().unwrap()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.len() == 32));
        assert!(names.is_sorted());
    }

    #[test]
    fn names_of_one_given_time_sort_as_they_were_made_whatever_the_clock() {
        let name = || {
            std::thread::sleep(std::time::Duration::from_millis(2));
            unique(5, None).unwrap().to_string()
        };
        let names: Vec<String> = (0..20).map(|_| name()).collect();
        assert!(names.is_sorted(), "{names:#?}");
    }
}
