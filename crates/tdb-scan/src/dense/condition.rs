//! Applies a query's condition to the cells of a dense array, one space tile after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::{ColumnView, Columns, Program};
use tdb_schema::FieldKind;

use super::cell_map::CellMap;
use super::columns::each_coordinate;
use super::decode_work;
use super::overlay::Overlay;
use super::partial_column::{KeptBudget, KeptCells, PartialColumn, new_columns, split_columns};
use super::prefetch;
use super::region::Region;
use super::sources::FieldSources;
use super::space::Space;
use super::target::Target;
use super::var_column::VarTarget;
use crate::buffers::{VarTile, check_room, lengths_to_offsets, split_exactly, zeroed};
use crate::decode_buffers::PooledBuffers;
use crate::facts::{Facts, FieldFacts, Nulls};
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::statistics::Statistics;
use crate::{OrInternal, Result, Snapshot, parallel};

/// A program's fields in a dense array.
pub struct Matcher<'a> {
    array: &'a Snapshot,
    space: &'a Space,
    /// The condition.
    pub program: &'a Program,
    /// The fields of the condition, in the order of the program.
    pub fields: Vec<MatchField<'a>>,
}

/// A field of a program in a dense array.
pub struct MatchField<'a> {
    pub(crate) kind: FieldKind,
    pub(crate) spec: ColumnSpec,
    /// All fragments that have the field, and those without it that are newer than one of these.
    pub sources: FieldSources<'a>,
    /// The statistics of each source; `None` for sparse fragments.
    pub statistics: Vec<Option<Statistics>>,
    /// Whether cells that no source covers must be distinguished from others.
    presence: bool,
}

/// How a program judges cells of a fragment whose schema lacks a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// They satisfy no test ([`Verdict::LACKING`](tdb_predicate::Verdict::LACKING)).
    Fails,
    /// They have the fill value, as in a read.
    Fill,
}

/// The cells of one field in a region, put together.
#[derive(Default)]
pub struct Painted {
    pub(super) values: Buffer,
    offsets: Option<Vec<u64>>,
    pub(super) validity: Option<Vec<u8>>,
    present: Option<Vec<u8>>,
}

impl Painted {
    /// The bytes of memory of cells of variable length.
    pub(super) fn held(&self) -> usize {
        let offsets = self.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
        let validity = self.validity.as_ref().map_or(0, Vec::len);
        self.values.len().saturating_add(offsets).saturating_add(validity)
    }

    /// The cells, and their places in a region.
    pub(super) fn keep(self, map: CellMap) -> KeptCells {
        let tile = VarTile { offsets: self.offsets.unwrap_or_default(), values: self.values };
        KeptCells { tile, validity: self.validity, map }
    }
}

/// What a condition leaves of the cells of a query.
#[derive(Debug)]
pub(super) struct Masked {
    /// For every cell whether it satisfies the condition: a byte per cell, in the order of the
    /// result.
    pub(super) wanted: Vec<u8>,
    /// Columns of the result with the cells that were decoded for this. The result takes them over:
    /// it decodes these cells again if it is made again.
    columns: Mutex<Vec<PartialColumn>>,
}

