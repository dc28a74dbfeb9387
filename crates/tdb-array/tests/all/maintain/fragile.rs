//! A storage that fails at the n-th change, and can then lose everything that was not made durable.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tdb_array::storage::{
    ByteRange, Durability, Entry, FileWriter, MemoryStorage, Storage, StorageLock, WriteStorage, write_file,
};

/// The contents of a folder on the medium, by name.
type Names = BTreeMap<String, Node>;

#[derive(Clone, Debug)]
enum Node {
    Folder,
    /// Bytes that were synced; a file that was never synced has none.
    File(Bytes),
}

#[derive(Debug, Default)]
struct Medium {
    /// Folders as they were when they were last synced.
    folders: BTreeMap<String, Names>,
    /// Files that were finished and synced.
    synced: BTreeMap<String, Bytes>,
    /// Number of changes that still succeed before every one fails.
    left: usize,
    /// Whether only changes that need space fail.
    full: bool,
}

/// Files in memory, with a record of what would survive a loss of power.
#[derive(Clone, Debug)]
pub(crate) struct Fragile {
    now: MemoryStorage,
    medium: Arc<Mutex<Medium>>,
}

impl Fragile {
    /// The files of a storage, all of them on the medium.
    pub(crate) fn of(storage: &MemoryStorage) -> Self {
        let fragile = Self { now: copy(storage), medium: Arc::default() };
        for key in storage.keys() {
            let bytes = storage.read_tail(&key, u64::MAX).unwrap().1;
            fragile.medium().synced.insert(key, bytes);
        }
        fragile.settle("");
        fragile.fail_after(usize::MAX);
        fragile
    }

    fn settle(&self, folder: &str) {
        self.save(folder).unwrap();
        for entry in self.now.list(folder).unwrap_or_default() {
            if entry.is_folder {
                self.settle(&join(folder, &entry.name));
            }
        }
    }

    /// Allows this many more changes, then none.
    pub(crate) fn fail_after(&self, changes: usize) {
        self.medium().left = changes;
    }

    /// Has room for this many more changes; files and folders can still be removed and synced.
    pub(crate) fn full_after(&self, changes: usize) {
        let mut medium = self.medium();
        (medium.left, medium.full) = (changes, true);
    }

    /// The state after a crash of the process: everything that was done.
    pub(crate) fn after_crash(&self) -> MemoryStorage {
        copy(&self.now)
    }

    /// The worst state after a loss of power: what was synced, in folders that were synced.
    pub(crate) fn after_power_loss(&self) -> MemoryStorage {
        let left = MemoryStorage::default();
        let medium = self.medium();
        restore(&medium, "", &left);
        left
    }

    /// The states after a crash and after a loss of power, with their names; one, if they are the
    /// same.
    pub(crate) fn after_stops(&self) -> Vec<(MemoryStorage, &'static str)> {
        let mut states = vec![(self.after_crash(), "crash"), (self.after_power_loss(), "loss of power")];
        states.dedup_by(|(second, _), (first, _)| contents(second) == contents(first));
        states
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap()
    }

    /// A change that needs no space.
    fn light_step(&self) -> io::Result<()> {
        if self.medium().full { Ok(()) } else { self.step() }
    }

    fn step(&self) -> io::Result<()> {
        let mut medium = self.medium();
        medium.left = medium.left.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(())
    }

    fn save(&self, folder: &str) -> io::Result<()> {
        let mut names = Names::new();
        let listed = self.now.list(folder)?;
        let mut medium = self.medium();
        for Entry { name, is_folder, .. } in listed {
            let key = join(folder, &name);
            let node = if is_folder {
                Node::Folder
            } else {
                Node::File(medium.synced.get(&key).cloned().unwrap_or_default())
            };
            names.insert(name, node);
        }
        medium.folders.insert(folder.to_owned(), names);
        Ok(())
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn copy(storage: &MemoryStorage) -> MemoryStorage {
    let (files, folders) = contents(storage);
    let new = MemoryStorage::new(files);
    folders.iter().for_each(|folder| new.create_folder(folder).unwrap());
    new
}

/// All files with their bytes, and all folders.
fn contents(storage: &MemoryStorage) -> (Vec<(String, Bytes)>, Vec<String>) {
    let bytes = |key: String| {
        let bytes = storage.read_tail(&key, u64::MAX).unwrap().1;
        (key, bytes)
    };
    let files = storage.keys().into_iter().map(bytes).collect();
    let (mut open, mut folders) = (vec![String::new()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in storage.list(&folder).unwrap_or_default().into_iter().filter(|entry| entry.is_folder) {
            let key = join(&folder, &entry.name);
            folders.push(key.clone());
            open.push(key);
        }
    }
    (files, folders)
}

fn restore(medium: &Medium, folder: &str, left: &MemoryStorage) {
    for (name, node) in medium.folders.get(folder).into_iter().flatten() {
        let key = join(folder, name);
        match node {
            Node::Folder => {
                left.create_folder(&key).unwrap();
                restore(medium, &key, left);
            }
            Node::File(bytes) => left.insert(key, bytes.clone()),
        }
    }
}

impl Storage for Fragile {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.now.list(folder)
    }

    fn read_tail(&self, key: &str, most: u64) -> io::Result<(u64, Bytes)> {
        self.now.read_tail(key, most)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.now.read_into(key, offset, out)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        self.now.read_ranges(ranges)
    }

    fn describe(&self, key: &str) -> String {
        self.now.describe(key)
    }
}

#[derive(Debug)]
struct FragileFile {
    storage: Fragile,
    key: String,
    bytes: Vec<u8>,
}

impl FileWriter for FragileFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.step()?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()> {
        self.storage.step()?;
        let mut file = self.storage.now.create_file(&self.key)?;
        if !self.bytes.is_empty() {
            file.append(&self.bytes)?;
        }
        file.finish(durability)?;
        if durability == Durability::Synced {
            self.storage.medium().synced.insert(self.key.clone(), self.bytes.into());
        }
        Ok(())
    }
}

impl WriteStorage for Fragile {
    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.step()?;
        self.medium().folders.remove(key);
        self.now.create_folder(key)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        self.step()?;
        if self.now.keys().iter().any(|other| other == key) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(FragileFile { storage: self.clone(), key: key.to_owned(), bytes: Vec::new() }))
    }

    /// Fails at each of its steps.
    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        write_file(self, key, bytes, durability)
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.step()?;
        if durability == Durability::Synced {
            self.medium().synced.insert(key.to_owned(), bytes.to_vec().into());
        }
        self.now.replace_file(key, bytes, durability)
    }

    fn lock(&self) -> io::Result<StorageLock> {
        self.now.lock()
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.light_step()?;
        self.save(key)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.light_step()?;
        self.now.remove_file(key)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.light_step()?;
        self.now.remove_folder(key)
    }
}
