//! The filters of the format, each from bytes to bytes, and the pipeline that chains them.
//!
//! ```
//! use tdb_filters::{Budget, Datatype, Error, Filter, FormatVersion, Pipeline, Scratch, TileContext};
//!
//! fn main() -> Result<(), Error> {
//!     // A chunk as libtiledb stores it: the last filter's metadata first, then the data.
//!     let metadata = [1, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0, 16, 0, 0, 0];
//!     let data = [0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//!
//!     // The pipeline and the datatype come from the array's schema.
//!     let pipeline = Pipeline::new(vec![Filter::PositiveDelta { max_window: 1024 }, Filter::ByteShuffle]);
//!     let context = TileContext::new(Datatype::Uint32, 4, FormatVersion::CURRENT);
//!     let decoder = pipeline.decoder(context)?;
//!
//!     // The chunk's header gives the length of the cells. Intermediate buffers may hold at most 1 MiB.
//!     let mut cells = [0; 16];
//!     decoder.decode_chunk(&metadata, &data, &mut cells, &mut Scratch::new(), &Budget::new(1 << 20))?;
//!     let cells: Vec<u32> = cells.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
//!     println!("{cells:?}");
//!     assert_eq!(cells, [100, 101, 103, 106]);
//!     Ok(())
//! }
//! ```
//!
//! A writer cuts a tile into chunks and sends each through the pipeline; a reader sends it back,
//! last filter first. A chunk has two sides: *data*, and *metadata*, where filters store what they
//! need to undo their work. There are two kinds of filters:
//!
//! * Most put a block in front of the existing metadata. The last filter's block therefore comes
//!   first, and decoding reads each block from the front.
//! * Compressors (and encryption) also transform the metadata: it becomes part of the data, and the
//!   only metadata that remains is their own block.
//!
//! Three filters on the values 100, 101, 103, 106 (`u32`):
//!
//! ```text
//!                   metadata                                data
//!                                                           64000000 65000000 67000000 6a000000
//! positive-delta    [1 window, base 100, 16 bytes]          00000000 01000000 02000000 03000000
//! byteshuffle       [1 part of 16][1 window, …]             00010203 00000000 00000000 00000000
//! gzip              [2 metadata parts, 1 data part,         789c… 789c… 789c…
//!                    8→14, 12→17, 16→14 bytes]              ([1 part…], [1 window…], data)
//! ```
//!
//! A schema stores a [`Pipeline`]. What a filter does depends on the type it sees, so a pipeline is
//! resolved once for each kind of tile. The result is a [`Decoder`] or an [`Encoder`] for any
//! number of chunks:
//!
//! ```
//! use tdb_codec::{Budget, Datatype, FormatVersion};
//! use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
//!
//! let pipeline = Pipeline::new(vec![Filter::PositiveDelta { max_window: 1024 }, Filter::ByteShuffle]);
//! let context = TileContext::new(Datatype::Uint32, 4, FormatVersion::CURRENT);
//! let cells: Vec<u8> = [100u32, 101, 103, 106].iter().flat_map(|value| value.to_le_bytes()).collect();
//!
//! let mut scratch = Scratch::new();
//! let (mut metadata, mut data) = (Vec::new(), Vec::new());
//! pipeline.encoder(context)?.encode_chunk(&cells, &mut scratch, &mut metadata, &mut data)?;
//! assert_eq!(metadata, [1, 0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0, 16, 0, 0, 0]);
//! assert_eq!(data[..4], [0, 1, 2, 3]);
//!
//! let mut out = vec![0; cells.len()];
//! pipeline.decoder(context)?.decode_chunk(&metadata, &data, &mut out, &mut scratch, &Budget::unlimited())?;
//! assert_eq!(out, cells);
//! # Ok::<(), tdb_filters::Error>(())
//! ```
//!
//! Chunks are not trusted. Every filter decodes into a slice of exactly the size it has to fill;
//! intermediate sizes are charged to a [`Budget`] before memory grows; no input causes a panic; and
//! a chunk with bytes left over is rejected.
//!
//! A pipeline with a filter that this build does not know still parses and writes. Only resolving
//! it fails, with the filter's name and position. The table of filters is [`registry`].
//!
//! # How a chunk is decoded
//!
//! [`Pipeline::decoder`] fixes the types that each filter sees, and drops filters that do nothing
//! to that type. Running the pipeline backwards moves data between the chunk, two scratch buffers
//! and the output. The last move goes straight into the caller's slice, and filters that keep
//! lengths (positive delta, XOR, checksums) work in place. A chunk with one compressor is therefore
//! decompressed directly into the output.
//!
//! # Features
//!
//! Each codec that needs a dependency is a feature: `gzip`, `zstd` (the C library), `lz4`, `bzip2`,
//! `checksum`, `encryption` and `webp`, all on by default. Two are off by default: `zstd-rust`
//! (Zstandard without C; if both features are on, the C library is used) and `webp-lossy` (writes
//! lossy images; needs C). All crates that depend on this one pass these features on. To build a
//! program without C, turn off the default features of `tdb-array` or `tdb-cli` and enable
//! `zstd-rust` instead of `zstd`.
//!
//! This crate does not know: chunk headers, tiles, field names, nullability, files, threads,
//! its caller.
// Only the module `kernels` may use `unsafe`, and it allows the lint item by item.
#![deny(unsafe_code)]

#[macro_use]
mod kernels;

mod bit_width_reduction;
mod bitshuffle;
mod byteshuffle;
mod bzip2;
mod checksum;
mod compress;
mod context;
mod decoder;
mod delta;
mod dictionary;
mod double_delta;
mod encoder;
mod encryption;
mod error;
mod filter;
mod gzip;
mod int;
mod lz4;
#[cfg(feature = "lz4")]
mod lz4_block;
mod parts;
mod pipeline;
mod positive_delta;
pub mod registry;
mod rle;
mod rle_strings;
mod scale_float;
mod scratch;
mod step;
mod string_hash;
mod strings;
mod validate;
mod webp;
mod windows;
mod xor;
mod zstd;
#[cfg(any(feature = "zstd", feature = "zstd-rust"))]
mod zstd_library;

#[cfg(test)]
mod tests;

pub use byteshuffle::{shuffle_bytes, unshuffle_bytes};
pub use context::TileContext;
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use encryption::Key;
pub use error::{Error, ErrorKind};
pub use filter::{ByteWidth, Filter, PixelFormat, ScaleFloat, WebP};
#[cfg(feature = "gzip")]
pub use gzip::zlib_level;
pub use pipeline::Pipeline;
pub use scratch::Scratch;
pub use strings::CodedStrings;
/// The types of `tdb-codec` that the interface of this crate uses.
pub use tdb_codec::{Budget, Datatype, FormatVersion};
