//! Text that is buffered until it can be written: in memory while it is short, then in a temporary
//! file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::Out;
use crate::failure::{Failure, Result};
use crate::temporary::unnamed;
use crate::thresholds::MAX_SPOOL_MEMORY;

#[derive(Debug, Default)]
pub(super) struct Spool {
    text: Vec<u8>,
    file: Option<File>,
}

impl Spool {
    pub(super) const fn is_empty(&self) -> bool {
        self.text.is_empty() && self.file.is_none()
    }

    /// An error of writing or reading it.
    pub(super) fn failed(error: io::Error) -> Failure {
        Failure::at(&std::env::temp_dir(), error)
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(unnamed()?),
        };
        file.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Copies all of it.
    pub(super) fn copy_to(mut self, out: &mut Out<'_>) -> Result {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0)).map_err(Self::failed)?;
            let mut piece = vec![0; 64 << 10];
            loop {
                let len = file.read(&mut piece).map_err(Self::failed)?;
                if len == 0 {
                    break;
                }
                out.write(|out| out.write_all(piece.get(..len).unwrap_or_default()))?;
            }
        }
        out.write(|out| out.write_all(&self.text))
    }
}

impl Write for Spool {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(text);
        if self.text.len() > MAX_SPOOL_MEMORY {
            self.spill()?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_comes_back_from_its_file() {
        for lines in [0, 10, 100_000] {
            let mut spool = Spool::default();
            let mut expected = String::new();
            for line in 0..lines {
                writeln!(spool, "line {line}").unwrap();
                expected.push_str(&format!("line {line}\n"));
            }
            assert_eq!(spool.file.is_some(), expected.len() > MAX_SPOOL_MEMORY);
            let mut out = Vec::new();
            spool.copy_to(&mut Out { out: &mut out, path: None }).unwrap();
            assert!(out == expected.as_bytes());
        }
    }
}
