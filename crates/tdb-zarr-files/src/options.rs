//! How hierarchies are read and written.

use core::fmt;
use std::sync::Arc;

use tdb_array::WriteOptions;

use crate::thresholds::MEMORY;

/// A function that is told how far something is: what is done, and all of it.
type Watch = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a hierarchy becomes arrays.
#[derive(Clone)]
#[must_use = "options do nothing until something is imported with them"]
pub struct ImportOptions {
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    pub(crate) write: WriteOptions,
    watch: Option<Watch>,
}

/// How arrays become a hierarchy.
#[derive(Clone)]
#[must_use = "options do nothing until something is exported with them"]
pub struct ExportOptions {
    pub(crate) version: Version,
    pub(crate) threads: usize,
    pub(crate) memory: Option<u64>,
    pub(crate) replace: bool,
    watch: Option<Watch>,
}

/// A version of Zarr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `.zgroup`, `.zarray`, `.zattrs`, `.zmetadata`.
    V2,
    /// `zarr.json`.
    #[default]
    V3,
}

/// A remark about a part of what was imported or exported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The path in the hierarchy; empty for its root.
    pub path: String,
    /// What is not as it was.
    pub what: String,
}

fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, core::num::NonZero::get)
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { memory: MEMORY, threads: all_threads(), write: WriteOptions::new(), watch: None }
    }
}

impl ImportOptions {
    /// 512 MiB of memory, and as many threads as the machine has.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keep memory below this many bytes.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// The number of threads; 0 counts as 1.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = if threads == 0 { 1 } else { threads };
        self
    }

    /// How arrays are written: keys, times, whether those that are there are replaced.
    pub fn write(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// Calls a function with the cells that are written, and with all of them.
    pub fn on_progress(mut self, watch: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.watch = Some(Arc::new(watch));
        self
    }

    pub(crate) fn tell(&self, done: u64, all: u64) {
        if let Some(watch) = &self.watch {
            watch(done, all);
        }
    }
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            version: Version::default(),
            threads: all_threads(),
            memory: None,
            replace: false,
            watch: None,
        }
    }
}

impl ExportOptions {
    /// Version 3, and as many threads as the machine has.
    pub fn new() -> Self {
        Self::default()
    }

    /// The version of Zarr.
    pub const fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// The number of threads, each of which holds one chunk; 0 counts as 1.
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = if threads == 0 { 1 } else { threads };
        self
    }

    /// The memory of reads of sparse arrays, in bytes, which the threads share: cells that do not
    /// fit a thread's part are errors that say how much they need.
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Replace a Zarr hierarchy that is there, once the new one is complete.
    pub const fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Calls a function with the chunks that are written, and with all of an array.
    pub fn on_progress(mut self, watch: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.watch = Some(Arc::new(watch));
        self
    }

    pub(crate) fn tell(&self, done: u64, all: u64) {
        if let Some(watch) = &self.watch {
            watch(done, all);
        }
    }
}

impl fmt::Debug for ImportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportOptions")
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ExportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportOptions")
            .field("version", &self.version)
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
