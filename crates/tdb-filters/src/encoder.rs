//! Runs a pipeline forwards over one chunk.

use tdb_codec::to_u64;

use crate::error::{Error, ErrorKind, Kind};
use crate::scratch::{Blocks, Codecs, Scratch, room};
use crate::step::{Op, Plan, Step};
use crate::{Key, Pipeline, TileContext};
use crate::{bit_width_reduction, bitshuffle, byteshuffle, checksum, compress, dictionary, encryption};
use crate::{positive_delta, rle_strings, scale_float, webp, xor};

/// A pipeline resolved for one kind of tile, ready to encode its chunks. Workers can share it.
#[derive(Clone, Debug)]
pub struct Encoder {
    plan: Plan,
}

impl Pipeline {
    /// Resolves the pipeline for encoding tiles of `context`.
    ///
    /// # Errors
    /// As [`Pipeline::decoder`].
    pub fn encoder(&self, context: TileContext) -> Result<Encoder, Error> {
        self.encoder_with_key(context, None)
    }

    /// As [`Self::encoder`]; with a key, for the tiles of an encrypted array. The [`Scratch`] used
    /// for encoding must have a [source of nonces](Scratch::with_nonces).
    ///
    /// # Errors
    /// As [`Pipeline::decoder`].
    pub fn encoder_with_key(&self, context: TileContext, key: Option<&Key>) -> Result<Encoder, Error> {
        Ok(Encoder { plan: Plan::new(self, &context, key)? })
    }
}

impl Encoder {
    /// Whether no filter does anything, so the cells are stored unchanged.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.plan.steps.is_empty()
    }

    /// Whether the data of a chunk always has the length of its cells.
    #[must_use]
    pub fn keeps_sizes(&self) -> bool {
        self.plan.keeps_sizes()
    }

    /// Whether a tile must be one chunk: with string filters, images, or a max chunk size of 0.
    #[must_use]
    pub const fn needs_whole_tiles(&self) -> bool {
        self.plan.whole_tiles
    }

    /// Whether a filter stores the strings' lengths. Chunks are then encoded with
    /// [`Self::encode_string_chunk`], and the offsets tile has no chunks.
    #[must_use]
    pub fn encodes_strings(&self) -> bool {
        self.plan.split_strings().is_some()
    }

    /// Encodes one chunk. Replaces the contents of `metadata_out` and `data_out`.
    ///
    /// # Errors
    /// If values decrease before positive delta; if an option is out of range; and if a part is not
    /// a whole number of values before RLE, XOR or a delta filter (libtiledb drops the tail of such
    /// parts and loses data; this encoder returns an error). The error names the filter.
    pub fn encode_chunk(
        &self,
        input: &[u8],
        scratch: &mut Scratch,
        metadata_out: &mut Vec<u8>,
        data_out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.encodes_strings() {
            return Err(Error::pipeline(self.plan.count, ErrorKind::StringMode));
        }
        let Scratch { data: [current, next], blocks, codecs, .. } = scratch;
        let mut data = Data::new(input, current, next);
        blocks.clear();
        apply(&self.plan.steps, blocks, &mut data, codecs, metadata_out)?;
        data.take(data_out);
        Ok(())
    }

    /// Encodes one chunk straight into its place in a tile, for pipelines that
    /// [keep sizes](Self::keeps_sizes): fills `data_out`, which is as long as `input`, and replaces
    /// the contents of `metadata_out`.
    ///
    /// # Errors
    /// As [`Self::encode_chunk`]; if the pipeline does not keep sizes; if the lengths differ.
    pub fn encode_chunk_into(
        &self,
        input: &[u8],
        scratch: &mut Scratch,
        metadata_out: &mut Vec<u8>,
        data_out: &mut [u8],
    ) -> Result<(), Error> {
        if !self.keeps_sizes() {
            return Err(Error::pipeline(self.plan.count, ErrorKind::ChangesLength));
        }
        if data_out.len() != input.len() {
            let kind =
                ErrorKind::WrongLength { expected: to_u64(input.len()), found: to_u64(data_out.len()) };
            return Err(Error::pipeline(self.plan.count, kind));
        }
        let Scratch { data: [current, next], blocks, codecs, .. } = scratch;
        let mut data = Data::new(input, current, next);
        blocks.clear();
        // The last filter that moves the data writes it to its final place; only checksums follow
        // it.
        let steps = self.plan.steps.as_slice();
        let moves = steps.iter().filter(|step| !matches!(step.op, Op::Checksum(_))).count();
        data.home = Some((data_out, moves));
        apply(steps, blocks, &mut data, codecs, metadata_out)?;
        data.go_home();
        Ok(())
    }

    /// Encodes one chunk of strings: `offsets` contains the position in `values` where each string
    /// begins; the first is
    /// 0. Replaces the contents of `metadata_out` and `data_out`.
    ///
    /// # Errors
    /// If the pipeline does not store strings, or if offsets decrease or are past the end of
    /// `values`.
    pub fn encode_string_chunk(
        &self,
        values: &[u8],
        offsets: &[u64],
        scratch: &mut Scratch,
        metadata_out: &mut Vec<u8>,
        data_out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some((step, later)) = self.plan.split_strings() else {
            return Err(Error::pipeline(self.plan.count, ErrorKind::NotStringMode));
        };
        let Scratch { data: [current, next], blocks, codecs, .. } = scratch;
        let mut data = Data::new(values, current, next);
        blocks.clear();
        let mut block = blocks.begin();
        data.append(|values, out| match step.op {
            Op::Dictionary => dictionary::encode(values, offsets, &mut block, out),
            _ => rle_strings::encode(values, offsets, &mut block, out),
        })
        .map_err(|kind| step.error(kind))?;
        blocks.push(block);
        apply(later, blocks, &mut data, codecs, metadata_out)?;
        data.take(data_out);
        Ok(())
    }
}

