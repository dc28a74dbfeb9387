//! The virtual file system: files and folders by URI.

pub(crate) mod files;

use crate::config::{Config, ConfigObject};
use crate::context::Ctx;
use crate::ffi::{
    Data, EntryCallback, Failure, FileCallback, Freed, In, Object, Out, OutHandle, Outcome, Raw, Text,
    TextCallback, call_each,
};
use crate::place::Place;
use crate::shared::Shared;
use crate::stores::Stores;

/// The numbers of `tiledb_vfs_mode_t`.
const READ: u32 = 0;
const WRITE: u32 = 1;
const APPEND: u32 = 2;

/// A virtual file system behind a pointer: its configuration, and what its URIs lead to. Files in
/// memory are the context's.
pub(crate) struct Vfs {
    config: Config,
    stores: Stores,
}

impl Object for Vfs {
    const NAME: &'static str = "virtual filesystem";
}

/// An open file behind a pointer.
pub(crate) struct FileHandle {
    place: Place,
    mode: u32,
    closed: Shared<bool>,
    /// What is written when the file is closed, where files are written whole.
    pending: Shared<Vec<u8>>,
}

impl Object for FileHandle {
    const NAME: &'static str = "virtual filesystem file handle";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("VFSFileHandle", text)
}

impl FileHandle {
    fn open(place: Place, mode: u32) -> Result<Self, Failure> {
        let uri = place.uri();
        match mode {
            READ if !place.is_file() => {
                return Err(Failure::of("VFS", format!("Cannot open file '{uri}'; File does not exist")));
            }
            WRITE if place.is_file() => place.remove_file()?,
            READ | WRITE | APPEND => {}
            _ => return Err(failure(format!("Cannot open file '{uri}'; unknown mode"))),
        }
        let mut pending = Vec::new();
        if is_written_whole(&place) && mode == APPEND && place.is_file() {
            pending = place.read()?;
        }
        Ok(Self { place, mode, closed: Shared::new(false), pending: Shared::new(pending) })
    }

    /// Makes or replaces a file that a function writes piece by piece; if that fails, none is left.
    pub(crate) fn create(place: Place, write: impl FnOnce(&Self) -> Outcome) -> Outcome {
        let file = Self::open(place, WRITE)?;
        let written = write(&file).and_then(|()| file.flush());
        if written.is_err() && file.place.is_file() {
            // The error says why the file is not there; that it could not be removed adds nothing.
            drop(file.place.remove_file());
        }
        written
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Outcome {
        if !is_written_whole(&self.place) {
            return self.place.append(bytes);
        }
        self.pending.lock().extend_from_slice(bytes);
        Ok(())
    }

    /// Makes what was written so far a file that others see.
    fn flush(&self) -> Outcome {
        match (is_written_whole(&self.place), self.mode) {
            (_, READ) => Ok(()),
            (false, _) => self.place.touch(),
            (true, _) => self.place.write(&self.pending.lock()),
        }
    }

    /// An error unless the file is open for this.
    fn check(&self, what: &str, modes: &[u32]) -> Outcome {
        let uri = self.place.uri();
        if *self.closed.lock() {
            return Err(failure(format!("Cannot {what} file '{uri}'; File is not open")));
        }
        if !modes.contains(&self.mode) {
            return Err(failure(format!("Cannot {what} file '{uri}'; File is open in another mode")));
        }
        Ok(())
    }
}

/// Whether files of a place cannot grow: objects are written whole.
fn is_written_whole(place: &Place) -> bool {
    matches!(place, Place::Stored(store, _) if !store.is_memory())
}

/// The place of a URI of the caller.
fn place(vfs: In<Vfs>, uri: Text) -> Result<Place, Failure> {
    Place::in_stores(&vfs.get()?.stores, uri.get("uri")?)
}

/// The place of a bucket, which is all that its URI names.
fn bucket(vfs: In<Vfs>, uri: Text) -> Result<Place, Failure> {
    match place(vfs, uri)? {
        Place::Stored(store, key) if key.is_empty() && !store.is_memory() => Ok(Place::Stored(store, key)),
        place => Err(Failure::of("VFS", format!("'{}' is not a bucket", place.uri()))),
    }
}

exported! {
    fn tiledb_vfs_alloc(ctx: Ctx, config: In<ConfigObject>, vfs: OutHandle<Vfs>) -> Code for ctx {
        let merged = ctx.get()?.config().with(config)?;
        let stores = ctx.get()?.stores().with_config(&merged);
        vfs.put(Vfs { config: merged, stores })
    }

    fn tiledb_vfs_free(vfs: Freed<Vfs>) {
        vfs.free();
    }

    fn tiledb_vfs_get_config(ctx: Ctx, vfs: In<Vfs>, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(vfs.get()?.config.clone()))
    }

