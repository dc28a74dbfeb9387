//! The data files of a fragment: sizes, tile offsets, every chunk, bounding rectangles.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use tdb_codec::{Gate, to_u64, to_usize};
use tdb_fragment::{DataFilePart, RTree, Section};
use tdb_schema::{Field, FieldKind, Range};

use super::Verifier;
use crate::Error;
use crate::fragment::{Fragment, TileFile};
use crate::tiles::{FieldTiles, VarTile};
use crate::worker::Worker;

/// A decoded tile's cells.
#[derive(Default)]
struct Decoded {
    fixed: Vec<u8>,
    var: VarTile,
    validity: Vec<u8>,
}

impl Verifier {
    /// Checks every data file of a fragment; returns their names.
    pub(super) fn data(&mut self, fragment: &Fragment) -> HashSet<String> {
        let mut names = HashSet::new();
        let tiles = match fragment.footer().tile_count(fragment.schema()) {
            Ok(count) => count,
            Err(error) => {
                self.problem(fragment.metadata_key(), Some(error.offset), error.to_string());
                return names;
            }
        };
        let rtree =
            if fragment.is_dense() { None } else { self.check(fragment.stored_rtree(&self.context)).0 };
        for field in fragment.schema().fields() {
            if fragment.is_dense() && matches!(field.kind, FieldKind::Dimension(_)) {
                continue;
            }
            self.files_of(fragment, &field, tiles, &mut names);
            let opened = FieldTiles::open(&self.context, fragment, field.kind);
            if let (Some(opened), _) = self.check(opened) {
                self.tiles(fragment, &opened, Some(&field), rtree.as_ref());
            }
        }
        if fragment.footer().has_timestamps {
            if let (Some(Some(file)), _) = self.check(fragment.timestamps_file(&self.context)) {
                let slot = fragment.footer().slots.timestamps();
                let size = slot.and_then(|slot| fragment.footer().file_sizes.get(slot)).copied();
                self.file(fragment, &file, size.unwrap_or(0), tiles, &mut names);
            }
            if let (Some(Some(opened)), _) = self.check(FieldTiles::timestamps(&self.context, fragment)) {
                self.tiles(fragment, &opened, None, None);
            }
        }
        if fragment.footer().has_delete_metadata {
            for (file, slot) in fragment.delete_files(&self.context) {
                if let (Some(file), _) = self.check(file) {
                    let size = fragment.footer().file_sizes.get(slot).copied();
                    self.file(fragment, &file, size.unwrap_or(0), tiles, &mut names);
                }
            }
            let opened = self.check(FieldTiles::delete_timestamps(&self.context, fragment));
            if let (Some(Some(opened)), _) = opened {
                self.tiles(fragment, &opened, None, None);
            }
        }
        names
    }

    fn files_of(&mut self, fragment: &Fragment, field: &Field<'_>, tiles: u64, names: &mut HashSet<String>) {
        let (footer, kind) = (fragment.footer(), field.kind);
        let parts = [
            (DataFilePart::Fixed, footer.file_size(kind), true),
            (DataFilePart::Var, footer.file_var_size(kind), field.is_var()),
            (DataFilePart::Validity, footer.file_validity_size(kind), field.nullable),
        ];
        for (part, size, _) in parts.into_iter().filter(|(.., exists)| *exists) {
            if let (Some(file), _) = self.check(fragment.file(&self.context, kind, part)) {
                self.file(fragment, &file, size, tiles, names);
            }
        }
    }

