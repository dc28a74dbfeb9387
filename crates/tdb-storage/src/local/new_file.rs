//! Files that are being written: a limited number of them stays open between appends.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Durability, FileWriter, opening};

/// The maximum number of files being written that this process keeps open; systems allow some 1024.
/// Further files are opened for each append: a fragment has up to three files per field. Chosen,
/// not measured.
const MAX_OPEN: usize = 256;

/// The number of files that are kept open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A file that is kept open and counted.
#[derive(Debug)]
pub(super) struct OpenFile(File);

impl OpenFile {
    /// Keeps a file open, unless too many are open.
    pub(super) fn keep(file: File) -> Option<Self> {
        let open = OPEN.fetch_add(1, Ordering::Relaxed);
        let kept = Self(file);
        // Dropping it decrements the count again.
        (open < MAX_OPEN).then_some(kept)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) path: PathBuf,
    pub(super) open: Option<OpenFile>,
}

impl NewFile {
    fn with<R>(&mut self, run: impl FnOnce(&mut File) -> io::Result<R>) -> io::Result<R> {
        match &mut self.open {
            Some(open) => run(&mut open.0),
            None => run(&mut opening::open(OpenOptions::new().append(true), &self.path)?),
        }
    }
}

impl FileWriter for NewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|file| file.write_all(bytes))
    }

    fn finish(mut self: Box<Self>, durability: Durability) -> io::Result<()> {
        match durability {
            // Syncing a file forces everything written to it, by any handle.
            Durability::Synced => self.with(|file| file.sync_all()),
            Durability::Buffered => Ok(()),
        }
    }
}
