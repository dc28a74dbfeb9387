//! Boxes of cells inside of larger ones: which cells lie together in both.

/// A side of a box that is copied: where it begins in the source and in the target, and how long
/// it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) length: usize,
}

/// Calls a function with each run of cells that lie together: the number of its first one in the
/// source and in the target, and how many they are. Both are in row-major order, and have these
/// lengths along the axes. `None` if a box is not inside of them.
pub(crate) fn for_each_run(
    sides: &[Side],
    source: &[usize],
    target: &[usize],
    mut run: impl FnMut(usize, usize, usize) -> Option<()>,
) -> Option<()> {
    let inside = |begin: fn(&Side) -> usize, lengths: &[usize]| {
        lengths.len() == sides.len()
            && sides
                .iter()
                .zip(lengths)
                .all(|(side, length)| begin(side).checked_add(side.length).is_some_and(|end| end <= *length))
    };
    if !inside(|side| side.source, source) || !inside(|side| side.target, target) {
        return None;
    }
    let steps = strides(source)?.into_iter().zip(strides(target)?);
    let axes: Vec<(Side, usize, usize)> =
        sides.iter().zip(steps).map(|(side, (source, target))| (*side, source, target)).collect();
    let Some(((last, _, _), slower)) = axes.split_last() else { return run(0, 0, 1) };
    if sides.iter().any(|side| side.length == 0) {
        return Some(());
    }
    let first = |at: fn(&(Side, usize, usize)) -> usize| axes.iter().map(at).sum::<usize>();
    let mut from = first(|(side, step, _)| side.source * step);
    let mut to = first(|(side, _, step)| side.target * step);
    let mut place = vec![0usize; slower.len()];
    loop {
        run(from, to, last.length)?;
        let mut is_done = true;
        for (at, (side, source, target)) in place.iter_mut().zip(slower).rev() {
            *at += 1;
            (from, to) = (from + source, to + target);
            if *at < side.length {
                is_done = false;
                break;
            }
            (from, to) = (from - *at * source, to - *at * target);
            *at = 0;
        }
        if is_done {
            return Some(());
        }
    }
}

/// The distance of neighbours along each axis.
pub(crate) fn strides(lengths: &[usize]) -> Option<Vec<usize>> {
    let mut step = 1usize;
    let mut steps = Vec::with_capacity(lengths.len());
    for length in lengths.iter().rev() {
        steps.push(step);
        step = step.checked_mul(*length)?;
    }
    steps.reverse();
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(source: usize, target: usize, length: usize) -> Side {
        Side { source, target, length }
    }

    #[test]
    fn rows_of_a_box_are_runs() {
        let mut runs = Vec::new();
        let sides = [side(1, 0, 2), side(0, 3, 2)];
        for_each_run(&sides, &[4, 5], &[2, 10], |from, to, len| {
            runs.push((from, to, len));
            Some(())
        })
        .unwrap();
        assert_eq!(runs, [(5, 3, 2), (10, 13, 2)]);
        let mut count = 0;
        for_each_run(&[side(0, 0, 2), side(0, 0, 3), side(1, 1, 1)], &[2, 3, 2], &[2, 3, 2], |_, _, _| {
            count += 1;
            Some(())
        })
        .unwrap();
        assert_eq!(count, 6);
    }

    #[test]
    fn a_box_that_is_not_inside_has_no_runs() {
        let run = |_, _, _| Some(());
        assert!(for_each_run(&[side(1, 0, 2)], &[2], &[9], run).is_none());
        assert!(for_each_run(&[side(0, 8, 2)], &[2], &[9], run).is_none());
        assert!(for_each_run(&[side(usize::MAX, 0, 2)], &[2], &[9], run).is_none());
        assert!(for_each_run(&[side(0, 0, 1)], &[1, 1], &[9], run).is_none());
        assert!(for_each_run(&[side(0, 0, 0)], &[1], &[9], |_, _, _| None).is_some());
        assert!(for_each_run(&[], &[], &[], run).is_some());
    }
}
