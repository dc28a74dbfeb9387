//! The cost of reading a query, by place: tiles of sparse fragments, boxes of dense ones.

use std::sync::Arc;

use tdb_codec::to_u64;
use tdb_fragment::RTree;
use tdb_schema::{Dimension, FieldKind, Range};

use super::thresholds::MAX_TILES;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::ranges::{RangeSet, is_value};
use crate::sparse::candidate::rounds;
use crate::spec::ColumnSpec;
use crate::tiles::FieldTiles;
use crate::{Error, Result, parallel};

/// A tile, or several consecutive ones: where they are, and how many bytes must be read for them.
#[derive(Debug)]
pub(super) struct Tile {
    pub(super) bounds: Vec<Range>,
    pub(super) weight: f64,
}

/// The tiles of sparse fragments that a query touches.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) tiles: Vec<Tile>,
    /// For each dimension, whether there may be cells at NaN. The query returns these although no
    /// range contains NaN. Or whether a filter rounds coordinates, so that cells lie outside of
    /// their rectangles.
    pub(super) unordered: Vec<bool>,
}

/// The tiles that a query of a sparse array touches. Each weighs the bytes that are stored of it in
/// the files that the query looks at, plus the bytes of its values of fixed size in the result.
pub(super) fn touched(plan: &Plan) -> Result<Touched> {
    let context = plan.array.context();
    let meeting: Vec<&Arc<Fragment>> =
        plan.array.fragments().iter().filter(|fragment| plan.meets(fragment)).collect();
    let found =
        parallel::filter_map(context.threads, &meeting, |fragment| of_fragment(plan, fragment).map(Some))?;
    let dimensions = plan.array.schema().domain.dimensions.len();
    let mut all = Touched { tiles: Vec::new(), unordered: vec![false; dimensions] };
    for mut found in found {
        all.tiles.append(&mut found.tiles);
        all.unordered.iter_mut().zip(found.unordered).for_each(|(all, own)| *all |= own);
    }
    Ok(all)
}

fn of_fragment(plan: &Plan, fragment: &Fragment) -> Result<Touched> {
    let context = plan.array.context();
    let dimensions = &plan.array.schema().domain.dimensions;
    let mut unordered = vec![false; dimensions.len()];
    let Some(domain) = fragment.bounds() else { return Ok(Touched { tiles: Vec::new(), unordered }) };
    let opened = opened(plan, fragment)?;
    let each: u64 = columns(plan).map(|spec| spec.cell_size.map_or(8, to_u64)).sum();
    let weight = |tile: usize| -> Result<f64> {
        let cells = fragment.footer().sparse_tile_cells(to_u64(tile), fragment.schema().capacity);
        let mut bytes = cells.saturating_mul(each);
        for field in &opened {
            bytes = bytes.saturating_add(field.cost(context, tile)?.1);
        }
        Ok(bytes as f64)
    };
    let tree = fragment.rtree(context)?;
    let wanted = |dimension: usize, low: &[u8], high: &[u8]| {
        let set = plan.ranges.get(dimension).zip(dimensions.get(dimension));
        set.is_none_or(|(set, dimension)| set.overlaps(dimension, low, high))
    };
    // Without ranges all tiles are wanted, and a fragment with one tile needs no tree.
    let found = tree.search(wanted);
    let mut tiles = Vec::new();
    for group in found.chunks(found.len().div_ceil(MAX_TILES).max(1)) {
        let mut sum: Option<Tile> = None;
        for tile in group {
            let leaf = tree.leaf(*tile);
            let bounds = match &leaf {
                Some(leaf) => leaf.ranges().map(|(low, high)| Range::new(low, high)).collect(),
                None => domain.to_vec(),
            };
            let own = Tile { bounds, weight: weight(*tile)? };
            sum = Some(match sum {
                Some(sum) => sum.with(&own, dimensions),
                None => own,
            });
        }
        tiles.extend(sum);
    }
    for (index, (dimension, unordered)) in dimensions.iter().zip(&mut unordered).enumerate() {
        let whole = plan.ranges.get(index).is_some_and(RangeSet::is_all);
        *unordered = rounds(plan.array.schema(), index)
            || whole && may_have_nan(fragment, (index, dimension), plan, &tree)?;
    }
    Ok(Touched { tiles, unordered })
}

