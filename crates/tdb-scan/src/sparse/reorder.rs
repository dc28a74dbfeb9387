//! Puts a column of selected cells in the order of the result, in memory that is no longer needed
//! where there is some.

use tdb_codec::Buffer;

use crate::buffers::{check_room, index_of, unfilled};
use crate::gather::{gather_fixed, gather_var, keep_cells};
use crate::plan::Plan;
use crate::{Column, OrInternal, Result, parallel};

/// Codes that a thread puts in order at a time.
const CODE_BAND: usize = 1 << 17;

/// Buffers whose memory can be reused.
#[derive(Default)]
pub(super) struct SpareBuffers(pub(super) Vec<Buffer>);

impl SpareBuffers {
    /// A buffer of `len` bytes with arbitrary contents.
    pub(super) fn take(&mut self, len: usize) -> Result<Buffer> {
        // A little too large is fine; a much larger buffer would only waste memory.
        let fits = |buffer: &Buffer| (len..=len.saturating_add(len / 4)).contains(&buffer.capacity());
        let Some(at) = self.0.iter().position(fits) else { return unfilled(len) };
        let mut buffer = self.0.swap_remove(at);
        buffer.reset(len);
        Ok(buffer)
    }
}

/// The column without the cells that `order`, which is ascending, leaves out.
pub(super) fn kept(plan: &Plan, mut column: Column, order: &[u32]) -> Result<Column> {
    let mut moved = 0usize;
    if let Some(size) = column.cell_size() {
        moved = keep_cells(column.data.as_mut_slice(), size, order)?;
        column.data.resize(order.len().saturating_mul(size));
    }
    if let Some(validity) = &mut column.validity {
        moved = moved.saturating_add(keep_cells(validity, 1, order)?);
        validity.truncate(order.len());
    }
    plan.array.context().counters.copied(moved);
    Ok(column)
}

/// The column in another order; its old memory becomes spare.
pub(super) fn reorder(
    plan: &Plan,
    column: Column,
    order: &[u32],
    spare: &mut SpareBuffers,
) -> Result<Column> {
    let context = plan.array.context();
    let validity = match column.validity() {
        Some(validity) => {
            check_room(order.len())?;
            let mut ordered = vec![0; order.len()];
            gather_fixed(context.threads, validity, 1, order, &mut ordered)?;
            context.counters.copied(ordered.len());
            Some(ordered)
        }
        None => None,
    };
    if let Some(codes) = &column.codes {
        // The strings stay where they are.
        let mut ordered = vec![0u32; order.len()];
        let bands = ordered.chunks_mut(CODE_BAND).zip(order.chunks(CODE_BAND)).collect();
        let gather = |(band, order): (&mut [u32], &[u32]), (): &mut ()| {
            for (slot, cell) in band.iter_mut().zip(order) {
                *slot = *codes.get(index_of(*cell)).or_internal("a cell has no code of its string")?;
            }
            Ok(())
        };
        parallel::run(context.threads, bands, || (), gather)?;
        context.counters.copied(order.len().saturating_mul(size_of::<u32>()));
        return Ok(Column { validity, codes: Some(ordered), ..column });
    }
    let (data, offsets) = match column.offsets() {
        Some(offsets) => {
            let (offsets, data) = gather_var(context.threads, offsets, column.bytes(), order)?;
            (data, Some(offsets))
        }
        None => {
            let bytes = column.bytes().len();
            let size = column.cell_size().filter(|size| bytes.is_multiple_of(*size));
            let size = size.or_internal("a column has a part of a cell")?;
            let len = order.len().saturating_mul(size);
            let mut data = match &plan.memory {
                Some(_) => plan.column_buffer(&column.name, len)?,
                None => spare.take(len)?,
            };
            gather_fixed(context.threads, column.bytes(), size, order, data.as_mut_slice())?;
            (data, None)
        }
    };
    context.counters.copied(data.len());
    spare.0.push(column.data);
    let Column { name, datatype, cell_val_num, .. } = column;
    Ok(Column { name, datatype, cell_val_num, data, offsets, validity, codes: None })
}
