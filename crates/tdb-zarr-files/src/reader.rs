//! Nodes of a folder one by one, for callers that make something else of them than arrays.

use std::path::Path;
use std::vec::IntoIter;

use serde_json::{Map, Value};
use tdb_array::schema::{CellValNum, Datatype};

use crate::boxes::{Ends, count, place};
use crate::chunks::{Chunks, too_sparse};
use crate::document::{ArrayDocument, Node, open};
use crate::error::{Error, Problem, Result};
use crate::folder::Folder;
use crate::slab::slab;
use crate::thresholds::MAX_BLOCKS;
use crate::tiles::Tiles;

/// A folder of Zarr. Nothing outside of it is read.
#[derive(Clone, Debug)]
pub struct Reader {
    folder: Folder,
    memory: u64,
}

/// What is at a path of a folder.
#[derive(Debug)]
pub enum Opened {
    /// A group, by its attributes.
    Group(Map<String, Value>),
    /// An array.
    Array(Box<ArrayReader>),
}

/// An array whose chunks are read.
#[derive(Debug)]
pub struct ArrayReader {
    folder: Folder,
    path: String,
    document: ArrayDocument,
    /// Without them, there are no cells.
    tiles: Option<Tiles>,
    memory: u64,
}

/// Cells of a box, in row-major order, the lowest byte of each value first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where the box begins along each axis.
    pub start: Vec<u64>,
    /// Its lengths.
    pub shape: Vec<u64>,
    /// The values.
    pub values: Vec<u8>,
    /// For cells of any length, where each begins, and where the last one ends.
    pub offsets: Option<Vec<u64>>,
}

/// The chunks of an array, in row-major order, each without what is outside of the array. A chunk
/// that is not there has fill values.
#[derive(Debug)]
pub struct Blocks<'a> {
    chunks: Chunks<'a>,
    tiles: Option<&'a Tiles>,
    ends: Ends,
    /// The number of the next one.
    next: u64,
    /// More boxes of them.
    more: IntoIter<Ends>,
}

impl Reader {
    /// A folder. Chunks may have so many bytes.
    #[must_use]
    pub fn new(folder: &Path, memory: u64) -> Self {
        Self { folder: Folder::new(folder), memory }
    }

    /// Bytes that chunks may have.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.memory
    }

    /// What is at a path; `None` if it is neither an array nor a group.
    ///
    /// # Errors
    /// A document that is damaged or says what is not supported, and chunks of more bytes than are
    /// allowed.
    pub fn open(&self, path: &str) -> Result<Option<Opened>> {
        Ok(match open(&self.folder, path)? {
            None => None,
            Some(Node::Group(attributes)) => Some(Opened::Group(attributes)),
            Some(Node::Array(document)) => Some(Opened::Array(Box::new(self.array(path, *document)?))),
        })
    }

    /// The names of the folders at a path, sorted.
    ///
    /// # Errors
    /// A folder that cannot be read, or a link.
    pub fn names(&self, path: &str) -> Result<Vec<String>> {
        let names = self.folder.list(path)?.into_iter();
        Ok(names.filter(|one| one.is_folder).map(|one| one.name).collect())
    }

    /// An error about what a path has.
    pub fn damaged(&self, path: &str, what: impl Into<String>) -> Error {
        self.folder.error(path, Problem::damaged(what))
    }

    /// An error about what a path has and nobody supports.
    pub fn unsupported(&self, path: &str, what: impl Into<String>) -> Error {
        self.folder.error(path, Problem::unsupported(what))
    }

    /// An error about what does not fit the memory.
    #[must_use]
    pub fn too_large(&self, path: &str, what: &'static str, bytes: u64, memory: u64) -> Error {
        self.folder.error(path, Problem::TooLarge { what, bytes, memory })
    }

    fn array(&self, path: &str, document: ArrayDocument) -> Result<ArrayReader> {
        let failed = |problem| self.folder.error(path, problem);
        let (folder, path, memory) = (self.folder.clone(), path.to_owned(), self.memory);
        if document.shape.contains(&0) {
            return Ok(ArrayReader { folder, path, document, tiles: None, memory });
        }
        let tiles = Tiles::of(&document, memory).map_err(failed)?;
        let bytes = tiles.chunk_bytes();
        if bytes > memory {
            return Err(failed(Problem::TooLarge { what: "a chunk", bytes, memory }));
        }
        let blocks = count(&ends(&tiles));
        if blocks > MAX_BLOCKS {
            let what = format!("there are {blocks} chunks; {MAX_BLOCKS} are the most");
            return Err(failed(Problem::unsupported(what)));
        }
        Ok(ArrayReader { folder, path, document, tiles: Some(tiles), memory })
    }
}

/// The first and the last tile along each axis.
fn ends(tiles: &Tiles) -> Ends {
    let last = |(length, extent): (&u64, &u64)| (0, length.saturating_sub(1) / extent);
    tiles.lengths.iter().zip(&tiles.extents).map(last).collect()
}