    fn tiledb_vfs_create_bucket(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        bucket(vfs, uri)?;
        Err(Failure::not_supported("tiledb_vfs_create_bucket"))
    }

    fn tiledb_vfs_remove_bucket(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        bucket(vfs, uri)?;
        Err(Failure::not_supported("tiledb_vfs_remove_bucket"))
    }

    fn tiledb_vfs_empty_bucket(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        bucket(vfs, uri)?.remove_folder()
    }

    fn tiledb_vfs_is_empty_bucket(ctx: Ctx, vfs: In<Vfs>, uri: Text, is_empty: Out<i32>) -> Code for ctx {
        is_empty.set(i32::from(bucket(vfs, uri)?.list()?.is_empty()))
    }

    fn tiledb_vfs_is_bucket(ctx: Ctx, vfs: In<Vfs>, uri: Text, is_bucket: Out<i32>) -> Code for ctx {
        is_bucket.set(0)?;
        is_bucket.set(i32::from(bucket(vfs, uri)?.list().is_ok()))
    }

    fn tiledb_vfs_create_dir(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        place(vfs, uri)?.create_folder()
    }

    fn tiledb_vfs_is_dir(ctx: Ctx, vfs: In<Vfs>, uri: Text, is_dir: Out<i32>) -> Code for ctx {
        is_dir.set(i32::from(place(vfs, uri)?.is_folder()))
    }

    fn tiledb_vfs_remove_dir(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        place(vfs, uri)?.remove_folder()
    }

    fn tiledb_vfs_is_file(ctx: Ctx, vfs: In<Vfs>, uri: Text, is_file: Out<i32>) -> Code for ctx {
        is_file.set(i32::from(place(vfs, uri)?.is_file()))
    }

    fn tiledb_vfs_remove_file(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        place(vfs, uri)?.remove_file()
    }

    fn tiledb_vfs_dir_size(ctx: Ctx, vfs: In<Vfs>, uri: Text, size: Out<u64>) -> Code for ctx {
        let place = place(vfs, uri)?;
        if !place.is_folder() {
            let text = format!("Cannot get directory size; Input '{}' is not a directory", place.uri());
            return Err(Failure::of("VFS", text));
        }
        size.set(place.walk()?.iter().map(|found| found.size).sum())
    }

    fn tiledb_vfs_file_size(ctx: Ctx, vfs: In<Vfs>, uri: Text, size: Out<u64>) -> Code for ctx {
        size.set(place(vfs, uri)?.size()?)
    }

    fn tiledb_vfs_move_file(ctx: Ctx, vfs: In<Vfs>, old: Text, new: Text) -> Code for ctx {
        place(vfs, old)?.move_to(&place(vfs, new)?)
    }

    fn tiledb_vfs_move_dir(ctx: Ctx, vfs: In<Vfs>, old: Text, new: Text) -> Code for ctx {
        place(vfs, old)?.move_to(&place(vfs, new)?)
    }

    fn tiledb_vfs_copy_file(ctx: Ctx, vfs: In<Vfs>, old: Text, new: Text) -> Code for ctx {
        place(vfs, old)?.copy_file(&place(vfs, new)?)
    }

    fn tiledb_vfs_copy_dir(ctx: Ctx, vfs: In<Vfs>, old: Text, new: Text) -> Code for ctx {
        place(vfs, old)?.copy_folder(&place(vfs, new)?)
    }

    fn tiledb_vfs_open(ctx: Ctx, vfs: In<Vfs>, uri: Text, mode: u32, file: OutHandle<FileHandle>) -> Code for ctx {
        file.put(FileHandle::open(place(vfs, uri)?, mode)?)
    }

