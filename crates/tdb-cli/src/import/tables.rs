//! The tables of a file, batch after batch, which several threads work on.

use core::fmt::Display;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tdb_codec::{to_u64, to_usize};

use super::chunks::{Chunk, Chunks};
use super::dates::DateFormats;
use super::encoding;
use super::input::Input;
use super::nearly;
use super::notation::{Kind, Notation};
use super::table::Table;
use crate::failure::Failure;
use crate::thresholds::{CHUNK, CHUNKS_PER_THREAD, FIRST_CHUNK, FIRST_CHUNKS, MIN_FIRST_CHUNK};

/// What is wrong with a file whose lines end as those of old Macs.
const OLD_ENDS: &str =
    "its lines end with CR alone, as on old Macs: tr '\\r' '\\n' < FILE | tdb import ARRAY - --format csv";

/// The tables of files, of which the first rows are in memory.
#[derive(Debug)]
pub(super) struct Tables {
    files: Vec<TextFile>,
    notation: Notation,
    /// The first rows of each file.
    samples: Vec<Table>,
    /// Whether the first rows are all of them.
    whole: bool,
}

/// A file of text.
#[derive(Debug)]
pub(super) struct TextFile {
    /// Its name, for messages, if there are several.
    pub(super) name: Option<Arc<str>>,
    pub(super) input: Input,
}

impl TextFile {
    /// What is wrong with it.
    fn wrong(&self, what: impl Display) -> String {
        self.name.as_ref().map_or_else(|| what.to_string(), |name| format!("{name}: {what}"))
    }

    /// The chunks of the file, which has so many columns.
    fn chunks(&self, notation: &Notation, columns: Option<usize>) -> Result<Chunks, String> {
        let mut file = self.input.open().map_err(|error| self.wrong(error))?;
        // No text in UTF-8 begins like this.
        let marked = encoding::of_mark(file.fill_buf().map_err(|error| self.wrong(error))?);
        let file = match notation.encoding.or(marked) {
            Some(encoding) => encoding::decoded(file, encoding),
            None => file,
        };
        Ok(Chunks::new(file, notation, columns))
    }
}

impl Tables {
    /// Reads the first rows.
    pub(super) fn new(files: Vec<TextFile>, notation: Notation) -> Result<Self, String> {
        let share = FIRST_CHUNKS.checked_div(files.len()).unwrap_or(0).clamp(MIN_FIRST_CHUNK, FIRST_CHUNK);
        let (mut samples, mut whole, mut rows) = (Vec::with_capacity(files.len()), true, 0u64);
        for (number, file) in files.iter().enumerate() {
            let wrong = |what: String| file.wrong(what);
            let mut chunks = file.chunks(&notation, None)?;
            let chunk = chunks.next(share).map_err(wrong)?.unwrap_or_default();
            let table = notation.parse(&chunk, None).map_err(wrong)?.behind(rows);
            if table.len() == 0 && chunk.has_old_ends() {
                return Err(wrong(OLD_ENDS.to_owned()));
            }
            if let Some(why) = notation.twice(&table) {
                return Err(wrong(why));
            }
            rows = rows.saturating_add(table.len());
            samples.push(table.of_file(number, file.name.clone()));
            whole = chunks.is_at_end().map_err(wrong)? && whole;
        }
        Ok(Self { files, notation, samples, whole })
    }

    /// The first rows of the first file.
    pub(super) fn first(&self) -> Result<&Table, Failure> {
        self.samples.first().ok_or_else(|| Failure::internal("an import has a file"))
    }

    /// The first rows of each file.
    pub(super) fn samples(&self) -> &[Table] {
        &self.samples
    }

