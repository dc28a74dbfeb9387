//! A case that is ready to run: its encoder and decoder, hot chunks, and a whole tile in memory.

use std::hint::black_box;

use tdb_codec::Budget;
use tdb_filters::{Decoder, Encoder, Scratch};

use crate::data::{Case, Cells};

/// Number of bytes of the cells of a whole tile.
pub(crate) const WHOLE: usize = 256 << 20;

/// The direction through a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Decode,
    Encode,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::Decode, Self::Encode];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Encode => "encode",
        }
    }
}

/// Memory in which whole tiles are copied, encoded and decoded. Its pages are touched once for all
/// cases.
pub(crate) struct Arena {
    source: Vec<u8>,
    encoded: Vec<u8>,
    out: Vec<u8>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        // Ones, not zeros: pages that were never written all map to one page of zeros.
        Self { source: vec![1; WHOLE], encoded: vec![1; WHOLE + WHOLE / 8], out: vec![1; WHOLE] }
    }

    /// The copy that speeds are compared with.
    pub(crate) fn copy(&mut self) {
        self.out.copy_from_slice(black_box(&self.source));
    }

    /// The same copy in pieces of a chunk, as any filter has to work.
    pub(crate) fn copy_chunks(&mut self, chunk: usize) {
        for (out, source) in self.out.chunks_mut(chunk).zip(self.source.chunks(chunk)) {
            out.copy_from_slice(black_box(source));
        }
    }
}

/// One chunk before and after filtering.
struct Chunk {
    cells: Cells,
    metadata: Vec<u8>,
    data: Vec<u8>,
}

/// A case with everything that is needed to run it.
pub(crate) struct Bed {
    pub(crate) case: Case,
    encoder: Encoder,
    decoder: Decoder,
    scratch: Scratch,
    budget: Budget,
    chunks: Vec<Chunk>,
    /// The buffers into which chunks are encoded and decoded.
    metadata: Vec<u8>,
    data: Vec<u8>,
    out: Vec<u8>,
    offsets: Vec<u64>,
    /// Chunks of the whole tile, and the start of each one's encoded bytes.
    whole: Vec<usize>,
}

impl Bed {
    /// Encodes the chunks, and decodes them to check that the cells are the same; `None` if the
    /// filter rejects them.
    pub(crate) fn new(mut case: Case) -> Option<Self> {
        let encoder = case.pipeline.encoder_with_key(case.context, case.key.as_ref()).ok()?;
        let decoder = case.pipeline.decoder_with_key(case.context, case.key.as_ref()).ok()?;
        let mut counter = 0u128;
        let scratch = Scratch::new().with_nonces(move || {
            counter += 1;
            counter.to_le_bytes()[..12].try_into().unwrap()
        });
        let cells = std::mem::take(&mut case.chunks);
        let mut bed = Self {
            case,
            encoder,
            decoder,
            scratch,
            budget: Budget::unlimited(),
            chunks: Vec::new(),
            metadata: Vec::new(),
            data: Vec::new(),
            out: vec![0; cells.iter().map(|cells| cells.bytes.len()).max()?],
            offsets: Vec::new(),
            whole: Vec::new(),
        };
        for cells in cells {
            bed.encode(&cells).ok()?;
            let (metadata, data) = (bed.metadata.clone(), bed.data.clone());
            let chunk = Chunk { cells, metadata, data };
            bed.decode(&chunk);
            let out = if chunk.cells.offsets.is_some() { &bed.data } else { &bed.out };
            assert!(out[..chunk.cells.bytes.len()] == chunk.cells.bytes, "{} is undone", bed.case.name);
            bed.chunks.push(chunk);
        }
        Some(bed)
    }

    /// Number of bytes of the cells of a chunk.
    pub(crate) fn chunk_len(&self) -> usize {
        self.chunks[0].cells.bytes.len()
    }

    /// Whether the last decoded cells are those of the first chunk.
    pub(crate) fn decoded_first(&self) -> bool {
        self.out[..self.chunk_len()] == self.chunks[0].cells.bytes
    }

    /// Cells and stored data of the first chunk.
    pub(crate) fn first(&self) -> (&[u8], &[u8]) {
        (&self.chunks[0].cells.bytes, &self.chunks[0].data)
    }

    /// The compression ratio of the chunks.
    pub(crate) fn ratio(&self) -> f64 {
        let cells: usize = self.chunks.iter().map(|chunk| chunk.cells.bytes.len()).sum();
        let stored: usize = self.chunks.iter().map(|chunk| chunk.metadata.len() + chunk.data.len()).sum();
        cells as f64 / stored as f64
    }