impl Tile {
    /// Combines this tile and another one.
    fn with(mut self, other: &Self, dimensions: &[Dimension]) -> Self {
        for ((own, other), dimension) in self.bounds.iter_mut().zip(&other.bounds).zip(dimensions) {
            own.unite(dimension.datatype, other);
        }
        self.weight += other.weight;
        self
    }
}

/// Whether metadata shows that a real dimension has cells at NaN. If such a cell comes first in its
/// tile, libraries store NaN as the end of the rectangle, and the tree has the whole domain there.
fn may_have_nan(
    fragment: &Fragment,
    (index, dimension): (usize, &Dimension),
    plan: &Plan,
    tree: &RTree,
) -> Result<bool> {
    if !dimension.datatype.physical().is_float() {
        return Ok(false);
    }
    let Some((first, last)) = &dimension.domain else { return Ok(false) };
    let whole = |tile: usize| {
        let range = tree.leaf(tile).and_then(|leaf| leaf.range(index));
        range.is_some_and(|(low, high)| low == first.as_slice() && high == last.as_slice())
    };
    if !(0..tree.leaf_count()).any(whole) {
        return Ok(false);
    }
    let stored = fragment.stored_rtree(plan.array.context())?;
    let mut leaves = (0..stored.leaf_count()).filter_map(|tile| stored.leaf(tile)?.range(index));
    Ok(leaves.any(|(low, high)| !is_value(dimension, low) || !is_value(dimension, high)))
}

/// The fields of a result.
fn columns(plan: &Plan) -> impl Iterator<Item = ColumnSpec> {
    let schema = plan.array.schema();
    plan.fields.iter().filter_map(|kind| Some(ColumnSpec::new(schema, &schema.field_of(*kind)?)))
}

/// The fields that a query looks at, by their kind in a fragment's schema: those of the result,
/// those of the condition, and the coordinates of sparse fragments, each once.
fn looked_at(plan: &Plan, fragment: &Fragment) -> Vec<FieldKind> {
    let schema = fragment.schema();
    let asked = plan.fields.iter().zip(columns(plan)).map(|(kind, spec)| spec.own_field(schema, *kind));
    let conditioned = plan.condition.iter().flat_map(|program| &program.fields);
    let conditioned = conditioned.map(|field| field.spec.own_field(schema, field.kind));
    let mut kinds: Vec<FieldKind> = asked.chain(conditioned).flatten().collect();
    if !fragment.is_dense() {
        kinds.extend((0..schema.domain.dimensions.len()).map(FieldKind::Dimension));
    }
    let mut different = Vec::with_capacity(kinds.len());
    for kind in kinds {
        if !different.contains(&kind) {
            different.push(kind);
        }
    }
    different
}

fn opened(plan: &Plan, fragment: &Fragment) -> Result<Vec<FieldTiles>> {
    let kinds = looked_at(plan, fragment).into_iter();
    kinds.map(|kind| FieldTiles::open(plan.array.context(), fragment, kind)).collect::<Result<_, Error>>()
}

/// The bytes that a fragment of a dense array stores for the fields that a query looks at.
pub(super) fn stored_bytes(plan: &Plan, fragment: &Fragment) -> u64 {
    let footer = fragment.footer();
    let kinds = looked_at(plan, fragment).into_iter().filter(|kind| {
        // Dense fragments store no coordinates.
        !fragment.is_dense() || matches!(kind, FieldKind::Attribute(_))
    });
    let sizes = kinds.map(|kind| {
        let values = footer.file_size(kind).saturating_add(footer.file_var_size(kind));
        values.saturating_add(footer.file_validity_size(kind))
    });
    sizes.fold(0, u64::saturating_add)
}

/// Bytes that each cell of a dense result takes, without values of variable length.
pub(super) fn bytes_of_cell(plan: &Plan) -> u64 {
    let sizes =
        columns(plan).map(|spec| spec.cell_size.map_or(8, to_u64).saturating_add(u64::from(spec.nullable)));
    sizes.fold(0, u64::saturating_add).max(1)
}
