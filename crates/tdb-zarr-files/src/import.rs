//! An array of Zarr as an array.

use std::collections::HashSet;
use std::sync::Arc;

use tdb_array::error::InternalError;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Dimension};
use tdb_array::storage::{MemoryStorage, WriteStorage};
use tdb_array::write::{DenseStream, MetadataChanges, NewArray};
use tdb_array::{ArrayWriter, Layout};

use crate::boxes::{Ends, boxes, count, exact};
use crate::chunks::{Chunks, Present, too_sparse};
use crate::document::ArrayDocument;
use crate::error::{Problem, Result};
use crate::filters;
use crate::folder::Folder;
use crate::metadata;
use crate::options::{ImportOptions, Note};
use crate::slab::slab;
use crate::target::Slab;
use crate::thresholds::{MAX_FRAGMENTS, MAX_ROWS, MAX_TILES, SLAB_DIVISOR, WRITER_DIVISOR};
use crate::tiles::Tiles;

/// The name of the attribute that has the cells of an array: `tdb-zarr` calls an attribute without
/// a name so, too.
const ATTRIBUTE: &str = "values";

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The number of arrays.
    pub arrays: u64,
    /// The number of groups.
    pub groups: u64,
    /// The number of cells that were written.
    pub cells: u64,
    /// What is otherwise than in Zarr.
    pub notes: Vec<Note>,
}

/// An array that is to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The path in the hierarchy.
    pub(crate) path: String,
    document: ArrayDocument,
    pub(crate) schema: ArraySchema,
    attribute: String,
    tiles: Tiles,
    /// Boxes of tiles, of which each becomes a fragment.
    pieces: Vec<Ends>,
    /// The number of cells in them.
    pub(crate) cells: u64,
    metadata: MetadataChanges,
    pub(crate) notes: Vec<Note>,
}

impl Plan {
    /// Looks at an array without reading a chunk.
    pub(crate) fn new(
        folder: &Folder,
        path: &str,
        document: ArrayDocument,
        options: &ImportOptions,
    ) -> Result<Self> {
        let failed = |problem: Problem| folder.error(path, problem);
        let mut notes = Vec::new();
        let mut note = |what: String| notes.push(Note { path: path.to_owned(), what });
        let tiles = Tiles::of(&document, options.memory / SLAB_DIVISOR).map_err(failed)?;
        let (filters, otherwise) = filters::of_codecs(&document.chain, document.element);
        otherwise.into_iter().for_each(&mut note);
        if tiles.is_scalar {
            note("it has no axes, and becomes an array with one cell".to_owned());
        }
        let names = names(&document.names, &tiles, &mut note);
        let attribute = (0..).map(|number: u32| match number {
            0 => ATTRIBUTE.to_owned(),
            number => format!("{ATTRIBUTE}_{number}"),
        });
        let attribute = attribute.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
        let mut field = Attribute::new(&attribute, document.element.datatype, document.element.count)
            .with_filters(filters);
        if !document.fill.is_empty() {
            field = field.with_fill(document.fill.clone());
        }
        let mut schema = ArraySchema::dense().attribute(field);
        for (name, (length, extent)) in names.iter().zip(tiles.lengths.iter().zip(&tiles.extents)) {
            let ends = i64::try_from(length - 1).ok().zip(i64::try_from(*extent).ok());
            let (last, extent) = ends.ok_or_else(|| {
                failed(Problem::unsupported("an axis is longer than the dimensions of arrays"))
            })?;
            schema = schema.dimension(Dimension::new(name, 0i64..=last).with_tile(extent));
        }
        let schema = schema.build().map_err(|error| failed(Problem::unsupported(error.to_string())))?;
        let chunks = Chunks::new(folder, path, &document, tiles.room);
        let files = chunks.files()?;
        let present = chunks.in_shards(&files, tiles.room)?;
        let pieces = pieces(&document, &tiles, &files, present).map_err(failed)?;
        let cells = pieces.iter().filter_map(|ends| tiles.spans(ends)).fold(0u64, |cells, spans| {
            cells.saturating_add(
                spans.iter().fold(1u64, |cells, (start, end)| cells.saturating_mul(end - start)),
            )
        });
        let metadata = metadata::changes(&document.attributes);
        let path = path.to_owned();
        Ok(Self { path, document, schema, attribute, tiles, pieces, cells, metadata, notes })
    }

    /// Decodes all chunks and forgets them: what is wrong with one is found before the array that
    /// is to be replaced is removed.
    pub(crate) fn check(&self, folder: &Folder, options: &ImportOptions) -> Result<()> {
        // What is wrong with the options, the writer says of an array in memory.
        self.streams(&self.begin(Arc::new(MemoryStorage::default()), options)?, options)?;
        let chunks = Chunks::new(folder, &self.path, &self.document, self.tiles.room);
        for piece in &self.pieces {
            self.slabs(&chunks, options, piece).try_for_each(|slab| slab.map(drop))?;
        }
        Ok(())
    }

