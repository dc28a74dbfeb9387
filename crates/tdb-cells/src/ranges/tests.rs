use proptest::prelude::*;
use tdb_codec::Datatype;

use super::*;

fn byte() -> Dimension {
    Dimension::new("x", -100i8..=100)
}

fn ends(low: i8, high: i8) -> Result<Bounds, QueryError> {
    Ok(Bounds { low: Some(vec![low.cast_unsigned()]), high: Some(vec![high.cast_unsigned()]) })
}

fn text(low: &str, high: &str) -> Result<Bounds, QueryError> {
    Ok(Bounds { low: Some(low.into()), high: Some(high.into()) })
}

fn bytes_of(set: &RangeSet) -> Vec<(i8, i8)> {
    let end = |end: Option<Vec<u8>>| end.unwrap()[0].cast_signed();
    set.iter(&byte()).map(|ends| (end(ends.low), end(ends.high))).collect()
}

#[test]
fn intervals_keep_the_order_they_were_asked_for_until_they_are_merged() {
    let set = RangeSet::new(&byte(), [ends(6, 6), ends(-3, 3), ends(2, 4), ends(7, 9)]).unwrap();
    assert_eq!(bytes_of(&set), [(6, 6), (-3, 3), (2, 4), (7, 9)]);
    assert_eq!(bytes_of(&set.merged(&byte()).unwrap()), [(-3, 4), (6, 9)], "6 and 7 follow each other");
}

#[test]
fn only_neighbouring_integers_are_joined_not_neighbouring_reals() {
    let real = Dimension::new("x", -10f64..=10.0);
    let at = |value: f64| {
        Ok(Bounds { low: Some(value.to_le_bytes().into()), high: Some(value.to_le_bytes().into()) })
    };
    let set = RangeSet::new(&real, [at(1.0), at(1.0f64.next_up()), at(-0.0), at(0.0)])
        .unwrap()
        .merged(&real)
        .unwrap();
    assert_eq!(set.len(&real), Some(3), "both zeros are one");
    let edge = Dimension::new("x", 0u64..=u64::MAX - 1);
    let at = |value: u64| {
        Ok(Bounds { low: Some(value.to_le_bytes().into()), high: Some(value.to_le_bytes().into()) })
    };
    let set =
        RangeSet::new(&edge, [at(u64::MAX - 2), at(0), at(u64::MAX - 3)]).unwrap().merged(&edge).unwrap();
    assert_eq!(set.ordinals(&edge), Some(vec![(0, 0), (u64::MAX - 3, u64::MAX - 2)]));
}

#[test]
fn string_intervals_with_open_ends_swallow_what_they_hold() {
    let name = Dimension::string("s");
    let open = || Ok(Bounds { low: Some(b"m".to_vec()), high: None });
    let asked = [text("x", "y"), open(), text("c", "d"), text("d", "e"), text("", "a")];
    let set = RangeSet::new(&name, asked).unwrap().merged(&name).unwrap();
    let found: Vec<_> = set.iter(&name).map(|ends| (ends.low.unwrap(), ends.high)).collect();
    let expected = [(&b""[..], Some(&b"a"[..])), (b"c", Some(b"e")), (b"m", None)];
    assert_eq!(found, expected.map(|(low, high)| (low.to_vec(), high.map(<[u8]>::to_vec))));
    assert!(set.overlaps(&name, b"e", b"f") && !set.overlaps(&name, b"ea", b"l"));
    assert!(set.covers(&name, b"zz", b"zzz") && !set.covers(&name, b"d", b"f"));
    let values: [&[u8]; 5] = [b"", b"b", b"d", b"ea", b"\xff"];
    let mut wanted = vec![1; 5];
    set.keep_strings(values.into_iter(), &mut wanted).unwrap();
    assert_eq!(wanted, [1, 0, 1, 0, 1]);
}

#[test]
fn the_whole_domain_is_no_list_and_no_interval_is_nothing() {
    assert!(RangeSet::new(&byte(), [ends(-100, 100)]).unwrap().is_all());
    assert!(RangeSet::new(&byte(), [Ok(Bounds::default())]).unwrap().is_all());
    assert!(
        !RangeSet::new(&byte(), [ends(-100, 100), ends(1, 1)]).unwrap().is_all(),
        "cells are wanted twice"
    );
    let none = RangeSet::new(&byte(), []).unwrap();
    assert_eq!(none.len(&byte()), Some(0));
    assert!(!none.overlaps(&byte(), &[0], &[1]) && !none.covers(&byte(), &[0], &[0]));
    let mut wanted = vec![1; 2];
    none.keep(&byte(), &Buffer::from(&[0u8, 1][..]), &mut wanted).unwrap();
    assert_eq!(wanted, [0, 0]);
}

