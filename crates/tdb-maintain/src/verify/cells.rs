//! The coordinates of a sparse fragment: the order of its cells, duplicate cells, and the
//! rectangles that should contain them.
//!
//! One tile of all dimensions is in memory at a time. Because of the order, equal coordinates are
//! next to each other, so each cell is compared with the previous one, across the ends of tiles
//! too.

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::to_usize;
use tdb_fragment::{FieldStatistics, RTree, Section};
use tdb_order::hilbert::Curve;
use tdb_schema::FieldKind;

use super::Verifier;
use super::data::Column;
use super::known::{Finding, FindingValues, known};
use super::rectangles::{self, dimensions, leaf};
use super::report::{Check, Problem};
use crate::coordinate::show_value;
use crate::decode_buffers::PooledBuffers;
use crate::fragment::Fragment;
use crate::ranges::is_value;
use crate::tiles::FieldTiles;
use crate::write::{CheckedColumn, GlobalOrder};

/// Coordinates of a cell, one for each dimension.
type Point = Vec<Vec<u8>>;

/// The cells that the next one is compared with.
struct OrderCheck<'f> {
    fragment: &'f Fragment,
    /// The file with the coordinates of the first dimension.
    key: String,
    order: GlobalOrder,
    /// The last cell of the previous tile, and when it was written.
    last: Option<(Point, u64)>,
    /// The cells that compare equal to the last one, including it, with the latest time of each:
    /// zeros of both signs compare equal, but are different coordinates.
    group: BTreeMap<Point, u64>,
}

/// The decoded coordinates of a tile.
struct CoordinateTile<'c> {
    tile: usize,
    cells: usize,
    coordinates: Vec<CheckedColumn<'c>>,
    times: Option<&'c [u8]>,
}

impl CoordinateTile<'_> {
    fn point(&self, cell: usize) -> Point {
        self.coordinates.iter().map(|column| column.cell(cell).unwrap_or_default().to_vec()).collect()
    }

    /// When a cell was written, if the fragment stores it.
    fn time(&self, cell: usize) -> u64 {
        let times = self.times.unwrap_or_default().as_chunks::<8>().0;
        times.get(cell).map_or(0, |time| u64::from_le_bytes(*time))
    }
}

impl Verifier {
    /// Decodes the coordinates of a sparse fragment and the times of its cells, and checks
    /// everything stated about them.
    pub(super) fn coordinates(
        &mut self,
        fragment: &Fragment,
        whole: Option<&[FieldStatistics]>,
        buffers: &mut PooledBuffers,
    ) {
        let rtree = self.check(fragment.stored_rtree(&self.context)).0;
        if let Some(rtree) = &rtree {
            self.rectangles(fragment, rtree);
        }
        let mut columns: Vec<_> = dimensions(fragment).map(|field| self.column(fragment, field)).collect();
        let times = self.check(FieldTiles::timestamps(&self.context, fragment)).0.flatten();
        let slot = fragment.footer().slots.timestamps();
        let timed = times.is_some();
        let mut times = times.map(|tiles| self.times(fragment, tiles, slot, "the times of cells"));
        let first = self.context.describe(fragment.folder());
        let file = fragment.file(&self.context, FieldKind::Dimension(0), tdb_fragment::DataFilePart::Fixed);
        let mut walk = OrderCheck {
            fragment,
            key: file.map_or(first, |file| self.context.describe(&file.key)),
            order: GlobalOrder::new(fragment.schema()),
            last: None,
            group: BTreeMap::new(),
        };
        let mut complete = true;
        // A damaged footer may state any number of tiles: only as many as are listed are checked.
        let listed = columns.iter().flatten().map(|column| column.tiles.tile_count()).max().unwrap_or(0);
        let claimed = to_usize(fragment.footer().sparse_tile_num).unwrap_or(usize::MAX);
        let count = rtree.as_ref().map_or(claimed.min(listed), |rtree| rtree.leaf_count());
        for tile in 0..count {
            let (Some(cells), _) = self.check(fragment.tile_cells(&self.context, tile)) else {
                complete = false;
                continue;
            };
            let mut all = true;
            for column in columns.iter_mut().chain([&mut times]) {
                let Some(column) = column else { continue };
                if !self.decode(fragment, column, (tile, cells), buffers) {
                    all = false;
                    continue;
                }
                let found = self.compare(fragment, column, (tile, cells), None);
                if let (Some(cells), Some(rtree), Some(field)) =
                    (found.and_then(|found| found.extremes), &rtree, &column.subject.field)
                {
                    self.tight(fragment, (field, tile), rtree, &cells);
                }
            }
            complete &= all;
            let decoded: Option<Vec<_>> = columns
                .iter()
                .enumerate()
                .map(|(index, column)| Some(column.as_ref()?.coordinates(index, cells)))
                .collect();
            let Some(coordinates) = decoded.filter(|_| all) else {
                if !columns.iter().flatten().any(Column::is_readable) {
                    break;
                }
                continue;
            };
            let times = times.as_ref().map(|column| column.decoded.fixed.as_slice()).filter(|_| timed);
            let tile = CoordinateTile { tile, cells, coordinates, times };
            self.tile_of_cells(&mut walk, &tile, rtree.as_ref());
        }
        if complete {
            for column in columns.iter().chain([&times]).flatten() {
                self.compare_whole(fragment, column, whole);
            }
        }
    }

