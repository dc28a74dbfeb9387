//! Consolidation of sparse fragments: all versions of all cells, each with the time at which it was
//! written.

use tdb_codec::{to_u64, to_usize};
use tdb_schema::{Dimension, FieldKind};

use crate::fragment::Fragment;
use crate::job::ConsolidationJob;
use crate::merge::{Batch, GatheredCoordinates, Merge};
use crate::merge_deletes::{DeleteMarks, Deletes, kept};
use crate::merge_fields::MergedField;
use crate::merge_key::{KeyWidth, Keyer, MergeKey};
use crate::merge_source::Source;
use crate::plan::ReportProgress;
use crate::thresholds::MAX_BATCH_CELLS;
use crate::write::CheckedColumn;
use crate::{Column, Error, FragmentWriter, OrInternal, Result, parallel};

/// Writes the new fragments; adds each one's folder to `folders` when it is complete.
pub(super) fn run(
    job: &ConsolidationJob<'_>,
    folders: &mut Vec<String>,
    tell: &mut ReportProgress<'_>,
) -> Result<()> {
    let keyer = Keyer::new(job.writer.schema());
    let mut unsorted = Vec::new();
    loop {
        let again = match keyer.width() {
            KeyWidth::Packed => merge::<u128>(job, &keyer, &unsorted, folders, tell)?,
            KeyWidth::Words => merge::<[u64; 5]>(job, &keyer, &unsorted, folders, tell)?,
            KeyWidth::Bytes => merge::<Vec<u8>>(job, &keyer, &unsorted, folders, tell)?,
        };
        // A fragment that is not stored in order is sorted in memory; fragments that were written
        // before this was detected are removed.
        let Some(index) = again else { return Ok(()) };
        unsorted.push(index);
        for folder in folders.drain(..) {
            job.writer.storage().remove_folder(&folder).map_err(|error| Error::io(&folder, error))?;
        }
    }
}

/// Merges everything once. Returns the input that turned out to be out of order, if any.
fn merge<K: MergeKey>(
    job: &ConsolidationJob<'_>,
    keyer: &Keyer<'_>,
    unsorted: &[usize],
    folders: &mut Vec<String>,
    tell: &mut ReportProgress<'_>,
) -> Result<Option<usize>> {
    let context = job.array.context();
    let inputs: Vec<(usize, &Fragment)> = job.inputs.iter().copied().enumerate().collect();
    let sources: Vec<Source<'_, K>> = parallel::run(
        context.threads,
        inputs,
        || (),
        |(index, fragment), ()| Source::open(context, keyer, fragment, unsorted.contains(&index)),
    )?;
    let mut merge = Merge::new(context.threads, sources)?;
    if merge.unsorted.is_some() {
        return Ok(merge.unsorted);
    }
    let schema = job.writer.schema();
    let deletes = Deletes::new(job)?;
    let fields = attributes(job)?;
    let max = batch_cells(job)?;
    let total = job.inputs.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.cell_count()));
    let (mut done, mut left) = (0u64, 0u64);
    let sizes: Vec<Option<usize>> = schema.domain.dimensions.iter().map(size_of).collect();
    let mut output: Option<FragmentWriter<'_>> = None;
    let mut largest = 0u64;
    loop {
        // All versions of a cell stay in one fragment, in their order.
        let taken = merge.next(max, !schema.allows_duplicates);
        let mut batch = match taken {
            Ok(batch) => batch,
            Err(_) if merge.unsorted.is_some() => return Ok(merge.unsorted),
            Err(error) => return Err(error),
        };
        if batch.cells.is_empty() {
            break;
        }
        batch.check()?;
        done = done.saturating_add(to_u64(batch.cells.len()));
        tell(done.min(total.saturating_sub(1)), total)?;
        let mut marks = deletes.marks(context, &batch)?;
        if job.settings.purge
            && let Some(marks) = marks.take()
        {
            let keep = kept(&batch, &marks, schema.allows_duplicates, deletes.present);
            batch.retain(&keep, &sizes)?;
        }
        if batch.cells.is_empty() {
            continue;
        }
        left = left.saturating_add(to_u64(batch.cells.len()));
        let before = output.as_ref().map_or(0, FragmentWriter::data_bytes);
        let full = before > 0 && before.saturating_add(largest) > job.settings.fragment_bytes;
        if full && let Some(output) = output.take() {
            folders.push(output.finish_unmarked()?);
        }
        let writer = match &mut output {
            Some(writer) => writer,
            none => {
                none.insert(FragmentWriter::sparse_merged(job.writer, deletes.merged(job, folders.len())?)?)
            }
        };
        let start = writer.data_bytes();
        append(job, &fields, &batch, marks.as_ref(), writer)?;
        largest = largest.max(writer.data_bytes().saturating_sub(start));
    }
    if left == 0 {
        return Err(Error::refused("consolidation", "every cell is deleted, so there is nothing to write"));
    }
    if let Some(output) = output {
        folders.push(output.finish_unmarked()?);
    }
    Ok(None)
}