impl ArrayReader {
    /// The path in the folder.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The attributes, without names of axes.
    #[must_use]
    pub const fn attributes(&self) -> &Map<String, Value> {
        &self.document.attributes
    }

    /// The length along each axis.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.document.shape
    }

    /// The type of the values.
    #[must_use]
    pub const fn datatype(&self) -> Datatype {
        self.document.element.datatype
    }

    /// How many values a cell has.
    #[must_use]
    pub const fn cell_val_num(&self) -> CellValNum {
        self.document.element.count
    }

    /// Bytes of a cell, if all have as many.
    #[must_use]
    pub fn cell_bytes(&self) -> Option<usize> {
        self.document.element.size()
    }

    /// All chunks.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'_> {
        let tiles = self.tiles.as_ref();
        let ends = tiles.map(ends).unwrap_or_default();
        let chunks = Chunks::new(&self.folder, &self.path, &self.document, self.memory);
        Blocks { chunks, tiles, ends, next: 0, more: Vec::new().into_iter() }
    }

    /// The chunks, but not those in files that are not there: all their cells have the fill value.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn written_blocks(&self) -> Result<Blocks<'_>> {
        let mut blocks = self.blocks();
        let Some(tiles) = self.tiles.as_ref().filter(|tiles| !tiles.is_scalar) else { return Ok(blocks) };
        // Several chunks may be in one file.
        let in_file = |places: Vec<u64>| -> Ends {
            let sides = places.iter().zip(&self.document.file_chunk).zip(&tiles.chunk).zip(&blocks.ends);
            let ends = sides.map(|(((place, file), chunk), (_, last))| {
                let ratio = (file / chunk).max(1);
                let first = place.saturating_mul(ratio);
                (first, first.saturating_add(ratio - 1).min(*last))
            });
            ends.collect()
        };
        let more: Vec<Ends> = blocks.chunks.files()?.into_iter().map(in_file).collect();
        (blocks.more, blocks.next) = (more.into_iter(), u64::MAX);
        Ok(blocks)
    }

    /// Whether all bytes of a cell without a value of its own are zero.
    #[must_use]
    pub fn is_zero_without_chunks(&self) -> bool {
        self.document.fill.iter().all(|byte| *byte == 0)
    }

    /// Refuses an array of very many cells, nearly none of which are in chunks that are there: for
    /// callers that write all of them.
    ///
    /// # Errors
    /// It is such an array, or its folder cannot be read.
    pub fn expect_chunks(&self) -> Result<()> {
        let files = Chunks::new(&self.folder, &self.path, &self.document, self.memory).files()?;
        match too_sparse(&self.document, &files) {
            None => Ok(()),
            Some((cells, there)) => {
                let what = format!(
                    "there are {cells} cells, of which at most {there} are in chunks that there are, and \
                     all of them would be written"
                );
                Err(self.folder.error(&self.path, Problem::unsupported(what)))
            }
        }
    }

    /// All cells at once.
    ///
    /// # Errors
    /// More bytes than chunks may have, and as for [`Blocks`].
    pub fn read(&self) -> Result<Block> {
        let blocks = self.blocks();
        let Some(tiles) = &self.tiles else {
            let offsets = self.document.element.size().is_none().then(|| vec![0]);
            let (start, shape) = (vec![0; self.shape().len()], self.shape().to_vec());
            return Ok(Block { start, shape, values: Vec::new(), offsets });
        };
        let bytes = tiles.bytes(&blocks.ends).unwrap_or(u64::MAX);
        if bytes > self.memory {
            let problem = Problem::TooLarge { what: "all cells", bytes, memory: self.memory };
            return Err(self.folder.error(&self.path, problem));
        }
        block(&blocks.chunks, tiles, &blocks.ends)
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        let tiles = self.tiles?;
        let at = loop {
            match place(&self.ends, self.next) {
                Some(at) => break at,
                None => (self.ends, self.next) = (self.more.next()?, 0),
            }
        };
        let ends: Ends = at.into_iter().map(|at| (at, at)).collect();
        let made = block(&self.chunks, tiles, &ends);
        // Behind a failure there is nothing.
        self.next = if made.is_ok() { self.next.saturating_add(1) } else { u64::MAX };
        if made.is_err() {
            self.more = Vec::new().into_iter();
        }
        Some(made)
    }
}

/// The cells of a box of tiles.
fn block(chunks: &Chunks<'_>, tiles: &Tiles, ends: &Ends) -> Result<Block> {
    let spans = tiles.spans(ends).unwrap_or_default();
    let made = slab(chunks, tiles, ends, "", 1)?;
    let (values, offsets) = made.into_parts();
    let (start, shape) = spans.into_iter().map(|(start, end)| (start, end - start)).unzip();
    Ok(Block { start, shape, values, offsets })
}
