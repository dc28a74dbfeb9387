//! The contents of an input file, which may be read more than once.

use std::fs::{self, File};
use std::io::{self, BufRead, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "sql")]
use super::result::ResultFile;
use super::text;
use crate::temporary::{Reader, unnamed};
use crate::thresholds::MAX_INPUT_MEMORY;

/// The name of standard input on the command line.
const STANDARD_INPUT: &str = "-";

/// Whether a path means standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// A file, or what was read of standard input or of a pipe.
#[derive(Debug)]
pub(super) enum Input {
    File(PathBuf),
    Memory(Arc<[u8]>),
    Spooled(Arc<File>),
    /// Rows of the program itself.
    #[cfg(feature = "sql")]
    Result(ResultFile),
}

/// A source that can be read from any position.
#[cfg(feature = "convert")]
pub(super) trait Seekable: Read + io::Seek {}

#[cfg(feature = "convert")]
impl<T: Read + io::Seek> Seekable for T {}

impl Input {
    /// The input of a path. Standard input and pipes are read to their ends, into a temporary file
    /// if they are long.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        if is_standard_input(path) {
            return Self::spool(io::stdin().lock());
        }
        // A folder is an error that reading reports.
        let metadata = fs::metadata(path)?;
        if metadata.is_file() || metadata.is_dir() {
            return Ok(Self::File(path.to_owned()));
        }
        Self::spool(File::open(path)?)
    }

    /// What is read of a source, to its end.
    pub(super) fn spool(source: impl Read) -> io::Result<Self> {
        Self::spool_to(source, || unnamed().map_err(unkept).map(Kept))
    }

    fn spool_to(mut source: impl Read, kept: impl FnOnce() -> io::Result<Kept>) -> io::Result<Self> {
        let mut start = Vec::new();
        source.by_ref().take(MAX_INPUT_MEMORY).read_to_end(&mut start)?;
        let mut next = [0];
        if source.read(&mut next)? == 0 {
            return Ok(Self::Memory(start.into()));
        }
        let mut spooled = kept()?;
        spooled.write_all(&start)?;
        spooled.write_all(&next)?;
        io::copy(&mut source, &mut spooled)?;
        Ok(Self::Spooled(Arc::new(spooled.0)))
    }

    /// Its contents as they are, which can be read from any place.
    #[cfg(feature = "convert")]
    pub(super) fn seekable(&self) -> io::Result<Box<dyn Seekable + Send>> {
        Ok(match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::Spooled(file) => Box::new(Reader::new(file.clone())),
            #[cfg(feature = "sql")]
            Self::Result(rows) => Box::new(rows.reader()),
        })
    }

    /// Its contents from the beginning, without compression.
    pub(super) fn open(&self) -> io::Result<Box<dyn BufRead + Send>> {
        match self {
            Self::File(path) => text::contents(File::open(path)?),
            Self::Memory(bytes) => text::contents(Cursor::new(bytes.clone())),
            Self::Spooled(file) => text::contents(Reader::new(file.clone())),
            #[cfg(feature = "sql")]
            Self::Result(rows) => text::contents(rows.reader()),
        }
    }
}

/// A temporary file, whose errors say that it is one.
struct Kept(File);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unkept)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unkept)
    }
}

fn unkept(error: io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    let why = format!(
        "it is kept in a temporary file in {} (TMPDIR chooses another folder): {error}",
        folder.display()
    );
    io::Error::new(error.kind(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_that_of_the_temporary_file() {
        let full = || Ok(Kept(File::options().write(true).open("/dev/full")?));
        let error = Input::spool_to(&vec![b'x'; 3_000_000][..], full).map(|_| ()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("TMPDIR chooses another folder") && text.contains("No space left"), "{text}");
    }

    #[test]
    fn what_cannot_be_read_again_is_kept() {
        for len in [
            0,
            10,
            usize::try_from(MAX_INPUT_MEMORY).unwrap(),
            usize::try_from(MAX_INPUT_MEMORY).unwrap() + 1,
            3_000_000,
        ] {
            let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let input = Input::spool(&bytes[..]).unwrap();
            assert_eq!(matches!(input, Input::Spooled(_)), len > usize::try_from(MAX_INPUT_MEMORY).unwrap());
            for _ in 0..2 {
                let mut read = Vec::new();
                input.open().unwrap().read_to_end(&mut read).unwrap();
                assert!(read == bytes, "{len}");
            }
        }
    }
}
