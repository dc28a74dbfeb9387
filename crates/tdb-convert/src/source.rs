//! Where record batches come from: a file of one of the formats, read batch by batch.

mod cast;
mod ipc;
mod joined;
mod known;
mod parquet;

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Seek};
use std::iter::Peekable;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

use self::cast::Casts;
pub use self::cast::{ColumnCast, SCALE};
use self::ipc::Messages;
use self::parquet::ParquetFile;
use crate::error::{Error, FileProblem, Result};
use crate::format::Format;

/// A file that is read. An iterator of its batches, which ends after an error.
pub struct Source {
    name: String,
    schema: SchemaRef,
    rows: Option<u64>,
    numbered: Option<Numbers>,
    left_out: Option<LeftOut>,
    inner: Option<Inner>,
    casts: Casts,
    /// The files whose batches follow.
    others: VecDeque<Self>,
}

/// Rows that are left out of the batches.
struct LeftOut {
    /// Their numbers, in order.
    rows: Peekable<Rows>,
    /// The number of the first row of the next batch.
    next: u64,
    /// The rest of the last batch.
    parts: VecDeque<RecordBatch>,
}

type Rows = Box<dyn Iterator<Item = io::Result<u64>> + Send>;

impl LeftOut {
    /// Cuts the batch at the rows that are left out.
    fn cut(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let first = self.next;
        let count = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        self.next = first.saturating_add(count);
        let mut start = 0usize;
        let mut keep = |start: usize, end: usize| {
            if end > start {
                self.parts.push_back(batch.slice(start, end.saturating_sub(start)));
            }
        };
        let end = self.next;
        while let Some(row) = self.rows.next_if(|row| row.as_ref().map_or(true, |row| *row < end)) {
            let at = usize::try_from(row?.saturating_sub(first)).unwrap_or(usize::MAX);
            keep(start, at);
            start = at.saturating_add(1);
        }
        keep(start, batch.num_rows());
        Ok(())
    }
}

/// A column that numbers the rows.
struct Numbers {
    field: FieldRef,
    next: u64,
}

impl Numbers {
    /// Adds the column, after those of the file.
    fn number(&mut self, batch: &RecordBatch, schema: &SchemaRef) -> tdb_arrow::Result<RecordBatch> {
        let first = self.next;
        self.next = first.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
        let numbers: UInt64Array = (first..).take(batch.num_rows()).collect::<Vec<_>>().into();
        let columns = batch.columns().iter().cloned().chain([Arc::new(numbers) as ArrayRef]);
        Ok(RecordBatch::try_new(schema.clone(), columns.collect())?)
    }
}

enum Inner {
    Parquet(Box<ParquetFile>),
    Ipc(Box<Messages>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file. `name` is for messages. A batch takes at most a fraction of `memory` bytes if
    /// the format allows to choose; a larger batch of an Arrow file is refused.
    ///
    /// # Errors
    /// A file of another format, or one that is truncated, damaged or compressed in an unknown way.
    pub fn open(
        format: Format,
        file: impl Read + Seek + Send + 'static,
        name: impl Into<String>,
        memory: u64,
    ) -> Result<Self> {
        let name = name.into();
        match format {
            Format::Parquet => {
                let file = guarded(&name, || ParquetFile::open(file, memory))?;
                let (schema, rows) = (file.schema(), Some(file.rows()));
                Ok(Self {
                    name,
                    schema,
                    rows,
                    numbered: None,
                    left_out: None,
                    inner: Some(Inner::Parquet(Box::new(file))),
                    casts: Casts::default(),
                    others: VecDeque::new(),
                })
            }
            Format::Arrow => {
                let messages = guarded(&name, || Messages::of_file(file, memory))?;
                Ok(Self::of_messages(name, messages))
            }
            Format::ArrowStream => Self::stream(file, name, memory),
        }
    }

    /// Opens a stream of Arrow IPC, which need not be a file.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn stream(file: impl Read + Send + 'static, name: impl Into<String>, memory: u64) -> Result<Self> {
        let name = name.into();
        let messages = guarded(&name, || Messages::of_stream(file, memory))?;
        Ok(Self::of_messages(name, messages))
    }

    fn of_messages(name: String, messages: Messages) -> Self {
        let schema = messages.schema();
        Self {
            name,
            schema,
            rows: None,
            numbered: None,
            left_out: None,
            inner: Some(Inner::Ipc(Box::new(messages))),
            casts: Casts::default(),
            others: VecDeque::new(),
        }
    }

    /// Makes other types of columns: those that are wanted, and of decimals of at most 18 digits
    /// the integers that they are without their points. Before the first batch, and before
    /// [`Self::followed_by`].
    ///
    /// # Errors
    /// A type that the column cannot become. Values that do not fit their type are an error of the
    /// batch.
    pub fn cast(mut self, wanted: &[ColumnCast]) -> Result<Self> {
        (self.casts, self.schema) = Casts::new(&self.name, &self.schema, wanted)?;
        Ok(self)
    }

    /// Continues with the batches of other files, which have columns of the same names and types in
    /// any order. A column may be null if it may be in one of the files. Before the first batch.
    ///
    /// # Errors
    /// A file with other columns.
    pub fn followed_by(mut self, others: impl IntoIterator<Item = Self>) -> Result<Self> {
        for other in others {
            self.schema = joined::schema(&self, &other)?;
            self.rows = self.rows.zip(other.rows).and_then(|(rows, more)| rows.checked_add(more));
            self.others.push_back(other);
        }
        Ok(self)
    }

