//! A new array that is filled before it becomes visible.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tdb_schema::ArraySchema;
use tdb_snapshot::UNFINISHED;

use crate::create::NewArrayFiles;
use crate::put::{put_new, sync_folder};
use crate::storage::{LocalStorage, StorageLock, WriteStorage, read_whole};
use crate::transaction::lock_if_any;
use crate::vacancy::{has_fragments, lock_vacant, remove_unfinished};
use crate::{ArrayWriter, WriteOptions, fresh_uuid};
use crate::{Error, Result, WriteError};

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
    /// What the file that marks it as unfinished contains: that of another one has other contents.
    mark: String,
    /// Whether its folder was created by this.
    made: bool,
    finished: bool,
    /// The lock of its folder; `None` while it was given up.
    lock: Option<StorageLock>,
}

/// A new array that has all of its cells, and is not finished yet: what [`NewArray`] says holds,
/// except that it does not hold the lock of its folder. So a caller can have many of these, and no
/// open file for each, before it finishes them all. Another process that begins an array in the
/// folder replaces this one.
///
/// ```
/// use tdb_array::schema::{ArraySchema, Dimension};
/// use tdb_array::storage::{MemoryStorage, WriteStorage};
/// use tdb_array::{WriteColumn, WriteOptions};
///
/// let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).build()?;
/// let (one, other) = (MemoryStorage::default(), MemoryStorage::default());
/// let mut filled = Vec::new();
/// for storage in [&one, &other] {
///     let array = WriteOptions::new().begin_storage(storage.clone(), &schema)?;
///     array.writer().write().column(WriteColumn::fixed("x", &[7, 3])).commit()?;
///     filled.push(array.into_filled());
/// }
/// drop(one.lock()?);
/// filled.into_iter().try_for_each(|array| array.finish())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "an array that is not finished is removed"]
pub struct FilledArray(NewArray);

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
        let (mark, lock) = (fresh_uuid()?, Some(lock));
        let array = NewArray { writer, files, mark, made, finished: false, lock };
        // Nothing else may exist without this file. Where there are no locks, of two callers that
        // begin an array here, only one can create the file and continue.
        put_new(&*storage, UNFINISHED, array.mark.as_bytes(), durability)?;
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

    /// Gives up the lock of its folder until it is finished. Nothing can be written before.
    pub fn into_filled(mut self) -> FilledArray {
        self.lock = None;
        FilledArray(self)
    }

    /// Makes it an array: from here on readers see it, with everything that was written.
    ///
    /// # Errors
    /// Any I/O error of the storage. There is no array then, as far as the storage allows its
    /// removal.
    pub fn finish(mut self) -> Result<()> {
        self.regain_lock()?;
        let storage = &*self.writer.storage;
        self.files.finish(storage)?;
        self.finished = true;
        // It has no meaning once there is a schema.
        let _ = storage.remove_file(UNFINISHED);
        Ok(())
    }

    /// Waits for the lock if it was given up. Returns an error if another process has begun an
    /// array here meanwhile.
    fn regain_lock(&mut self) -> Result<()> {
        if self.lock.is_some() {
            return Ok(());
        }
        let storage = &*self.writer.storage;
        let lock = lock_if_any(storage)?;
        match read_whole(storage, UNFINISHED) {
            Ok(mark) if *mark == *self.mark.as_bytes() => {
                self.lock = Some(lock);
                Ok(())
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(storage.describe(UNFINISHED), error))
            }
            _ => Err(WriteError::Exists.into()),
        }
    }
}

impl FilledArray {
    /// Makes it an array: from here on readers see it, with everything that was written.
    ///
    /// # Errors
    /// As for [`NewArray::finish`]; [`WriteError::Exists`] if another process has begun an array in
    /// the folder meanwhile. That one's files stay.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

impl Drop for NewArray {
    fn drop(&mut self) {
        // What another process has begun here is not this one's.
        let removes = !self.finished && self.regain_lock().is_ok();
        let storage = &*self.writer.storage;
        if removes && remove_unfinished(storage).is_ok() && self.made {
            let empty = storage.list("").is_ok_and(|root| root.is_empty());
            let _ = if empty { storage.remove_folder("") } else { Ok(()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use tdb_schema::{ArraySchema, Dimension};

    use crate::storage::{MemoryStorage, Storage};
    use crate::{WriteColumn, WriteOptions};

    fn schema() -> ArraySchema {
        ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).build().unwrap()
    }

    fn filled(storage: &MemoryStorage, cell: i32) -> super::FilledArray {
        let array = WriteOptions::new().begin_storage(storage.clone(), &schema()).unwrap();
        array.writer().write().column(WriteColumn::fixed("x", &[cell])).commit().unwrap();
        array.into_filled()
    }

    #[test]
    fn an_array_that_was_filled_is_seen_once_it_is_finished_and_removed_if_it_is_not() {
        let storage = MemoryStorage::default();
        drop(filled(&storage, 7));
        assert!(storage.list("").unwrap().is_empty());
        let array = filled(&storage, 8);
        assert!(crate::is_vacant(&storage).unwrap());
        array.finish().unwrap();
        assert!(!crate::is_vacant(&storage).unwrap());
        assert!(storage.list("").unwrap().iter().all(|entry| entry.name != super::UNFINISHED));
    }

    #[test]
    fn what_another_one_has_begun_meanwhile_stays() {
        let storage = MemoryStorage::default();
        let (first, second) = (filled(&storage, 1), filled(&storage, 2));
        let commits = storage.list("__commits").unwrap();
        assert_eq!(commits.len(), 1);
        assert!(matches!(first.finish(), Err(crate::Error::Write(crate::WriteError::Exists))));
        assert_eq!(storage.list("__commits").unwrap(), commits);
        second.finish().unwrap();
        // Nor is anything removed of an array that is finished.
        let late = MemoryStorage::default();
        let first = filled(&late, 1);
        filled(&late, 2).finish().unwrap();
        drop(first);
        assert!(!crate::is_vacant(&late).unwrap());
    }
}
