//! Where the array of a table is: how it is opened again, and written to.

use std::fmt;

use tdb_array::{Array, ArrayWriter, OpenOptions, WriteOptions, WriteStorage};

/// A place that has an array.
pub(crate) trait Place: fmt::Debug + Send + Sync {
    /// Opens the array as it is now.
    fn open(&self, options: OpenOptions) -> tdb_array::Result<Array>;

    /// Opens it for writing.
    fn writer(&self, options: WriteOptions) -> tdb_array::Result<ArrayWriter>;
}

/// A local folder.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) String);

impl Place for Folder {
    fn open(&self, options: OpenOptions) -> tdb_array::Result<Array> {
        options.open(&self.0)
    }

    fn writer(&self, options: WriteOptions) -> tdb_array::Result<ArrayWriter> {
        options.open(&self.0)
    }
}

/// A storage.
pub(crate) struct Stored<S>(pub(crate) S);

impl<S> fmt::Debug for Stored<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stored(..)")
    }
}

impl<S: WriteStorage + Clone + 'static> Place for Stored<S> {
    fn open(&self, options: OpenOptions) -> tdb_array::Result<Array> {
        options.open_storage(self.0.clone())
    }

    fn writer(&self, options: WriteOptions) -> tdb_array::Result<ArrayWriter> {
        options.open_storage(self.0.clone())
    }
}
