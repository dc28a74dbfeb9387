//! The rectangles of fragments and tiles on a plane.

use tdb_array::schema::Range;
use tdb_array::stored::Fragment;
use tdb_draw::{Footprint, Outline};
use tdb_schema::Dimension;
use tdb_text::value::interval_text;

use super::axis::BinnedAxis;
use super::scan::Scan;
use crate::count::count;
use crate::failure::Result;
use crate::thresholds::MAX_RECTANGLES;

/// The rectangles on a plane.
pub(super) struct Footprints {
    pub(super) footprints: Vec<Footprint>,
    fragments: usize,
    /// The number of tiles; `None` if it was not asked for.
    tiles: Option<usize>,
    /// Whether some are not drawn.
    cut: bool,
}

impl Footprints {
    /// The rectangles that are drawn, in words.
    pub(super) fn note(&self) -> String {
        let some = |count: usize, what: &str| {
            if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
        };
        let mut note = some(self.fragments, "fragment");
        if let Some(tiles) = self.tiles {
            note += &format!(", {}", some(tiles, "tile"));
        }
        if self.cut {
            note += &format!(" or more ({MAX_RECTANGLES} are drawn)");
        }
        note
    }
}

/// The rectangles of the visible fragments and, if that is asked for, of their tiles.
pub(super) fn find(scan: &Scan<'_>, axes: [(usize, &BinnedAxis); 2]) -> Result<Footprints> {
    let mut found = Footprints { footprints: Vec::new(), fragments: 0, tiles: None, cut: false };
    let dimensions = &scan.array.schema().domain.dimensions;
    let place = |ranges: &[Range]| {
        let extent = |(index, along): (usize, &BinnedAxis)| {
            let (dimension, range) = (dimensions.get(index)?, ranges.get(index)?);
            along.extent(dimension.datatype, &range.low, &range.high)
        };
        let [x, y] = axes.map(extent);
        x.zip(y)
    };
    let mut add = |ranges: &[Range], outline: Outline, title: &dyn Fn() -> String| {
        if let Some((x, y)) = place(ranges) {
            if found.footprints.len() >= MAX_RECTANGLES {
                found.cut = true;
            } else {
                found.footprints.push(Footprint { x, y, outline, title: title() });
            }
            return 1;
        }
        0usize
    };
    let (mut fragments, mut tiles) = (0usize, 0usize);
    for fragment in scan.array.fragments() {
        let title = || {
            format!(
                "fragment {}: {}, {}",
                fragment.name(),
                count(fragment.cell_count(), "cell"),
                where_text(dimensions, fragment.bounds())
            )
        };
        fragments =
            fragments.saturating_add(add(fragment.bounds().unwrap_or_default(), Outline::Thick, &title));
    }
    if scan.args.tiles {
        for fragment in scan.array.fragments() {
            for tile in tiles_of(scan, fragment, axes.map(|(axis, _)| axis))? {
                let title = || format!("tile {}", where_text(dimensions, Some(&tile)));
                tiles = tiles.saturating_add(add(&tile, Outline::Thin, &title));
            }
        }
        found.tiles = Some(tiles);
    }
    found.fragments = fragments;
    Ok(found)
}

/// The rectangles of a fragment's tiles on a plane of two dimensions. Those of a dense fragment
/// follow from the extents.
fn tiles_of(scan: &Scan<'_>, fragment: &Fragment, axes: [usize; 2]) -> Result<Vec<Vec<Range>>> {
    if !fragment.is_dense() {
        return scan.array.tile_bounds(fragment).map_err(|error| scan.failed(error));
    }
    let dimensions = &scan.array.schema().domain.dimensions;
    let grid = fragment.footer().tile_grid(scan.array.schema()).unwrap_or_default();
    let sides = axes.map(|axis| {
        let (first, last) = grid.get(axis).copied().unwrap_or((1, 0));
        let tiles = (first..=last).take(MAX_RECTANGLES);
        tiles.filter_map(|tile| Some((axis, tile_range(dimensions.get(axis)?, tile)?))).collect::<Vec<_>>()
    });
    let [across, along] = sides;
    let whole = fragment.bounds().unwrap_or_default();
    let pairs = across.iter().flat_map(|across| along.iter().map(move |along| [across, along]));
    let tile = |pair: [&(usize, Range); 2]| {
        let mut ranges = whole.to_vec();
        for (axis, range) in pair {
            ranges.get_mut(*axis).into_iter().for_each(|own| *own = range.clone());
        }
        ranges
    };
    Ok(pairs.take(MAX_RECTANGLES + 1).map(tile).collect())
}

/// The coordinates of a tile of a dense array in one dimension.
fn tile_range(dimension: &Dimension, tile: u64) -> Option<Range> {
    let last = dimension.last_ordinal()?;
    let extent = dimension.extent_cells().unwrap_or(u64::MAX);
    let first = tile.checked_mul(extent)?;
    let end = first.saturating_add(extent.saturating_sub(1)).min(last);
    Some(Range::new(dimension.coordinate(first)?, dimension.coordinate(end)?))
}

/// A box in the notation of ranges.
pub(super) fn where_text(dimensions: &[Dimension], ranges: Option<&[Range]>) -> String {
    let pairs = dimensions.iter().zip(ranges.unwrap_or_default());
    let texts = pairs.map(|(dimension, range)| {
        format!("{}={}", dimension.name, interval_text(dimension, &range.low, &range.high))
    });
    texts.collect::<Vec<_>>().join(" ")
}
