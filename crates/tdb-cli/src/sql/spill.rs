//! Temporary files of queries: they have no names, so nothing is left of them however the process
//! ends.

use std::fs::File;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use tdb_datafusion::Result;
use tdb_datafusion::datafusion::common::runtime::SpawnedTask;
use tdb_datafusion::datafusion::error::DataFusionError;
use tdb_datafusion::datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};

use crate::temporary::{Reader, unnamed};
use crate::thresholds::SPILL_READ_BYTES;

/// Makes the temporary files of a session.
#[derive(Debug)]
pub(super) struct UnnamedFiles;

impl TempFileFactory for UnnamedFiles {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let file = Arc::new(unnamed()?);
        Ok(Arc::new(UnnamedFile { file, size: Arc::default() }))
    }
}

#[derive(Debug)]
struct UnnamedFile {
    file: Arc<File>,
    size: Arc<AtomicU64>,
}

impl SpillFile for UnnamedFile {
    fn size(&self) -> Option<u64> {
        Some(self.size.load(Ordering::Acquire))
    }

    /// Reads the file from its beginning, whatever is read or written elsewhere.
    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let parts = unfold(Some(Reader::new(self.file.clone())), |reader| async move {
            let reading = SpawnedTask::spawn_blocking(move || part(reader?));
            match reading.await {
                Ok(Some(Ok((bytes, reader)))) => Some((Ok(bytes), Some(reader))),
                Ok(Some(Err(error))) => Some((Err(error.into()), None)),
                Ok(None) => None,
                Err(error) => Some((Err(DataFusionError::External(Box::new(error))), None)),
            }
        });
        Ok(Box::pin(parts))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(UnnamedWriter { file: self.file.try_clone()?, size: self.size.clone() }))
    }
}

/// The next bytes; `None` at the end.
fn part(mut reader: Reader) -> Option<io::Result<(Bytes, Reader)>> {
    let mut bytes = vec![0; SPILL_READ_BYTES];
    match reader.read(&mut bytes) {
        Ok(0) => None,
        Ok(length) => {
            bytes.truncate(length);
            Some(Ok((bytes.into(), reader)))
        }
        Err(error) => Some(Err(error)),
    }
}

struct UnnamedWriter {
    file: File,
    size: Arc<AtomicU64>,
}

impl Write for UnnamedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.size.fetch_add(tdb_codec::to_u64(written), Ordering::AcqRel);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for UnnamedWriter {
    fn finish(&mut self) -> Result<()> {
        Ok(self.file.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn a_file_is_read_from_its_beginning_by_each_reader() {
        let file = UnnamedFiles.create_temp_file("a test").unwrap();
        let bytes: Vec<u8> =
            (0..SPILL_READ_BYTES * 2 + 5).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut writer = file.open_writer().unwrap();
        writer.write_all(&bytes).unwrap();
        writer.finish().unwrap();
        for _ in 0..2 {
            let parts: Vec<Bytes> = file.read_stream().unwrap().try_collect().await.unwrap();
            assert!(parts.len() >= 3 && parts.concat() == bytes);
        }
        assert_eq!(file.size(), Some(tdb_codec::to_u64(bytes.len())));
        assert!(file.path().is_none());
    }
}