impl Masked {
    /// The columns of the result, as far as they are there.
    pub(super) fn columns(&self) -> MutexGuard<'_, Vec<PartialColumn>> {
        self.columns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies the condition to every cell of a query. Cells that are decoded for this go directly into
/// the columns of the result.
pub(super) fn mask(
    plan: &Plan,
    program: &Program,
    space: &Space,
    regions: &[Region],
    overlays: &[Option<Overlay>],
) -> Result<Masked> {
    let context = plan.array.context();
    check_room(space.bytes(1)?)?;
    prefetch::condition(plan, program, (space, regions), overlays)?;
    let mut mask = vec![0u8; space.cells()];
    let fields = program.fields.iter().map(|field| (field.kind, &field.spec));
    let mut columns = new_columns(plan, fields, space, regions)?;
    let matcher = Matcher::open(plan, program, space, overlays, Lacking::Fails)?;
    let pieces = split_exactly(&mut mask, regions.iter().map(Region::cells))?;
    let partial = split_columns(&mut columns, regions)?;
    let jobs: Vec<_> = regions.iter().zip(pieces.into_iter().zip(partial)).collect();
    let fields = matcher.fields.iter().map(|field| (field.kind, &field.sources));
    let threads = decode_work::threads(plan, space, regions, fields);
    let kept_budget = KeptBudget::of(plan);
    let pool = PooledBuffers::sharing(context.threads, jobs.len());
    parallel::run(threads, jobs, pool, |(region, (piece, mut partial)), buffers| {
        space.for_each_tile(region, |index, _, bounds| -> Result<()> {
            let part = region.part(&bounds, space.order)?;
            let mut wanted = vec![1u8; part.cells()];
            let mut painted = matcher.apply(index, &part, &mut wanted, buffers)?;
            let map = region.map_of_part(&part);
            map.copy(&wanted, piece, 1)?;
            let any = wanted.contains(&1);
            for partial in &mut partial {
                let own = painted.get_mut(partial.field).or_internal(NO_FIELD)?;
                context.counters.copied(partial.take(&kept_budget, &map, own, any)?);
            }
            Ok(())
        })
    })?;
    Ok(Masked { wanted: mask, columns: Mutex::new(columns) })
}

impl<'a> Matcher<'a> {
    /// Finds a program's fields in all fragments.
    pub fn open(
        plan: &'a Plan,
        program: &'a Program,
        space: &'a Space,
        overlays: &'a [Option<Overlay>],
        lacking: Lacking,
    ) -> Result<Self> {
        let array = &plan.array;
        let context = array.context();
        let mut fields = Vec::with_capacity(program.fields.len());
        for field in &program.fields {
            let (kind, spec) = (field.kind, field.spec.clone());
            let mut presence = false;
            let mut sources = FieldSources::default();
            let mut statistics = Vec::new();
            if matches!(kind, FieldKind::Attribute(_)) {
                sources =
                    FieldSources::open(context, array.fragments(), overlays, space.query(), kind, &spec)?;
                presence = lacking == Lacking::Fails
                    && array.fragments().iter().any(|old| spec.own_field(old.schema(), kind).is_none());
                for fragment in sources.fragments() {
                    let fragment = plan.fragment(fragment)?;
                    let own = spec.own_field(fragment.schema(), kind);
                    let own = own.and_then(|own| fragment.schema().field_of(own));
                    // Extremes ignore nulls; if the cells cannot be null for the array, the
                    // extremes are wrong.
                    let own = own.filter(|own| fragment.is_dense() && (spec.nullable || !own.nullable));
                    let loaded = own.map(|own| Statistics::load(context, fragment, &own)).transpose()?;
                    statistics.push(loaded.filter(|loaded| plan.scope.try_reserve_optional(loaded.held())));
                }
            }
            fields.push(MatchField { kind, spec, sources, statistics, presence });
        }
        Ok(Self { array, space, program, fields })
    }

    /// Clears `mask` for the cells of a part of space tile `index` that fail the condition. Returns
    /// what was decoded for it.
    pub fn apply(
        &self,
        index: &[u64],
        part: &Region,
        mask: &mut [u8],
        buffers: &mut PooledBuffers,
    ) -> Result<Vec<Option<Painted>>> {
        let mut columns = self.columns(index, part, buffers);
        self.program.apply(0, &mut columns, mask)?;
        Ok(columns.into_painted())
    }

    /// The columns of a part of space tile `index`.
    pub fn columns<'s>(
        &'s self,
        index: &'s [u64],
        part: &'s Region,
        buffers: &'s mut PooledBuffers,
    ) -> PartColumns<'s> {
        let painted = self.fields.iter().map(|_| None).collect();
        let tile_cells = to_u64(self.space.tile_cells);
        let facts = self.fields.iter().map(|field| {
            if field.presence {
                return FieldFacts::Perhaps;
            }
            if matches!(field.kind, FieldKind::Dimension(_)) {
                return FieldFacts::Known(Facts::UNKNOWN);
            }
            let Some(single) = field.sources.single_tile(self.space, index, part) else {
                return FieldFacts::Known(Facts::UNKNOWN);
            };
            let statistics = field.statistics.get(single.source).and_then(Option::as_ref);
            let facts = statistics.map_or(Facts::UNKNOWN, |known| known.facts(single.tile, tile_cells));
            FieldFacts::Known(if field.spec.nullable { facts } else { Facts { nulls: Nulls::None, ..facts } })
        });
        PartColumns { facts: facts.collect(), matcher: self, part, buffers, painted }
    }
}