/// The attributes of the new fragments, in the schema's order.
fn attributes(job: &ConsolidationJob<'_>) -> Result<Vec<MergedField>> {
    let (context, schema) = (job.array.context(), job.writer.schema());
    let open = |index: usize| {
        let field = schema.field_of(FieldKind::Attribute(index));
        let field = field.or_internal("a schema without one of its attributes")?;
        MergedField::open(context, schema, &field, &job.inputs)
    };
    (0..schema.attributes.len()).map(open).collect()
}

/// Size in bytes of a cell of fixed size; `None` for strings.
fn size_of(dimension: &Dimension) -> Option<usize> {
    (!dimension.is_var()).then(|| dimension.datatype.size())
}

/// The number of cells of a batch that fit into the allowed memory.
fn batch_cells(job: &ConsolidationJob<'_>) -> Result<usize> {
    let schema = job.writer.schema();
    let context = job.array.context();
    let total = job.inputs.iter().fold(1u64, |sum, fragment| sum.saturating_add(fragment.cell_count()));
    // Bytes of a cell while it is merged: its position, time, key.
    let mut cell = 64u64;
    let mut waiting = 0u64;
    for field in schema.fields() {
        cell = cell.saturating_add(to_u64(field.cell_size().unwrap_or(8)).saturating_add(1));
        if !field.is_var() {
            continue;
        }
        let mut bytes = 0u64;
        for fragment in &job.inputs {
            let own = fragment.schema().field(field.name).filter(tdb_schema::Field::is_var);
            let Some(own) = own else { continue };
            let sizes = fragment.var_sizes(context, own.kind)?;
            bytes = sizes.iter().fold(bytes, |sum, size| sum.saturating_add(*size));
        }
        cell = cell.saturating_add(bytes.checked_div(total).unwrap_or(0).saturating_add(1));
    }
    for fragment in &job.inputs {
        // Coordinates and keys of one tile.
        let cells = fragment.footer().sparse_tile_cells(0, fragment.schema().capacity);
        waiting = waiting.saturating_add(cells.saturating_mul(cell.min(64)));
    }
    let memory = job.settings.memory;
    if waiting > memory.checked_div(2).unwrap_or(0) {
        let why = format!(
            "{} fragments at a time need {waiting} bytes of memory for a tile of each, which is over half of the {memory} that \
             are allowed; choose fewer at a time",
            job.inputs.len()
        );
        return Err(Error::refused("consolidation", why));
    }
    let room = memory.saturating_sub(waiting).checked_div(cell.saturating_mul(3)).unwrap_or(0);
    // If the size of fragments is limited, it is checked tile by tile.
    let max = if job.settings.fragment_bytes == u64::MAX { MAX_BATCH_CELLS } else { schema.capacity };
    Ok(to_usize(room.clamp(1, max.max(1))).unwrap_or(1))
}

/// Appends a batch to a fragment, which refuses columns that lack a field or a cell.
fn append(
    job: &ConsolidationJob<'_>,
    fields: &[MergedField],
    batch: &Batch,
    marks: Option<&DeleteMarks>,
    writer: &mut FragmentWriter<'_>,
) -> Result<()> {
    let schema = job.writer.schema();
    let context = job.array.context();
    let cells = batch.cells.len();
    // Fields are collected one after the other, but all are filtered at once.
    let collected: Vec<Column> =
        fields.iter().map(|field| field.collect(context, batch)).collect::<Result<_>>()?;
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut extra = vec![words(&batch.times)];
    if let Some(marks) = marks {
        extra.push(words(&marks.times));
        extra.push(words(&marks.indices));
    }
    let mut columns: Vec<CheckedColumn<'_>> = collected
        .iter()
        .enumerate()
        .map(|(index, column)| CheckedColumn::of(FieldKind::Attribute(index), column, cells))
        .collect();
    let dimensions = &schema.domain.dimensions;
    for (index, (dimension, own)) in dimensions.iter().zip(&batch.coordinates).enumerate() {
        let GatheredCoordinates { values, offsets } = own;
        let (cell_size, value_size) = (size_of(dimension), dimension.datatype.size());
        let kind = FieldKind::Dimension(index);
        let is_real = dimension.datatype.physical().is_float();
        let validity = &[][..];
        columns.push(CheckedColumn {
            kind,
            cell_size,
            value_size,
            is_real,
            values,
            offsets,
            validity,
            cells,
        });
    }
    for (index, values) in extra.iter().enumerate() {
        let kind = FieldKind::Dimension(dimensions.len().saturating_add(index));
        columns.push(CheckedColumn {
            kind,
            cell_size: Some(8),
            value_size: 8,
            is_real: false,
            values,
            offsets: &[],
            validity: &[],
            cells,
        });
    }
    writer.append_in_order(&columns, cells)
}
