//! Copies some cells of a tile.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::string_at;

use crate::buffers::index_of;
use crate::{Error, Result};

/// Reallocates a buffer that is going to be kept, so that it takes not much more memory than it has
/// bytes.
pub(super) fn fitted(buffer: Buffer) -> Buffer {
    if buffer.capacity() / 5 > buffer.len() / 4 { buffer.as_slice().into() } else { buffer }
}

/// The numbers of the cells that are marked.
pub(super) fn numbers_of(wanted: &[u8]) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(wanted.iter().map(|keep| usize::from(*keep != 0)).sum());
    let (blocks, rest) = wanted.as_chunks::<8>();
    // Wanted cells are mostly next to each other, and so are the others: `run` is where the
    // present run of wanted blocks begins.
    let (mut first, mut run) = (0u32, 0u32);
    for block in blocks {
        let next = first.saturating_add(8);
        if block.contains(&0) {
            numbers.extend(run..first);
            run = next;
            if u64::from_le_bytes(*block) != 0 {
                let marked = (first..next).zip(block).filter(|(_, keep)| **keep != 0);
                numbers.extend(marked.map(|(cell, _)| cell));
            }
        }
        first = next;
    }
    numbers.extend(run..first);
    numbers.extend((first..).zip(rest).filter(|(_, keep)| **keep != 0).map(|(cell, _)| cell));
    numbers
}

/// Copies cells of `size` bytes into `out`. `values` begins at byte `base` of the tile, which is
/// the start of a cell.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if some of the cells, which ascend, are not there.
pub(super) fn pick(values: &[u8], base: usize, size: usize, cells: &[u32], out: &mut [u8]) -> Result<()> {
    let first = base.checked_div(size).unwrap_or(0);
    if let (Some(low), Some(high)) = (cells.first(), cells.last()) {
        let end = index_of(*high).saturating_add(1).checked_sub(first).and_then(|end| end.checked_mul(size));
        let are_there = index_of(*low) >= first && end.is_some_and(|end| end <= values.len());
        if !are_there || cells.len().checked_mul(size) != Some(out.len()) {
            return Err(Error::internal("a picked cell lies outside its tile"));
        }
    }
    match size {
        1 => pick_sized::<1>(values, first, cells, out),
        2 => pick_sized::<2>(values, first, cells, out),
        4 => pick_sized::<4>(values, first, cells, out),
        8 => pick_sized::<8>(values, first, cells, out),
        _ => {
            for (slot, cell) in out.chunks_exact_mut(size.max(1)).zip(cells) {
                let start = index_of(*cell).saturating_sub(first).saturating_mul(size);
                if let Some(cell) = values.get(start..start.saturating_add(size)) {
                    slot.copy_from_slice(cell);
                }
            }
        }
    }
    Ok(())
}

fn pick_sized<const N: usize>(values: &[u8], first: usize, cells: &[u32], out: &mut [u8]) {
    let values = values.as_chunks::<N>().0;
    for (slot, cell) in out.as_chunks_mut::<N>().0.iter_mut().zip(cells) {
        if let Some(value) = values.get(index_of(*cell).wrapping_sub(first)) {
            *slot = *value;
        }
    }
}

/// Passes on the wanted cells of a var-length tile, and writes their lengths.
pub(super) fn copy_var_cells<'t>(
    (bytes, offsets): (&'t [u8], &[u64]),
    cells: &[u32],
    lengths: &mut [u64],
    mut value: impl FnMut(&'t [u8]),
) -> Result<()> {
    if lengths.len() != cells.len() {
        return Err(Error::internal("a picked cell has no length"));
    }
    for (cell, length) in cells.iter().zip(lengths) {
        let at = index_of(*cell);
        let Some([start, end]) = offsets.get(at..at.saturating_add(2)) else {
            return Err(Error::internal("a picked cell lies outside its tile"));
        };
        let cell = string_at(bytes, *start, *end);
        *length = to_u64(cell.len());
        value(cell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_cells_have_their_numbers_wherever_they_lie() {
        for len in [0usize, 1, 7, 8, 9, 40] {
            for mask in 0..4u32 {
                let marked = |cell: &u32| match mask {
                    0 => false,
                    1 => true,
                    2 => (8..19).contains(cell),
                    _ => cell.is_multiple_of(3),
                };
                let all = 0..u32::try_from(len).unwrap();
                let wanted: Vec<u8> = all.clone().map(|cell| u8::from(marked(&cell))).collect();
                assert_eq!(numbers_of(&wanted), all.filter(marked).collect::<Vec<u32>>());
            }
        }
    }

    #[test]
    fn cells_of_every_size_are_picked_from_where_their_values_begin() {
        for size in 1..=9usize {
            let values: Vec<u8> = (5..20u8).flat_map(|cell| vec![cell; size]).collect();
            let mut out = vec![0; 3 * size];
            pick(&values, 5 * size, size, &[5, 11, 19], &mut out).unwrap();
            assert_eq!(out, [5u8, 11, 19].into_iter().flat_map(|cell| vec![cell; size]).collect::<Vec<u8>>());
            for outside in [[4u32, 5], [19, 20]] {
                let picked = pick(&values, 5 * size, size, &outside, &mut vec![0; 2 * size]);
                assert!(matches!(picked, Err(Error::Internal(_))), "{outside:?}");
            }
        }
    }
}
