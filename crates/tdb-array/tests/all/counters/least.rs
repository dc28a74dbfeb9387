//! Cases, the least of each, and the table of what was found.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use tdb_array::query::{Aggregate, AggregateValue, QueryStats};
use tdb_array::{Array, Cells, Read};

/// Bytes of a chunk (docs/format/tiles-and-chunks.md).
const CHUNK: usize = 64 << 10;

/// How a field's cells are stored.
#[derive(Clone, Copy)]
pub(crate) struct Stored {
    /// Cells of a tile.
    tile: usize,
    /// Cells of a chunk.
    chunk: usize,
}

impl Stored {
    /// Cells of `size` bytes: a chunk has as many whole ones as fit.
    pub(crate) const fn fixed(tile: usize, size: usize) -> Self {
        Self { tile, chunk: CHUNK / size }
    }

    /// Values of `len` bytes of a field of variable length: the cell that crosses the size of a
    /// chunk still belongs to it.
    pub(crate) const fn values(tile: usize, len: usize) -> Self {
        Self { tile, chunk: CHUNK / len + 1 }
    }

    /// A tile is one chunk.
    pub(crate) const fn whole(tile: usize) -> Self {
        Self { tile, chunk: tile }
    }

    /// The number of chunks with any of these cells, which are numbered as they are stored.
    pub(crate) fn chunks(self, cells: impl IntoIterator<Item = usize>) -> u64 {
        let chunk = |cell: usize| (cell / self.tile, cell % self.tile / self.chunk);
        cells.into_iter().map(chunk).collect::<BTreeSet<_>>().len() as u64
    }
}

/// A query, what it needs at least, and what it is known to do.
pub(crate) struct Case {
    name: &'static str,
    needed: Vec<(&'static str, u64)>,
    decoded: u64,
    least_copied: usize,
    copied: usize,
}

impl Case {
    /// A query that needs these chunks of each field, and decodes no others.
    pub(crate) fn new(name: &'static str, needed: &[(&'static str, u64)]) -> Self {
        let decoded = needed.iter().map(|(_, chunks)| chunks).sum();
        Self { name, needed: needed.to_vec(), decoded, least_copied: 0, copied: 0 }
    }

    /// It must copy this many bytes, and copies no more.
    pub(crate) const fn copies(mut self, bytes: usize) -> Self {
        (self.least_copied, self.copied) = (bytes, bytes);
        self
    }

    /// It decodes this many chunks, which is more than it needs.
    pub(crate) fn but_decodes(mut self, chunks: u64) -> Self {
        assert!(chunks > self.decoded, "{}: no more than the least", self.name);
        self.decoded = chunks;
        self
    }

    /// It copies this many bytes, which is more than it must.
    pub(crate) fn but_copies(mut self, bytes: usize) -> Self {
        assert!(bytes > self.copied, "{}: no more than the least", self.name);
        self.copied = bytes;
        self
    }
}

/// The rows of a part of the table in docs/performance.md.
pub(crate) struct Table {
    part: &'static str,
    rows: String,
}

impl Table {
    pub(crate) const fn new(part: &'static str) -> Self {
        Self { part, rows: String::new() }
    }

    /// Runs a query whose metadata are known already, and compares what it did with the case.
    pub(crate) fn read(&mut self, case: &Case, read: &Read) -> Cells {
        read.clone().collect().unwrap();
        let (cells, stats) = read.clone().collect_with_stats().unwrap();
        self.compare(case, &stats);
        cells
    }

    /// The same for aggregates.
    pub(crate) fn aggregate<const N: usize>(
        &mut self,
        case: &Case,
        array: &Array,
        (read, asked): (&Read, [Aggregate; N]),
    ) -> Vec<AggregateValue> {
        read.clone().aggregate(asked.clone()).unwrap();
        let before = array.stats();
        let found = read.clone().aggregate(asked).unwrap();
        self.compare(case, &array.stats().since(&before));
        found
    }

    fn compare(&mut self, case: &Case, stats: &QueryStats) {
        let Case { name, needed, decoded, least_copied, copied } = case;
        let part = self.part;
        let fields: Vec<String> = needed.iter().map(|(field, chunks)| format!("{field} {chunks}")).collect();
        let least: u64 = needed.iter().map(|(_, chunks)| chunks).sum();
        let fields = if fields.is_empty() { "–".to_owned() } else { fields.join(", ") };
        writeln!(
            self.rows,
            "| {part}: {name} | {fields} | {least} | {} | {least_copied} | {} |",
            stats.chunks, stats.bytes_copied
        )
        .unwrap();
        let found = (stats.chunks, stats.bytes_copied);
        assert_eq!(found, (*decoded, *copied as u64), "chunks decoded and bytes copied of {name} ({fields})");
    }

    /// Compares the rows with those of the page.
    pub(crate) fn finish(self) {
        print!("{}", self.rows);
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
        let page = fs::read_to_string(page).unwrap();
        let own = format!("| {}: ", self.part);
        let table = page
            .split_once("<!-- counters:begin -->")
            .and_then(|(_, rest)| rest.split_once("<!-- counters:end -->"));
        let table = table.unwrap().0;
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with(&own)).collect();
        let found: Vec<&str> = self.rows.lines().collect();
        assert_eq!(rows, found, "docs/performance.md should have these rows:\n{}", self.rows);
    }
}