    fn tile_of_cells(
        &mut self,
        walk: &mut OrderCheck<'_>,
        tile: &CoordinateTile<'_>,
        rtree: Option<&Arc<RTree>>,
    ) {
        // From here on there is a coordinate of each cell.
        let (Some(found), _) = self.check(walk.order.look(&tile.coordinates, tile.cells)) else { return };
        if let Some(rtree) = rtree {
            self.within(walk.fragment, tile, rtree);
        }
        for cell in found.unsorted {
            self.out_of_order(walk, tile, cell);
        }
        if !walk.fragment.schema().allows_duplicates {
            self.repeated(walk, tile, &found.equal);
        }
        if let Some(last) = tile.cells.checked_sub(1) {
            walk.last = Some((tile.point(last), tile.time(last)));
            if found.equal.last() != Some(&last) {
                walk.group.clear();
            }
        }
    }

    /// Reports a cell that sorts before the previous one.
    fn out_of_order(&mut self, walk: &OrderCheck<'_>, tile: &CoordinateTile<'_>, cell: usize) {
        let fragment = walk.fragment;
        let point = tile.point(cell);
        let before = match cell.checked_sub(1) {
            Some(before) => tile.point(before),
            None => walk.last.as_ref().map(|(point, _)| point.clone()).unwrap_or_default(),
        };
        let dimensions = fragment.schema().domain.dimensions.as_slice();
        let high = dimensions
            .iter()
            .zip(point.iter().zip(&before))
            .any(|(dimension, (a, b))| dimension.is_var() && a.iter().chain(b).any(|byte| *byte >= 0x80));
        let hilbert = fragment.schema().cell_order == tdb_codec::Layout::Hilbert;
        let place =
            |point: &Point| Curve::new(dimensions).place(|index| point.get(index).map_or(&[], Vec::as_slice));
        let tie = hilbert && place(&point) == place(&before);
        let values = FindingValues { high, tie, ..FindingValues::default() };
        let known = known(Check::Order, &Finding { fragment, field: None, values });
        let (path, tile) = (walk.key.clone(), tile.tile);
        self.findings.add(Check::Order, known, || {
            let (point, before) = (show(fragment, &point), show(fragment, &before));
            let order = if hilbert { "Hilbert order" } else { "global order" };
            let what = format!(
                "tile {tile}, cell {cell}, {point}: is out of order: it comes after {before}, but sorts before it in {order}"
            );
            Problem { path, offset: None, what }
        });
    }