/// Applies the filters, first to last, to the data, and writes the metadata of the chunk.
///
/// For libtiledb's first filter, a chunk of no bytes is one data part; after a filter that passes
/// its input on unchanged, it is no part. The chunk's metadata shows which of the two it is.
fn apply(
    steps: &[Step],
    blocks: &mut Blocks,
    data: &mut Data<'_>,
    codecs: &mut Codecs,
    metadata_out: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut listed = true;
    for (index, step) in steps.iter().enumerate() {
        let part = !data.bytes().is_empty() || {
            listed &= !step.behind_idle;
            let next_views = steps.get(index.saturating_add(1)).is_some_and(Step::views);
            let part = listed && step.op.lists_nothing(blocks.any(), next_views);
            listed = match step.op {
                Op::Checksum(_) => false,
                Op::ScaleFloat { .. } => listed,
                _ => true,
            };
            part
        };
        run(&step.op, part, blocks, data, codecs).map_err(|kind| step.error(kind))?;
    }
    metadata_out.clear();
    blocks.latest_first().for_each(|block| metadata_out.extend_from_slice(block));
    Ok(())
}

/// A chunk's data, which moves through two buffers. The buffers never shrink: making them longer
/// again for the next filter would zero bytes that it is about to overwrite.
struct Data<'a> {
    input: &'a [u8],
    current: &'a mut Vec<u8>,
    next: &'a mut Vec<u8>,
    /// Length in the current buffer, once a filter has moved the data there.
    moved: Option<usize>,
    /// The final place of the data, if it is known, and the number of filters that still have to
    /// move the data. At 0 the data is in its final place.
    home: Option<(&'a mut [u8], usize)>,
}

impl<'a> Data<'a> {
    const fn new(input: &'a [u8], current: &'a mut Vec<u8>, next: &'a mut Vec<u8>) -> Self {
        Self { input, current, next, moved: None, home: None }
    }

    fn bytes(&self) -> &[u8] {
        match (&self.home, self.moved) {
            (Some((home, 0)), Some(_)) => home,
            (_, Some(len)) => self.current.get(..len).unwrap_or_default(),
            (_, None) => self.input,
        }
    }

    /// Writes the data to `out`.
    fn take(self, out: &mut Vec<u8>) {
        if let Some(len) = self.moved {
            self.current.truncate(len);
            core::mem::swap(out, self.current);
        } else {
            out.clear();
            out.extend_from_slice(self.input);
        }
    }

    /// Copies the data to its final place if no filter has written it there.
    fn go_home(self) {
        let Some((home, moves)) = self.home else { return };
        let data = match self.moved {
            Some(_) if moves == 0 => return,
            Some(len) => self.current.get(..len).unwrap_or_default(),
            None => self.input,
        };
        if home.len() == data.len() {
            home.copy_from_slice(data);
        }
    }

