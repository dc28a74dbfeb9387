//! Runs a pipeline backwards over one chunk.

mod chunk;

use tdb_codec::{Budget, Reader};

use self::chunk::{Data, Metadata, Place};
use crate::error::{Error, ErrorKind, Kind};
use crate::scratch::{Charge, Codecs, Scratch};
use crate::step::{Op, Plan, Step};
use crate::strings::CodedStrings;
use crate::{Key, Pipeline, TileContext};
use crate::{bit_width_reduction, bitshuffle, byteshuffle, checksum, compress, dictionary, encryption};
use crate::{positive_delta, rle_strings, scale_float, webp, xor};

/// A pipeline resolved for one kind of tile, ready to decode its chunks. Workers can share it.
#[derive(Clone, Debug)]
pub struct Decoder {
    plan: Plan,
    /// See [`Self::effort`].
    effort: u16,
    /// How to decode chunks for which `plan` fails or returns bytes that are not validity bytes.
    otherwise: Option<Box<Self>>,
}

/// Whether these can be validity bytes of cells: each is 0 or 1.
fn is_validity(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte <= 1)
}

impl Pipeline {
    /// Resolves the pipeline for decoding tiles of `context`.
    ///
    /// # Errors
    /// If a filter is unknown, is not part of this build, needs a key, or does not accept its input
    /// type. The error names the filter and its position.
    pub fn decoder(&self, context: TileContext) -> Result<Decoder, Error> {
        self.decoder_with_key(context, None)
    }

    /// As [`Self::decoder`]; with a key, for the tiles of an encrypted array. Encryption is then
    /// the last filter, whether the pipeline contains it (generic tiles) or not (everything else).
    ///
    /// # Errors
    /// As [`Self::decoder`].
    pub fn decoder_with_key(&self, context: TileContext, key: Option<&Key>) -> Result<Decoder, Error> {
        Ok(Decoder { plan: Plan::new(self, &context, key)?, effort: self.effort(), otherwise: None })
    }
}

