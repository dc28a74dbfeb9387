//! Arrays and groups as hierarchies in folders: what `tdb-zarr` shows, with compressed chunks.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Map, Value, json};
use tdb_array::error::InternalError;
use tdb_array::group::Places;
use tdb_array::{Array, MemoryBudget, OpenOptions};
use tdb_zarr::{Formats, Hierarchy, Options, Span};

use crate::element::Element;
use crate::error::Result;
use crate::filters::of_filters;
use crate::folder::join;
use crate::options::{ExportOptions, Note, Version};
use crate::output::Output;
use crate::packed::PackedCodec;

/// The names of documents.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The number of arrays of Zarr.
    pub arrays: u64,
    /// The number of groups.
    pub groups: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The number of their bytes.
    pub bytes: u64,
    /// What is otherwise than in the array, or missing.
    pub notes: Vec<Note>,
}

/// Writes an array to a new folder as `tdb-zarr` shows it: a group with an array for each field. If
/// that is a single one, it is the whole hierarchy.
///
/// # Errors
/// Something at the path, cells that cannot be read or shown, or errors of writing. Nothing is left
/// of the folder then.
pub fn export(array: &Array, folder: &Path, options: &ExportOptions) -> Result<Exported> {
    let output = Output::begin(folder, options.replace)?;
    Export::write(Hierarchy::new(array, &shown(options))?, output, options)
}

/// Writes a group, with all that is below it, to a new folder.
///
/// # Errors
/// As for [`export`]. Members that cannot be opened are left out, and named in the notes.
pub fn export_group(
    places: &Arc<dyn Places>,
    location: &str,
    open: OpenOptions,
    folder: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    let output = Output::begin(folder, options.replace)?;
    Export::write(Hierarchy::of_group(places, location, open, &shown(options))?, output, options)
}

/// Writes a measurement of an experiment of SOMA to a new folder, as `anndata.read_zarr` reads it:
/// what [`Hierarchy::of_experiment`] shows for AnnData. `layer` is the one that becomes `X`;
/// without it, that is `data`.
///
/// # Errors
/// As for [`export`], and what is no such measurement. What AnnData is not given is named in the
/// notes.
pub fn export_experiment(
    places: &Arc<dyn Places>,
    location: &str,
    (measurement, layer): (&str, Option<&str>),
    open: OpenOptions,
    folder: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    let output = Output::begin(folder, options.replace)?;
    let shown = shown(options).for_anndata();
    let shown = layer.into_iter().fold(shown, Options::layer);
    let hierarchy = Hierarchy::of_experiment(places, location, measurement, open, &shown)?;
    Export::write(hierarchy, output, options)
}

fn shown(options: &ExportOptions) -> Options {
    let shown = Options::new().formats(match options.version {
        Version::V2 => Formats::V2,
        Version::V3 => Formats::V3,
    });
    let threads = u64::try_from(options.threads).unwrap_or(u64::MAX).max(1);
    let each = options.memory.map(|bytes| MemoryBudget::from_bytes(bytes / threads));
    each.into_iter().fold(shown, Options::memory)
}

/// A hierarchy that is being written.
struct Export<'a> {
    hierarchy: Hierarchy,
    output: Output,
    options: &'a ExportOptions,
    done: Exported,
    /// The documents of version 2, by their keys.
    consolidated: Map<String, Value>,
}

/// An array that is being written.
struct OneArray<'a> {
    /// Its path in the hierarchy, and in the folder.
    path: &'a str,
    target: &'a str,
    codecs: Vec<PackedCodec>,
}

