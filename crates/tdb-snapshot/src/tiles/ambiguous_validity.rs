//! Ambiguous validity: tiles whose chunks do not tell how they were filtered, as bytes or as values
//! of the attribute's type.
//!
//! libtiledb 2.6 to 2.10 did the latter where they wrote the cells of a dense array in row- or
//! column-major order ([`TileContext::typed_validity`](tdb_filters::TileContext::typed_validity)).
//! After a shuffle both ways of decoding give zeros and ones, in another order. The statistics of
//! tiles of integers, dates and times (which libtiledb has written since 2.7) know better: they are
//! those of the cells that are not null. All cells of such a fragment were written in one order, so
//! that one tile decides for all fields. Reals do not decide: what libtiledb states about them is
//! wrong where there are NaNs.

use std::io;
use std::sync::OnceLock;

use tdb_codec::{Buffer, DatatypeClass, Physical, Reader};
use tdb_filters::{Decoder, Filter};
use tdb_fragment::{Section, TileValues, parse_words};
use tdb_schema::{ArraySchema, Field};
use tdb_tile::TileChunks;

use super::encoded::EncodedTiles;
use crate::buffers::zeroed;
use crate::context::Context;
use crate::decode_buffers::{DecodeBuffers, DecodeResources};
use crate::facts::{Compared, Rule};
use crate::fragment::Fragment;
use crate::tally::{self, Tally};
use crate::thresholds::MAX_COMPARED_TILES;
use crate::{Error, Result};

/// Whether validity that was filtered as bytes and validity that was filtered as values of the
/// field's type may be stored differently, without any sign of it in the chunks. Filters with
/// windows store the lengths of these, which are such a sign.
pub(super) fn may_be_ambiguous(schema: &ArraySchema, field: &Field<'_>) -> bool {
    let filters = &schema.validity_filters.filters;
    let shuffles = |filter: &Filter| matches!(filter, Filter::ByteShuffle | Filter::BitShuffle);
    let notes =
        |filter: &Filter| matches!(filter, Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. });
    field.datatype.size() > 1 && filters.iter().any(shuffles) && !filters.iter().any(notes)
}

/// The two ways of decoding a field's validity tiles.
#[derive(Debug)]
pub(super) struct ValidityDecoders {
    /// Decodes them as values of the attribute's type, unless a chunk tells that they are not.
    pub(super) typed: EncodedTiles,
    /// Decodes them as bytes.
    pub(super) bytes: Decoder,
}

impl ValidityDecoders {
    /// Decodes a tile into `out` as values of the attribute's type. Returns the tile decoded as
    /// bytes, if that gives other validity.
    fn decode(
        &self,
        context: &Context,
        tile: usize,
        out: &mut [u8],
        DecodeResources { scratch, raw, .. }: DecodeResources<'_>,
    ) -> Result<Option<Buffer>> {
        self.typed.decode(context, tile, out, |_| true, DecodeResources { scratch, raw, threads: 1 })?;
        let mut other = zeroed(out.len())?;
        // Decoding a whole tile leaves its stored bytes in `raw`.
        let decoded = TileChunks::parse(raw.as_slice(), 0)
            .and_then(|chunks| chunks.decode(&self.bytes, other.as_mut_slice(), scratch, &context.budget));
        let differs = decoded.is_ok() && other.as_slice() != out;
        Ok(Some(other).filter(|other| differs && other.as_slice().iter().all(|byte| *byte <= 1)))
    }
}

/// A field of integers, dates or times whose statistics can tell which decoding is right, and the
/// statistics of its tiles.
#[derive(Debug)]
pub(super) struct ValidityVote {
    validity: ValidityDecoders,
    values: EncodedTiles,
    physical: Physical,
    mins: TileValues,
    maxes: TileValues,
    sums: Vec<[u8; 8]>,
    /// The tiles that are compared.
    tiles: Vec<usize>,
}

