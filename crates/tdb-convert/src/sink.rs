//! Where record batches go: a file of one of the formats, written front to back.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::error::{Error, Result};
use crate::format::Format;

/// The default size of a row group, in bytes as they are stored.
const ROW_GROUP: usize = 64 << 20;
/// Bytes of a page, at most: what Parquet's writer has of its own accord.
const PAGE: usize = 1 << 20;
/// Pages of a small row group, at least.
const PAGES: usize = 64;
/// Rows of a row group, at most.
const ROW_GROUP_ROWS: usize = 1 << 20;
/// The level of Zstandard.
const ZSTD_LEVEL: i32 = 3;

/// A file that is being written: batches with one schema go in, one after the other. What is
/// dropped before [`Self::finish`] is not a whole file.
pub trait BatchSink {
    /// Adds the rows of a batch.
    ///
    /// # Errors
    /// An error of the output, or a batch of another schema. The file cannot be continued then.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is buffered, and the end of the file.
    ///
    /// # Errors
    /// An error of the output.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// How the values of a file are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Zstandard in Parquet files; nothing in Arrow files, whose readers can then map them into
    /// memory.
    #[default]
    Usual,
    /// None.
    None,
    /// Zstandard.
    Zstd,
    /// LZ4.
    Lz4,
    /// Snappy, which Arrow files do not have.
    Snappy,
}

/// Options of a file that is written.
#[derive(Clone, Copy, Debug)]
pub struct SinkOptions {
    compression: Compression,
    row_group: usize,
}

impl Default for SinkOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl SinkOptions {
    /// The usual compression, and row groups of 64 MiB.
    #[must_use]
    pub const fn new() -> Self {
        Self { compression: Compression::Usual, row_group: ROW_GROUP }
    }

    /// Sets the compression.
    #[must_use]
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the bytes of a row group of a Parquet file. A row group is held in memory until it is
    /// complete.
    #[must_use]
    pub const fn row_group(mut self, bytes: usize) -> Self {
        self.row_group = if bytes == 0 { 1 } else { bytes };
        self
    }
}

/// Begins a file of batches with this schema.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int32Array, RecordBatch};
/// use tdb_convert::{Format, SinkOptions, sink};
///
/// let batch = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![1, 2])) as _)])?;
/// let mut file = Vec::new();
/// let mut rows = sink(Format::Parquet, &mut file, &batch.schema(), &SinkOptions::new())?;
/// rows.write(&batch)?;
/// rows.finish()?;
/// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An error of the output, a type that the format does not have, or a compression that it does not
/// have.
pub fn sink<'w>(
    format: Format,
    out: impl Write + Send + 'w,
    schema: &SchemaRef,
    options: &SinkOptions,
) -> Result<Box<dyn BatchSink + 'w>> {
    Ok(match format {
        Format::Parquet => Box::new(Parquet {
            writer: ArrowWriter::try_new(out, schema.clone(), Some(properties(options)?))?,
            piece: options.row_group.div_ceil(8),
        }),
        Format::Arrow => {
            Box::new(FileWriter::try_new_with_options(out, schema, ipc_options(options)?).map_err(failed)?)
        }
        Format::ArrowStream => {
            Box::new(StreamWriter::try_new_with_options(out, schema, ipc_options(options)?).map_err(failed)?)
        }
    })
}

fn properties(options: &SinkOptions) -> Result<WriterProperties> {
    let codec = match options.compression {
        Compression::Usual | Compression::Zstd => Codec::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?),
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Lz4 => Codec::LZ4_RAW,
        Compression::Snappy => Codec::SNAPPY,
    };
    // Each column holds a page, and the values of its dictionary beside it: a part of a small row
    // group.
    let page = options.row_group.div_ceil(PAGES).min(PAGE);
    let properties = WriterProperties::builder()
        .set_dictionary_page_size_limit(page)
        .set_data_page_size_limit(page)
        .set_compression(codec)
        .set_created_by(format!("tdb {}", env!("CARGO_PKG_VERSION")))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(options.row_group));
    Ok(properties.build())
}

fn ipc_options(options: &SinkOptions) -> Result<IpcWriteOptions> {
    let codec = match options.compression {
        Compression::Usual | Compression::None => None,
        Compression::Zstd => Some(CompressionType::ZSTD),
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Snappy => {
            return Err(Error::Output("Arrow files have no compression Snappy".to_owned()));
        }
    };
    IpcWriteOptions::default().try_with_compression(codec).map_err(failed)
}

struct Parquet<W: Write + Send> {
    writer: ArrowWriter<W>,
    /// Bytes of a batch that are encoded before the size of the row group is looked at.
    piece: usize,
}

impl<W: Write + Send> BatchSink for Parquet<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let bytes = batch.get_array_memory_size().max(1);
        let step = rows.saturating_mul(self.piece).checked_div(bytes).unwrap_or(rows).max(1);
        let mut start = 0usize;
        while start < rows {
            let count = step.min(rows.saturating_sub(start));
            self.writer.write(&batch.slice(start, count))?;
            start = start.saturating_add(count);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish()?;
        Ok(self.writer.sync().map_err(ParquetError::from)?)
    }
}

impl<W: Write> BatchSink for FileWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch).map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Self::finish(&mut self).and_then(|()| self.flush()).map_err(failed)
    }
}

impl<W: Write> BatchSink for StreamWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Self::write(self, batch).map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Self::finish(&mut self).and_then(|()| self.flush()).map_err(failed)
    }
}

fn failed(error: ArrowError) -> Error {
    Error::Output(match error {
        ArrowError::IoError(text, _) => text,
        other => other.to_string(),
    })
}

impl From<ParquetError> for Error {
    /// An error of writing: those of reading are about a file with a name.
    fn from(error: ParquetError) -> Self {
        Self::Output(match error {
            ParquetError::External(error) => error.to_string(),
            other => other.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::UInt64Array;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn values_that_occur_once_take_no_more_than_some_small_row_groups() {
        let group = 512 << 10;
        let fields = ["a", "b", "c"].map(|name| Field::new(name, DataType::UInt64, false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let options = properties(&SinkOptions::new().row_group(group)).unwrap();
        let writer = ArrowWriter::try_new(std::io::sink(), schema.clone(), Some(options)).unwrap();
        let mut sink = Parquet { writer, piece: group.div_ceil(8) };
        for batch in 0..40u64 {
            let numbers = |salt: u64| {
                let values =
                    (0..10_000).map(|at| (batch * 10_000 + at + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                Arc::new(UInt64Array::from_iter_values(values)) as _
            };
            let columns = [1, 2, 3].map(|salt| numbers(salt << 40)).to_vec();
            sink.write(&RecordBatch::try_new(schema.clone(), columns).unwrap()).unwrap();
            let held = sink.writer.memory_size();
            assert!(held < 3 * group, "batch {batch}: {held} bytes are held");
        }
    }
}