    /// Whether all parts of an array can be written to one that was begun.
    fn streams(&self, array: &NewArray, options: &ImportOptions) -> Result<()> {
        self.pieces.iter().try_for_each(|piece| self.stream(array.writer(), options, piece).map(drop))
    }

    /// Begins the array, of which nobody sees anything before it is finished.
    pub(crate) fn begin(&self, storage: Arc<dyn WriteStorage>, options: &ImportOptions) -> Result<NewArray> {
        // A writer holds some tiles for each thread.
        let tile = self.tiles.bytes(&vec![(0, 0); self.tiles.lengths.len()]).unwrap_or(u64::MAX).max(1);
        let room = options.memory / WRITER_DIVISOR / tile.saturating_mul(8).saturating_add(1 << 20);
        let mut threads = usize::try_from(room).unwrap_or(usize::MAX).clamp(1, options.threads);
        // Beside a row of tiles there may be room for fewer.
        let begun = |storage: Arc<dyn WriteStorage>, threads: usize| {
            options.write.clone().threads(threads).begin_storage(storage, &self.schema)
        };
        while threads > 1
            && self.streams(&begun(Arc::new(MemoryStorage::default()), threads)?, options).is_err()
        {
            threads /= 2;
        }
        Ok(begun(storage, threads)?)
    }

    /// Writes all cells; `told` has the cells that were written before, and all.
    pub(crate) fn write(
        &self,
        folder: &Folder,
        writer: &ArrayWriter,
        options: &ImportOptions,
        told: (u64, u64),
    ) -> Result<()> {
        let chunks = Chunks::new(folder, &self.path, &self.document, self.tiles.room);
        let (mut done, all) = told;
        for piece in &self.pieces {
            self.write_piece(&chunks, writer, options, piece, &mut |cells| {
                done = done.saturating_add(cells);
                options.tell(done, all);
            })?;
        }
        if !self.metadata.is_empty() {
            writer.write_metadata(&self.metadata)?;
        }
        Ok(())
    }

    fn write_piece(
        &self,
        chunks: &Chunks<'_>,
        writer: &ArrayWriter,
        options: &ImportOptions,
        piece: &Ends,
        tell: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let mut stream = self.stream(writer, options, piece)?;
        let mut failure = None;
        let slabs = self.slabs(chunks, options, piece).map(|made| {
            made.inspect(|slab| tell(slab.cells())).map_err(|error| {
                failure = Some(error);
                tdb_array::Error::from(InternalError::new("a row of chunks was not read"))
            })
        });
        let written = stream.append_all(slabs);
        // The reason why there were no more cells comes first.
        failure.map_or(Ok(()), Err)?;
        written?;
        stream.commit()?;
        Ok(())
    }

    /// The write of a part of the array.
    fn stream<'w>(
        &self,
        writer: &'w ArrayWriter,
        options: &ImportOptions,
        piece: &Ends,
    ) -> Result<DenseStream<'w>> {
        let outside = || tdb_array::Error::from(InternalError::new("a part of an array is outside of it"));
        let spans = self.tiles.spans(piece).ok_or_else(outside)?;
        let mut write = writer.write().order(Layout::RowMajor);
        for (dimension, (start, end)) in self.schema.domain.dimensions.iter().zip(&spans) {
            let ends = i64::try_from(*start).ok().zip(i64::try_from(end - 1).ok());
            let (low, high) = ends.ok_or_else(outside)?;
            write = write.range(&dimension.name, low..=high);
        }
        let memory = usize::try_from(options.memory / WRITER_DIVISOR).unwrap_or(usize::MAX);
        Ok(write.stream(memory)?)
    }

    /// The rows of chunks of a part of the array.
    fn slabs<'s>(
        &'s self,
        chunks: &'s Chunks<'s>,
        options: &'s ImportOptions,
        piece: &'s Ends,
    ) -> impl Iterator<Item = Result<Slab>> + 's {
        let (first, last) = piece.first().copied().unwrap_or((0, 0));
        (first..=last).map(move |row| {
            let ends: Ends = core::iter::once((row, row)).chain(piece.iter().skip(1).copied()).collect();
            slab(chunks, &self.tiles, &ends, &self.attribute, options.threads)
        })
    }
}

/// The names of dimensions: those of axes, or `d` with a number as for NPY files.
fn names(given: &[Option<String>], tiles: &Tiles, note: &mut dyn FnMut(String)) -> Vec<String> {
    let mut seen = HashSet::new();
    (0..tiles.lengths.len())
        .map(|axis| {
            let own = given.get(axis).and_then(Option::as_deref);
            let name =
                own.filter(|name| !name.is_empty() && !name.starts_with("__") && !seen.contains(*name));
            let name = name.map_or_else(
                || {
                    let other = (axis..).map(|axis| format!("d{axis}"));
                    let given = |name: &String| given.iter().flatten().any(|own| own == name);
                    let other = other
                        .into_iter()
                        .find(|name| !seen.contains(name) && !given(name))
                        .unwrap_or_default();
                    if let Some(own) = own {
                        note(format!("axis {axis} is called {own:?}, and the dimension {other}"));
                    }
                    other
                },
                str::to_owned,
            );
            seen.insert(name.clone());
            name
        })
        .collect()
}

