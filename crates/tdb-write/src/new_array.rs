//! A new array that is filled before it becomes visible.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_schema::ArraySchema;
use tdb_snapshot::UNFINISHED;

use crate::create::NewArrayFiles;
use crate::put::{put_new, sync_folder};
use crate::storage::{LocalStorage, StorageLock, WriteStorage};
use crate::vacancy::{has_fragments, lock_vacant, remove_unfinished};
use crate::{ArrayWriter, WriteOptions};
use crate::{Result, WriteError};

/// A new array that is being filled: until [`Self::finish`], which comes last, readers find no
/// array in its folder. If it is dropped before, it is removed again as far as the storage allows.
/// If the process is killed, the next array created in the same folder replaces the files that are
/// left; a file in its folder marks it as unfinished.
///
/// It holds the lock of its folder, so no other process creates an array there in the meantime.
///
/// ```
/// use tdb_array::schema::{ArraySchema, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::{Array, OpenOptions, WriteColumn, WriteOptions};
///
/// let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).build()?;
/// let storage = MemoryStorage::default();
/// let array = WriteOptions::new().begin_storage(storage.clone(), &schema)?;
/// array.writer().write().column(WriteColumn::fixed("x", &[7, 3])).commit()?;
/// assert!(OpenOptions::new().open_storage(storage.clone()).is_err());
/// array.finish()?;
///
/// let cells = OpenOptions::new().open_storage(storage)?.read().collect()?;
/// assert_eq!(cells.field("x")?.values::<i32>()?, [3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "an array that is not finished is removed"]
pub struct NewArray {
    writer: ArrayWriter,
    files: NewArrayFiles,
    /// Whether its folder was created by this.
    made: bool,
    finished: bool,
    _lock: StorageLock,
}

impl WriteOptions {
    /// Begins an array in a local folder, which is created if it does not exist.
    ///
    /// # Errors
    /// As for [`Self::create`]; fragments there that are not marked as replaceable.
    pub fn begin(self, path: impl Into<PathBuf>, schema: &ArraySchema) -> Result<NewArray> {
        self.begin_storage(LocalStorage::new(path), schema)
    }

    /// Begins an array in a storage.
    ///
    /// # Errors
    /// As for [`Self::begin`].
    pub fn begin_storage(
        self,
        storage: impl WriteStorage + 'static,
        schema: &ArraySchema,
    ) -> Result<NewArray> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let files = NewArrayFiles::of(&*storage, schema, &self)?;
        let made = storage.list("").is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let lock = lock_vacant(&*storage, &self)?;
        if has_fragments(&*storage)? {
            return Err(WriteError::Exists.into());
        }
        let durability = self.durability;
        let mut writer = self.writer(storage.clone(), files.stored().clone(), files.schema_key().to_owned());
        writer.is_new = true;
        let array = NewArray { writer, files, made, finished: false, _lock: lock };
        // Nothing else may exist without this file. Where there are no locks, of two callers that
        // begin an array here, only one can create the file and continue.
        put_new(&*storage, UNFINISHED, &[], durability)?;
        sync_folder(&*storage, "", durability)?;
        array.files.begin(&*storage)?;
        Ok(array)
    }
}

impl NewArray {
    /// Writes into the array. Until it is finished, deletes, evolution and maintenance are not
    /// possible.
    #[must_use]
    pub const fn writer(&self) -> &ArrayWriter {
        &self.writer
    }

    /// Makes it an array: from here on readers see it, with everything that was written.
    ///
    /// # Errors
    /// Any I/O error of the storage. There is no array then, as far as the storage allows its
    /// removal.
    pub fn finish(mut self) -> Result<()> {
        let storage = &*self.writer.storage;
        self.files.finish(storage)?;
        self.finished = true;
        // It has no meaning once there is a schema.
        let _ = storage.remove_file(UNFINISHED);
        Ok(())
    }
}

impl Drop for NewArray {
    fn drop(&mut self) {
        let storage = &*self.writer.storage;
        if !self.finished && remove_unfinished(storage).is_ok() && self.made {
            let empty = storage.list("").is_ok_and(|root| root.is_empty());
            let _ = if empty { storage.remove_folder("") } else { Ok(()) };
        }
    }
}