    /// A column that no file has is an error; `None` if each of these has one.
    pub(super) fn lacks<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        names.find(|name| !self.samples.iter().any(|table| table.column(name).is_some()))
    }

    /// A place of a row, for messages.
    pub(super) fn at(&self, place: u64) -> String {
        let (file, line) = split(place);
        self.samples.get(file).map_or_else(|| format!("line {line}"), |table| table.at(line))
    }

    /// What the user should know about the names of the columns.
    pub(super) fn note_of_names(&self) -> Option<String> {
        let Kind::Delimited(dialect) = &self.notation.kind else { return None };
        self.samples
            .iter()
            .find_map(|table| nearly::names(table.all_names(), dialect).map(|note| table.wrong(note)))
    }

    /// The notations of dates.
    pub(super) const fn dates(&self) -> &DateFormats {
        &self.notation.dates
    }

    /// Whether the first rows are all rows.
    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// The number of all rows. Of those that are not in memory, only the ends are looked at.
    pub(super) fn count(&self) -> Result<u64, String> {
        if self.whole {
            return Ok(self.samples.iter().fold(0, |rows, table| rows.saturating_add(table.len())));
        }
        let mut all = self.all();
        while all.next()?.is_some() {}
        Ok(all.before)
    }

    /// The chunks of all files.
    const fn all(&self) -> AllChunks<'_> {
        AllChunks { tables: self, file: 0, chunks: None, before: 0 }
    }

    /// Makes something of all rows, batch after batch and in several threads, and visits that in
    /// the order of the rows. `wrong` makes a failure of what is wrong with the file.
    pub(super) fn for_each<T: Send>(
        &self,
        wrong: &dyn Fn(String) -> Failure,
        make: impl Fn(&Table) -> T + Sync,
        visit: &mut dyn FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.whole {
            return self.samples.iter().try_for_each(|table| visit(make(table)));
        }
        let mut all = self.all();
        let made = |chunk: &Chunk| {
            let file = self.files.get(chunk.file);
            let sample = self.samples.get(chunk.file).filter(|_| chunk.line != 1);
            let table = self.notation.parse(chunk, sample.map(Table::all_names));
            let table = table.map_err(|what| file.map_or(what.clone(), |file| file.wrong(what)))?;
            let table = if chunk.line == 1 { table.behind(chunk.before) } else { table };
            Ok(make(&table.of_file(chunk.file, file.and_then(|file| file.name.clone()))))
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        in_order(move || all.next(), threads, &made, &mut |made| visit(made.map_err(wrong)?))
    }
}

/// The chunks of all files, one file after the other.
struct AllChunks<'t> {
    tables: &'t Tables,
    /// The number of the file that is read.
    file: usize,
    chunks: Option<Chunks>,
    /// The number of rows of the files before it.
    before: u64,
}

impl AllChunks<'_> {
    fn next(&mut self) -> Result<Option<Chunk>, String> {
        loop {
            let Some(file) = self.tables.files.get(self.file) else { return Ok(None) };
            let chunks = match &mut self.chunks {
                Some(chunks) => chunks,
                None => {
                    let columns = self.tables.samples.get(self.file).map(|table| table.all_names().len());
                    self.chunks.insert(file.chunks(&self.tables.notation, columns)?)
                }
            };
            if let Some(mut chunk) = chunks.next(CHUNK).map_err(|what| file.wrong(what))? {
                chunk.before = chunk.before.saturating_add(self.before);
                chunk.file = self.file;
                return Ok(Some(chunk));
            }
            self.before = self.before.saturating_add(chunks.rows_passed());
            self.chunks = None;
            self.file = self.file.saturating_add(1);
        }
    }
}

/// The bits of a place that are the number of a line.
const LINE_BITS: u32 = 40;

/// The place of a row among the rows of all files.
pub(super) fn place(file: usize, line: usize) -> u64 {
    to_u64(file) << LINE_BITS | to_u64(line)
}

/// The number of a file, and a line of it.
fn split(place: u64) -> (usize, usize) {
    let line = place & ((1 << LINE_BITS) - 1);
    (to_usize(place >> LINE_BITS).unwrap_or(usize::MAX), to_usize(line).unwrap_or(usize::MAX))
}

/// The result for a batch, with the number of the batch.
type Numbered<T> = (usize, Result<T, String>);

