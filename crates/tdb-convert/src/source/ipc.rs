//! Arrow IPC: messages one after the other in a stream, or where the table at the end of a file
//! says.
//!
//! A stream is read front to back. So could most files be, which contain the same messages after 8
//! bytes; but only the table counts, and what lies between the messages has no meaning: Polars
//! writes other bytes in place of the first one, the schema, which the table has as well.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Block, Message, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::known::check_types;
use super::parquet::arrow_problem;
use crate::error::FileProblem;
use crate::format::{ARROW, CONTINUATION};

/// Bytes of the description of a message, at most.
const MOST_METADATA: u64 = 256 << 20;
/// Bytes at the end of a file: the length of its table, and the mark of the format.
const END: u64 = 10;
/// Bytes of a buffer between a file and its messages.
const BUFFER: usize = 1 << 16;
/// Bytes that are read at once of what the file says is longer.
const PIECE: u64 = 1 << 20;

type Result<T> = core::result::Result<T, FileProblem>;

/// The messages of a file or stream.
pub(super) struct Messages {
    file: Place,
    schema: SchemaRef,
    columns: Option<Vec<usize>>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Bytes of all dictionaries.
    kept: u64,
    memory: u64,
}

/// Where messages are.
enum Place {
    /// One after the other.
    Stream(Box<dyn Read + Send>),
    /// At these positions of a file. `at` is the one behind the last message.
    File { file: Box<dyn ReadSeek>, positions: VecDeque<u64>, at: u64 },
}

trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

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
        let mut end = [0; 10];
        let last = len.checked_sub(END).filter(|last| *last >= 8);
        let last = last.ok_or(FileProblem::Truncated("it has no end"))?;
        file.seek(SeekFrom::Start(last))?;
        file.read_exact(&mut end)?;
        let [a, b, c, d, mark @ ..] = end;
        if mark.as_slice() != ARROW {
            return Err(FileProblem::Truncated("it does not end as Arrow files do"));
        }
        let size = u64::from(u32::from_le_bytes([a, b, c, d]));
        let start = last.checked_sub(size).filter(|start| *start >= 8 && size <= MOST_METADATA);
        file.seek(SeekFrom::Start(start.ok_or_else(|| damaged("its table of messages is too long"))?))?;
        let table = take(&mut file, size)?;
        let table = root_as_footer(&table)
            .map_err(|error| damaged(&format!("its table of messages cannot be read: {error}")))?;
        let schema = table.schema().ok_or_else(|| damaged("its table of messages has no schema"))?;
        check_types(&schema)?;
        let schema = fb_to_schema(schema).into();
        // Dictionaries come first: a batch may need one that lies behind it.
        let blocks =
            table.dictionaries().into_iter().flatten().chain(table.recordBatches().into_iter().flatten());
        let position = |block: &Block| {
            u64::try_from(block.offset()).map_err(|_| damaged("a message is before its file"))
        };
        let positions = blocks.map(position).collect::<Result<VecDeque<u64>>>()?;
        if positions.iter().collect::<BTreeSet<_>>().len() != positions.len() {
            return Err(damaged("its table of messages has one of them twice"));
        }
        let file: Box<dyn ReadSeek> = Box::new(BufReader::with_capacity(BUFFER, file));
        Ok(Self::new(Place::File { file, positions, at: last }, schema, memory))
    }

    pub(super) fn of_stream(file: impl Read + Send + 'static, memory: u64) -> Result<Self> {
        let mut file: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(BUFFER, file));
        let Some((raw, _)) = next(&mut file, memory)? else {
            return Err(FileProblem::Truncated("it has no schema"));
        };
        let message = parse(&raw.description)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged("the first message is not a schema"))?;
        check_types(&schema)?;
        let schema = fb_to_schema(schema).into();
        Ok(Self::new(Place::Stream(file), schema, memory))
    }

    fn new(file: Place, schema: SchemaRef, memory: u64) -> Self {
        Self { file, schema, columns: None, dictionaries: HashMap::new(), kept: 0, memory }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn choose(&mut self, columns: Vec<usize>) {
        self.columns = Some(columns);
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(raw) = self.file.next(self.memory)? else { return Ok(None) };
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

impl Place {
    /// The next message; `None` after the last one.
    fn next(&mut self, memory: u64) -> Result<Option<Raw>> {
        match self {
            Self::Stream(file) => Ok(next(file, memory)?.map(|(raw, _)| raw)),
            Self::File { file, positions, at } => {
                let Some(position) = positions.pop_front() else { return Ok(None) };
                if position != *at {
                    file.seek(SeekFrom::Start(position))?;
                }
                let found = next(file, memory)?;
                let (raw, size) = found.ok_or_else(|| damaged("its table names a message that is none"))?;
                *at = position.saturating_add(size);
                Ok(Some(raw))
            }
        }
    }
}

fn damaged(what: &str) -> FileProblem {
    FileProblem::Damaged(what.to_owned())
}

fn parse(description: &[u8]) -> Result<Message<'_>> {
    root_as_message(description).map_err(|error| damaged(&format!("a message cannot be read: {error}")))
}

/// A message, and its size with all that belongs to it; `None` is the mark behind the last one.
fn next(file: &mut dyn Read, memory: u64) -> Result<Option<(Raw, u64)>> {
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
    let size = len.saturating_add(body).saturating_add(8);
    let body = Buffer::from_vec(take(file, body)?);
    Ok(Some((Raw { description, body }, size)))
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
