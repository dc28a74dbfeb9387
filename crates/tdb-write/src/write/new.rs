//! A new array that is filled before it is there.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_schema::ArraySchema;

use super::create::{Files, UNFINISHED, claim, has_fragments, remove_unfinished};
use super::put::{put_new, sync_folder};
use super::{ArrayWriter, WriteOptions};
use crate::storage::{LocalStorage, StorageLock, WriteStorage};
use crate::{Result, WriteError};

/// An array that is written before it is one: until [`Self::finish`], which comes last, readers find no array in its place.
/// Dropped before, it is removed again as far as the storage lets it. What an attempt leaves that was killed is replaced by
/// the next array that is created in its place; a file beside its cells says that it may be.
///
/// It holds the lock of its place, so nobody else creates an array there meanwhile.
///
/// ```
/// use tdb_array::{Array, ArraySchema, MemoryStorage, OpenOptions, WriteColumn, WriteOptions};
/// use tdb_array::schema::Dimension;
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
    files: Files,
    /// Whether its folder was not there before.
    made: bool,
    finished: bool,
    _lock: StorageLock,
}

impl WriteOptions {
    /// Begins an array in a local folder, which is made if there is none.
    ///
    /// # Errors
    /// As [`Self::create`]; fragments there, of which it is not known that they may be replaced.
    pub fn begin(self, path: impl Into<PathBuf>, schema: &ArraySchema) -> Result<NewArray> {
        self.begin_storage(LocalStorage::new(path), schema)
    }

    /// Begins an array in a storage.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_storage(
        self,
        storage: impl WriteStorage + 'static,
        schema: &ArraySchema,
    ) -> Result<NewArray> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let files = Files::of(&*storage, schema, &self)?;
        let made = storage.list("").is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let lock = claim(&*storage)?;
        if has_fragments(&*storage)? {
            return Err(WriteError::Exists.into());
        }
        let durability = self.durability;
        let mut writer = self.writer(storage.clone(), files.stored().clone(), files.schema_key().to_owned());
        writer.is_new = true;
        let array = NewArray { writer, files, made, finished: false, _lock: lock };
        // Nothing may be there without it. Where there are no locks, of two who begin here it lets one go on.
        put_new(&*storage, UNFINISHED, &[], durability)?;
        sync_folder(&*storage, "", durability)?;
        array.files.begin(&*storage)?;
        Ok(array)
    }
}

impl NewArray {
    /// Writes into the array. Until it is finished there is nothing to delete from, evolve or maintain.
    #[must_use]
    pub const fn writer(&self) -> &ArrayWriter {
        &self.writer
    }

    /// Makes it an array: from here on readers see it, with all that was written.
    ///
    /// # Errors
    /// Whatever the system says. There is no array then, as far as the storage lets it be removed again.
    pub fn finish(mut self) -> Result<()> {
        let storage = &*self.writer.storage;
        self.files.finish(storage)?;
        self.finished = true;
        // With a schema it says nothing any more.
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
