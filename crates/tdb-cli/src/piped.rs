//! Parquet and Arrow files on an output that stays in its thread, as standard output does.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tdb_arrow::arrow_array::RecordBatch;
use tdb_arrow::arrow_schema::SchemaRef;
use tdb_convert::{BatchSink, Error, Format, SinkOptions, sink};

use crate::failure::Failure;
use crate::output::Out;

/// Bytes of a file that were not passed on yet.
#[derive(Clone, Debug, Default)]
struct Pending(Arc<Mutex<Vec<u8>>>);

impl Pending {
    fn take(&self) -> Vec<u8> {
        core::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose bytes are passed on to an output after each batch.
pub(crate) struct Piped<'o> {
    /// `None` after the end of the file.
    sink: Option<Box<dyn BatchSink>>,
    pending: Pending,
    out: Out<'o>,
    /// The failure because of which the output takes no more.
    failure: Option<Failure>,
}

impl<'o> Piped<'o> {
    /// Begins a file of batches with this schema.
    pub(crate) fn new(
        format: Format,
        out: Out<'o>,
        schema: &SchemaRef,
        options: &SinkOptions,
    ) -> tdb_convert::Result<Self> {
        let pending = Pending::default();
        let sink = sink(format, pending.clone(), schema, options)?;
        Ok(Self { sink: Some(sink), pending, out, failure: None })
    }

    /// Ends the file.
    pub(crate) fn end(&mut self) -> tdb_convert::Result<()> {
        if let Some(sink) = self.sink.take() {
            sink.finish()?;
        }
        self.hand_on()
    }

    fn hand_on(&mut self) -> tdb_convert::Result<()> {
        let bytes = self.pending.take();
        self.out.write(|out| out.write_all(&bytes)).map_err(|failure| {
            let text = failure.text().to_owned();
            self.failure = Some(failure);
            Error::Output(text)
        })
    }

    /// The failure of the output, if that is why one of these functions returned an error.
    pub(crate) const fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

impl BatchSink for Piped<'_> {
    fn write(&mut self, batch: &RecordBatch) -> tdb_convert::Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.write(batch)?;
        }
        self.hand_on()
    }

    fn finish(mut self: Box<Self>) -> tdb_convert::Result<()> {
        self.end()
    }
}