/// Boxes of tiles in which all chunks are, of which a row fits the memory.
fn pieces(
    document: &ArrayDocument,
    tiles: &Tiles,
    files: &[Vec<u64>],
    present: Option<Present>,
) -> Result<Vec<Ends>, Problem> {
    let (memory, bytes) = (tiles.room, tiles.chunk_bytes());
    if bytes > memory {
        return Err(Problem::TooLarge { what: "a chunk", bytes, memory });
    }
    Ok(cut(found(document, tiles, files, present)?, tiles))
}

/// Boxes of tiles in which all chunks are.
fn found(
    document: &ArrayDocument,
    tiles: &Tiles,
    files: &[Vec<u64>],
    present: Option<Present>,
) -> Result<Vec<Ends>, Problem> {
    let last = |axis: usize| match (tiles.lengths.get(axis), tiles.extents.get(axis)) {
        (Some(length), Some(extent)) => (length - 1) / extent,
        _ => 0,
    };
    // Such a fill value is none that an array can have, so that all cells are written.
    let all = document.element.count == CellValNum::Var && document.fill.is_empty();
    Ok(if all {
        let ends: Ends = (0..tiles.lengths.len()).map(|axis| (0, last(axis))).collect();
        let chunks = count(&ends);
        if chunks > MAX_TILES {
            return Err(Problem::unsupported(format!(
                "there are {chunks} chunks of texts; {MAX_TILES} are the most"
            )));
        }
        if let Some((cells, there)) = too_sparse(document, files) {
            return Err(Problem::unsupported(format!(
                "there are {cells} texts, of which at most {there} are in chunks that there are, and an array has to have all that \
                 are empty"
            )));
        }
        vec![ends]
    } else if tiles.is_scalar {
        let is_there = present
            .map_or(!files.is_empty(), |present| !present.shards.is_empty() || !present.chunks.is_empty());
        if is_there { vec![vec![(0, 0)]] } else { Vec::new() }
    } else {
        // From chunks with files of their own to those inside of them.
        let inner = |(axis, (low, high)): (usize, (u64, u64))| {
            let ratio = match (document.file_chunk.get(axis), tiles.chunk.get(axis)) {
                (Some(outer), Some(inner)) => outer / inner,
                _ => 1,
            };
            let end = high.saturating_add(1).saturating_mul(ratio).saturating_sub(1);
            (low.saturating_mul(ratio), end.min(last(axis)))
        };
        let of_files = |found: Vec<Ends>| -> Vec<Ends> {
            found.into_iter().map(|ends| ends.into_iter().enumerate().map(inner).collect()).collect()
        };
        // Chunks that are not there are left out of shards, too, if that makes few parts.
        let apart = present.map(|present| {
            let shards = of_files(exact(&present.shards));
            shards.into_iter().chain(exact(&present.chunks)).collect::<Vec<Ends>>()
        });
        match apart.filter(|apart| apart.len() <= MAX_FRAGMENTS) {
            Some(apart) => apart,
            None => of_files(boxes(files).map_err(|many| {
                Problem::unsupported(format!(
                    "the chunks that there are make {many} separate parts, which are too many"
                ))
            })?),
        }
    })
}

/// Boxes cut into some of which a row fits the memory.
fn cut(mut waiting: Vec<Ends>, tiles: &Tiles) -> Vec<Ends> {
    let mut out = Vec::new();
    waiting.reverse();
    while let Some(ends) = waiting.pop() {
        let (low, _) = ends.first().copied().unwrap_or((0, 0));
        let row: Ends = core::iter::once((low, low)).chain(ends.iter().skip(1).copied()).collect();
        let fits = tiles.bytes(&row).is_some_and(|bytes| bytes <= tiles.room);
        // A writer counts the rows first.
        let is_long = ends.first().is_some_and(|(low, high)| high - low >= MAX_ROWS);
        let begin = usize::from(!is_long);
        let longest = ends.iter().enumerate().skip(begin).find(|(_, (low, high))| low < high);
        match longest {
            Some((axis, (low, high))) if is_long || !fits => {
                let middle = low + (high - low) / 2;
                let half = |part: (u64, u64)| -> Ends {
                    let own = |(at, own): (usize, &(u64, u64))| if at == axis { part } else { *own };
                    ends.iter().enumerate().map(own).collect()
                };
                waiting.push(half((middle + 1, *high)));
                waiting.push(half((*low, middle)));
            }
            _ => out.push(ends),
        }
    }
    out
}
