//! The metadata file of a new fragment.

use tdb_codec::{Datatype, Gate, to_u64};
use tdb_filters::{Key, Scratch};
use tdb_fragment::{
    FieldStatistics, Footer, RTree, Section, SectionOffsets, Slots, TileValues, has_unlisted_conditions,
    write_fragment_statistics, write_names, write_u64_list, write_words,
};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use crate::create::generic_tile_in;
use crate::facts::Rule;
use crate::grid::Side;
use crate::merged::Marks;
use crate::statistics::{Fold, TileStatistics};
use crate::tally;
use crate::tile::{FieldEncoder, writer_version};
use crate::{Error, OrInternal, Result, WriteError};

/// The offsets of the tiles of a data file, and its size.
#[derive(Debug, Default)]
pub(super) struct TileList {
    offsets: Vec<u64>,
    size: u64,
}

impl TileList {
    /// Adds a tile of this many bytes.
    pub(super) fn push(&mut self, len: u64) {
        self.offsets.push(self.size);
        self.size = self.size.saturating_add(len);
    }
}

/// The offsets, sizes and statistics that the metadata states about one field.
#[derive(Debug)]
pub(super) struct FieldSummary {
    kind: FieldKind,
    rule: Rule,
    datatype: Datatype,
    cell_size: Option<usize>,
    pub(super) fixed: TileList,
    pub(super) values: TileList,
    pub(super) validity: TileList,
    pub(super) var_sizes: Vec<u64>,
    mins: TileValues,
    maxes: TileValues,
    sums: Vec<[u8; 8]>,
    null_counts: Vec<u64>,
    fold: Fold,
}

impl FieldSummary {
    pub(super) fn new(encoder: &FieldEncoder) -> Self {
        Self {
            kind: encoder.kind,
            rule: encoder.rule,
            datatype: encoder.datatype,
            cell_size: encoder.cell_size,
            fixed: TileList::default(),
            values: TileList::default(),
            validity: TileList::default(),
            var_sizes: Vec::new(),
            mins: TileValues::default(),
            maxes: TileValues::default(),
            sums: Vec::new(),
            null_counts: Vec::new(),
            fold: Fold::default(),
        }
    }

    /// Adds a tile's statistics; it has `cells` cells, padding included.
    pub(super) fn note(&mut self, cells: usize, tile: &TileStatistics) -> Result<()> {
        if self.rule.extremes {
            let (low, high) = match (&tile.extremes, self.cell_size) {
                (Some((low, high)), _) => (low.clone(), high.clone()),
                // A tile that was only partly written, with null cells only, has the initial values
                // of the extremes.
                (None, Some(_)) if self.rule.is_number() && tile.null_count < to_u64(cells) => {
                    tally::unset(self.datatype.physical())
                }
                (None, Some(size)) => (vec![0; size], vec![0; size]),
                (None, None) => (Vec::new(), Vec::new()),
            };
            // Values of another size would move those of all later tiles.
            if self.cell_size.is_some_and(|size| low.len() != size || high.len() != size) {
                return Err(Error::internal("a smallest or largest value of another size than a cell"));
            }
            push_value(&mut self.mins, &low, self.cell_size);
            push_value(&mut self.maxes, &high, self.cell_size);
        }
        if self.rule.sum {
            self.sums.push(tile.sum);
        }
        if self.rule.nulls {
            self.null_counts.push(tile.null_count);
        }
        self.fold.add(self.rule, self.datatype, tile);
        Ok(())
    }
}

fn push_value(values: &mut TileValues, value: &[u8], cell_size: Option<usize>) {
    match cell_size {
        Some(_) => values.fixed.extend_from_slice(value),
        None => {
            values.fixed.extend(to_u64(values.var.len()).to_le_bytes());
            values.var.extend_from_slice(value);
        }
    }
}