    fn tiledb_vfs_close(ctx: Ctx, file: In<FileHandle>) -> Code for ctx {
        let file = file.get()?;
        file.check("close", &[READ, WRITE, APPEND])?;
        file.flush()?;
        *file.closed.lock() = true;
        Ok(())
    }

    fn tiledb_vfs_read(ctx: Ctx, file: In<FileHandle>, offset: u64, buffer: Out<u8>, size: u64) -> Code for ctx {
        let file = file.get()?;
        file.check("read from", &[READ])?;
        buffer.with_bytes(size, |bytes| file.place.read_into(offset, bytes))
    }

    fn tiledb_vfs_write(ctx: Ctx, file: In<FileHandle>, buffer: Data, size: u64) -> Code for ctx {
        let file = file.get()?;
        file.check("write to", &[WRITE, APPEND])?;
        file.write(buffer.bytes(size)?)
    }

    fn tiledb_vfs_sync(ctx: Ctx, file: In<FileHandle>) -> Code for ctx {
        let file = file.get()?;
        file.check("sync", &[READ, WRITE, APPEND])?;
        file.flush()
    }

    fn tiledb_vfs_ls(ctx: Ctx, vfs: In<Vfs>, path: Text, callback: TextCallback, data: Raw) -> Code for ctx {
        let call = callback.ok_or("Invalid TileDB object: callback function")?;
        let place = place(vfs, path)?;
        // Where there is no folder, there is nothing in it.
        let found = if place.is_folder() { place.list()? } else { Vec::new() };
        call_each(found.into_iter().map(|one| (one.uri, ())), |text, _, ()| call(text, data))
    }

    fn tiledb_vfs_fh_free(file: Freed<FileHandle>) {
        file.free();
    }

    fn tiledb_vfs_fh_is_closed(ctx: Ctx, file: In<FileHandle>, is_closed: Out<i32>) -> Code for ctx {
        is_closed.set(i32::from(*file.get()?.closed.lock()))
    }

    fn tiledb_vfs_touch(ctx: Ctx, vfs: In<Vfs>, uri: Text) -> Code for ctx {
        place(vfs, uri)?.touch()
    }

    fn tiledb_vfs_ls_recursive(ctx: Ctx, vfs: In<Vfs>, path: Text, callback: FileCallback, data: Raw) -> Code for ctx {
        let call = callback.ok_or("Invalid TileDB object: Callback function is null.")?;
        let found = place(vfs, path)?.walk()?;
        call_each(found.into_iter().map(|one| (one.uri, one.size)), |text, length, size| call(text, length, size, data))
    }

    fn tiledb_vfs_ls_recursive_v2(ctx: Ctx, vfs: In<Vfs>, path: Text, callback: EntryCallback, data: Raw) -> Code for ctx {
        let call = callback.ok_or("Invalid TileDB object: Callback function is null.")?;
        let found = place(vfs, path)?.walk()?;
        let items = found.into_iter().map(|one| (one.uri, (one.size, one.is_folder)));
        call_each(items, |text, length, (size, is_folder)| call(text, length, size, u8::from(is_folder), data))
    }

    fn tiledb_uri_to_path(ctx: Ctx, uri: Text, path: Out<u8>, length: Out<u32>) -> Code for ctx {
        let uri = Place::of(ctx.get()?, uri.get("uri")?)?.uri();
        let mut bytes = uri.strip_prefix("file://").unwrap_or(&uri).as_bytes().to_vec();
        bytes.push(0);
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if length.value()? < size {
            length.set(0)?;
            return Err("the path does not fit".into());
        }
        length.set(size.saturating_sub(1))?;
        path.fill(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use tdb_array::storage::MemoryStorage;

    use super::*;
    use crate::stores::Store;

    #[test]
    fn a_file_whose_writing_fails_is_not_left_behind() {
        let storage = MemoryStorage::default();
        let place = || Place::Stored(Store::memory(&storage), "file".to_owned());
        let failing = |file: &FileHandle| {
            file.write(b"12")?;
            Err(Failure::of("VFS", "no more"))
        };
        assert!(FileHandle::create(place(), failing).is_err() && !place().is_file());
        FileHandle::create(place(), |file| file.write(b"12").and_then(|()| file.write(b"3"))).unwrap();
        assert_eq!(place().read().unwrap(), b"123");
    }
}
