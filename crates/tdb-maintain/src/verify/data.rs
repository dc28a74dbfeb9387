//! The data files of a fragment: sizes, tile offsets, every chunk of every tile, and what is stated
//! about its cells.

use core::ops::Range as Cells;
use std::collections::HashSet;
use std::io;

use tdb_codec::{CellValNum, Datatype, to_u64, to_usize};
use tdb_fragment::{DataFilePart, FieldStatistics};
use tdb_schema::{Field, FieldKind};

use super::Verifier;
use super::report::Problem;
use super::statistics::{StoredStatistics, Subject, of_fragment};
use crate::Error;
use crate::buffers::VarTile;
use crate::decode_buffers::PooledBuffers;
use crate::facts::Rule;
use crate::fragment::{Fragment, TileFile};
use crate::tiles::FieldTiles;
use crate::write::{BoxPlan, CheckedColumn, TileCells, TileGrid, TileStatistics};

/// The cells of a decoded tile.
#[derive(Debug, Default)]
pub(super) struct DecodedField {
    pub(super) fixed: Vec<u8>,
    pub(super) var: VarTile,
    validity: Vec<u8>,
}

/// A field that is checked tile by tile.
#[derive(Debug)]
pub(super) struct Column<'f> {
    pub(super) subject: Subject<'f>,
    pub(super) tiles: FieldTiles,
    pub(super) decoded: DecodedField,
    pub(super) claims: Option<StoredStatistics>,
    /// Whether it makes sense to read further tiles.
    readable: bool,
}

