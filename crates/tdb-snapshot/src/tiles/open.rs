//! Opens the tiles of a field: its files, and the filters that decode them.

use std::sync::Arc;

use tdb_codec::{Datatype, FormatVersion, Gate, to_u64, to_usize};
use tdb_filters::{Decoder, Filter, Pipeline, TileContext};
use tdb_fragment::DataFilePart;
use tdb_schema::{Field, FieldKind};

use super::ambiguous_validity::{
    AmbiguousValidity, ValidityDecoders, ValidityVote, may_be_ambiguous, none_if_damaged,
};
use super::encoded::EncodedTiles;
use super::truncated::TruncatedTiles;
use super::{Chunks, CoordsPart, FieldTiles, ValidityTiles};
use crate::context::Context;
use crate::fragment::Fragment;
use crate::thresholds::MAX_COMPARED_FIELDS;
use crate::{Error, Result};

impl FieldTiles {
    /// The tiles of the field `kind` of the fragment's own schema.
    pub fn open(context: &Context, fragment: &Fragment, kind: FieldKind) -> Result<Self> {
        let Some(field) = fragment.schema().field_of(kind) else {
            let detail = format!("{kind:?} is not in the fragment's schema");
            return Err(Error::inconsistent(context.describe(fragment.metadata_key()), "field", 0, detail));
        };
        Opener::of(context, fragment, field)?.open()
    }

    /// As [`Self::open`], for timestamps that a fragment stores for each cell besides the schema's
    /// fields.
    pub(super) fn system(
        context: &Context,
        fragment: &Fragment,
        (file, slot): (crate::fragment::TileFile, usize),
        name: &str,
    ) -> Result<Self> {
        let schema = fragment.schema();
        let tile = TileContext {
            datatype: Datatype::Uint64,
            cell_size: 8,
            schema_version: schema.version,
            fragment_version: fragment.version(),
            writer_version: fragment.writer_version(context, slot)?,
            var: false,
            string_mode: None,
        };
        let decoder = decoder(context, &file.key, name, &schema.coords_filters, tile)?;
        Ok(Self {
            datatype: Datatype::Uint64,
            cell_val_num: tdb_codec::CellValNum::ONE,
            fixed: EncodedTiles { file, decoder, truncated: None, has_equal_chunks: true },
            values: None,
            strings: None,
            validity: None,
            coords: CoordsPart::Alone,
            chunks: Chunks::default(),
        })
    }
}

/// A field of a fragment that is being opened.
struct Opener<'a> {
    context: &'a Context,
    fragment: &'a Fragment,
    field: Field<'a>,
    writer_version: FormatVersion,
}

/// The parts of a field's cells other than validity.
struct Values {
    fixed: EncodedTiles,
    values: Option<(EncodedTiles, Arc<Vec<u64>>)>,
    strings: Option<Decoder>,
}

impl<'a> Opener<'a> {
    fn of(context: &'a Context, fragment: &'a Fragment, field: Field<'a>) -> Result<Self> {
        let writer_version = fragment.writer_version(context, fragment.footer().slots.field(field.kind))?;
        Ok(Self { context, fragment, field, writer_version })
    }

    fn open(&self) -> Result<FieldTiles> {
        let coords = self.coords();
        let Values { fixed, values, strings } = match self.field.cell_size() {
            None => self.var_length()?,
            Some(cell_size) => Values { fixed: self.fixed(coords, cell_size)?, values: None, strings: None },
        };
        let validity = if self.field.nullable { Some(self.validity()?) } else { None };
        let (datatype, cell_val_num) = (self.field.datatype, self.field.cell_val_num);
        let chunks = Chunks::of(self.fragment, self.field.kind);
        Ok(FieldTiles { datatype, cell_val_num, fixed, values, strings, validity, coords, chunks })
    }

    fn tile(&self, datatype: Datatype, cell_size: usize, var: bool) -> TileContext {
        TileContext {
            datatype,
            cell_size: to_u64(cell_size),
            schema_version: self.fragment.schema().version,
            fragment_version: self.fragment.version(),
            writer_version: self.writer_version,
            var,
            string_mode: None,
        }
    }

    fn decoder(&self, key: &str, pipeline: &Pipeline, tile: TileContext) -> Result<Decoder> {
        decoder(self.context, key, self.field.name, pipeline, tile)
    }

    fn part(&self, part: DataFilePart, pipeline: &Pipeline, tile: TileContext) -> Result<EncodedTiles> {
        let file = self.fragment.file(self.context, self.field.kind, part)?;
        let decoder = self.decoder(&file.key, pipeline, tile)?;
        let cell_size = to_usize(tile.cell_size).unwrap_or(usize::MAX);
        let truncated = TruncatedTiles::of(self.fragment, self.writer_version, cell_size);
        Ok(EncodedTiles { file, decoder, truncated, has_equal_chunks: true })
    }