    /// Reads only these columns, in the order of the file. Before the first batch.
    ///
    /// # Errors
    /// A column that the file does not have.
    pub fn only<S: AsRef<str>>(mut self, columns: &[S]) -> Result<Self> {
        let index = |name: &S| {
            let found = self.schema.fields().iter().position(|field| field.name() == name.as_ref());
            let unknown = || tdb_arrow::Error::UnknownColumn { column: name.as_ref().to_owned() };
            found.ok_or_else(|| Error::cells(&self.name, unknown()))
        };
        let mut chosen = columns.iter().map(index).collect::<Result<Vec<usize>>>()?;
        chosen.sort_unstable();
        chosen.dedup();
        self.casts = self.casts.only(&chosen);
        let fields = chosen.iter().filter_map(|index| self.schema.fields().get(*index).cloned());
        self.schema =
            Schema::new_with_metadata(fields.collect::<Vec<_>>(), self.schema.metadata().clone()).into();
        match &mut self.inner {
            Some(Inner::Parquet(file)) => file.choose(chosen),
            Some(Inner::Ipc(messages)) => messages.choose(chosen),
            None => {}
        }
        let others = core::mem::take(&mut self.others);
        self.others = others.into_iter().map(|other| other.only(columns)).collect::<Result<_>>()?;
        Ok(self)
    }

    /// Adds a column that numbers the rows, as the last one. After [`Self::only`], and before the
    /// first batch.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use std::sync::Arc;
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::types::UInt64Type;
    /// use arrow_array::{Int32Array, RecordBatch};
    /// use tdb_convert::{Format, SinkOptions, Source, sink};
    ///
    /// let batch = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![5, 6])) as _)])?;
    /// let mut file = Vec::new();
    /// let mut rows = sink(Format::Arrow, &mut file, &batch.schema(), &SinkOptions::new())?;
    /// rows.write(&batch)?;
    /// rows.finish()?;
    /// let mut source = Source::open(Format::Arrow, Cursor::new(file), "a.arrow", 1 << 20)?.numbered("row", 10);
    /// let batch = source.next().ok_or("no batch")??;
    /// assert_eq!(batch.column(1).as_primitive::<UInt64Type>().values(), &[10, 11]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn numbered(mut self, name: &str, first: u64) -> Self {
        let field: FieldRef = Arc::new(Field::new(name, DataType::UInt64, false));
        let fields = self.schema.fields().iter().cloned().chain([field.clone()]);
        let metadata = self.schema.metadata().clone();
        self.schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata).into();
        self.numbered = Some(Numbers { field, next: first });
        self
    }

    /// Leaves out the rows with these numbers, which are in order and count from 0. Before the
    /// first batch.
    #[must_use]
    pub fn without(mut self, rows: impl Iterator<Item = io::Result<u64>> + Send + 'static) -> Self {
        let rows: Rows = Box::new(rows);
        self.left_out = Some(LeftOut { rows: rows.peekable(), next: 0, parts: VecDeque::new() });
        self
    }

    /// Whether the rows are numbered, so that they are in the order of an array whose dimension is
    /// that column.
    pub(crate) fn numbers(&self) -> Option<&str> {
        self.numbered.as_ref().map(|numbers| numbers.field.name().as_str())
    }

    /// The name of the file, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema of all batches, with the metadata of the file.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows, if the file says it at its beginning or end.
    #[must_use]
    pub const fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The next batch, without the rows that are left out.
    fn next_part(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(part) = self.left_out.as_mut().and_then(|left_out| left_out.parts.pop_front()) {
                return Ok(Some(part));
            }
            let batch = self.read()?;
            let (Some(left_out), Some(batch)) = (&mut self.left_out, &batch) else { return Ok(batch) };
            left_out.cut(batch).map_err(|error| Error::file(&self.name, FileProblem::Io(error)))?;
        }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let Some(inner) = &mut self.inner else { return Ok(None) };
        let batch = guarded(&self.name, || match inner {
            Inner::Parquet(file) => file.next_batch(),
            Inner::Ipc(messages) => messages.next_batch(),
        })?;
        let Some(batch) = batch else {
            let Some(next) = self.others.pop_front() else { return Ok(None) };
            (self.name, self.inner, self.casts) = (next.name, next.inner, next.casts);
            return self.read();
        };
        let batch = self.casts.batch(&self.name, batch, &self.schema)?;
        let own = self.schema.fields().len().saturating_sub(usize::from(self.numbered.is_some()));
        let batch = joined::fitted(batch, &self.schema, own).ok_or_else(|| {
            let problem = FileProblem::Damaged("a batch has other columns than the file".to_owned());
            Error::file(&self.name, problem)
        })?;
        match &mut self.numbered {
            Some(numbers) => {
                let numbered = numbers.number(&batch, &self.schema);
                numbered.map(Some).map_err(|error| Error::cells(&self.name, error))
            }
            None => Ok(Some(batch)),
        }
    }
}

impl Iterator for Source {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_part().transpose();
        if !matches!(batch, Some(Ok(_))) {
            self.inner = None;
        }
        batch
    }
}

/// Runs a decoder of another crate. It may panic on bytes that no writer makes: that is an error of
/// the file, whose source is not used again.
fn guarded<T>(name: &str, decode: impl FnOnce() -> Result<T, FileProblem>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(problem)) => Err(Error::file(name, problem)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text = text.unwrap_or_else(|| "the decoder gave up".to_owned());
            Err(Error::file(name, FileProblem::Damaged(text)))
        }
    }
}