    /// Runs the filter on the first chunk, which is in the cache.
    pub(crate) fn run_hot(&mut self, direction: Direction) {
        let chunk = self.chunks.swap_remove(0);
        match direction {
            Direction::Decode => self.decode(black_box(&chunk)),
            Direction::Encode => self.encode(black_box(&chunk.cells)).unwrap(),
        }
        // Puts the chunk back in first place.
        self.chunks.push(chunk);
        let last = self.chunks.len() - 1;
        self.chunks.swap(0, last);
    }

    /// Lets a codec decode the first chunk between the same two buffers as the filter: for some
    /// codecs, the position of the buffers in memory matters.
    pub(crate) fn decode_alone(&mut self, decode: &mut dyn FnMut(&[u8], &mut [u8])) {
        let chunk = &self.chunks[0];
        decode(black_box(&chunk.data), &mut self.out[..chunk.cells.bytes.len()]);
    }

    fn encode(&mut self, cells: &Cells) -> Result<(), tdb_filters::Error> {
        let Self { encoder, scratch, metadata, data, .. } = self;
        match &cells.offsets {
            Some(offsets) => encoder.encode_string_chunk(&cells.bytes, offsets, scratch, metadata, data),
            None => encoder.encode_chunk(&cells.bytes, scratch, metadata, data),
        }
    }

    fn decode(&mut self, chunk: &Chunk) {
        let Self { decoder, scratch, budget, data, out, offsets, .. } = self;
        if chunk.cells.offsets.is_some() {
            data.clear();
            offsets.clear();
            decoder
                .decode_string_chunk(&chunk.metadata, &chunk.data, data, offsets, scratch, budget)
                .unwrap();
        } else {
            let out = &mut out[..chunk.cells.bytes.len()];
            decoder.decode_chunk(&chunk.metadata, &chunk.data, out, scratch, budget).unwrap();
        }
    }

    /// Lays out a whole tile of at most `len` bytes of cells: the chunks repeated, each copy in
    /// separate memory. Returns the number of bytes of its cells; `None` for strings, which have no
    /// whole tiles of many chunks.
    pub(crate) fn lay_out(&mut self, arena: &mut Arena, len: usize) -> Option<usize> {
        if self.chunks[0].cells.offsets.is_some() {
            return None;
        }
        self.whole.clear();
        let (mut cells_len, mut stored) = (0, 0);
        for chunk in self.chunks.iter().cycle() {
            let cells = &chunk.cells.bytes;
            if cells_len + cells.len() > len.min(WHOLE)
                || stored + chunk.metadata.len() + chunk.data.len() > arena.encoded.len()
            {
                break;
            }
            arena.source[cells_len..][..cells.len()].copy_from_slice(cells);
            arena.encoded[stored..][..chunk.data.len()].copy_from_slice(&chunk.data);
            self.whole.push(stored);
            cells_len += cells.len();
            // The metadata is read from the chunk itself, but takes space here when the tile is
            // encoded.
            stored += chunk.metadata.len() + chunk.data.len();
        }
        Some(cells_len)
    }

    /// Runs the filter on the whole tile that was laid out.
    pub(crate) fn run_whole(&mut self, direction: Direction, arena: &mut Arena) {
        match direction {
            Direction::Decode => self.decode_whole(arena),
            Direction::Encode => self.encode_whole(arena),
        }
    }

    /// Decodes the whole tile into one destination.
    fn decode_whole(&mut self, arena: &mut Arena) {
        let Self { decoder, scratch, budget, chunks, whole, .. } = self;
        let mut out = arena.out.as_mut_slice();
        for (chunk, &start) in chunks.iter().cycle().zip(whole.iter()) {
            let (cells, rest) = out.split_at_mut(chunk.cells.bytes.len());
            let data = &arena.encoded[start..][..chunk.data.len()];
            decoder.decode_chunk(&chunk.metadata, data, cells, scratch, budget).unwrap();
            out = rest;
        }
    }

    /// Encodes the whole tile, and stores the chunks one after another, as in a tile.
    fn encode_whole(&mut self, arena: &mut Arena) {
        let Self { encoder, scratch, metadata, data, chunks, whole, .. } = self;
        let (mut source, mut at) = (arena.source.as_slice(), 0);
        for chunk in chunks.iter().cycle().take(whole.len()) {
            let (cells, rest) = source.split_at(chunk.cells.bytes.len());
            source = rest;
            if encoder.keeps_sizes() {
                let place = &mut arena.encoded[at + chunk.metadata.len()..][..cells.len()];
                encoder.encode_chunk_into(cells, scratch, metadata, place).unwrap();
                arena.encoded[at..][..metadata.len()].copy_from_slice(metadata);
                at += metadata.len() + cells.len();
                continue;
            }
            encoder.encode_chunk(cells, scratch, metadata, data).unwrap();
            for side in [&*metadata, &*data] {
                arena.encoded[at..][..side.len()].copy_from_slice(side);
                at += side.len();
            }
        }
    }
}