    fn filters(&self) -> &'a Pipeline {
        self.fragment.schema().filters_in(&self.field, self.fragment.version())
    }

    fn coords(&self) -> CoordsPart {
        let (schema, version) = (self.fragment.schema(), self.fragment.version());
        match self.field.kind {
            FieldKind::Dimension(index) if !version.has(Gate::DimensionFiles) => {
                let count = schema.domain.dimensions.len();
                let compressed = schema.coords_filters.filters.iter().any(is_compressor);
                if version.has(Gate::SplitCoordinates) || compressed {
                    CoordsPart::Split { index, count }
                } else {
                    CoordsPart::Zipped { index, count }
                }
            }
            _ => CoordsPart::Alone,
        }
    }

    fn fixed(&self, coords: CoordsPart, cell_size: usize) -> Result<EncodedTiles> {
        let tuple = match coords {
            CoordsPart::Alone => cell_size,
            CoordsPart::Split { count, .. } | CoordsPart::Zipped { count, .. } => {
                cell_size.saturating_mul(count)
            }
        };
        let tile = self.tile(self.field.datatype, tuple, false);
        let coded = self.part(DataFilePart::Fixed, self.filters(), tile)?;
        Ok(EncodedTiles { has_equal_chunks: coords == CoordsPart::Alone, ..coded })
    }

    fn var_length(&self) -> Result<Values> {
        let (context, fragment, datatype) = (self.context, self.fragment, self.field.datatype);
        let offsets = &fragment.schema().offsets_filters;
        let fixed = self.part(DataFilePart::Fixed, offsets, self.tile(Datatype::Uint64, 8, false))?;
        let file = fragment.file(context, self.field.kind, DataFilePart::Var)?;
        let mut plain = self.tile(datatype, datatype.size(), true);
        plain.string_mode = Some(false);
        let mut lengths = plain;
        lengths.string_mode = Some(true);
        let filters = self.filters();
        let strings = stores_strings(filters, datatype)
            .then(|| self.decoder(&file.key, filters, lengths).ok())
            .flatten();
        // The dictionary filter has no plain mode: then only values without offsets are possible.
        let decoder = match (self.decoder(&file.key, filters, plain), &strings) {
            (Err(_), Some(strings)) => strings.clone(),
            (plain, _) => plain?,
        };
        let sizes = fragment.var_sizes(context, self.field.kind)?;
        let values = EncodedTiles { file, decoder, truncated: None, has_equal_chunks: false };
        Ok(Values { fixed, values: Some((values, sizes)), strings })
    }

    fn validity(&self) -> Result<ValidityTiles> {
        let Some(validity) = self.two_ways()? else {
            let tile = self.tile(Datatype::Uint8, 1, false);
            let pipeline = &self.fragment.schema().validity_filters;
            return Ok(ValidityTiles::Plain(self.part(DataFilePart::Validity, pipeline, tile)?));
        };
        if !may_be_ambiguous(self.fragment.schema(), &self.field) {
            return Ok(ValidityTiles::Plain(validity.typed));
        }
        let (context, fragment) = (self.context, self.fragment);
        let mut votes = Vec::new();
        for field in fragment.schema().fields() {
            if votes.len() < MAX_COMPARED_FIELDS {
                let opener = Opener::of(context, fragment, field)?;
                votes.extend(none_if_damaged(opener.vote())?.flatten());
            }
        }
        Ok(ValidityTiles::Ambiguous(validity, AmbiguousValidity::new(votes)))
    }

    /// The statistics of this field's tiles, if they can tell how validity was filtered.
    fn vote(&self) -> Result<Option<ValidityVote>> {
        if !(self.field.nullable && may_be_ambiguous(self.fragment.schema(), &self.field)) {
            return Ok(None);
        }
        let (coords, size) = (CoordsPart::Alone, self.field.datatype.size());
        let open = || Ok(self.two_ways()?.zip(Some(self.fixed(coords, size)?)));
        ValidityVote::of(self.context, self.fragment, &self.field, open)
    }

    /// The validity tiles of a fragment whose filters may have been told that they are values of
    /// the attribute's type.
    fn two_ways(&self) -> Result<Option<ValidityDecoders>> {
        let pipeline = &self.fragment.schema().validity_filters;
        let tile = self.tile(Datatype::Uint8, 1, false);
        let (first, last) = self.fragment.timestamps();
        // Only cells of a write, not of a consolidation, may be in row-major order. If the filters
        // store the lengths of their windows, chunks show whether they were; shuffled chunks do
        // not.
        let Some(typed) = tile.typed_validity(self.field.datatype) else { return Ok(None) };
        if !self.fragment.is_dense() || first != last {
            return Ok(None);
        }
        let mut coded = self.part(DataFilePart::Validity, pipeline, tile)?;
        let Ok(typed) = self.decoder(&coded.file.key, pipeline, typed) else { return Ok(None) };
        let bytes = coded.decoder;
        coded.decoder = typed.or(bytes.clone());
        Ok(Some(ValidityDecoders { typed: coded, bytes }))
    }
}

fn decoder(
    context: &Context,
    key: &str,
    field: &str,
    pipeline: &Pipeline,
    tile: TileContext,
) -> Result<Decoder> {
    pipeline
        .decoder_with_key(tile, context.key.as_ref())
        .map_err(|error| Error::unsupported(context.describe(key), error.in_field(field).to_string()))
}

/// Whether a var-length field's filters may store the strings' lengths (docs/format/filters.md).
fn stores_strings(pipeline: &Pipeline, datatype: Datatype) -> bool {
    matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8)
        && pipeline
            .filters
            .iter()
            .any(|filter| matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. }))
}

fn is_compressor(filter: &Filter) -> bool {
    tdb_filters::registry::by_code(filter.code()).is_some_and(|row| row.compressor.is_some())
}