/// Makes something of all chunks in so many threads, and visits that in the order of the chunks.
fn in_order<T: Send>(
    mut chunks: impl FnMut() -> Result<Option<Chunk>, String> + Send,
    threads: usize,
    make: &(dyn Fn(&Chunk) -> Result<T, String> + Sync),
    visit: &mut dyn FnMut(Result<T, String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let ahead = threads.saturating_mul(CHUNKS_PER_THREAD);
    // A chunk is read once there is a permit for it, and each batch that was visited is a permit.
    let (permit, permits) = sync_channel::<()>(ahead);
    let (read, chunks_read) = sync_channel::<(usize, Chunk)>(ahead);
    let (done, made) = sync_channel::<Numbered<T>>(ahead);
    let chunks_read = Mutex::new(chunks_read);
    for _ in 0..ahead {
        let _ = permit.send(());
    }
    thread::scope(|scope| {
        for _ in 0..threads {
            let done = done.clone();
            let chunks_read = &chunks_read;
            scope.spawn(move || {
                while let Some((number, chunk)) = next(chunks_read) {
                    // Without an answer, everybody else would wait for it.
                    let made = catch_unwind(AssertUnwindSafe(|| make(&chunk)));
                    let made = made.unwrap_or_else(|_| Err("a thread of this program failed".to_owned()));
                    if done.send((number, made)).is_err() {
                        break;
                    }
                }
            });
        }
        scope.spawn(move || read_all(&mut chunks, &permits, &read, &done));
        visit_all(made, permit, visit)
    })
}

fn next(chunks: &Mutex<Receiver<(usize, Chunk)>>) -> Option<(usize, Chunk)> {
    chunks.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Reads chunks as long as somebody wants them.
fn read_all<T>(
    chunks: &mut dyn FnMut() -> Result<Option<Chunk>, String>,
    permits: &Receiver<()>,
    read: &SyncSender<(usize, Chunk)>,
    done: &SyncSender<Numbered<T>>,
) {
    let mut number = 0usize;
    while permits.recv().is_ok() {
        let sent = match chunks() {
            Ok(Some(chunk)) => read.send((number, chunk)).is_ok(),
            Ok(None) => false,
            Err(error) => {
                let _ = done.send((number, Err(error)));
                false
            }
        };
        if !sent {
            break;
        }
        number = number.saturating_add(1);
    }
}

/// Visits what was made, in the order of the numbers, until all are visited or one fails. When it
/// returns, nobody waits for a permit or to be heard any more.
fn visit_all<T>(
    made: Receiver<Numbered<T>>,
    permit: SyncSender<()>,
    visit: &mut dyn FnMut(Result<T, String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut early = BTreeMap::new();
    let mut wanted = 0usize;
    for (number, one) in made {
        early.insert(number, one);
        while let Some(one) = early.remove(&wanted) {
            visit(one)?;
            wanted = wanted.saturating_add(1);
            let _ = permit.try_send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::notation::Dialect;
    use super::*;

    /// A table that is longer than one batch, some of whose cells contain line feeds.
    fn long(rows: u64) -> String {
        let row = |row: u64| {
            if row.is_multiple_of(7) { format!("{row},\"a\nb\"\n") } else { format!("{row},text\n") }
        };
        "number,words\n".to_owned() + &(0..rows).map(row).collect::<String>()
    }

    /// The number of a row, its line, and its first cell.
    type Seen = (u64, usize, String);

    fn tables(text: String, threads: usize) -> Vec<Result<Vec<Seen>, String>> {
        let notation = Notation::new(Kind::Delimited(Dialect::new(',')));
        let mut chunks = Chunks::new(Box::new(std::io::Cursor::new(text)), &notation, Some(2));
        let names = ["number".to_owned(), "words".to_owned()];
        let make = |chunk: &Chunk| {
            let table = notation.parse(chunk, (chunk.line != 1).then_some(&names[..]))?;
            let rows = (table.before()..).zip(table.cells(0));
            Ok(rows.map(|(row, (line, cell))| (row, line, cell.text.to_owned())).collect())
        };
        let mut found = Vec::new();
        let stop = |made: Result<_, String>| {
            let failed = made.is_err();
            found.push(made);
            if failed { Err(Failure::Usage("stop".to_owned())) } else { Ok(()) }
        };
        let mut visit = stop;
        let _ = in_order(move || chunks.next(CHUNK), threads, &make, &mut visit);
        found
    }

    #[test]
    fn rows_come_in_their_order_whatever_the_number_of_threads() {
        let rows = 600_000;
        for threads in [1, 2, 5] {
            let mut line = 2;
            let mut wanted = 0;
            for (row, found, cell) in tables(long(rows), threads).into_iter().flat_map(Result::unwrap) {
                assert_eq!((row, found, cell), (wanted, line, wanted.to_string()));
                line += if wanted.is_multiple_of(7) { 2 } else { 1 };
                wanted += 1;
            }
            assert_eq!(wanted, rows);
        }
    }

    #[test]
    fn a_thread_that_panics_is_an_error_and_nobody_waits_for_it() {
        let notation = Notation::new(Kind::Delimited(Dialect::new(',')));
        let text = Box::new(std::io::Cursor::new(long(400_000)));
        let mut chunks = Chunks::new(text, &notation, Some(2));
        let make = |chunk: &Chunk| {
            assert!(chunk.line == 1, "this is meant to panic");
            Ok(())
        };
        let mut found = Vec::new();
        let visited = in_order(move || chunks.next(CHUNK), 2, &make, &mut |made| {
            found.push(made.clone());
            made.map_err(Failure::Usage)
        });
        assert!(matches!(visited, Err(Failure::Usage(why)) if why == "a thread of this program failed"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn the_first_row_that_is_wrong_ends_the_visit() {
        let text = long(300_000) + "x\n" + &long(300_000) + "y\n";
        let found = tables(text, 3);
        let (last, before) = found.split_last().unwrap();
        assert!(before.iter().all(Result::is_ok));
        let line = 2 + 300_000 + 300_000 / 7 + 1;
        let wrong = last.clone().unwrap_err();
        let start = format!("line {line}: there is 1 cell for 2 columns; --comment x");
        assert!(wrong.starts_with(&start), "{wrong}");
    }
}