/// The contents of a fragment's metadata file.
#[derive(Debug)]
pub(super) struct FragmentSummary {
    schema_name: String,
    /// The area that a dense fragment covers; `None` for sparse ones, where the tiles' MBRs define
    /// it.
    pub(super) domain: Option<Vec<Range>>,
    /// Number of cells in a whole tile.
    tile_cells: u64,
    pub(super) tile_count: usize,
    pub(super) last_tile_cells: u64,
    pub(super) mbrs: Vec<Vec<Range>>,
    pub(super) fields: Vec<FieldSummary>,
    /// The system fields of a fragment that replaces others.
    pub(super) marks: Marks,
}

impl FragmentSummary {
    pub(super) const fn new(
        schema_name: String,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
        fields: Vec<FieldSummary>,
    ) -> Self {
        let mbrs = Vec::new();
        let marks = Marks { times: false, deletes: false, processed: Vec::new() };
        Self { schema_name, domain, tile_cells, tile_count: 0, last_tile_cells: 0, mbrs, fields, marks }
    }

    /// The file: sections, each a generic tile, then the footer with their offsets.
    pub(super) fn to_bytes(
        &self,
        schema: &ArraySchema,
        key: Option<&Key>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u8>> {
        let (version, writer) = (schema.version, writer_version(schema));
        let slots = Slots::new(schema, version, self.marks.times, self.marks.deletes);
        let layout = |error: tdb_codec::Error| WriteError::Schema(Box::new(error.into()));
        let tree = RTree::build(&self.mbrs, &schema.domain).map_err(layout)?;
        let mut file = Vec::new();
        let sections = SectionOffsets::build(version, slots, |section| -> Result<u64> {
            let offset = to_u64(file.len());
            let payload = match section {
                Section::RTree => tree.to_bytes(version, &schema.domain).map_err(layout)?,
                section => self.payload(section, schema, slots)?,
            };
            file.extend(generic_tile_in(writer, &payload, key, scratch)?);
            Ok(offset)
        })?;
        if has_unlisted_conditions(version) {
            file.extend(generic_tile_in(writer, &write_names(&self.marks.processed), key, scratch)?);
        }
        let offset = to_u64(file.len());
        let sizes = |count: usize, size: fn(&FieldSummary) -> u64| -> Vec<u64> {
            (0..count).map(|slot| self.field(slot, slots).map_or(0, size)).collect()
        };
        let validity_len = if version.has(Gate::Nullable) { slots.len() } else { 0 };
        let sparse = self.domain.is_none();
        let mut footer = Footer::new(version, slots, offset);
        footer.schema_name = version.has(Gate::SchemaFolder).then(|| self.schema_name.clone());
        footer.dense = !sparse;
        footer.non_empty_domain = Some(self.non_empty_domain(schema)?);
        footer.sparse_tile_num = if sparse { to_u64(self.tile_count) } else { 0 };
        footer.last_tile_cell_num = if sparse { self.last_tile_cells } else { self.tile_cells };
        footer.has_timestamps = self.marks.times;
        footer.has_delete_metadata = self.marks.deletes;
        footer.file_sizes = sizes(slots.len(), |field| field.fixed.size);
        footer.file_var_sizes = sizes(slots.var_len(version), |field| field.values.size);
        footer.file_validity_sizes = sizes(validity_len, |field| field.validity.size);
        footer.sections = sections;
        let footer = footer.to_bytes(schema).map_err(layout)?;
        file.extend_from_slice(&footer);
        if version.has(Gate::SchemaFolder) || schema.domain.dimensions.iter().any(Dimension::is_var) {
            file.extend(to_u64(footer.len()).to_le_bytes());
        }
        Ok(file)
    }

    /// The area that the fragment covers.
    fn non_empty_domain(&self, schema: &ArraySchema) -> Result<Vec<Range>> {
        if let Some(domain) = &self.domain {
            return Ok(domain.clone());
        }
        let mut mbrs = self.mbrs.iter();
        let mut union = mbrs.next().cloned().or_internal("a sparse fragment without a tile")?;
        for mbr in mbrs {
            for ((range, other), dimension) in union.iter_mut().zip(mbr).zip(&schema.domain.dimensions) {
                range.unite(dimension.datatype, other);
            }
        }
        Ok(union)
    }

    /// Checks that a dense fragment has the tiles of its area: readers find them by their number.
    pub(super) fn check_tiles(&self, schema: &ArraySchema) -> Result<()> {
        let Some(domain) = &self.domain else { return Ok(()) };
        let tiles = crate::tile_grid::sides(schema, domain)?.into_iter().map(Side::tiles);
        let count = tiles.fold(1u64, u64::saturating_mul);
        match count == to_u64(self.tile_count) {
            true => Ok(()),
            false => Err(Error::internal("a dense fragment without all of its tiles, or with more")),
        }
    }

    /// The field in a slot; `None` for slots without files.
    fn field(&self, slot: usize, slots: Slots) -> Option<&FieldSummary> {
        self.fields.iter().find(|field| slots.field(field.kind) == slot)
    }

    fn payload(&self, section: Section, schema: &ArraySchema, slots: Slots) -> Result<Vec<u8>> {
        let field = section.slot().and_then(|slot| self.field(slot, slots));
        let list = |list: fn(&FieldSummary) -> &Vec<u64>| {
            // Fields without such a file have a zero for each tile.
            let values = field.map(list).filter(|values| !values.is_empty());
            values.map_or_else(|| write_u64_list(&vec![0; self.tile_count]), |values| write_u64_list(values))
        };
        let coords = section.slot() == Some(slots.coords());
        Ok(match section {
            Section::TileOffsets(_) => list(|field| &field.fixed.offsets),
            Section::VarOffsets(_) => list(|field| &field.values.offsets),
            Section::VarSizes(_) => list(|field| &field.var_sizes),
            Section::ValidityOffsets(_) => list(|field| &field.validity.offsets),
            Section::Mins(_) | Section::Maxes(_) if coords => self.coords_values(schema).to_bytes(),
            Section::Mins(_) => field.map_or_else(TileValues::default, |field| field.mins.clone()).to_bytes(),
            Section::Maxes(_) => {
                field.map_or_else(TileValues::default, |field| field.maxes.clone()).to_bytes()
            }
            Section::Sums(_) if coords => {
                let string = first_dimension(schema).is_some_and(Dimension::is_var);
                write_words(&vec![[0; 8]; if string { 0 } else { self.tile_count }])
            }
            Section::Sums(_) => write_words(field.map_or(&[], |field| &field.sums)),
            Section::NullCounts(_) => write_u64_list(field.map_or(&[], |field| &field.null_counts)),
            Section::FragmentStatistics => {
                let all: Vec<FieldStatistics> =
                    (0..slots.len()).map(|slot| self.statistics(slot, schema, slots)).collect();
                write_fragment_statistics(&all)
            }
            Section::ProcessedConditions => write_names(&self.marks.processed),
            // The R-tree is written elsewhere, and no version that is written has other sections.
            _ => return Err(Error::internal("a section that is not written here")),
        })
    }

    /// The placeholder of zipped coordinates has statistics like a field of zeros.
    fn coords_values(&self, schema: &ArraySchema) -> TileValues {
        let size = first_dimension(schema).map_or(0, |dimension| dimension.datatype.size());
        let cell = size.saturating_mul(schema.domain.dimensions.len());
        TileValues { fixed: vec![0; self.tile_count.saturating_mul(cell)], var: Vec::new() }
    }

    fn statistics(&self, slot: usize, schema: &ArraySchema, slots: Slots) -> FieldStatistics {
        match self.field(slot, slots) {
            Some(field) => field.fold.finish(field.rule),
            None if slot == slots.coords() => {
                let size = first_dimension(schema).map_or(0, |dimension| dimension.datatype.size());
                FieldStatistics { min: vec![0; size], max: vec![0; size], ..FieldStatistics::default() }
            }
            None => FieldStatistics::default(),
        }
    }
}

fn first_dimension(schema: &ArraySchema) -> Option<&Dimension> {
    schema.domain.dimensions.first()
}