impl Column<'_> {
    /// The cells of the decoded tile; `runs` are those that belong to the fragment.
    pub(super) fn cells<'s>(&'s self, count: usize, runs: Option<&'s [Cells<usize>]>) -> TileCells<'s> {
        let DecodedField { fixed, var, validity } = &self.decoded;
        let validity = if self.tiles.is_nullable() { validity.as_slice() } else { &[] };
        let (values, offsets) = match self.subject.cell_size {
            Some(_) => (fixed.as_slice(), &[][..]),
            // The code that looks at the cells returns an error if there are fewer offsets.
            None => (var.values.as_slice(), var.offsets.get(..count).unwrap_or_default()),
        };
        TileCells { count, values, offsets, validity, runs }
    }

    /// Whether it makes sense to read further tiles.
    pub(super) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// The decoded tile of a dimension as a column.
    pub(super) fn coordinates(&self, dimension: usize, cells: usize) -> CheckedColumn<'_> {
        let DecodedField { fixed, var, .. } = &self.decoded;
        let (values, offsets) = match self.subject.cell_size {
            Some(_) => (fixed.as_slice(), &[][..]),
            None => (var.values.as_slice(), var.offsets.as_slice()),
        };
        CheckedColumn {
            kind: FieldKind::Dimension(dimension),
            cell_size: self.subject.cell_size,
            value_size: self.subject.datatype.size(),
            is_real: self.subject.datatype.physical().is_float(),
            values,
            offsets,
            validity: &[],
            cells,
        }
    }
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
        let whole = of_fragment(&self.context, fragment);
        let whole = whole.as_deref();
        let stored =
            |field: &Field<'_>| !(fragment.is_dense() && matches!(field.kind, FieldKind::Dimension(_)));
        for field in fragment.schema().fields().filter(stored) {
            self.files_of(fragment, &field, tiles, &mut names);
        }
        self.system_files(fragment, tiles, &mut names);
        let mut buffers = PooledBuffers::default();
        if !fragment.is_dense() {
            self.coordinates(fragment, whole, &mut buffers);
        }
        let domain = fragment.non_empty_domain().filter(|_| fragment.is_dense());
        let plan = domain.and_then(|domain| BoxPlan::new(fragment.schema(), domain).ok());
        let grid = plan.and_then(|plan| plan.tiles(fragment.schema()));
        for field in fragment.schema().fields() {
            if let FieldKind::Attribute(_) = field.kind
                && let Some(column) = self.column(fragment, field)
            {
                self.tiles(fragment, column, grid.as_ref(), whole, &mut buffers);
            }
        }
        if fragment.footer().has_delete_metadata {
            let opened = self.check(FieldTiles::delete_timestamps(&self.context, fragment));
            if let (Some(Some(opened)), _) = opened {
                let slot = fragment.footer().slots.delete_timestamps();
                let column = self.times(fragment, opened, slot, "the times of deletes");
                self.tiles(fragment, column, None, whole, &mut buffers);
            }
        }
        names
    }

    /// A field of the schema; `None`, with a problem reported, if its tiles cannot be decoded.
    pub(super) fn column<'f>(&mut self, fragment: &'f Fragment, field: Field<'f>) -> Option<Column<'f>> {
        let opened = FieldTiles::open(&self.context, fragment, field.kind);
        let (Some(tiles), _) = self.check(opened) else { return None };
        let (rule, kind) = match field.kind {
            FieldKind::Attribute(_) => {
                (Rule::attribute(field.datatype, field.cell_val_num, field.nullable), "attribute")
            }
            FieldKind::Dimension(_) => (Rule::dimension(field.datatype, field.cell_val_num), "dimension"),
        };
        let subject = Subject {
            name: format!("{kind} {:?}", field.name),
            rule,
            datatype: field.datatype,
            cell_size: field.cell_size(),
            slot: Some(fragment.footer().slots.field(field.kind)),
            field: Some(field),
        };
        let claims = StoredStatistics::load(&self.context, fragment, &subject);
        Some(Column { subject, tiles, decoded: DecodedField::default(), claims, readable: true })
    }

    /// The field with the times of cells.
    pub(super) fn times<'f>(
        &self,
        fragment: &Fragment,
        tiles: FieldTiles,
        slot: Option<usize>,
        name: &str,
    ) -> Column<'f> {
        let datatype = Datatype::Uint64;
        let rule = Rule::attribute(datatype, CellValNum::ONE, false);
        let subject = Subject {
            field: None,
            name: name.to_owned(),
            rule,
            datatype,
            cell_size: Some(datatype.size()),
            slot,
        };
        let claims = StoredStatistics::load(&self.context, fragment, &subject);
        Column { subject, tiles, decoded: DecodedField::default(), claims, readable: true }
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

    /// Checks files of fields that are not in the schema: when cells were written and deleted, and
    /// by which condition.
    fn system_files(&mut self, fragment: &Fragment, tiles: u64, names: &mut HashSet<String>) {
        let footer = fragment.footer();
        let size = |slot: Option<usize>| slot.and_then(|slot| footer.file_sizes.get(slot)).copied();
        if footer.has_timestamps
            && let (Some(Some(file)), _) = self.check(fragment.timestamps_file(&self.context))
        {
            self.file(fragment, &file, size(footer.slots.timestamps()).unwrap_or(0), tiles, names);
        }
        if footer.has_delete_metadata {
            for (file, slot) in fragment.delete_files(&self.context) {
                if let (Some(file), _) = self.check(file) {
                    self.file(fragment, &file, size(Some(slot)).unwrap_or(0), tiles, names);
                }
            }
        }
    }

    /// Compares a file's real size with the one in the footer, and its tile count and offsets with
    /// both.
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
        match self.context.storage.size(&file.key) {
            Ok(found) => {
                self.count_file(found);
                if found > size {
                    self.unused(&file.key, size, found);
                } else if found < size {
                    let what =
                        format!("the file has {found} bytes, but the fragment's metadata states {size}");
                    self.problem(&file.key, Some(found), what);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && size == 0 => {}
            Err(error) => self.failed(Error::io(self.context.describe(&file.key), error)),
        }
        match file.start() {
            Some(start) if start > 0 && tiles > 0 => {
                let what =
                    format!("its first tile begins at byte {start}: nothing refers to the bytes before it");
                self.note(&file.key, &what);
            }
            _ => {}
        }
        let listed = to_u64(file.tile_count());
        if listed != tiles {
            let what =
                format!("the metadata lists {listed} tiles of {}, but the fragment has {tiles}", file.key);
            self.problem(fragment.metadata_key(), Some(fragment.footer().offset), what);
        }
    }

    /// Decodes every tile of a field, and compares what is stated about it with its cells.
    fn tiles(
        &mut self,
        fragment: &Fragment,
        mut column: Column<'_>,
        grid: Option<&TileGrid>,
        whole: Option<&[FieldStatistics]>,
        buffers: &mut PooledBuffers,
    ) {
        let mut complete = true;
        let codes = self.codes_of(fragment, &column);
        for tile in 0..column.tiles.tile_count() {
            // The footer's number of cells of a dense fragment's last tile is wrong where libtiledb
            // counts them in a narrow type.
            let (Some(stated), _) = self.check(fragment.tile_cells(&self.context, tile)) else {
                complete = false;
                continue;
            };
            let cells = grid.and_then(TileGrid::tile_cells).unwrap_or(stated);
            if !self.decode(fragment, &mut column, (tile, cells), buffers) {
                complete = false;
                if !column.readable {
                    return;
                }
                continue;
            }
            let runs = grid.map(|grid| grid.written(tile)).transpose();
            let (Some(runs), _) = self.check(runs.map(Option::flatten)) else {
                complete = false;
                continue;
            };
            if let Some(codes) = &codes {
                self.note_codes(fragment, &column, codes, (tile, cells), runs.as_deref());
            }
            self.compare(fragment, &mut column, (tile, cells), runs.as_deref());
        }
        if complete {
            self.compare_whole(fragment, &column, whole);
        }
    }

    /// Compares the statistics of a decoded tile with those of its cells, which are returned.
    /// `runs` are the cells that belong to the fragment.
    pub(super) fn compare(
        &mut self,
        fragment: &Fragment,
        column: &mut Column<'_>,
        (tile, cells): (usize, usize),
        runs: Option<&[Cells<usize>]>,
    ) -> Option<TileStatistics> {
        let mut claims = column.claims.take()?;
        let cells = column.cells(cells, runs);
        let found = self.tile_statistics(fragment, &column.subject, &mut claims, tile, &cells);
        column.claims = Some(claims);
        self.check(found).0
    }

    /// Compares the statistics of a fragment, after all its tiles were decoded.
    pub(super) fn compare_whole(
        &mut self,
        fragment: &Fragment,
        column: &Column<'_>,
        whole: Option<&[FieldStatistics]>,
    ) {
        let stored = column.subject.slot.and_then(|slot| whole?.get(slot));
        if let Some(claims) = &column.claims {
            self.whole_statistics(fragment, &column.subject, claims, stored);
        }
    }

    /// Decodes a tile of `cells` cells; `false` if that fails.
    pub(super) fn decode(
        &mut self,
        fragment: &Fragment,
        column: &mut Column<'_>,
        (tile, cells): (usize, usize),
        buffers: &mut PooledBuffers,
    ) -> bool {
        if !column.readable {
            return false;
        }
        let Column { tiles, decoded: DecodedField { fixed, var, validity }, .. } = column;
        let wanted = to_u64(cells).checked_mul(to_u64(tiles.cell_size()));
        let len = wanted.filter(|len| *len <= self.context.limits.tile_bytes).and_then(to_usize);
        let Some(len) = len else {
            let what = format!("tile {tile} would have {cells} cells, which is over the limit");
            let path = self.context.describe(fragment.metadata_key());
            let offset = Some(fragment.footer().offset);
            self.unreadable(Problem { path, offset, what });
            return false;
        };
        let context = &self.context;
        var.offsets.clear();
        let is_var = tiles.cell_val_num.is_var();
        let values = if is_var {
            tiles.decode_var(context, tile, cells, var, buffers)
        } else {
            reset(fixed, len);
            tiles.decode_fixed(context, tile, fixed, |_| true, buffers)
        };
        self.count_tiles(if is_var { 2 } else { 1 });
        let (values, mut go_on) = self.check(values);
        let mut whole = values.is_some();
        if tiles.is_nullable() {
            reset(validity, cells);
            self.count_tiles(1);
            let valid = tiles.decode_validity(&self.context, tile, validity, |_| true, buffers);
            let (valid, also) = self.check(valid);
            whole &= valid.is_some();
            go_on |= also;
        }
        column.readable = go_on;
        whole
    }
}

/// Makes a buffer `len` bytes long. Fresh zeroed memory costs nothing until it is written to, and
/// memory for a length from a damaged file is never written to.
fn reset(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() != len {
        *buffer = vec![0; len];
    }
}
