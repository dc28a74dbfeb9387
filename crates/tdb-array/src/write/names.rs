//! Names of what is written, and other random numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tdb_codec::FormatVersion;
use tdb_filters::Scratch;
use tdb_fragment::TimestampedName;

use crate::WriteError;

/// How far back a clock may jump before later writes follow it, in milliseconds.
const MOST_BACK: u64 = 10_000;

/// The wall clock in milliseconds, which is the format's unit of time. Where it is set back by a little, it stands still
/// for this process until it has caught up, so that what is written later does not count as older.
pub(crate) fn now() -> u64 {
    static LATEST: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let clock = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    steady(&LATEST, clock)
}

fn steady(latest: &AtomicU64, clock: u64) -> u64 {
    let before = latest.fetch_max(clock, Ordering::Relaxed);
    if before > clock && before.saturating_sub(clock) <= MOST_BACK { before } else { clock }
}

/// A name that no other object has, for both ends of its time range.
pub(crate) fn unique(timestamp: u64, version: Option<FormatVersion>) -> Result<TimestampedName, WriteError> {
    Ok(TimestampedName::new((timestamp, timestamp), uuid()?, version))
}

/// The name of a new fragment, in the shape of its version's era.
pub(crate) fn fragment(timestamp: u64, version: FormatVersion) -> Result<TimestampedName, WriteError> {
    Ok(TimestampedName::of_fragment((timestamp, timestamp), uuid()?, version))
}

/// A name for the file of a new enumeration, as libtiledb makes them.
///
/// # Errors
/// A system without random numbers.
pub fn enumeration_file_name() -> Result<String, WriteError> {
    Ok(format!("__{}_0", uuid()?))
}

/// Counter of the last label; `None` before the first.
static LAST: Mutex<Option<u32>> = Mutex::new(None);

/// 32 hex digits as libtiledb makes them: 8 of a counter, 24 random. The counter begins somewhere and only goes up
/// (libtiledb's begins anew with each millisecond of the clock), so that names of one time sort as this process made
/// them, also where the caller gives the time.
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

/// Nonces for one write: a random start, counted up. All threads of the write share the counter, so no value comes twice,
/// and two writes meet as rarely as with random values alone.
#[derive(Clone, Debug)]
pub(crate) struct Nonces {
    start: u128,
    next: Arc<AtomicU64>,
}

impl Nonces {
    pub(crate) fn new() -> Result<Self, WriteError> {
        Ok(Self { start: u128::from_le_bytes(random()?), next: Arc::default() })
    }

    /// Working memory that takes its nonces from here.
    pub(crate) fn scratch(&self) -> Scratch {
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
    fn a_clock_set_back_by_a_little_stands_still_and_by_a_lot_is_followed() {
        let latest = AtomicU64::new(0);
        let times = [50_000, 50_001, 49_000, 40_001, 40_000, 50_002].map(|clock| steady(&latest, clock));
        assert_eq!(times, [50_000, 50_001, 50_001, 50_001, 40_000, 50_002]);
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
