//! Names of what is written, and other random numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tdb_codec::FormatVersion;
use tdb_filters::Scratch;
use tdb_fragment::TimestampedName;

use crate::WriteError;

/// The wall clock in milliseconds, which is the format's unit of time.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A name that no other object has, for both ends of its time range.
pub(crate) fn unique(timestamp: u64, version: Option<FormatVersion>) -> Result<TimestampedName, WriteError> {
    Ok(TimestampedName::new((timestamp, timestamp), uuid()?, version))
}

/// Millisecond and counter of the last label.
static LAST: Mutex<(u64, u32)> = Mutex::new((0, 0));

/// 32 hex digits as libtiledb makes them: 8 of a counter, 24 random. The counter begins anew with each millisecond,
/// so that names this process makes in one millisecond sort as they were made.
pub(crate) fn uuid() -> Result<String, WriteError> {
    let [a, b, c, d, rest @ ..] = random::<16>()?;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = now();
    *last = if last.0 == now {
        (now, last.1.wrapping_add(1))
    } else {
        (now, u32::from_le_bytes([a, b, c, d]) & 0x7fff_ffff)
    };
    let mut text = format!("{:08x}", last.1);
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
    fn names_are_unique_and_those_of_one_millisecond_sort_as_they_were_made() {
        let names: Vec<(u64, String)> = (0..1000).map(|_| (now(), uuid().unwrap())).collect();
        assert_eq!(names.iter().map(|(_, name)| name).collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|(_, name)| name.len() == 32));
        for pair in names.windows(3) {
            // The outer clocks agree, so the name between was made in that millisecond, and so was the last.
            if pair[0].0 == pair[2].0 {
                assert!(pair[1].1 > pair[0].1);
            }
        }
    }
}
