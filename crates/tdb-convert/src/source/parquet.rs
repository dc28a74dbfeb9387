//! Parquet files.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::reader::{ChunkReader, Length};

use super::known::check_parquet;
use crate::error::FileProblem;
use crate::format::PARQUET;

/// Rows of a batch, at most.
const MOST_ROWS: u64 = 1 << 16;
/// The part of the memory that a batch may take: pages and dictionaries of its columns need the
/// rest.
const BATCHES: u64 = 8;

type Result<T> = core::result::Result<T, FileProblem>;

/// A Parquet file, and its rows once they are read.
pub(super) struct ParquetFile {
    file: Shared,
    metadata: ArrowReaderMetadata,
    columns: Option<Vec<usize>>,
    memory: u64,
    reader: Option<ParquetRecordBatchReader>,
}

impl ParquetFile {
    pub(super) fn open(mut file: impl Read + Seek + Send + 'static, memory: u64) -> Result<Self> {
        let len = file.seek(SeekFrom::End(0))?;
        let mut start = [0; PARQUET.len()];
        file.seek(SeekFrom::Start(0))?;
        if file.read_exact(&mut start).is_err() || start != PARQUET {
            return Err(FileProblem::OtherFormat("Parquet"));
        }
        let file = Shared { file: Arc::new(Mutex::new(file)), len };
        let read = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(problem)?;
        let pairs = read.file_metadata().key_value_metadata().into_iter().flatten();
        check_parquet(pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref())))?;
        let metadata =
            ArrowReaderMetadata::try_new(Arc::new(read), ArrowReaderOptions::new()).map_err(problem)?;
        let groups = metadata.metadata().row_groups();
        if groups.iter().any(|group| u64::try_from(group.num_rows()).is_err()) {
            return Err(FileProblem::Damaged("a row group has a negative number of rows".to_owned()));
        }
        Ok(Self { file, metadata, columns: None, memory, reader: None })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    pub(super) fn rows(&self) -> u64 {
        let groups = self.metadata.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).fold(0, u64::saturating_add)
    }

    pub(super) fn choose(&mut self, columns: Vec<usize>) {
        self.columns = Some(columns);
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                let reader = self.begin()?;
                self.reader.insert(reader)
            }
        };
        reader.next().transpose().map_err(arrow_problem)
    }

    fn begin(&self) -> Result<ParquetRecordBatchReader> {
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone());
        if let Some(columns) = &self.columns {
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        builder.with_batch_size(self.batch_rows()).build().map_err(problem)
    }

    /// Rows of a batch, so that it takes a part of the memory: by the row group with the largest
    /// rows.
    fn batch_rows(&self) -> usize {
        let of_group = |group: &parquet::file::metadata::RowGroupMetaData| {
            let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0);
            let rows = u64::try_from(group.num_rows()).unwrap_or(0);
            bytes.checked_div(rows).unwrap_or(0).max(1)
        };
        let row = self.metadata.metadata().row_groups().iter().map(of_group).max().unwrap_or(1);
        let rows = (self.memory / BATCHES).checked_div(row).unwrap_or(0).clamp(1, MOST_ROWS);
        usize::try_from(rows).unwrap_or(1)
    }
}

/// A file whose parts are read by position. Ranges are compared with its length before memory is
/// set aside.
#[derive(Clone)]
struct Shared {
    file: Arc<Mutex<dyn ReadSeek>>,
    len: u64,
}

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

impl Shared {
    fn read_at(&self, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(position))?;
        file.read(into)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Part>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        if start > self.len {
            return Err(past_the_end());
        }
        Ok(BufReader::new(Part { file: self.clone(), position: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let end = u64::try_from(length).ok().and_then(|length| start.checked_add(length));
        if end.is_none_or(|end| end > self.len) {
            return Err(past_the_end());
        }
        let mut bytes = vec![0; length];
        Part { file: self.clone(), position: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

fn past_the_end() -> ParquetError {
    ParquetError::EOF("a part of the file is after its end".to_owned())
}

/// A file from a position on.
struct Part {
    file: Shared,
    position: u64,
}

impl Read for Part {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(self.position, into)?;
        self.position = self.position.saturating_add(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }
}

fn problem(error: ParquetError) -> FileProblem {
    match error {
        ParquetError::EOF(text) => FileProblem::Damaged(text),
        ParquetError::NYI(text) => FileProblem::Unsupported(text),
        ParquetError::ArrowError(text) | ParquetError::General(text) => FileProblem::Damaged(text),
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => FileProblem::Io(*error),
            Err(error) => FileProblem::Damaged(error.to_string()),
        },
        other => FileProblem::Damaged(other.to_string()),
    }
}

pub(super) fn arrow_problem(error: ArrowError) -> FileProblem {
    match error {
        ArrowError::ParquetError(text) | ArrowError::ParseError(text) | ArrowError::IpcError(text) => {
            FileProblem::Damaged(text)
        }
        ArrowError::NotYetImplemented(text) => FileProblem::Unsupported(text),
        ArrowError::IoError(_, error) => FileProblem::Io(error),
        other => FileProblem::Damaged(other.to_string()),
    }
}