    /// Reports cells that compare equal to the previous ones and have the same coordinates as one
    /// of those.
    fn repeated(&mut self, walk: &mut OrderCheck<'_>, tile: &CoordinateTile<'_>, equal: &[usize]) {
        let mut next = 0;
        for &cell in equal {
            match cell.checked_sub(1) {
                None if walk.group.is_empty() => walk.group.extend(walk.last.clone()),
                // A new group begins, which does not continue from the last cell.
                Some(before) if next != cell => {
                    walk.group.clear();
                    walk.group.insert(tile.point(before), tile.time(before));
                }
                _ => {}
            }
            next = cell.saturating_add(1);
            let (point, time) = (tile.point(cell), tile.time(cell));
            let Some(before) = walk.group.insert(point.clone(), time) else { continue };
            let fragment = walk.fragment;
            let case = Finding { fragment, field: None, values: FindingValues::default() };
            let (path, at) = (walk.key.clone(), format!("tile {}, cell {cell}", tile.tile));
            if tile.times.is_none() {
                self.findings.add(Check::Repeated, known(Check::Repeated, &case), || {
                    let what = format!(
                        "{at}, {}: has the same coordinates as an earlier cell, which this array does not allow",
                        show(fragment, &point)
                    );
                    Problem { path, offset: None, what }
                });
            } else if time > before {
                self.findings.add(Check::Times, known(Check::Times, &case), || {
                    let what = format!(
                        "{at}, {}: was written at {time}, but comes after the version of the same cell written at {before}",
                        show(fragment, &point)
                    );
                    Problem { path, offset: None, what }
                });
            }
        }
    }

    /// Compares a tile's coordinates with its rectangle, and with the area that the fragment states
    /// it covers.
    fn within(&mut self, fragment: &Fragment, tile: &CoordinateTile<'_>, rtree: &RTree) {
        for (index, field) in dimensions(fragment).enumerate() {
            let leaf = leaf(rtree, tile.tile, index);
            let whole = fragment.non_empty_domain().and_then(|domain| domain.get(index));
            for (check, range, what) in [
                (Check::Rectangle, leaf.as_ref(), "its tile's rectangle"),
                (Check::Domain, whole, "the fragment's non-empty domain"),
            ] {
                let (Some(range), Some(column)) = (range, tile.coordinates.get(index)) else { continue };
                let value = |cell: usize| column.cell(cell).unwrap_or_default();
                let is_nan = |value: &[u8]| {
                    let dimension = fragment.schema().domain.dimensions.get(index);
                    dimension.is_some_and(|own| !own.is_var() && !is_value(own, value))
                };
                let undefined = is_nan(&range.low) || is_nan(&range.high);
                for cell in (0..tile.cells).filter(|cell| !range.contains(field.datatype, value(*cell))) {
                    let path = self.context.describe(fragment.metadata_key());
                    let offset = fragment.footer().sections.get(Section::RTree);
                    let nan = undefined || is_nan(value(cell));
                    let values =
                        FindingValues { nan, empty: range.low.is_empty(), ..FindingValues::default() };
                    let known = known(check, &Finding { fragment, field: Some(&field), values });
                    self.findings.add(check, known, || {
                        let what = format!(
                            "tile {}, cell {cell}, {}: is outside {what}, which is {} in dimension {:?}",
                            tile.tile,
                            show(fragment, &tile.point(cell)),
                            rectangles::show(&field, range),
                            field.name,
                        );
                        Problem { path, offset, what }
                    });
                }
            }
        }
    }
}

/// The coordinates of a cell as a text for a message.
fn show(fragment: &Fragment, point: &Point) -> String {
    let dimensions = fragment.schema().domain.dimensions.iter();
    let values = dimensions.zip(point).map(|(dimension, value)| {
        format!("{}={}", dimension.name, show_value(dimension.datatype, dimension.is_var(), value))
    });
    format!("({})", values.collect::<Vec<_>>().join(", "))
}
