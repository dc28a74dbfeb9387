//! The generic tile: a tile whose header describes its filters (docs/format/generic-tile.md).

use tdb_codec::{
    Budget, Datatype, ErrorKind as FormatError, FormatVersion, Limits, Reader, Writer, to_u64, to_usize,
};
use tdb_filters::{Filter, Key, Pipeline, Scratch, TileContext};

use crate::chunks::TileChunks;
use crate::encode::encode_tile;
use crate::error::{Error, ErrorKind, Result};
use crate::split::Cells;

/// Number of bytes before the pipeline.
pub const GENERIC_HEADER_LEN: usize = 34;

/// How a generic tile is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Not encrypted (0).
    None,
    /// AES-256-GCM (1); the pipeline then ends in that filter.
    Aes256Gcm,
}

impl Encryption {
    /// From the wire code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::None),
            1 => Some(Self::Aes256Gcm),
            _ => None,
        }
    }

    /// The wire code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A tile that describes itself: schemas, enumerations, sections of fragment metadata, array
/// metadata and groups are wrapped in one.
///
/// | Offset | Field | Type |
/// |---|---|---|
/// | 0 | format version of the writer | u32 |
/// | 4 | persisted size: bytes of the chunks | u64 |
/// | 12 | tile size: bytes of the payload | u64 |
/// | 20 | datatype | u8 |
/// | 21 | cell size | u64 |
/// | 29 | encryption | u8 |
/// | 30 | pipeline length | u32 |
/// | 34 | pipeline | docs/format/filters.md |
/// | 34 + pipeline length | chunks | docs/format/tiles-and-chunks.md |
///
/// The header is never encrypted. The version is that of the library that wrote the tile, not that
/// of the payload inside.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GenericTile<'a> {
    /// Format version of the library that wrote the tile.
    pub version: FormatVersion,
    /// Length of the chunks in bytes.
    pub persisted_size: u64,
    /// Length of the payload in bytes, according to the header.
    pub tile_size: u64,
    /// Type of the payload's values; always `CHAR`.
    pub datatype: Datatype,
    /// Size of a cell in bytes; always 1.
    pub cell_size: u64,
    /// Whether the chunks are encrypted.
    pub encryption: Encryption,
    /// The filters of the chunks.
    pub pipeline: Pipeline,
    body: Reader<'a>,
    offset: u64,
    total_len: u64,
}

impl<'a> GenericTile<'a> {
    /// Reads the tile at the start of `bytes`, which is at file offset `base_offset`. More bytes
    /// may follow: see [`Self::total_len`].
    ///
    /// # Errors
    /// If the header is cut off or wrong, its version is not supported, or the chunks are cut off.
    pub fn parse(bytes: &'a [u8], base_offset: u64) -> Result<Self> {
        Self::parse_from(Reader::with_offset(bytes, base_offset))
    }

