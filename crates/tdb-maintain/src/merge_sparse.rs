//! Consolidation of sparse fragments: all versions of all cells, each with the time at which it was
//! written.

use tdb_codec::{Gate, to_u64, to_usize};
use tdb_schema::{Dimension, FieldKind};

use crate::buffers::index_of;
use crate::condition::{ColumnView, Columns, Program};
use crate::context::Context;
use crate::facts::FieldFacts;
use crate::fragment::Fragment;
use crate::job::Job;
use crate::merge::{Batch, Gathered, Merge};
use crate::merge_fields::MergedField;
use crate::merge_key::{KeyWidth, Keyer, MergeKey};
use crate::merge_source::{Source, decode_words};
use crate::plan::Tell;
use crate::sparse::deletes::{processed_conditions, stored_program};
use crate::tiles::FieldTiles;
use crate::worker::Worker;
use crate::write::{CheckedColumn, Merged};
use crate::{Column, Error, FragmentWriter, OrInternal, Result, clock, parallel};

/// The deletion time of cells that were not deleted.
const NEVER: u64 = u64::MAX;

/// Writes the new fragments; adds each one's folder to `folders` when it is complete.
pub(super) fn run(job: &Job<'_>, folders: &mut Vec<String>, tell: &mut Tell<'_>) -> Result<()> {
    let keyer = Keyer::new(job.writer.schema());
    let mut unsorted = Vec::new();
    loop {
        let again = match keyer.width() {
            KeyWidth::Packed => merge::<u128>(job, &keyer, &unsorted, folders, tell)?,
            KeyWidth::Words => merge::<[u64; 5]>(job, &keyer, &unsorted, folders, tell)?,
            KeyWidth::Bytes => merge::<Vec<u8>>(job, &keyer, &unsorted, folders, tell)?,
        };
        // A fragment that is not stored in order is sorted in memory; what was written before this
        // was detected is removed.
        let Some(index) = again else { return Ok(()) };
        unsorted.push(index);
        for folder in folders.drain(..) {
            job.writer.storage().remove_folder(&folder).map_err(|error| Error::io(&folder, error))?;
        }
    }
}

