//! Which chunks there are, as few boxes.

use crate::thresholds::{MAX_FRAGMENTS, MAX_SCATTERED, MAX_SPARSENESS};

/// The first and the last place along each axis.
pub(crate) type Ends = Vec<(u64, u64)>;

/// The number of places in a box.
pub(crate) fn count(ends: &[(u64, u64)]) -> u64 {
    ends.iter()
        .fold(1, |count: u64, (low, high)| count.saturating_mul(high.saturating_sub(*low).saturating_add(1)))
}

/// Few boxes in which all places are. They do not overlap; if places are scattered, there are
/// others in them, too. `Err` has the number of boxes if there are too many.
pub(crate) fn boxes(places: &[Vec<u64>]) -> Result<Vec<Ends>, usize> {
    let boxes = exact(places);
    let Some(around) = around(&boxes).filter(|_| boxes.len() > MAX_FRAGMENTS) else { return Ok(boxes) };
    let few = u64::try_from(places.len()).unwrap_or(u64::MAX).saturating_mul(MAX_SPARSENESS);
    match boxes.len() {
        _ if count(&around) <= few => Ok(vec![around]),
        many if many > MAX_SCATTERED => Err(many),
        _ => Ok(boxes),
    }
}

/// Boxes of these places and no others, which do not overlap.
pub(crate) fn exact(places: &[Vec<u64>]) -> Vec<Ends> {
    let boxes = places.iter().map(|place| place.iter().map(|at| (*at, *at)).collect()).collect();
    (0..places.first().map_or(0, Vec::len)).rev().fold(boxes, merged)
}

/// Unites boxes that follow each other along an axis and have the same ends along all others.
fn merged(mut boxes: Vec<Ends>, axis: usize) -> Vec<Ends> {
    let others = |ends: &Ends| -> Ends {
        ends.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, ends)| *ends).collect()
    };
    boxes.sort_by_cached_key(|ends| (others(ends), ends.get(axis).copied()));
    let mut out: Vec<Ends> = Vec::new();
    for next in boxes {
        let joins = out.last_mut().filter(|last| others(last) == others(&next));
        let ends = joins.and_then(|last| last.get_mut(axis)).zip(next.get(axis));
        match ends {
            Some((last, (low, high))) if last.1.checked_add(1) == Some(*low) => last.1 = *high,
            _ => out.push(next),
        }
    }
    out
}

/// The box around boxes.
fn around(boxes: &[Ends]) -> Option<Ends> {
    let (first, rest) = boxes.split_first()?;
    let mut around = first.clone();
    for ends in rest {
        for (whole, part) in around.iter_mut().zip(ends) {
            *whole = (whole.0.min(part.0), whole.1.max(part.1));
        }
    }
    Some(around)
}

/// The place of this number in a box, in row-major order; `None` if there are fewer.
pub(crate) fn place(ends: &[(u64, u64)], number: u64) -> Option<Vec<u64>> {
    let (mut place, mut rest) = (vec![0; ends.len()], number);
    for (at, (low, high)) in place.iter_mut().zip(ends).rev() {
        let length = high.checked_sub(*low)?.saturating_add(1);
        (*at, rest) = (low + rest % length, rest / length);
    }
    (rest == 0).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_grid_is_one_box_and_parts_of_it_are_few() {
        let grid = |rows: core::ops::Range<u64>, columns: core::ops::Range<u64>| -> Vec<Vec<u64>> {
            rows.flat_map(|row| columns.clone().map(move |column| vec![row, column])).collect()
        };
        assert_eq!(boxes(&grid(0..30, 2..9)).unwrap(), [[(0, 29), (2, 8)]]);
        let two = [grid(0..2, 0..2), grid(5..6, 0..9)].concat();
        assert_eq!(boxes(&two).unwrap(), [[(0, 1), (0, 1)], [(5, 5), (0, 8)]]);
        assert_eq!(boxes(&[]).unwrap(), Vec::<Ends>::new());
        assert_eq!(boxes(&[vec![]]).unwrap(), [vec![]]);
    }

    #[test]
    fn scattered_places_are_in_one_box_if_it_is_not_much_larger() {
        let every =
            |step: usize| -> Vec<Vec<u64>> { (0..100_000).step_by(step).map(|at| vec![at]).collect() };
        assert_eq!(boxes(&every(2)).unwrap(), [[(0, 99_998)]]);
        assert_eq!(boxes(&every(1000)).unwrap().len(), 100);
        assert_eq!(boxes(&every(9)), Err(11_112));
        let far = [vec![0, 0], vec![u64::MAX, u64::MAX]];
        assert_eq!(boxes(&far).unwrap().len(), 2);
    }

    #[test]
    fn places_follow_each_other_in_row_major_order() {
        let ends = [(1, 2), (5, 6)];
        let seen: Vec<Vec<u64>> = (0..).map_while(|number| place(&ends, number)).collect();
        assert_eq!(seen, [[1, 5], [1, 6], [2, 5], [2, 6]]);
        assert_eq!(count(&ends), 4);
        assert_eq!((place(&[], 0), place(&[], 1)), (Some(Vec::new()), None));
        assert_eq!(place(&[(0, u64::MAX - 1), (0, 9)], 1234), Some(vec![123, 4]));
    }
}
