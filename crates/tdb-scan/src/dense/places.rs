//! Finds which of many intervals meet another one.

/// Intervals that are searched without looking at all of them: thousands of fragments may be looked
/// up for thousands of tiles.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Low end, high end and number of each interval, by low end.
    by_low: Vec<(u64, u64, usize)>,
    /// For each of them, the greatest high end among it and those before it.
    highest: Vec<u64>,
}

impl Places {
    /// Intervals by their ends, both inclusive; they are numbered in this order.
    pub(super) fn new(intervals: impl Iterator<Item = (u64, u64)>) -> Self {
        let numbered = intervals.enumerate();
        let mut by_low: Vec<(u64, u64, usize)> =
            numbered.map(|(number, (low, high))| (low, high, number)).collect();
        by_low.sort_unstable();
        let mut highest = Vec::with_capacity(by_low.len());
        let mut max = 0u64;
        for (_, high, _) in &by_low {
            max = max.max(*high);
            highest.push(max);
        }
        Self { by_low, highest }
    }

    /// Numbers of the intervals that meet `low..=high`, ascending.
    pub(super) fn meeting(&self, (low, high): (u64, u64)) -> Vec<usize> {
        let end = self.by_low.partition_point(|(first, _, _)| *first <= high);
        let partial = self.by_low.iter().zip(&self.highest).take(end).rev();
        // Stop where this interval and all before it end below `low`.
        let near = partial.take_while(|(_, highest)| **highest >= low);
        let meeting = near.filter(|((_, last, _), _)| *last >= low);
        let mut numbers: Vec<usize> = meeting.map(|((_, _, number), _)| *number).collect();
        numbers.sort_unstable();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_intervals_that_meet_one_are_found(
            intervals in proptest::collection::vec((0u64..50, 0u64..12), 0..30),
            asked in (0u64..50, 0u64..12),
        ) {
            let intervals: Vec<(u64, u64)> = intervals.into_iter().map(|(low, len)| (low, low + len)).collect();
            let asked = (asked.0, asked.0 + asked.1);
            let expected: Vec<usize> = (0..intervals.len())
                .filter(|number| intervals[*number].0 <= asked.1 && asked.0 <= intervals[*number].1)
                .collect();
            prop_assert_eq!(Places::new(intervals.into_iter()).meeting(asked), expected);
        }
    }
}
