//! Ranges of a dimension or a label: checked, and put one after the other.

use core::cmp::Ordering;

use tdb_array::schema::{Datatype, Dimension, DimensionLabel, Native, PhysicalVisitor, Range};

use crate::dump;

/// Ranges in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeList(Vec<Range>);

impl RangeList {
    /// One range.
    pub(crate) fn of(range: Range) -> Self {
        Self(vec![range])
    }

    /// Adds a range, or makes the last one longer if this one follows it.
    pub(crate) fn add(&mut self, range: Range, datatype: Datatype, coalesces: bool) {
        if coalesces
            && let Some(last) = self.0.last_mut()
            && follows(datatype, &last.high, &range.low)
        {
            last.high = range.high;
            return;
        }
        self.0.push(range);
    }

    /// The ranges.
    pub(crate) fn ranges(&self) -> &[Range] {
        &self.0
    }
}

/// The limits of ranges.
pub(super) struct Ends<'a> {
    datatype: Datatype,
    is_text: bool,
    domain: Option<(&'a [u8], &'a [u8])>,
    refuses_outside: bool,
}

impl<'a> Ends<'a> {
    /// The limits of a dimension.
    pub(super) fn of_dimension(dimension: &'a Dimension, refuses_outside: bool) -> Self {
        let domain = dimension.domain.as_ref().map(|(low, high)| (low.as_slice(), high.as_slice()));
        Self { datatype: dimension.datatype, is_text: dimension.is_var(), domain, refuses_outside }
    }

    /// The limits of a label: its type.
    pub(super) fn of_label(label: &DimensionLabel) -> Self {
        let is_text = label.cell_val_num.is_var();
        Self { datatype: label.datatype, is_text, domain: None, refuses_outside: false }
    }

    /// The range, inside of the domain.
    ///
    /// # Errors
    /// Words why there is no such range.
    pub(super) fn checked(&self, mut range: Range) -> Result<Range, String> {
        if self.is_text {
            return Ok(range);
        }
        if [&range.low, &range.high].into_iter().any(|end| is_nan(self.datatype, end)) {
            return Err("Range contains NaN".to_owned());
        }
        if self.compare(&range.low, &range.high) == Ordering::Greater {
            let (low, high) = (self.show(&range.low), self.show(&range.high));
            return Err(format!("Lower range bound {low} cannot be larger than the higher bound {high}"));
        }
        let Some((least, greatest)) = self.domain else { return Ok(range) };
        if self.compare(&range.low, least) != Ordering::Less
            && self.compare(&range.high, greatest) != Ordering::Greater
        {
            return Ok(range);
        }
        if self.refuses_outside {
            let range = dump::range(self.datatype, &range.low, &range.high);
            let domain = dump::range(self.datatype, least, greatest);
            return Err(format!("Range {range} is out of domain bounds {domain}"));
        }
        for end in [&mut range.low, &mut range.high] {
            if self.compare(end, least) == Ordering::Less {
                *end = least.to_vec();
            } else if self.compare(end, greatest) == Ordering::Greater {
                *end = greatest.to_vec();
            }
        }
        Ok(range)
    }

    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        Range::compare(self.datatype, one, other)
    }

    fn show(&self, value: &[u8]) -> String {
        dump::number(self.datatype, value)
    }
}

/// Whether one integer follows another.
fn follows(datatype: Datatype, one: &[u8], other: &[u8]) -> bool {
    struct Follows<'a>(&'a [u8], &'a [u8]);
    impl PhysicalVisitor for Follows<'_> {
        type Output = bool;
        fn visit<T: Native>(self) -> bool {
            let values = T::from_le(self.0).zip(T::from_le(self.1));
            values.is_some_and(|(one, other)| one < other && other.above(one) == Some(1))
        }
    }
    !datatype.is_string() && datatype.physical().visit(Follows(one, other))
}

/// Whether a value is no number.
fn is_nan(datatype: Datatype, value: &[u8]) -> bool {
    struct IsNan<'a>(&'a [u8]);
    impl PhysicalVisitor for IsNan<'_> {
        type Output = bool;
        fn visit<T: Native>(self) -> bool {
            T::from_le(self.0).is_some_and(|value| value.to_f64().is_nan())
        }
    }
    datatype.physical().visit(IsNan(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: i32, high: i32) -> Range {
        Range::new(low.to_le_bytes(), high.to_le_bytes())
    }

    #[test]
    fn a_range_outside_of_the_domain_is_cut_or_refused() {
        let dimension = Dimension::new("x", 1i32..=8);
        let cut = Ends::of_dimension(&dimension, false);
        assert_eq!(cut.checked(range(-5, 3)), Ok(range(1, 3)));
        assert_eq!(cut.checked(range(2, 30)), Ok(range(2, 8)));
        let refused = Ends::of_dimension(&dimension, true).checked(range(2, 30));
        assert_eq!(refused, Err("Range [2, 30] is out of domain bounds [1, 8]".to_owned()));
        let reversed = cut.checked(range(4, 3)).unwrap_err();
        assert!(reversed.contains("Lower range bound 4 cannot be larger"), "{reversed}");
    }

    #[test]
    fn a_range_that_is_no_number_is_refused() {
        let dimension = Dimension::new("x", 0f64..=1.0);
        let nan = Range::new(f64::NAN.to_le_bytes(), 1f64.to_le_bytes());
        let found = Ends::of_dimension(&dimension, false).checked(nan);
        assert_eq!(found, Err("Range contains NaN".to_owned()));
    }

    #[test]
    fn ranges_of_integers_that_follow_each_other_become_one_unless_that_is_not_wanted() {
        let mut list = RangeList::of(range(1, 2));
        list.add(range(3, 3), Datatype::Int32, true);
        list.add(range(2, 2), Datatype::Int32, true);
        assert_eq!(list.ranges(), [range(1, 3), range(2, 2)]);
        let mut apart = RangeList::of(range(1, 2));
        apart.add(range(3, 3), Datatype::Int32, false);
        assert_eq!(apart.ranges().len(), 2);
        assert!(!follows(Datatype::Int32, &i32::MAX.to_le_bytes(), &i32::MIN.to_le_bytes()));
        assert!(!follows(Datatype::Float64, &1f64.to_le_bytes(), &2f64.to_le_bytes()));
    }
}
