//! Deletes during a consolidation of sparse fragments: evaluates those that the inputs have not
//! applied, and records the time at which each cell was deleted.

use tdb_codec::{Gate, to_u64};
use tdb_predicate::{ColumnView, Columns, Program};

use crate::buffers::index_of;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::facts::FieldFacts;
use crate::job::ConsolidationJob;
use crate::merge::Batch;
use crate::merge_fields::MergedField;
use crate::merge_source::decode_words;
use crate::sparse::deletes::{processed_conditions, stored_program};
use crate::tiles::FieldTiles;
use crate::write::Merged;
use crate::{Column, OrInternal, Result, clock};

/// The deletion time of cells that were not deleted.
const NEVER: u64 = u64::MAX;

/// Returns a flag for each cell of a batch: whether it remains after a purge. Cells that were
/// deleted by now do not remain, nor do those that they replaced. Deletes of a later time are
/// applied to the others.
pub(super) fn kept(batch: &Batch, marks: &DeleteMarks, duplicates: bool, present: u64) -> Vec<bool> {
    let mut gone = false;
    let cells = batch.first.iter().zip(&marks.times);
    cells
        .map(|(first, time)| {
            gone = (*time != NEVER && *time <= present) || (gone && !first && !duplicates);
            !gone
        })
        .collect()
}

/// The time and the delete by which each cell of a batch was deleted.
pub(super) struct DeleteMarks {
    pub(super) times: Vec<u64>,
    /// Indexes into the list of processed deletes.
    pub(super) indices: Vec<u64>,
}

/// The deletes of the array, and those that each input has applied already.
pub(super) struct Deletes<'a> {
    job: &'a ConsolidationJob<'a>,
    /// Whether any delete affects the inputs.
    any: bool,
    /// The present time: cells with a later time of deletion still exist.
    pub(super) present: u64,
    /// All existing deletes, ordered by time.
    paths: Vec<String>,
    sources: Vec<InputDeletes>,
    /// The conditions, one root for each delete.
    program: Program,
    /// The fields of the program.
    fields: Vec<MergedField>,
}

/// The deletes that an input has not applied, and the times of deletion that it stores.
struct InputDeletes {
    /// Numbers of the deletes that are still to be applied.
    open: Vec<usize>,
    /// Times of deletion, if they are stored.
    times: Option<FieldTiles>,
}

impl<'a> Deletes<'a> {
    pub(super) fn new(job: &'a ConsolidationJob<'a>) -> Result<Self> {
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
            sources.push(InputDeletes { open, times: FieldTiles::delete_timestamps(context, fragment)? });
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

    /// The marks that a new fragment stores, and its name.
    pub(super) fn merged(&self, job: &ConsolidationJob<'_>, part: usize) -> Result<Merged> {
        let processed = if job.writer.schema().version.has(Gate::DeleteMetadata) {
            self.paths.clone()
        } else {
            Vec::new()
        };
        let deletes = self.any && !job.settings.purge;
        Ok(Merged { name: job.part(part)?, marks: crate::write::Marks { times: true, deletes, processed } })
    }

    /// The time when each cell was deleted; `None` if no delete affects the inputs.
    pub(super) fn marks(&self, context: &Context, batch: &Batch) -> Result<Option<DeleteMarks>> {
        if !self.any {
            return Ok(None);
        }
        let mut stored: Vec<Option<Vec<u64>>> = Vec::with_capacity(batch.slots.len());
        let mut buffers = PooledBuffers::default();
        for slot in &batch.slots {
            let known = self.sources.get(slot.source).or_internal("a source without its deletes")?;
            stored.push(match &known.times {
                Some(tiles) => Some(decode_words(context, tiles, slot.tile, slot.cells, &mut buffers)?),
                None => None,
            });
        }
        let removed = self.removed(context, batch)?;
        let deletes = self.job.array.deletes();
        let mut marks = DeleteMarks { times: Vec::new(), indices: Vec::new() };
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

    /// The cells of a source for which a delete, of this number and time, must be evaluated.
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