/// The columns of a part of a space tile.
pub struct PartColumns<'s> {
    matcher: &'s Matcher<'s>,
    part: &'s Region,
    buffers: &'s mut PooledBuffers,
    painted: Vec<Option<Painted>>,
    facts: Vec<FieldFacts<'s>>,
}

impl PartColumns<'_> {
    /// Returns the columns that were decoded so far, field by field.
    fn into_painted(self) -> Vec<Option<Painted>> {
        self.painted
    }

    /// Reuses the columns that another matcher has decoded of the same part.
    pub fn take_over(&mut self, other: &Matcher<'_>, painted: Vec<Option<Painted>>) -> Result<()> {
        for (from, painted) in other.fields.iter().zip(painted) {
            let matcher = self.matcher;
            let at = matcher.fields.iter().position(|own| own.kind == from.kind);
            let own = at.and_then(|at| Some((matcher.fields.get(at)?, self.painted.get_mut(at)?)));
            if let (Some((own, slot)), Some(painted)) = (own, painted) {
                *slot = Some(Painted { present: own.presence_in(self.part)?, ..painted });
            }
        }
        Ok(())
    }
}

impl<'a> MatchField<'a> {
    /// A field of which only cells are asked for, whether they were written or not.
    pub(super) const fn new(kind: FieldKind, spec: ColumnSpec, sources: FieldSources<'a>) -> Self {
        Self { kind, spec, sources, statistics: Vec::new(), presence: false }
    }

    /// The cells of a part of a space tile, put together.
    pub(super) fn paint(
        &self,
        array: &Snapshot,
        space: &Space,
        part: &Region,
        buffers: &mut PooledBuffers,
    ) -> Result<Painted> {
        let (context, spec) = (array.context(), &self.spec);
        let cells = part.cells();
        let mut painted = Painted::default();
        if let FieldKind::Dimension(dimension) = self.kind {
            each_coordinate(space, part, dimension, |value| painted.values.extend_from_slice(value))?;
            return Ok(painted);
        }
        painted.validity = spec.nullable.then(|| vec![0; cells]);
        match spec.cell_size {
            Some(size) => {
                painted.values = zeroed(context.tile_len(cells, size)?)?;
                let validity = painted.validity.as_deref_mut();
                let values = painted.values.as_mut_slice();
                let mut target = Target { values, validity, wanted: None, tiles_done: &[] };
                self.sources.paint_fixed(context, space, part, spec, &mut target, buffers)?;
            }
            None => {
                let mut offsets = vec![0u64; cells.saturating_add(1)];
                let slots =
                    offsets.get_mut(..cells).or_internal("cells have fewer offsets than there are")?;
                let mut target = VarTarget::new(slots, painted.validity.as_deref_mut(), None, Vec::new());
                self.sources.paint_var(context, space, part, spec, &mut target, buffers)?;
                painted.values = target.into_values(context)?;
                lengths_to_offsets(&mut offsets)?;
                painted.offsets = Some(offsets);
            }
        }
        painted.present = self.presence_in(part)?;
        Ok(painted)
    }

    /// Which cells of a part were written, a byte per cell; `None` if all were, or if it is not
    /// needed.
    fn presence_in(&self, part: &Region) -> Result<Option<Vec<u8>>> {
        if !self.presence || matches!(self.kind, FieldKind::Dimension(_)) {
            return Ok(None);
        }
        let mut present = vec![0; part.cells()];
        self.sources.paint_presence(part, &mut present)?;
        Ok(present.contains(&0).then_some(present))
    }
}

/// A condition asks for a field that it does not list.
const NO_FIELD: &str = "a condition has no field with this number";

impl Columns for PartColumns<'_> {
    fn column(&mut self, field: usize, _: &[u8]) -> Result<Option<ColumnView<'_>>> {
        let matcher = self.matcher;
        let known = matcher.fields.get(field).or_internal(NO_FIELD)?;
        let slot = self.painted.get_mut(field).or_internal(NO_FIELD)?;
        let painted = match slot {
            Some(painted) => painted,
            None => slot.insert(known.paint(matcher.array, matcher.space, self.part, self.buffers)?),
        };
        Ok(Some(ColumnView {
            values: painted.values.as_slice(),
            offsets: painted.offsets.as_deref(),
            codes: None,
            validity: painted.validity.as_deref(),
            present: painted.present.as_deref(),
        }))
    }

    fn facts(&self, field: usize) -> FieldFacts<'_> {
        self.facts.get(field).cloned().unwrap_or(FieldFacts::Perhaps)
    }
}
