//! Tiles: a filtered list of chunks, and the generic tile, which describes itself.
//!
//! Cells are stored in tiles. Before the filters see a tile, a writer cuts it into chunks of about
//! 64 KiB; each chunk goes through the whole pipeline separately and is stored with three lengths
//! in front of it:
//!
//! ```text
//! offset  0             8          12         16         20
//!         +-------------+----------+----------+----------+----------+------+----------+---
//!         | chunks  u64 | original | data     | metadata | metadata | data | original | …
//!         |             |      u32 |      u32 |      u32 |    bytes | bytes|      u32 |
//!         +-------------+----------+----------+----------+----------+------+----------+---
//!                       |<---- 12-byte header ---------->|                 |<- next chunk
//! ```
//!
//! *original* is the length before the first filter; the tile is the concatenation of its decoded
//! chunks. A tile has no header: the fragment's metadata contains its position, and the schema its
//! filters. Only schemas, fragment metadata and similar structures must be readable without either.
//! They are wrapped in a [`GenericTile`], whose 34-byte header and pipeline come before the chunks:
//!
//! ```
//! use tdb_codec::{Budget, FormatVersion, Limits};
//! use tdb_tile::GenericTile;
//!
//! # let bytes = GenericTile::encode(b"what a schema looks like inside", FormatVersion::CURRENT)?;
//! let tile = GenericTile::parse(&bytes, 0)?;
//! assert_eq!(tile.pipeline.filters[0].name(), "gzip");
//! let payload = tile.decode(None, &Limits::default(), &Budget::new(1 << 20))?;
//! assert_eq!(payload.len() as u64, tile.tile_size);
//! # Ok::<(), tdb_tile::Error>(())
//! ```
//!
//! Three special cases: a tile may have no chunks (the offsets of a field whose filters store the
//! strings' lengths), a chunk may have no bytes (writers often add one after var-length values),
//! and a chunk may be far larger than 64 KiB, because cells are not split.
//!
//! [`TileChunks::parse`] walks the chunk headers without allocating; [`TileChunks::decode_where`]
//! decodes only the chunks whose bytes are needed. [`TileChunks::jobs`] returns independent jobs,
//! each with its own part of the output, which the caller can run on any thread.
//!
//! This crate does not know: the meaning of the payload, fields, fragments, files, paths,
//! threads.
#![forbid(unsafe_code)]

mod chunks;
mod encode;
mod error;
mod generic;
pub mod split;
mod walk;

#[cfg(test)]
mod tests;

pub use chunks::{CHUNK_HEADER_LEN, Chunk, ChunkJob, TileChunks};
pub use encode::{
    ChunkBuffers, EMPTY_TILE, EncodeJob, encode_jobs, encode_string_tile, encode_tile, encode_tile_into,
};
pub use error::{Error, ErrorKind, Result};
pub use generic::{Encryption, GENERIC_HEADER_LEN, GenericTile};
pub use walk::{ChunkPlace, ChunkWalk, plain_chunks};