impl Decoder {
    /// Uses `other` for chunks of validity bytes that this decoder rejects, or for which this
    /// decoder returns bytes other than 0 and 1 and `other` does not. This is for tiles for which
    /// nothing records how they were filtered. If both reject a chunk, the error is this decoder's;
    /// if both return such bytes, the result is this decoder's.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { otherwise: Some(Box::new(other)), ..self }
    }

    /// About how many tenths of a nanosecond it takes to decode a byte.
    ///
    /// ```
    /// use tdb_codec::{Datatype, FormatVersion};
    /// use tdb_filters::{Filter, Pipeline, TileContext};
    ///
    /// let effort = |filter| {
    ///     let context = TileContext::new(Datatype::Int32, 4, FormatVersion::CURRENT);
    ///     Pipeline::new(vec![filter]).decoder(context).map(|decoder| decoder.effort())
    /// };
    /// assert!(effort(Filter::BitShuffle)? < effort(Filter::ChecksumMd5)?);
    /// # Ok::<(), tdb_filters::Error>(())
    /// ```
    #[must_use]
    pub const fn effort(&self) -> u16 {
        self.effort
    }

    /// Whether no filter does anything, so the stored bytes are the cells.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.plan.steps.is_empty() && self.otherwise.as_ref().is_none_or(|other| other.is_identity())
    }

    /// Whether the stored data of a chunk is as long as its cells. The positions of chunk headers
    /// can then be computed, so chunks can be skipped without reading them.
    #[must_use]
    pub fn keeps_sizes(&self) -> bool {
        self.plan.keeps_sizes() && self.otherwise.as_ref().is_none_or(|other| other.keeps_sizes())
    }

    /// Whether a filter stores the strings' lengths. The offsets tile is then empty, and chunks are
    /// decoded with [`Self::decode_string_chunk`].
    #[must_use]
    pub fn decodes_strings(&self) -> bool {
        self.plan.split_strings().is_some()
    }

    /// Decodes one chunk: `metadata` and `data` as stored, `out` as long as the chunk's original
    /// length. In a chunk without cells, an error of a compressor is ignored: some libraries stored
    /// such chunks in a form that they cannot read again.
    ///
    /// Intermediate buffers live in `scratch`; their sizes come from the chunk's metadata and are
    /// charged to `budget` for the time of the call.
    ///
    /// # Errors
    /// If anything about the chunk is wrong; the error names the filter. No input causes a panic,
    /// and a chunk that decodes to another length than `out`, or that has metadata left over, is
    /// rejected. `out` then holds unspecified bytes.
    pub fn decode_chunk(
        &self,
        metadata: &[u8],
        data: &[u8],
        out: &mut [u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), Error> {
        if self.decodes_strings() {
            return Err(self.error(ErrorKind::StringMode));
        }
        let nothing = out.is_empty();
        match (self.run(metadata, data, out, scratch, budget), &self.otherwise) {
            (Err(error), _) if nothing && self.plan.steps.iter().any(|step| step.compresses(&error)) => {
                Ok(())
            }
            (Err(error), Some(other)) => {
                other.decode_chunk(metadata, data, out, scratch, budget).map_err(|_| error)
            }
            (Ok(()), Some(other)) if !is_validity(out) => {
                let decoded = other.decode_chunk(metadata, data, out, scratch, budget);
                if decoded.is_ok() && is_validity(out) {
                    return Ok(());
                }
                self.run(metadata, data, out, scratch, budget)
            }
            (done, _) => done,
        }
    }

    fn run(
        &self,
        metadata: &[u8],
        data: &[u8],
        out: &mut [u8],
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), Error> {
        let charge = Charge::new(budget);
        let Scratch { data: [current, next], metadata: [old, new], codecs, .. } = scratch;
        let mut data =
            Data { input: data, current, next, out: Some(out), place: Place::Input, charge: &charge };
        let mut metadata = Metadata { input: metadata, current: old, next: new, buffered: None, read: 0 };
        undo(&self.plan.steps, &mut metadata, &mut data, codecs)?;
        metadata.finish().and_then(|()| data.finish()).map_err(|kind| self.error(kind))
    }

    /// Decodes one chunk of a pipeline that [decodes strings](Self::decodes_strings). Appends the
    /// strings' bytes to `values`, and to `offsets` the position in `values` where each string
    /// begins. Several chunks or tiles can therefore be decoded one after another into the same
    /// vectors.
    ///
    /// # Errors
    /// As [`Self::decode_chunk`]. The vectors' new elements are then unspecified. The memory by
    /// which the vectors grow is charged to `budget` before they grow, for the time of the call.
    pub fn decode_string_chunk(
        &self,
        metadata: &[u8],
        data: &[u8],
        values: &mut Vec<u8>,
        offsets: &mut Vec<u64>,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<(), Error> {
        self.string_chunk((metadata, data), scratch, budget, |op, block, data, charge| match op {
            Op::Dictionary => dictionary::decode(block, data, values, offsets, charge),
            _ => rle_strings::decode(block, data, values, offsets, charge),
        })
    }

    /// As [`Self::decode_string_chunk`], but strings that are stored once stay so: appends codes,
    /// and the strings that they stand for. Returns the bytes of all cells' strings together.
    ///
    /// # Errors
    /// As [`Self::decode_string_chunk`].
    pub fn decode_coded_chunk(
        &self,
        metadata: &[u8],
        data: &[u8],
        into: &mut CodedStrings,
        scratch: &mut Scratch,
        budget: &Budget,
    ) -> Result<usize, Error> {
        self.string_chunk((metadata, data), scratch, budget, |op, block, data, charge| match op {
            Op::Dictionary => dictionary::decode_codes(block, data, into, charge),
            _ => rle_strings::decode_codes(block, data, into, charge),
        })
    }

    /// Undoes all filters but the one that stores strings, whose metadata and data `decode` gets.
    fn string_chunk<R>(
        &self,
        (metadata, data): (&[u8], &[u8]),
        scratch: &mut Scratch,
        budget: &Budget,
        decode: impl FnOnce(&Op, &mut Reader<'_>, &[u8], &Charge<'_>) -> Kind<R>,
    ) -> Result<R, Error> {
        let Some((step, later)) = self.plan.split_strings() else {
            return Err(self.error(ErrorKind::NotStringMode));
        };
        let charge = Charge::new(budget);
        let Scratch { data: [current, next], metadata: [old, new], codecs, .. } = scratch;
        let mut data = Data { input: data, current, next, out: None, place: Place::Input, charge: &charge };
        let mut metadata = Metadata { input: metadata, current: old, next: new, buffered: None, read: 0 };
        undo(later, &mut metadata, &mut data, codecs)?;
        let mut decoded = None;
        metadata
            .block(|block| {
                decoded = Some(decode(&step.op, block, data.bytes(), &charge)?);
                Ok(())
            })
            .map_err(|kind| step.error(kind))?;
        metadata.finish().map_err(|kind| self.error(kind))?;
        decoded.ok_or_else(|| self.error(ErrorKind::NotStringMode))
    }

    const fn error(&self, kind: ErrorKind) -> Error {
        Error::pipeline(self.plan.count, kind)
    }
}

/// Undoes filters, last to first.
fn undo(
    steps: &[Step],
    metadata: &mut Metadata<'_>,
    data: &mut Data<'_, '_>,
    codecs: &mut Codecs,
) -> Result<(), Error> {
    let mut earlier = steps;
    while let Some((step, rest)) = earlier.split_last() {
        // Data may move to the output once nothing before this step needs to move it again.
        let last_move = data.out.is_some() && rest.iter().all(|step| step.op.in_place());
        run(&step.op, last_move, metadata, data, codecs).map_err(|kind| step.error(kind))?;
        earlier = rest;
    }
    Ok(())
}

/// Undoes one filter.
fn run(
    op: &Op,
    last_move: bool,
    metadata: &mut Metadata<'_>,
    data: &mut Data<'_, '_>,
    codecs: &mut Codecs,
) -> Kind<()> {
    let charge = data.charge;
    match *op {
        Op::Compress(codec) => metadata.absorb(|reader, next| {
            let block = compress::Block::parse(reader)?;
            let before = charge.grow(next, block.metadata_len)?;
            data.transform(block.data_len, last_move, |src, dst| {
                block.decode(codec, src, before, dst, codecs)
            })?;
            Ok(block.metadata_len)
        }),
        Op::Encrypt(ref cipher) => metadata.absorb(|reader, next| {
            let block = encryption::Block::parse(reader)?;
            let before = charge.grow(next, block.metadata_len)?;
            data.transform(block.data_len, last_move, |src, dst| block.decode(cipher, src, before, dst))?;
            Ok(block.metadata_len)
        }),
        Op::ByteShuffle { size } => metadata.block(|block| {
            data.transform(data.len(), last_move, |src, dst| byteshuffle::decode(size, block, src, dst))
        }),
        Op::BitShuffle { size } => metadata.block(|block| {
            data.transform(data.len(), last_move, |src, dst| {
                bitshuffle::decode(size, block, src, dst, codecs.planes())
            })
        }),
        Op::BitWidthReduction { physical, .. } => metadata.block(|reader| {
            let block = bit_width_reduction::Block::parse(physical.size(), reader)?;
            data.transform(block.len, last_move, |src, dst| {
                bit_width_reduction::decode(physical, &block, src, dst)
            })
        }),
        Op::ScaleFloat { float, options } => metadata.block(|block| {
            let len = scale_float::decoded_len(float, options.byte_width, data.len())?;
            data.transform(len, last_move, |src, dst| scale_float::decode(float, options, block, src, dst))
        }),
        Op::WebP(image) => metadata.block(|block| {
            data.transform(image.len, last_move, |src, dst| webp::decode(image, block, src, dst, charge))
        }),
        Op::PositiveDelta { physical, .. } => metadata.block(|block| {
            data.in_place(last_move, |src, dst| positive_delta::decode(physical.size(), block, src, dst))
        }),
        Op::Xor { size } => {
            metadata.block(|block| data.in_place(last_move, |src, dst| xor::decode(size, block, src, dst)))
        }
        Op::Checksum(hash) => metadata.block(|block| checksum::verify(hash, block, data.bytes())),
        // Never happens: only the first step stores strings, and it is not run from here.
        Op::RleStrings | Op::Dictionary => Err(ErrorKind::StringMode),
    }
}