/// Merges everything once. Returns the input that turned out to be out of order, if any.
fn merge<K: MergeKey>(
    job: &Job<'_>,
    keyer: &Keyer<'_>,
    unsorted: &[usize],
    folders: &mut Vec<String>,
    tell: &mut Tell<'_>,
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
fn attributes(job: &Job<'_>) -> Result<Vec<MergedField>> {
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

/// How many cells of a batch fit into the allowed memory.
fn batch_cells(job: &Job<'_>) -> Result<usize> {
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
    let max = if job.settings.fragment_bytes == u64::MAX { MOST_CELLS } else { schema.capacity };
    Ok(to_usize(room.clamp(1, max.max(1))).unwrap_or(1))
}

/// Larger batches are not faster.
const MOST_CELLS: u64 = 1 << 21;

/// Appends a batch to a fragment, which refuses columns that lack a field or a cell.
fn append(
    job: &Job<'_>,
    fields: &[MergedField],
    batch: &Batch,
    marks: Option<&Marks>,
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
        let Gathered { values, offsets } = own;
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

/// Which cells remain after a purge: not those that were deleted by now, nor those that they
/// replaced. Deletes of a later time find the others then.
fn kept(batch: &Batch, marks: &Marks, duplicates: bool, present: u64) -> Vec<bool> {
    let mut gone = false;
    let cells = batch.first.iter().zip(&marks.times);
    cells
        .map(|(first, time)| {
            gone = (*time != NEVER && *time <= present) || (gone && !first && !duplicates);
            !gone
        })
        .collect()
}

/// When and by which delete each cell of a batch was deleted.
struct Marks {
    times: Vec<u64>,
    /// Indexes into the list of processed deletes.
    indices: Vec<u64>,
}

/// The deletes of the array, and which of them the inputs have applied.
struct Deletes<'a> {
    job: &'a Job<'a>,
    /// Whether any delete affects the inputs.
    any: bool,
    /// What is to be deleted after this is seen now.
    present: u64,
    /// All existing deletes, ordered by time.
    paths: Vec<String>,
    sources: Vec<Known>,
    /// The conditions, one root for each delete.
    program: Program,
    /// The fields of the program.
    fields: Vec<MergedField>,
}

/// What is stored in an input.
struct Known {
    /// Numbers of the deletes that are still to be applied.
    open: Vec<usize>,
    /// Times of deletion, if they are stored.
    times: Option<FieldTiles>,
}

impl<'a> Deletes<'a> {
    fn new(job: &'a Job<'a>) -> Result<Self> {
        let (array, context) = (job.array, job.array.context());
        let paths: Vec<String> = array.deletes().iter().map(|delete| delete.path.clone()).collect();
        let first = job.inputs.iter().map(|fragment| fragment.timestamps().0).min().unwrap_or(0);
        let concerns = array.deletes().iter().any(|delete| delete.time >= first);
        let flagged = job.inputs.iter().any(|fragment| fragment.footer().has_delete_metadata);
        let mut sources = Vec::with_capacity(job.inputs.len());
        for fragment in &job.inputs {
            let done = processed_conditions(context, fragment)?;
            let open = array.deletes().iter().enumerate();
            let open = open
                .filter(|(_, delete)| delete.time >= fragment.timestamps().0 && !done.contains(&delete.path));
            let open = open.map(|(index, _)| index).collect();
            sources.push(Known { open, times: FieldTiles::delete_timestamps(context, fragment)? });
        }
        let program = stored_program(array)?;
        let fields = program
            .fields
            .iter()
            .map(|field| MergedField::of_column(context, field.spec.clone(), field.kind, &job.inputs));
        let fields = fields.collect::<Result<_>>()?;
        let present = clock::present().unwrap_or(u64::MAX);
        Ok(Self { job, any: concerns || flagged, present, paths, sources, program, fields })
    }

    /// What the new fragment stores about them.
    fn merged(&self, job: &Job<'_>, part: usize) -> Result<Merged> {
        let processed = if job.writer.schema().version.has(Gate::DeleteMetadata) {
            self.paths.clone()
        } else {
            Vec::new()
        };
        let deletes = self.any && !job.settings.purge;
        Ok(Merged { name: job.part(part)?, marks: crate::write::Marks { times: true, deletes, processed } })
    }

    /// When each cell was deleted; `None` if no delete affects the inputs.
    fn marks(&self, context: &Context, batch: &Batch) -> Result<Option<Marks>> {
        if !self.any {
            return Ok(None);
        }
        let mut stored: Vec<Option<Vec<u64>>> = Vec::with_capacity(batch.slots.len());
        let mut worker = Worker::default();
        for slot in &batch.slots {
            let known = self.sources.get(slot.source).or_internal("a source without its deletes")?;
            stored.push(match &known.times {
                Some(tiles) => Some(decode_words(context, tiles, slot.tile, slot.cells, &mut worker)?),
                None => None,
            });
        }
        let removed = self.removed(context, batch)?;
        let deletes = self.job.array.deletes();
        let mut marks = Marks { times: Vec::new(), indices: Vec::new() };
        for ((slot, cell), removed) in batch.cells.iter().zip(removed) {
            let before = match stored.get(index_of(*slot)).or_internal("a tile without its slot")? {
                Some(times) => times.get(index_of(*cell)).copied(),
                None => Some(NEVER),
            };
            let before = before.or_internal("a tile without the time when a cell was deleted")?;
            let found = match removed {
                Some(index) => {
                    Some((deletes.get(index).or_internal("a number without a delete")?.time, index))
                }
                None => None,
            };
            let (time, index) = match found {
                Some((time, index)) if time < before => (time, to_u64(index)),
                // Only the time of the delete is known: no reader asks which of several deletes it
                // was.
                _ if before != NEVER => {
                    // The file of that delete may be gone.
                    let index = deletes.iter().position(|delete| delete.time == before);
                    (before, index.map_or(NEVER, to_u64))
                }
                _ => (NEVER, NEVER),
            };
            marks.times.push(time);
            marks.indices.push(index);
        }
        Ok(Some(marks))
    }

    /// For each cell of a batch, the first of the unapplied deletes that removes it.
    fn removed(&self, context: &Context, batch: &Batch) -> Result<Vec<Option<usize>>> {
        let columns = self.fields.iter().map(|field| field.collect(context, batch)).collect::<Result<_>>()?;
        let present = |field: &MergedField| -> Result<Vec<u8>> {
            let by_slot = batch.slots.iter().map(|slot| Ok(u8::from(!field.is_missing(slot.source)?)));
            let by_slot = by_slot.collect::<Result<Vec<u8>>>()?;
            let present: Option<_> =
                batch.cells.iter().map(|(slot, _)| by_slot.get(index_of(*slot)).copied()).collect();
            present.or_internal("a tile without its slot")
        };
        let present = self.fields.iter().map(present).collect::<Result<_>>()?;
        let mut collected = Collected { columns, present };
        let mut removed = vec![None; batch.cells.len()];
        let all = vec![1u8; batch.cells.len()];
        for (index, delete) in self.job.array.deletes().iter().enumerate() {
            let concerned = batch.slots.iter().map(|slot| self.concerned(slot.source, (index, delete.time)));
            let concerned = concerned.collect::<Result<Vec<Concerned>>>()?;
            let cells = batch.cells.iter().zip(&batch.times).zip(&removed);
            let asked = cells.map(|(((slot, _), written), removed)| {
                let asked = match concerned.get(index_of(*slot))? {
                    Concerned::None => false,
                    Concerned::Older => *written <= delete.time,
                    Concerned::All => true,
                };
                Some(u8::from(removed.is_none() && asked))
            });
            let asked: Option<Vec<u8>> = asked.collect();
            let asked = asked.or_internal("a tile without its slot")?;
            if !asked.contains(&1) {
                continue;
            }
            // The file contains the negation of the deleting condition.
            let mut stays = asked.clone();
            self.program.apply_within(index, &mut collected, &all, &mut stays)?;
            for (removed, (asked, stays)) in removed.iter_mut().zip(asked.iter().zip(&stays)) {
                if *asked == 1 && *stays == 0 {
                    *removed = Some(index);
                }
            }
        }
        Ok(removed)
    }

    /// For which cells of a source a delete, of this number and time, must be evaluated.
    fn concerned(&self, source: usize, (delete, time): (usize, u64)) -> Result<Concerned> {
        let both = self.sources.get(source).zip(self.job.inputs.get(source));
        let (known, fragment) = both.or_internal("a source without its deletes")?;
        Ok(match known.open.contains(&delete) {
            false => Concerned::None,
            true if fragment.footer().has_timestamps && time <= fragment.timestamps().1 => Concerned::Older,
            true => Concerned::All,
        })
    }
}

/// The cells of a source for which a delete must be evaluated.
enum Concerned {
    None,
    /// Those that were not written after it.
    Older,
    All,
}

/// The cells of a batch in the fields of the conditions.
struct Collected {
    columns: Vec<Column>,
    /// Whether each cell has the field at all, one byte per cell.
    present: Vec<Vec<u8>>,
}

impl Columns for Collected {
    fn column(&mut self, field: usize, _mask: &[u8]) -> Result<Option<ColumnView<'_>>> {
        let both = self.columns.get(field).zip(self.present.get(field));
        let (column, present) = both.or_internal("a condition without the cells of its field")?;
        Ok(Some(ColumnView {
            values: column.bytes(),
            offsets: column.offsets(),
            codes: None,
            validity: column.validity(),
            present: Some(present),
        }))
    }

    fn facts(&self, _field: usize) -> FieldFacts<'_> {
        FieldFacts::Perhaps
    }
}