    /// Lets `work` write to the front of a buffer and return a length; the data is then the first
    /// bytes of that length.
    fn overwrite(&mut self, work: impl FnOnce(&[u8], &mut Vec<u8>) -> Kind<usize>) -> Kind<()> {
        let src = match self.moved {
            None => self.input,
            Some(len) => self.current.get(..len).unwrap_or_default(),
        };
        let len = work(src, self.next)?;
        core::mem::swap(&mut self.current, &mut self.next);
        self.moved = Some(len);
        Ok(())
    }

    /// Lets `work` append to an empty buffer, which becomes the data.
    fn append(&mut self, work: impl FnOnce(&[u8], &mut Vec<u8>) -> Kind<()>) -> Kind<()> {
        self.overwrite(|src, out| {
            out.clear();
            work(src, out)?;
            Ok(out.len())
        })
    }

    /// Lets `work` fill a buffer of the same length as the data, which becomes the data.
    fn same_size(&mut self, work: impl FnOnce(&[u8], &mut [u8]) -> Kind<()>) -> Kind<()> {
        if let Some((home, moves)) = &mut self.home {
            *moves = moves.saturating_sub(1);
            if *moves == 0 {
                let src = match self.moved {
                    None => self.input,
                    Some(len) => self.current.get(..len).unwrap_or_default(),
                };
                self.moved = Some(src.len());
                return work(src, home);
            }
        }
        self.overwrite(|src, out| {
            work(src, room(out, 0, src.len()))?;
            Ok(src.len())
        })
    }
}

/// Runs one filter on one data part or, if `part` is false, on none; the data is then empty.
fn run(op: &Op, part: bool, blocks: &mut Blocks, data: &mut Data<'_>, codecs: &mut Codecs) -> Kind<()> {
    let mut block = blocks.begin();
    match *op {
        Op::Compress(codec) => {
            data.overwrite(|src, out| {
                let earlier = blocks.latest_first();
                compress::encode(codec, earlier, part.then_some(src), &mut block, out, codecs)
            })?;
            blocks.clear();
        }
        Op::ByteShuffle { .. } | Op::BitShuffle { .. } | Op::Xor { .. } | Op::ScaleFloat { .. } if !part => {
            block.u32(0);
        }
        Op::ByteShuffle { size } => {
            data.same_size(|src, out| byteshuffle::encode(size, src, &mut block, out))?;
        }
        // Narrow values are scattered to as many places as they have bits, a few bytes each. This
        // is faster in a cached buffer than in the final place.
        Op::BitShuffle { size } if size < 8 => {
            let work = |src: &[u8], out: &mut Vec<u8>| {
                bitshuffle::encode(size, src, &mut block, room(out, 0, src.len()), codecs.planes())?;
                Ok(src.len())
            };
            data.overwrite(work)?;
        }
        Op::BitShuffle { size } => {
            data.same_size(|src, out| bitshuffle::encode(size, src, &mut block, out, codecs.planes()))?;
        }
        Op::BitWidthReduction { physical, max_window } => {
            data.append(|src, out| bit_width_reduction::encode(physical, max_window, src, &mut block, out))?;
        }
        Op::PositiveDelta { physical, max_window } => {
            data.same_size(|src, out| positive_delta::encode(physical, max_window, src, &mut block, out))?;
        }
        Op::Encrypt(ref cipher) => {
            data.overwrite(|src, out| {
                let (earlier, data) = (blocks.latest_first(), part.then_some(src));
                encryption::encode(cipher, codecs.nonces.as_mut(), earlier, data, &mut block, out)
            })?;
            blocks.clear();
        }
        Op::Xor { size } => data.same_size(|src, out| xor::encode(size, src, &mut block, out))?,
        Op::ScaleFloat { float, options } => {
            data.overwrite(|src, out| scale_float::encode(float, options, src, &mut block, out))?;
        }
        Op::WebP(image) => data.append(|src, out| webp::encode(image, src, &mut block, out))?,
        // Never happens: only the first step stores strings, and it is not run from here.
        Op::RleStrings | Op::Dictionary => return Err(ErrorKind::StringMode),
        Op::Checksum(hash) => {
            checksum::encode(hash, blocks.latest_first(), part.then_some(data.bytes()), &mut block)?;
        }
    }
    blocks.push(block);
    Ok(())
}