impl Export<'_> {
    fn write(hierarchy: Hierarchy, output: Output, options: &ExportOptions) -> Result<Exported> {
        let refused = hierarchy.refused().iter();
        let notes = refused.map(|refused| Note {
            path: refused.path.clone(),
            what: format!("left out: {}", refused.reason),
        });
        let done = Exported { notes: notes.collect(), ..Exported::default() };
        let mut export = Export { hierarchy, output, options, done, consolidated: Map::new() };
        let attributes = export.attributes_of("")?;
        match export.nodes("")?.as_slice() {
            // Nothing else would be in the group.
            [only]
                if export.is_array(only)?
                    && export.done.notes.is_empty()
                    && !export.contradicts(only, &attributes)? =>
            {
                export.array(only, "", attributes)?;
            }
            nodes => {
                export.group("", attributes, nodes)?;
                export.consolidate()?;
            }
        }
        export.output.finish()?;
        Ok(export.done)
    }

    /// A document of the hierarchy.
    fn document(&self, key: &str) -> Result<Option<Map<String, Value>>> {
        let Some(bytes) = self.hierarchy.get(key, Span::All)? else { return Ok(None) };
        let parsed = serde_json::from_slice(&bytes);
        Ok(Some(parsed.map_err(|_| internal("a document of an array is not JSON"))?))
    }

    fn required(&self, key: &str) -> Result<Map<String, Value>> {
        Ok(self.document(key)?.ok_or_else(|| internal("a node has no document"))?)
    }

    fn is_array(&self, path: &str) -> Result<bool> {
        Ok(match self.options.version {
            Version::V2 => self.document(&join(path, ".zarray"))?.is_some(),
            Version::V3 => self.required(&join(path, "zarr.json"))?.get("node_type") == Some(&json!("array")),
        })
    }

    /// Whether an array has an attribute that has another value in these. As one array, one of the
    /// two would be lost.
    fn contradicts(&self, path: &str, attributes: &Map<String, Value>) -> Result<bool> {
        let own = self.attributes_of(path)?;
        Ok(own.iter().any(|(key, value)| attributes.get(key).is_some_and(|other| other != value)))
    }

    /// The names of the nodes in a group.
    fn nodes(&self, path: &str) -> Result<Vec<String>> {
        let names = self.hierarchy.children(path)?;
        Ok(names.into_iter().filter(|name| !DOCUMENTS.contains(&name.as_str())).collect())
    }

    /// The attributes of a group, or of an array.
    fn attributes_of(&self, path: &str) -> Result<Map<String, Value>> {
        match self.options.version {
            Version::V2 => self.required(&join(path, ".zattrs")),
            Version::V3 => {
                let mut document = self.required(&join(path, "zarr.json"))?;
                Ok(document.remove("attributes").and_then(|own| own.as_object().cloned()).unwrap_or_default())
            }
        }
    }

    /// Writes a document.
    fn put(&mut self, key: String, document: Map<String, Value>) -> Result<()> {
        let document = Value::Object(document);
        let text = format!("{document:#}");
        if self.options.version == Version::V2 {
            self.consolidated.insert(key.clone(), document);
        }
        self.output.write(&key, text.as_bytes())
    }

    fn group(&mut self, path: &str, attributes: Map<String, Value>, nodes: &[String]) -> Result<()> {
        match self.options.version {
            Version::V2 => {
                let document = self.required(&join(path, ".zgroup"))?;
                self.put(join(path, ".zgroup"), document)?;
                if !attributes.is_empty() {
                    self.put(join(path, ".zattrs"), attributes)?;
                }
            }
            Version::V3 => {
                let document = self.required(&join(path, "zarr.json"))?;
                self.put(join(path, "zarr.json"), document)?;
            }
        }
        self.done.groups += 1;
        for name in nodes {
            let below = join(path, name);
            if self.is_array(&below)? {
                self.array(&below, &below, Map::new())?;
            } else {
                let attributes = self.attributes_of(&below)?;
                let nodes = self.nodes(&below)?;
                self.group(&below, attributes, &nodes)?;
            }
        }
        Ok(())
    }

    /// Writes an array, with further attributes.
    fn array(&mut self, path: &str, target: &str, attributes: Map<String, Value>) -> Result<()> {
        let codecs = match self.options.version {
            Version::V3 => self.documents_v3(path, target, attributes)?,
            Version::V2 => self.documents_v2(path, target, attributes)?,
        };
        self.done.arrays += 1;
        self.chunks(&OneArray { path, target, codecs })
    }

    fn documents_v3(
        &mut self,
        path: &str,
        target: &str,
        attributes: Map<String, Value>,
    ) -> Result<Vec<PackedCodec>> {
        let mut document = self.required(&join(path, "zarr.json"))?;
        let element = document.get("data_type").and_then(|own| Element::v3(own).ok());
        let codecs = self.codecs(path, element);
        if let Some(list) = document.get_mut("codecs").and_then(Value::as_array_mut) {
            list.extend(codecs.iter().map(|codec| codec.document(Version::V3)));
        }
        let own = document.remove("attributes").and_then(|own| own.as_object().cloned()).unwrap_or_default();
        document.insert("attributes".to_owned(), Value::Object(attributes.into_iter().chain(own).collect()));
        // Readers say that they do not know what is empty.
        document.remove("storage_transformers");
        self.put(join(target, "zarr.json"), document)?;
        Ok(codecs)
    }

    fn documents_v2(
        &mut self,
        path: &str,
        target: &str,
        attributes: Map<String, Value>,
    ) -> Result<Vec<PackedCodec>> {
        let mut document = self.required(&join(path, ".zarray"))?;
        let element = document.get("dtype").and_then(|own| Element::v2(own).ok()).map(|(element, _)| element);
        let codecs = self.codecs(path, element);
        if let [.., compressor] = codecs.as_slice() {
            document.insert("compressor".to_owned(), compressor.document(Version::V2));
        }
        self.put(join(target, ".zarray"), document)?;
        let own = self.required(&join(path, ".zattrs"))?;
        self.put(join(target, ".zattrs"), attributes.into_iter().chain(own).collect())?;
        Ok(codecs)
    }

    /// The codecs of an array's chunks.
    fn codecs(&mut self, path: &str, element: Option<Element>) -> Vec<PackedCodec> {
        let pipeline = self.hierarchy.filters(path);
        let fixed = element.filter(|element| element.size().is_some());
        let size = fixed.and_then(|element| u8::try_from(element.word()).ok()).unwrap_or(1);
        let (codecs, note) = of_filters(pipeline.as_ref(), size, self.options.version);
        self.done.notes.extend(note.map(|what| Note { path: path.to_owned(), what }));
        codecs
    }

    /// Writes the chunks of an array.
    fn chunks(&mut self, one: &OneArray<'_>) -> Result<()> {
        let prefix = format!("{}/", one.path);
        let keys = self.hierarchy.list(&prefix)?;
        let keys: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix(&prefix)).collect();
        let keys: Vec<&str> = keys.into_iter().filter(|key| !DOCUMENTS.contains(key)).collect();
        let all = u64::try_from(keys.len()).unwrap_or(u64::MAX);
        let (next, told) = (AtomicUsize::new(0), Mutex::new(0));
        let (chunks, bytes, failure) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(None));
        let work = || {
            while let Some(key) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                match self.chunk(one, key) {
                    Ok(None) => {}
                    Ok(Some(len)) => {
                        chunks.fetch_add(1, Ordering::Relaxed);
                        bytes.fetch_add(len, Ordering::Relaxed);
                    }
                    Err(error) => {
                        next.store(keys.len(), Ordering::Relaxed);
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
                let mut done = told.lock().unwrap_or_else(PoisonError::into_inner);
                *done += 1;
                self.options.tell(*done, all);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.options.threads.min(keys.len()) {
                scope.spawn(work);
            }
            work();
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        self.done.chunks += chunks.into_inner();
        self.done.bytes += bytes.into_inner();
        Ok(())
    }

    /// Writes a chunk; returns its bytes if there is one.
    fn chunk(&self, one: &OneArray<'_>, key: &str) -> Result<Option<u64>> {
        let Some(plain) = self.hierarchy.get(&join(one.path, key), Span::All)? else { return Ok(None) };
        let path = join(one.target, key);
        let mut stored = None;
        for codec in &one.codecs {
            let packed = codec.encode(stored.as_deref().unwrap_or(&plain));
            stored = Some(packed.map_err(|problem| problem.at(&path))?);
        }
        let stored = stored.as_deref().unwrap_or(&plain);
        self.output.write(&path, stored)?;
        Ok(Some(u64::try_from(stored.len()).unwrap_or(u64::MAX)))
    }

    /// Writes the document in which all others of version 2 are.
    fn consolidate(&mut self) -> Result<()> {
        if self.options.version == Version::V2 {
            let documents = core::mem::take(&mut self.consolidated);
            let document = json!({"zarr_consolidated_format": 1, "metadata": documents});
            self.output.write(".zmetadata", format!("{document:#}").as_bytes())?;
        }
        Ok(())
    }
}

fn internal(what: &'static str) -> tdb_array::Error {
    InternalError::new(what).into()
}
