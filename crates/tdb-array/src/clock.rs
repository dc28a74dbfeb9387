//! What time it is. Nothing else in this crate asks.
//!
//! Readers open an array at the present time, and writers put it into the names of what they write, unless the caller gives
//! a time. Both are milliseconds since 1970-01-01 UTC, the format's unit. Clocks jump, and those of two machines differ by a
//! little, so that the present of this process is what its clock says, but not before what it wrote itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How far back a clock may jump before later writes follow it, and how far ahead the clock of another machine may be for
/// writes to follow that one, in milliseconds.
pub(crate) const MOST_APART: u64 = 10_000;

/// WebAssembly in a browser has no clock that the standard library knows: asking for the time panics there.
const THERE: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The latest time that this process took from its clock for something it wrote.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The time until which a reader sees what was written; `None` where there is no clock.
pub(crate) fn present() -> Option<u64> {
    wall().map(|clock| clock.max(WRITTEN.load(Ordering::Relaxed)))
}

/// The time of something that is written now; `None` where there is no clock. Where the clock is set back by a little, it
/// stands still for this process until it has caught up, so that what is written later does not count as older.
pub(crate) fn for_writing() -> Option<u64> {
    wall().map(|clock| steady(&WRITTEN, clock))
}

/// As [`for_writing`], but not before a time that is already taken, if that is ahead by so little that another clock may have
/// said it.
pub(crate) fn for_writing_from(taken: u64) -> Option<u64> {
    for_writing().map(|now| from(&WRITTEN, now, taken))
}

/// When something began, to measure how long it takes; `None` where there is no clock.
pub(crate) fn start() -> Option<Instant> {
    THERE.then(Instant::now)
}

/// Milliseconds since 1970.
fn wall() -> Option<u64> {
    if !THERE {
        return None;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn steady(written: &AtomicU64, clock: u64) -> u64 {
    let before = written.fetch_max(clock, Ordering::Relaxed);
    if before > clock && before.saturating_sub(clock) <= MOST_APART { before } else { clock }
}

fn from(written: &AtomicU64, now: u64, taken: u64) -> u64 {
    if taken <= now || taken.saturating_sub(now) > MOST_APART {
        return now;
    }
    written.fetch_max(taken, Ordering::Relaxed);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_by_a_little_stands_still_and_by_a_lot_is_followed() {
        let written = AtomicU64::new(0);
        let times = [50_000, 50_001, 49_000, 40_001, 40_000, 50_002].map(|clock| steady(&written, clock));
        assert_eq!(times, [50_000, 50_001, 50_001, 50_001, 40_000, 50_002]);
    }

    #[test]
    fn a_time_of_another_clock_that_is_ahead_by_a_little_is_followed_and_remembered() {
        let written = AtomicU64::new(0);
        assert_eq!(from(&written, 50_000, 49_000), 50_000);
        assert_eq!(from(&written, 50_000, 60_001), 50_000);
        assert_eq!(written.load(Ordering::Relaxed), 0);
        assert_eq!(from(&written, 50_000, 60_000), 60_000);
        assert_eq!(steady(&written, 50_003), 60_000);
    }

    #[test]
    fn what_this_process_wrote_is_never_in_its_future() {
        let time = for_writing().unwrap();
        let ahead = for_writing_from(time + 500).unwrap();
        assert!(ahead >= time + 500 && present().unwrap() >= ahead);
    }
}
