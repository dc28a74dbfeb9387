//! Prefetches the tiles that painting columns reads.

use tdb_schema::FieldKind;

use super::boxes::Box;
use super::layers::Paint;
use super::overlay::Overlay;
use super::partial_column::PartialColumn;
use super::region::{Region, split_wanted};
use super::sources::FieldSources;
use super::space::Space;
use crate::context::Context;
use crate::plan::{NO_FIELD, Plan};
use crate::spec::ColumnSpec;
use crate::storage::ReadSet;
use crate::{OrInternal, Result};
use tdb_predicate::Program;

/// Fetches what the columns of the result are read from where a condition left cells, and where
/// sparse fragments have some: neither is known before.
pub(super) fn columns(
    plan: &Plan,
    places: (&Space, &[Region]),
    overlays: &[Option<Overlay>],
    wanted: Option<&[u8]>,
    partial: &[PartialColumn],
) -> Result<()> {
    if wanted.is_none() && overlays.iter().all(Option::is_none) {
        return Ok(());
    }
    let known = Known { wanted, partial, dense: false };
    fetch(plan, plan.fields.iter().copied(), places, overlays, known)
}

/// Fetches what a condition looks at where sparse fragments have cells: the rest of it is known
/// before.
pub(super) fn condition(
    plan: &Plan,
    program: &Program,
    places: (&Space, &[Region]),
    overlays: &[Option<Overlay>],
) -> Result<()> {
    if overlays.iter().all(Option::is_none) {
        return Ok(());
    }
    let known = Known { wanted: None, partial: &[], dense: true };
    fetch(plan, program.fields.iter().map(|field| field.kind), places, overlays, known)
}

/// What need not be fetched.
struct Known<'k> {
    /// The cells that are wanted, if not all are.
    wanted: Option<&'k [u8]>,
    /// The cells that are decoded.
    partial: &'k [PartialColumn],
    /// Whether tiles of dense fragments were fetched before.
    dense: bool,
}

/// Fetches what some fields are read from, in the tiles that are not done yet and have a cell that
/// is wanted.
fn fetch(
    plan: &Plan,
    fields: impl Iterator<Item = FieldKind>,
    (space, regions): (&Space, &[Region]),
    overlays: &[Option<Overlay>],
    Known { wanted, partial, dense }: Known<'_>,
) -> Result<()> {
    let context = plan.array.context();
    let Some(prefetched) = &context.prefetched else { return Ok(()) };
    let (schema, mut read_set) = (plan.array.schema(), ReadSet::default());
    for kind in fields.filter(|kind| matches!(kind, FieldKind::Attribute(_))) {
        let field = schema.field_of(kind).or_internal(NO_FIELD)?;
        let spec = ColumnSpec::new(schema, &field);
        let fragments = plan.array.fragments();
        let sources = FieldSources::open(context, fragments, overlays, space.query(), kind, &spec)?;
        let tiles_done =
            partial.iter().find(|partial| partial.kind == kind).map(|partial| partial.tiles_done.iter());
        let tiles_done =
            tiles_done.into_iter().flatten().map(Vec::as_slice).chain(core::iter::repeat(&[][..]));
        for ((region, wanted), tiles_done) in
            regions.iter().zip(split_wanted(wanted, regions)?).zip(tiles_done)
        {
            let mut tiles_done = tiles_done.iter();
            space.for_each_tile(region, |index, _, bounds| match tiles_done.next() {
                Some(true) => Ok(()),
                _ => sources.add(context, (region, wanted), (index, &bounds), dense, &mut read_set),
            })?;
        }
    }
    plan.fetch_if_it_fits(prefetched, &read_set).map(drop)
}

impl FieldSources<'_> {
    /// Adds what painting a box of a space tile reads, if any of its cells is wanted.
    pub fn need(
        &self,
        context: &Context,
        cells: (&Region, Option<&[u8]>),
        place: (&[u64], &Box),
        read_set: &mut ReadSet,
    ) -> Result<()> {
        self.add(context, cells, place, false, read_set)
    }

    /// The same; without the tiles of dense fragments, if these are `known`.
    fn add(
        &self,
        context: &Context,
        (region, wanted): (&Region, Option<&[u8]>),
        (index, bounds): (&[u64], &Box),
        known: bool,
        read_set: &mut ReadSet,
    ) -> Result<()> {
        for layer in self.layers_wanted(region, bounds, wanted)?.0 {
            match layer.paint(index) {
                Paint::Tile(..) if known => {}
                Paint::Tile(tiles, tile) => tiles.need(context, tile, &mut read_set.ranges)?,
                Paint::Cells(tiles, overlay) => {
                    for tile in overlay.tiles_in(&layer.bounds) {
                        tiles.need(context, tile, &mut read_set.ranges)?;
                    }
                }
                Paint::Fill | Paint::FillCells(_) => {}
            }
        }
        Ok(())
    }
}
