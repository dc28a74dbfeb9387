//! The current time. Nothing else in this crate reads the clock.
//!
//! Readers open an array at the present time, and writers put it into the names of what they write,
//! unless the caller gives a time. Both are milliseconds since 1970-01-01 UTC, the format's unit.
//! Clocks jump, and the clocks of two machines differ by a little. Therefore the present time of
//! this process is the time of its clock, but never before the time of something it wrote itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::thresholds::MAX_CLOCK_SKEW_MS;

/// The standard library has no clock for WebAssembly in a browser: asking for the time panics
/// there.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The latest time that this process took from its clock for something it wrote.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The time until which a reader sees what was written; `None` if there is no clock.
pub fn present() -> Option<u64> {
    wall().map(|clock| clock.max(WRITTEN.load(Ordering::Relaxed)))
}

/// The time for something that is written now; `None` if there is no clock. If the clock was set
/// back by a little, this process keeps returning the last time until the clock has caught up, so
/// that later writes do not count as older.
pub fn for_writing() -> Option<u64> {
    wall().map(|clock| steady(&WRITTEN, clock))
}

/// As [`for_writing`], but at least `taken`, a time that is already in use, if it is ahead by so
/// little that it may come from another clock.
pub fn for_writing_from(taken: u64) -> Option<u64> {
    for_writing().map(|now| from(&WRITTEN, now, taken))
}

/// Waits until a time of this clock has passed: everything that this process, or another one with
/// the same clock, writes after this call has a later time.
pub fn leave(time: u64) {
    WRITTEN.fetch_max(time.saturating_add(1), Ordering::Relaxed);
    if wall() == Some(time) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Milliseconds since 1970.
fn wall() -> Option<u64> {
    if !HAS_CLOCK {
        return None;
    }
    // A clock that is set before 1970 is at 0, and one past all numbers at the last of them.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn steady(written: &AtomicU64, clock: u64) -> u64 {
    let before = written.fetch_max(clock, Ordering::Relaxed);
    if before > clock && before - clock <= MAX_CLOCK_SKEW_MS { before } else { clock }
}

fn from(written: &AtomicU64, now: u64, taken: u64) -> u64 {
    if taken <= now || taken - now > MAX_CLOCK_SKEW_MS {
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
    fn a_time_that_is_left_behind_does_not_come_again() {
        for _ in 0..100 {
            let time = for_writing().unwrap();
            leave(time);
            // Another test may have taken a time that is ahead.
            assert!(for_writing().unwrap() > time && wall() != Some(time));
        }
    }

    #[test]
    fn what_this_process_wrote_is_never_in_its_future() {
        let time = for_writing().unwrap();
        let ahead = for_writing_from(time + 500).unwrap();
        assert!(ahead >= time + 500 && present().unwrap() >= ahead);
    }
}