    /// Reads the tile with a reader from the caller, for example a traced one: [`Self::chunks`]
    /// then records the chunks in the same trace.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'a>) -> Result<Self> {
        let start = reader;
        let base_offset = reader.offset();
        let version = FormatVersion::parse(reader.u32("format version")?).map_err(|error| {
            start.error("format version", FormatError::UnsupportedVersion { version: error.0 })
        })?;
        let persisted_size = reader.u64("persisted size")?;
        let tile_size = reader.u64("tile size")?;
        let datatype = reader.datatype("datatype")?;
        let cell_size = reader.u64("cell size")?;
        let encryption = reader.code("encryption type", Encryption::from_code)?;
        let pipeline_len = reader.u32("pipeline length")?;
        let mut options = reader.sub(u64::from(pipeline_len), "filter pipeline")?;
        let pipeline = Pipeline::parse(&mut options, version)?;
        options.finish("filter pipeline")?;
        let body = reader.sub(persisted_size, "tile data")?;
        let total_len = reader.offset().saturating_sub(base_offset);
        Ok(Self {
            version,
            persisted_size,
            tile_size,
            datatype,
            cell_size,
            encryption,
            pipeline,
            body,
            offset: base_offset,
            total_len,
        })
    }

    /// Number of bytes of the whole tile, including the header: the next tile begins there.
    #[must_use]
    pub const fn total_len(&self) -> u64 {
        self.total_len
    }

    /// Absolute file offset of the header.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The filtered chunks, as stored.
    #[must_use]
    pub const fn body(&self) -> &'a [u8] {
        self.body.rest()
    }

    /// The framing of the body.
    ///
    /// # Errors
    /// If the framing is wrong, or the chunks do not add up to the tile size.
    pub fn chunks(&self) -> Result<TileChunks<'a>> {
        let chunks = TileChunks::parse_from(self.body)?;
        let (expected, found) = (self.tile_size, chunks.original_len());
        if expected != found {
            return Err(Error::new(self.offset, ErrorKind::WrongLength { expected, found }));
        }
        Ok(chunks)
    }

    /// Decodes the payload. Its size is compared with `limits.metadata_bytes` and charged to
    /// `budget` for the time of the call; the result belongs to the caller.
    ///
    /// # Errors
    /// If the tile is encrypted and there is no key (or the other way round), or if the tile is too
    /// large or invalid.
    pub fn decode(&self, key: Option<&Key>, limits: &Limits, budget: &Budget) -> Result<Vec<u8>> {
        match (self.encryption, key) {
            (Encryption::Aes256Gcm, None) => return Err(self.error(ErrorKind::Encrypted)),
            (Encryption::None, Some(_)) => return Err(self.error(ErrorKind::NotEncrypted)),
            _ => {}
        }
        let context = TileContext::new(self.datatype, self.cell_size, self.version);
        let decoder = self
            .pipeline
            .decoder_with_key(context, key)
            .map_err(|error| self.error(ErrorKind::Filter(error)))?;
        let chunks = self.chunks()?;
        let over = || self.error(ErrorKind::OverLimit { size: self.tile_size });
        if self.tile_size > limits.metadata_bytes {
            return Err(over());
        }
        let len = to_usize(self.tile_size).ok_or_else(over)?;
        budget.charge(self.tile_size).map_err(|_| over())?;
        let mut out = vec![0; len];
        let result = chunks.decode(&decoder, &mut out, &mut Scratch::new(), budget);
        budget.release(self.tile_size);
        result.map(|()| out)
    }

    /// Wraps `payload` as libtiledb does: one gzip filter of level 1.
    ///
    /// ```
    /// use tdb_codec::{Budget, FormatVersion, Limits};
    /// use tdb_tile::GenericTile;
    ///
    /// let bytes = GenericTile::encode(b"payload", FormatVersion::CURRENT)?;
    /// let tile = GenericTile::parse(&bytes, 0)?;
    /// assert_eq!(tile.total_len(), bytes.len() as u64);
    /// assert_eq!(tile.decode(None, &Limits::default(), &Budget::unlimited())?, b"payload");
    /// # Ok::<(), tdb_tile::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this build has no gzip.
    pub fn encode(payload: &[u8], version: FormatVersion) -> Result<Vec<u8>> {
        encode(payload, version, None, &mut Scratch::new())
    }

    /// As [`Self::encode`], encrypted: gzip, then AES-256-GCM. `scratch` must have a source of
    /// nonces.
    ///
    /// # Errors
    /// If this build has no gzip or no encryption, or `scratch` has no nonces.
    pub fn encode_encrypted(
        payload: &[u8],
        version: FormatVersion,
        key: &Key,
        scratch: &mut Scratch,
    ) -> Result<Vec<u8>> {
        encode(payload, version, Some(key), scratch)
    }

    /// As [`Self::encode`], or [`Self::encode_encrypted`] if there is a key, with working memory of
    /// the caller: setting up gzip takes longer than compressing most payloads.
    ///
    /// # Errors
    /// As [`Self::encode_encrypted`].
    pub fn encode_with(
        payload: &[u8],
        version: FormatVersion,
        key: Option<&Key>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u8>> {
        encode(payload, version, key, scratch)
    }

    const fn error(&self, kind: ErrorKind) -> Error {
        Error::new(self.offset, kind)
    }
}

fn encode(
    payload: &[u8],
    version: FormatVersion,
    key: Option<&Key>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let mut filters = vec![Filter::Gzip { level: 1 }];
    filters.extend(key.map(|_| Filter::Aes256Gcm));
    let pipeline = Pipeline::new(filters);
    let encoder = pipeline
        .encoder_with_key(TileContext::generic(version), key)
        .map_err(|error| Error::new(0, ErrorKind::Filter(error)))?;
    let body = encode_tile(&encoder, payload, Cells::Fixed { size: 1 }, scratch)?;
    let encryption = if key.is_some() { Encryption::Aes256Gcm } else { Encryption::None };
    let mut writer = Writer::new();
    writer.u32(version.number());
    writer.u64(to_u64(body.len()));
    writer.u64(to_u64(payload.len()));
    writer.u8(Datatype::Char.code());
    writer.u64(1);
    writer.u8(encryption.code());
    writer.nested_u32("filter pipeline", |writer| pipeline.write(writer, version))?;
    writer.bytes(&body);
    Ok(writer.into_vec())
}
