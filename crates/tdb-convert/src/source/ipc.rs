//! Arrow IPC: messages one after the other, in a stream or between the two ends of a file.
//!
//! A file contains the same messages as a stream, after 8 bytes; a table of them follows. Both are
//! read front to back.

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::SchemaRef;

use super::parquet::arrow_problem;
use crate::error::FileProblem;
use crate::format::{ARROW, CONTINUATION};

/// Bytes of the description of a message, at most.
const MOST_METADATA: u64 = 256 << 20;
/// Where the first message of a file begins at the latest.
const MOST_PADDING: u64 = 64;
/// Bytes that are read at once of what the file says is longer.
const PIECE: u64 = 1 << 20;

type Result<T> = core::result::Result<T, FileProblem>;

/// The messages of a file or stream.
pub(super) struct Messages {
    file: Box<dyn Read + Send>,
    schema: SchemaRef,
    columns: Option<Vec<usize>>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Bytes of all dictionaries.
    kept: u64,
    memory: u64,
}

/// A message: its description, and what follows it.
struct Raw {
    description: Vec<u8>,
    body: Buffer,
}

impl Messages {
    /// A file: its two ends are compared with what files have before the messages are read.
    pub(super) fn of_file(mut file: impl Read + Seek + Send + 'static, memory: u64) -> Result<Self> {
        let mut start = [0; 8];
        if file.read_exact(&mut start).is_err() || !start.starts_with(ARROW) {
            return Err(FileProblem::OtherFormat("Arrow"));
        }
        let len = file.seek(SeekFrom::End(0))?;
        let mut end = [0; 6];
        let last = len.checked_sub(6).filter(|last| *last >= 8);
        file.seek(SeekFrom::Start(last.ok_or(FileProblem::Truncated("it has no end"))?))?;
        file.read_exact(&mut end)?;
        if end != ARROW {
            return Err(FileProblem::Truncated("it does not end as Arrow files do"));
        }
        // Some writers align the first message more than the format asks for, with zeros before it.
        let mut start = 8;
        file.seek(SeekFrom::Start(start))?;
        let mut word = [0; 4];
        while start < MOST_PADDING && file.read_exact(&mut word).is_ok() && word == [0; 4] {
            start = start.saturating_add(4);
        }
        file.seek(SeekFrom::Start(start))?;
        Self::begin(file, memory)
    }

    pub(super) fn of_stream(file: impl Read + Send + 'static, memory: u64) -> Result<Self> {
        Self::begin(file, memory)
    }

    fn begin(file: impl Read + Send + 'static, memory: u64) -> Result<Self> {
        let mut file: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(1 << 16, file));
        let Some(raw) = next(&mut file, memory)? else {
            return Err(FileProblem::Truncated("it has no schema"));
        };
        let message = parse(&raw.description)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged("the first message is not a schema"))?;
        let schema = fb_to_schema(schema).into();
        Ok(Self { file, schema, columns: None, dictionaries: HashMap::new(), kept: 0, memory })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn choose(&mut self, columns: Vec<usize>) {
        self.columns = Some(columns);
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(raw) = next(&mut self.file, self.memory)? else { return Ok(None) };
            let message = parse(&raw.description)?;
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch();
                    let batch = batch.ok_or_else(|| damaged("a batch without a description"))?;
                    self.check(&batch, &raw.body)?;
                    let columns = self.columns.as_deref();
                    let read = read_record_batch(
                        &raw.body,
                        batch,
                        self.schema.clone(),
                        &self.dictionaries,
                        columns,
                        &message.version(),
                    );
                    return read.map(Some).map_err(arrow_problem);
                }
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch();
                    let batch = batch.ok_or_else(|| damaged("a dictionary without a description"))?;
                    let data = batch.data().ok_or_else(|| damaged("a dictionary without values"))?;
                    // Dictionaries may grow: all of them together must fit.
                    self.kept = self.kept.saturating_add(self.check(&data, &raw.body)?);
                    self.fits(self.kept)?;
                    let version = message.version();
                    read_dictionary(&raw.body, batch, &self.schema, &mut self.dictionaries, &version)
                        .map_err(arrow_problem)?;
                }
                _ => return Err(damaged("a message that is neither a batch nor a dictionary")),
            }
        }
    }

    /// Compares the buffers of a batch with its body, and their sizes after decompression with the
    /// memory. Returns the bytes of all buffers.
    fn check(&self, batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<u64> {
        let outside = || damaged("a buffer is not inside its batch");
        let mut bytes = 0u64;
        for buffer in batch.buffers().iter().flatten() {
            let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
            let len = usize::try_from(buffer.length()).map_err(|_| outside())?;
            let end = start.checked_add(len).ok_or_else(outside)?;
            let stored = body.as_slice().get(start..end).ok_or_else(outside)?;
            let mut size = u64::try_from(len).unwrap_or(u64::MAX);
            if batch.compression().is_some() {
                let prefix: Option<[u8; 8]> = stored.first_chunk().copied();
                // -1 says that the buffer is not compressed.
                match prefix.map(i64::from_le_bytes) {
                    Some(-1) | None => {}
                    Some(len) => {
                        size = u64::try_from(len).map_err(|_| damaged("a buffer has a negative size"))?;
                    }
                }
            }
            bytes = bytes.saturating_add(size);
        }
        self.fits(bytes)?;
        if batch.length() < 0 {
            return Err(damaged("a batch has a negative number of rows"));
        }
        Ok(bytes)
    }

    fn fits(&self, bytes: u64) -> Result<()> {
        if bytes > self.memory {
            return Err(FileProblem::TooLarge { bytes, memory: self.memory });
        }
        Ok(())
    }
}

fn damaged(what: &str) -> FileProblem {
    FileProblem::Damaged(what.to_owned())
}

fn parse(description: &[u8]) -> Result<Message<'_>> {
    root_as_message(description).map_err(|error| damaged(&format!("a message cannot be read: {error}")))
}

/// The next message; `None` after the last one.
fn next(file: &mut dyn Read, memory: u64) -> Result<Option<Raw>> {
    const EARLY: FileProblem =
        FileProblem::Truncated("a message, or the mark after the last one, is missing");
    let mut word = [0; 4];
    file.read_exact(&mut word).map_err(|_| EARLY)?;
    if word != CONTINUATION {
        return Err(damaged(
            "a message does not begin as messages do (the format before Arrow 0.15 is not supported)",
        ));
    }
    file.read_exact(&mut word).map_err(|_| EARLY)?;
    let len = u64::from(u32::from_le_bytes(word));
    if len == 0 {
        return Ok(None);
    }
    if len > MOST_METADATA {
        return Err(damaged("the description of a message is too long"));
    }
    let description = take(file, len)?;
    let body = parse(&description)?.bodyLength();
    let body = u64::try_from(body).map_err(|_| damaged("a message has a negative length"))?;
    if body > memory {
        return Err(FileProblem::TooLarge { bytes: body, memory });
    }
    let body = Buffer::from_vec(take(file, body)?);
    Ok(Some(Raw { description, body }))
}

/// The next bytes. Memory grows with what is there, whatever the file says.
fn take(file: &mut dyn Read, len: u64) -> Result<Vec<u8>> {
    let capacity = usize::try_from(len.min(PIECE)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(capacity);
    file.take(len).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()) != Ok(len) {
        return Err(FileProblem::Truncated("a message is incomplete"));
    }
    Ok(bytes)
}
