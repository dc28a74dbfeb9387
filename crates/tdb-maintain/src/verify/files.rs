//! Listing and reading files.

use tdb_codec::to_u64;
use tdb_fragment::is_hidden_name;

use super::Verifier;
use crate::paths::PARTIAL;
use crate::storage::{Entry, join};

impl Verifier {
    /// A sorted listing; a folder that cannot be listed is reported as a problem.
    pub(super) fn list(&mut self, folder: &str) -> Vec<Entry> {
        match self.context.storage.list(folder) {
            Ok(mut entries) => {
                entries.sort_unstable();
                entries
            }
            Err(error) => {
                self.problem(folder, None, error.to_string());
                Vec::new()
            }
        }
    }

    /// Keys of the files in one of the root's folders; none if there is no such folder.
    pub(super) fn files(&mut self, folder: &str, root: &[Entry]) -> Vec<String> {
        if !root.iter().any(|entry| entry.is_folder && entry.name == folder) {
            return Vec::new();
        }
        let mut keys = Vec::new();
        for entry in self.list(folder).iter().filter(|entry| !entry.is_folder) {
            let key = join(folder, &entry.name);
            if is_hidden_name(&entry.name) {
                self.note(&key, "a hidden file of another program, which readers skip");
            } else if entry.name.ends_with(PARTIAL) {
                self.note(&key, "a partly written file, which readers skip");
            } else {
                keys.push(key);
            }
        }
        keys
    }

    /// The whole of a file, which is counted as checked.
    pub(super) fn read(&mut self, key: &str) -> Option<bytes::Bytes> {
        match self.context.read_all(key) {
            Ok(bytes) => {
                self.count_file(to_u64(bytes.len()));
                Some(bytes)
            }
            Err(error) => {
                self.failed(error);
                None
            }
        }
    }

    /// The payload of a file that is one generic tile.
    pub(super) fn generic_file(&mut self, key: &str) -> Option<Vec<u8>> {
        let bytes = self.read(key)?;
        let payload = self.generic_tile(key, &bytes, 0)?;
        self.unused_after_tile(key, &bytes, 0);
        Some(payload)
    }

    pub(super) fn generic_tile(&mut self, key: &str, bytes: &[u8], offset: u64) -> Option<Vec<u8>> {
        match self.context.generic_tile(key, bytes, offset) {
            Ok(payload) => {
                self.count_tiles(1);
                Some(payload)
            }
            Err(error) => {
                self.failed(error);
                None
            }
        }
    }
}