#[test]
fn values_that_cannot_be_compared_and_values_of_another_size_are_refused() {
    let real = Dimension::new("x", 0f32..=1.0);
    let nan = Bounds { low: Some(f32::NAN.to_le_bytes().into()), high: None };
    assert!(matches!(RangeSet::new(&real, [Ok(nan)]), Err(QueryError::RangeType { .. })));
    let long = Bounds { low: Some(vec![0; 8]), high: None };
    assert!(matches!(RangeSet::new(&real, [Ok(long)]), Err(QueryError::RangeType { .. })));
    assert!(matches!(RangeSet::new(&byte(), [ends(3, 2)]), Err(QueryError::InvertedRange { .. })));
    assert_eq!(RangeSet::new(&byte(), [ends(101, 120)]).unwrap().len(&byte()), Some(0));
}

#[test]
fn narrowing_cuts_every_interval_and_keeps_their_order() {
    let set = RangeSet::new(&byte(), [ends(6, 9), ends(-3, 3), ends(20, 30)]).unwrap();
    let to = ends(2, 7).unwrap();
    assert_eq!(bytes_of(&set.narrowed(&byte(), &to).unwrap()), [(6, 7), (2, 3)]);
    assert_eq!(bytes_of(&RangeSet::ALL.narrowed(&byte(), &to).unwrap()), [(2, 7)]);
    assert_eq!(set.narrowed(&byte(), &ends(10, 19).unwrap()).unwrap().len(&byte()), Some(0));
    let name = Dimension::string("s");
    let narrowed = RangeSet::ALL.narrowed(&name, &text("b", "c").unwrap()).unwrap();
    assert!(narrowed.covers(&name, b"b", b"c") && !narrowed.overlaps(&name, b"ca", b"d"));
}

proptest! {
    #[test]
    fn sets_agree_with_asking_every_interval(
        intervals in proptest::collection::vec((-100i8..=100, 0i8..20), 0..12),
        mut values in proptest::collection::vec(any::<i8>(), 0..200),
        sorted in any::<bool>(),
        rectangle in (-100i8..=100, 0i8..30),
    ) {
        if sorted {
            values.sort_unstable();
        }
        let intervals: Vec<(i8, i8)> =
            intervals.into_iter().map(|(low, len)| (low, low.saturating_add(len).min(100))).collect();
        let inside = |value: i8| intervals.iter().any(|(low, high)| *low <= value && value <= *high);
        let dimension = byte();
        let asked = intervals.iter().map(|(low, high)| ends(*low, *high));
        let set = RangeSet::new(&dimension, asked).unwrap().merged(&dimension).unwrap();
        let (low, high) = (rectangle.0, rectangle.0.saturating_add(rectangle.1));
        let bytes = |value: i8| [value.cast_unsigned()];
        prop_assert_eq!(set.overlaps(&dimension, &bytes(low), &bytes(high)), (low..=high).any(inside));
        prop_assert_eq!(set.covers(&dimension, &bytes(low), &bytes(high)), (low..=high).all(inside) || set.is_all());
        let mut wanted = vec![1u8; values.len()];
        let cells: Vec<u8> = values.iter().map(|value| value.cast_unsigned()).collect();
        set.keep(&dimension, &Buffer::from(cells.as_slice()), &mut wanted).unwrap();
        for (value, keep) in values.iter().zip(wanted) {
            prop_assert_eq!(keep != 0, inside(*value) || set.is_all());
        }
        prop_assert_eq!(set.clone().merged(&dimension).unwrap(), set);
    }
}

#[test]
fn bytes_that_are_no_values_may_overlap_a_set_but_are_not_inside_it() {
    let set = RangeSet::new(&byte(), [ends(1, 5)]).unwrap();
    assert!(set.overlaps(&byte(), &[2, 0], &[3, 0]) && !set.covers(&byte(), &[2, 0], &[3, 0]));
    let long = Bounds { low: Some(vec![0; 2]), high: None };
    assert!(matches!(RangeSet::ALL.narrowed(&byte(), &long), Err(QueryError::RangeType { .. })));
}

#[test]
fn a_set_wants_a_coordinate_of_each_cell() {
    let internal = |found: Result<()>| assert!(matches!(found, Err(Error::Internal(_))));
    let set = RangeSet::new(&byte(), [ends(1, 5)]).unwrap();
    internal(set.keep(&byte(), &Buffer::from(&[1u8, 2][..]), &mut [1; 3]));
    internal(set.keep_strings([&b"a"[..]].into_iter(), &mut [1]));
    let names = RangeSet::new(&Dimension::string("s"), [text("a", "b")]).unwrap();
    internal(names.keep_strings([&b"a"[..]].into_iter(), &mut [1; 2]));
    internal(names.keep(&byte(), &Buffer::from(&[1u8][..]), &mut [1]));
}

#[test]
fn dates_are_sets_of_integers() {
    let day = Dimension::new("day", 0i64..=1000).with_datatype(Datatype::DatetimeDay);
    let at = |value: i64| {
        Ok(Bounds { low: Some(value.to_le_bytes().into()), high: Some(value.to_le_bytes().into()) })
    };
    let set = RangeSet::new(&day, [at(5), at(4), at(7)]).unwrap().merged(&day).unwrap();
    assert_eq!(set.ordinals(&day), Some(vec![(4, 5), (7, 7)]));
}