    /// Compares a file's real size with the footer's, and its tile count and offsets with both.
    fn file(
        &mut self,
        fragment: &Fragment,
        file: &TileFile,
        size: u64,
        tiles: u64,
        names: &mut HashSet<String>,
    ) {
        let name = file.key.rsplit('/').next().unwrap_or_default().to_owned();
        // Up to version 4 all dimensions share a file.
        if !names.insert(name) {
            return;
        }
        match self.context.storage.read_tail(&file.key, 0) {
            Ok((found, _)) if found == size => self.count_file(found),
            Ok((found, _)) => {
                self.count_file(found);
                let what = format!("the file has {found} bytes, but the fragment's metadata says {size}");
                self.problem(&file.key, Some(found.min(size)), what);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && size == 0 => {}
            Err(error) => self.failed(Error::io(self.context.describe(&file.key), error)),
        }
        let listed = to_u64(file.tile_count());
        if listed != tiles {
            let what =
                format!("the metadata lists {listed} tiles of {}, but the fragment has {tiles}", file.key);
            self.problem(fragment.metadata_key(), Some(fragment.footer().offset), what);
        }
    }

    /// Decodes every tile of a field.
    fn tiles(
        &mut self,
        fragment: &Fragment,
        tiles: &FieldTiles,
        field: Option<&Field<'_>>,
        rtree: Option<&Arc<RTree>>,
    ) {
        let (mut decoded, mut worker) = (Decoded::default(), Worker::default());
        for tile in 0..tiles.tile_count() {
            let (cells, _) = self.check(fragment.tile_cells(&self.context, tile));
            let Some(cells) = cells else { continue };
            let wanted = to_u64(cells).checked_mul(to_u64(tiles.cell_size()));
            let len = wanted.filter(|len| *len <= self.context.limits.tile_bytes).and_then(to_usize);
            let Some(len) = len else {
                let what = format!("tile {tile} would have {cells} cells, which is over the limit");
                self.problem(fragment.metadata_key(), Some(fragment.footer().offset), what);
                continue;
            };
            let (_, go_on) = self.tile(tiles, (tile, cells, len), &mut decoded, &mut worker);
            if !go_on {
                return;
            }
            if let (Some(field), Some(rtree)) = (field, rtree) {
                self.bounds(fragment, field, tile, &decoded, rtree);
            }
        }
    }

    fn tile(
        &mut self,
        tiles: &FieldTiles,
        (tile, cells, len): (usize, usize, usize),
        decoded: &mut Decoded,
        worker: &mut Worker,
    ) -> (Option<()>, bool) {
        let context = &self.context;
        let Decoded { fixed, var, validity } = decoded;
        var.offsets.clear();
        let values = if tiles.cell_val_num.is_var() {
            tiles.decode_var(context, tile, cells, var, worker)
        } else {
            reset(fixed, len);
            tiles.decode_fixed(context, tile, fixed, |_| true, worker)
        };
        let parts = if tiles.cell_val_num.is_var() { 2 } else { 1 };
        self.report.tiles = self.report.tiles.saturating_add(parts);
        let values = self.check(values);
        if !tiles.is_nullable() {
            return values;
        }
        reset(validity, cells);
        self.report.tiles = self.report.tiles.saturating_add(1);
        let valid = tiles.decode_validity(&self.context, tile, validity, |_| true, worker);
        let (_, valid) = self.check(valid);
        (values.0, values.1 || valid)
    }

    /// Compares a tile's coordinates with its bounding rectangle, and with what the fragment says it covers.
    fn bounds(
        &mut self,
        fragment: &Fragment,
        field: &Field<'_>,
        tile: usize,
        decoded: &Decoded,
        rtree: &RTree,
    ) {
        let FieldKind::Dimension(index) = field.kind else { return };
        let Some((low, high)) = rtree.leaf(tile).and_then(|leaf| leaf.range(index)) else { return };
        self.cells_within(&Range::new(low, high), "its bounding rectangle", (fragment, field, tile), decoded);
        if let Some(domain) = fragment.non_empty_domain().and_then(|domain| domain.get(index)) {
            self.cells_within(domain, "the fragment's non-empty domain", (fragment, field, tile), decoded);
        }
    }

    /// Reports cells of a tile that lie outside a range, which is called `what`.
    fn cells_within(
        &mut self,
        range: &Range,
        what: &str,
        (fragment, field, tile): (&Fragment, &Field<'_>, usize),
        decoded: &Decoded,
    ) {
        let outside = if field.is_var() {
            let cell = |pair: &[u64]| match pair {
                [start, end] => decoded.var.values.as_slice().get(to_usize(*start)?..to_usize(*end)?),
                _ => None,
            };
            let mut cells = decoded.var.offsets.windows(2).filter_map(cell);
            cells.any(|cell| !range.contains(field.datatype, cell))
        } else {
            let mut cells = decoded.fixed.chunks_exact(field.datatype.size());
            cells.any(|cell| !range.contains(field.datatype, cell))
        };
        if outside {
            let what = format!("tile {tile} of dimension {:?} has cells outside {what}", field.name);
            // libtiledb 1.6 and 1.7 left rectangles and domains of dates as the first cell made them.
            if field.datatype.is_datetime() && !fragment.version().has(Gate::DateRectangles) {
                return self.note(fragment.metadata_key(), &what);
            }
            let offset = fragment.footer().sections.get(Section::RTree);
            self.problem(fragment.metadata_key(), offset, what);
        }
    }
}

/// Makes a buffer `len` bytes long. Fresh zeroed memory costs nothing until it is written to, and a length that a
/// damaged file asks for never is.
fn reset(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() != len {
        *buffer = vec![0; len];
    }
}
