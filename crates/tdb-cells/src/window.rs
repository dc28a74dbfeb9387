//! The time window an array is opened in.

/// An inclusive window of milliseconds since 1970-01-01 UTC: only what was written in it is seen.
/// By default, arrays are opened at the present time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    /// First millisecond.
    pub start: u64,
    /// Last millisecond.
    pub end: u64,
}

impl TimeWindow {
    /// All of time, including the future.
    pub const ALL: Self = Self { start: 0, end: u64::MAX };

    /// Everything up to and including millisecond `end`.
    #[must_use]
    pub const fn until(end: u64) -> Self {
        Self { start: 0, end }
    }

    /// Everything from `start` to `end`, both included.
    #[must_use]
    pub const fn between(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Whether a span is completely inside.
    #[must_use]
    pub const fn contains(&self, span: (u64, u64)) -> bool {
        span.0 >= self.start && span.1 <= self.end
    }

    /// Whether a span and the window have a millisecond in common.
    #[must_use]
    pub const fn overlaps(&self, span: (u64, u64)) -> bool {
        span.0 <= self.end && self.start <= span.1
    }
}

impl Default for TimeWindow {
    fn default() -> Self {
        Self::ALL
    }
}
