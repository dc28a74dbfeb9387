//! The files of an import: several, patterns of names, and files in stores.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::Pattern;
use tdb_array::storage::WriteStorage;

use super::args::ImportArgs;
use super::format::FileFormat;
use super::input::{Input, is_standard_input};
use crate::failure::{Failure, Result};
use crate::place::{Stores, is_url};
use crate::thresholds::STORE_PIECE;

impl ImportArgs {
    /// Finds out which files are meant: a name with `*`, `?` or `[` that is no file is a pattern.
    pub(super) fn find_files(&self, stores: &Stores) -> Result {
        let mut found: Vec<PathBuf> = Vec::new();
        for file in &self.given {
            let text = file.to_string_lossy();
            let special: &[char] = if is_url(file) { &['*', '['] } else { &['*', '?', '['] };
            if !text.contains(special) || is_standard_input(file) || !is_url(file) && file.exists() {
                found.push(file.clone());
                continue;
            }
            let wrong = |what: String| Failure::at(file, what);
            let mut matching =
                if is_url(file) { in_store(file, stores)? } else { in_folders(&text).map_err(wrong)? };
            matching.sort();
            if matching.is_empty() {
                return Err(Failure::at(file, "no file has such a name"));
            }
            found.append(&mut matching);
        }
        let formats: Vec<_> = found.iter().map(|file| FileFormat::of_name(file)).collect();
        if self.format.is_none() && formats.iter().any(|format| Some(format) != formats.first()) {
            let what =
                "the names of the files end in different formats: --format says which one all of them have";
            return Err(Failure::Usage(what.to_owned()));
        }
        if found.iter().filter(|file| is_standard_input(file)).count() > 1 {
            return Err(Failure::Usage("standard input can be read once only".to_owned()));
        }
        self.found.set(found).map_err(|_| Failure::internal("files are found once"))
    }

    /// The contents of a file.
    pub(super) fn input(&self, file: &Path, stores: &Stores) -> Result<Input> {
        let failed = |error: io::Error| {
            let shown = if is_standard_input(file) { Path::new("standard input") } else { file };
            Failure::at(shown, error)
        };
        #[cfg(feature = "sql")]
        if let Some(rows) = self.result(file) {
            return Ok(rows);
        }
        if !is_url(file) {
            return Input::new(file).map_err(failed);
        }
        let (storage, name) = stored(file, stores)?;
        let size = storage.size(&name).map_err(failed)?;
        // `io::copy` asks for too little at once.
        let source = Stored { storage, name, place: 0, size };
        Input::spool(BufReader::with_capacity(STORE_PIECE, source)).map_err(failed)
    }
}

/// The folder of a file in a store, and the file's name.
fn stored(file: &Path, stores: &Stores) -> Result<(Arc<dyn WriteStorage>, String)> {
    match (file.parent(), file.file_name().and_then(|name| name.to_str())) {
        (Some(folder), Some(name)) => Ok((stores.storage(folder)?, name.to_owned())),
        _ => Err(Failure::at(file, "this is not a file")),
    }
}

/// The files whose names match a pattern.
fn in_folders(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let paths = glob::glob(pattern).map_err(|error| format!("this is no pattern: {error}"))?;
    paths
        .map(|path| path.map_err(|error| error.to_string()))
        .filter(|path| !matches!(path, Ok(path) if path.is_dir()))
        .collect()
}

/// The files in a folder of a store whose names match the last part of a URL.
fn in_store(file: &Path, stores: &Stores) -> Result<Vec<PathBuf>> {
    let (storage, name) = stored(file, stores)?;
    let pattern =
        Pattern::new(&name).map_err(|error| Failure::at(file, format!("this is no pattern: {error}")))?;
    let folder = file.parent().unwrap_or(file);
    if folder.to_string_lossy().contains(['*', '[']) {
        return Err(Failure::at(file, "only the last part of a URL can be a pattern"));
    }
    let entries = storage.list("").map_err(|error| Failure::at(file, error))?;
    let names = entries.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.name);
    Ok(names.filter(|name| pattern.matches(name)).map(|name| folder.join(name)).collect())
}

/// A file in a store, which is read from its beginning.
struct Stored {
    storage: Arc<dyn WriteStorage>,
    name: String,
    place: u64,
    size: u64,
}

impl Read for Stored {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.place)).unwrap_or(usize::MAX);
        let len = out.len().min(left);
        let Some(part) = out.get_mut(..len).filter(|part| !part.is_empty()) else { return Ok(0) };
        self.storage.read_into(&self.name, self.place, part)?;
        self.place = self.place.saturating_add(tdb_codec::to_u64(len));
        Ok(len)
    }
}
