//! Sets of values, as ascending disjoint intervals.

/// Types of values that intervals can have.
pub(crate) trait Key: Ord + Clone {
    /// The next value, if there is one.
    fn next(&self) -> Option<Self>;
}

impl Key for i128 {
    fn next(&self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Key for Vec<u8> {
    fn next(&self) -> Option<Self> {
        Some([self.as_slice(), &[0]].concat())
    }
}

/// Inclusive intervals, ascending. A high end of `None` is after all values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intervals<K>(Vec<(K, Option<K>)>);

impl<K: Key> Intervals<K> {
    /// No values.
    pub(crate) const NONE: Self = Self(Vec::new());

    /// The values from one to another, inclusive; empty if they are in the wrong order.
    pub(crate) fn between(low: K, high: Option<K>) -> Self {
        if high.as_ref().is_some_and(|high| low > *high) { Self::NONE } else { Self(vec![(low, high)]) }
    }

    /// All values after this one.
    pub(crate) fn after(value: &K) -> Self {
        value.next().map_or(Self::NONE, |low| Self::between(low, None))
    }

    /// Values that are in both sets.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            let low = a.0.clone().max(b.0.clone());
            let ends_first = ends_before(&a.1, &b.1);
            let high = if ends_first { a.1.clone() } else { b.1.clone() };
            if high.as_ref().is_none_or(|high| low <= *high) {
                both.push((low, high));
            }
            if ends_first {
                mine.next();
            } else {
                theirs.next();
            }
        }
        Self(both)
    }

    /// Values that are in any of these sets.
    pub(crate) fn any(sets: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<_> = sets.into_iter().flat_map(|set| set.0).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut merged: Vec<(K, Option<K>)> = Vec::with_capacity(all.len());
        for (low, high) in all {
            match merged.last_mut() {
                Some(last) if last.1.as_ref().is_none_or(|end| low <= *end) => {
                    if ends_before(&last.1, &high) {
                        last.1 = high;
                    }
                }
                _ => merged.push((low, high)),
            }
        }
        Self(merged)
    }

    /// Whether the set is empty.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The intervals.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, Option<K>)> {
        self.0.iter()
    }

    /// The number of intervals.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether an end comes before another; `None` is after all values.
fn ends_before<K: Ord>(a: &Option<K>, b: &Option<K>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(intervals: &[(i128, i128)]) -> Intervals<i128> {
        Intervals::any(intervals.iter().map(|(low, high)| Intervals::between(*low, Some(*high))))
    }

    #[test]
    fn sets_agree_with_the_values_that_are_in_them() {
        let sets = [
            set(&[]),
            set(&[(1, 3)]),
            set(&[(0, 0), (2, 5), (8, 9)]),
            set(&[(3, 4), (4, 8)]),
            Intervals::between(i128::MIN, None),
        ];
        let has = |set: &Intervals<i128>, value: i128| {
            set.iter().any(|(low, high)| *low <= value && high.is_none_or(|high| value <= high))
        };
        for a in &sets {
            for b in &sets {
                let (both, any) = (a.and(b), Intervals::any([a.clone(), b.clone()]));
                for value in -2..12 {
                    assert_eq!(has(&both, value), has(a, value) && has(b, value));
                    assert_eq!(has(&any, value), has(a, value) || has(b, value));
                }
            }
        }
    }

    #[test]
    fn after_a_text_comes_the_text_with_a_zero_byte() {
        let text = |bytes: &[u8]| bytes.to_vec();
        assert_eq!(Intervals::after(&text(b"a")), Intervals::between(text(b"a\0"), None));
        assert!(Intervals::between(text(b"b"), Some(text(b"a"))).is_empty());
    }
}