impl ValidityVote {
    /// `None` if the fragment has no statistics of the field's values.
    pub(super) fn of(
        context: &Context,
        fragment: &Fragment,
        field: &Field<'_>,
        open: impl FnOnce() -> Result<Option<(ValidityDecoders, EncodedTiles)>>,
    ) -> Result<Option<Self>> {
        let rule = Rule::attribute(field.datatype, field.cell_val_num, field.nullable);
        let Compared::Number(physical) = rule.compared else { return Ok(None) };
        // libtiledb adds up no dates and times.
        let sums = match field.datatype.class() {
            DatatypeClass::Integer => {
                fragment.section(context, Section::Sums(fragment.footer().slots.field(field.kind)))?
            }
            DatatypeClass::Datetime | DatatypeClass::Time => None,
            _ => return Ok(None),
        };
        let slot = fragment.footer().slots.field(field.kind);
        let corrupt = |error| Error::corrupt(context.describe(fragment.metadata_key()), error);
        let values = |section: Section| -> Result<TileValues> {
            let Some(payload) = fragment.section(context, section)? else { return Ok(TileValues::default()) };
            TileValues::parse(Reader::new(&payload), section.name()).map_err(corrupt)
        };
        let (mins, maxes) = (values(Section::Mins(slot))?, values(Section::Maxes(slot))?);
        let sums = sums.map(|payload| parse_words(Reader::new(&payload), "tile sums"));
        let sums = sums.transpose().map_err(corrupt)?.unwrap_or_default();
        if mins.fixed.is_empty() || maxes.fixed.is_empty() {
            return Ok(None);
        }
        let nulls = fragment.list(context, Section::NullCounts(slot))?;
        let with_nulls = nulls.iter().enumerate().filter(|(_, count)| **count > 0);
        let tiles = with_nulls.map(|(tile, _)| tile).take(MAX_COMPARED_TILES).collect();
        let opened = open()?;
        Ok(opened.map(|(validity, values)| Self { validity, values, physical, mins, maxes, sums, tiles }))
    }

    /// Whether minimum, maximum and sum of a tile are the stored ones. A tile without a stored sum,
    /// as those of dates, is compared by the other two.
    fn agrees(&self, tile: usize, found: &Tally) -> bool {
        let size = Some(self.physical.size());
        let Some((low, high)) = &found.extremes else { return false };
        let sum = self.sums.get(tile).is_none_or(|sum| *sum == found.sum);
        sum && self.mins.value(tile, size) == Some(low) && self.maxes.value(tile, size) == Some(high)
    }

    /// Whether the validity of a tile of this many cells was filtered as bytes; `None` if its
    /// statistics do not say.
    fn is_bytes(
        &self,
        context: &Context,
        tile: usize,
        cells: usize,
        buffers: &mut DecodeBuffers,
    ) -> Result<Option<bool>> {
        let mut typed = zeroed(cells)?;
        let Some(bytes) = self.validity.decode(context, tile, typed.as_mut_slice(), buffers.resources())?
        else {
            return Ok(None);
        };
        let mut values = zeroed(context.tile_len(cells, self.physical.size())?)?;
        let resources = DecodeResources { threads: 1, ..buffers.resources() };
        self.values.decode(context, tile, values.as_mut_slice(), |_| true, resources)?;
        let agrees = |validity: &Buffer| -> Result<bool> {
            let all = core::iter::once(0..cells);
            let tally = tally::of_cells(self.physical, all, values.as_slice(), validity.as_slice())?;
            Ok(self.agrees(tile, &tally))
        };
        let (bytes, typed) = (agrees(&bytes)?, agrees(&typed)?);
        Ok((bytes != typed).then_some(bytes))
    }
}

/// The result for a field; `None` if the field is damaged or absent: a query does not fail for a
/// field that it does not read. Other errors are returned, because the result must not depend on
/// whether a storage could be reached.
pub(super) fn none_if_damaged<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::Corrupt { .. } | Error::Unsupported { .. }) => Ok(None),
        Err(Error::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Decides, by votes of several fields, how the validity of a fragment was filtered.
#[derive(Debug, Default)]
pub(super) struct AmbiguousValidity {
    pub(super) votes: Vec<ValidityVote>,
    is_bytes: OnceLock<bool>,
}

impl AmbiguousValidity {
    pub(super) fn new(votes: Vec<ValidityVote>) -> Self {
        Self { votes, is_bytes: OnceLock::new() }
    }

    /// Decodes a whole validity tile into `out`: as values of the attribute's type, unless
    /// statistics tell that it was filtered as bytes.
    pub(super) fn decode(
        &self,
        context: &Context,
        validity: &ValidityDecoders,
        tile: usize,
        out: &mut [u8],
        buffers: &mut DecodeBuffers,
    ) -> Result<()> {
        if let Some(bytes) = validity.decode(context, tile, out, buffers.resources())?
            && self.is_bytes(context, out.len(), buffers)?
        {
            out.copy_from_slice(bytes.as_slice());
        }
        Ok(())
    }

    /// Compares the first tiles of the fields with their statistics, until one decides.
    fn is_bytes(&self, context: &Context, cells: usize, buffers: &mut DecodeBuffers) -> Result<bool> {
        if let Some(known) = self.is_bytes.get() {
            return Ok(*known);
        }
        for vote in &self.votes {
            for &tile in &vote.tiles {
                let decided = vote.is_bytes(context, tile, cells, buffers);
                if let Some(decided) = none_if_damaged(decided)?.flatten() {
                    return Ok(*self.is_bytes.get_or_init(|| decided));
                }
            }
        }
        Ok(*self.is_bytes.get_or_init(|| false))
    }
}
