//! A folder of AnnData that a test writes, and changes.
#![allow(dead_code, reason = "every program of tests has its own copy, and needs another part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tdb_anndata::{Import, Imported, Result, import};
use tdb_array::storage::{LocalStorage, WriteStorage};
use tdb_array::{Array, WriteOptions};
use tdb_soma::Target;

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tdb-anndata-import-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let folder = Self(path);
        folder.group("", &encoding("anndata", "0.1.0"));
        for (axis, names) in [("obs", ["c0", "c1", "c2"].as_slice()), ("var", &["g0", "g1"])] {
            folder.table(axis, names, &["n", "kind"]);
            let numbers: Vec<i64> = (0i64..).take(names.len()).collect();
            folder.numbers(&format!("{axis}/n"), "<i8", &[names.len()], &bytes(&numbers));
            let mut kind = encoding("categorical", "0.2.0");
            kind["ordered"] = json!(true);
            folder.group(&format!("{axis}/kind"), &kind);
            folder.numbers(&format!("{axis}/kind/codes"), "|i1", &[names.len()], &[1, 255, 0][..names.len()]);
            folder.texts(&format!("{axis}/kind/categories"), &["B", "T"]);
        }
        folder.csr("X", [3, 2], &[0, 1, 1, 3], &[1, 0, 1], &[1.5, 2.5, 3.5]);
        folder
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join("cells.zarr").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn json(&self, path: &str, document: &Value) {
        self.write(path, document.to_string().as_bytes());
    }

    pub(crate) fn group(&self, path: &str, attributes: &Value) {
        self.json(&below(path, ".zgroup"), &json!({"zarr_format": 2}));
        self.json(&below(path, ".zattrs"), attributes);
    }

    /// An array of one chunk.
    pub(crate) fn array(&self, path: &str, dtype: &str, shape: &[usize], chunk: &[u8], filters: &Value) {
        let chunks: Vec<usize> = shape.iter().map(|side| (*side).max(1)).collect();
        let document = json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C",
            "compressor": null, "filters": filters, "fill_value": 0});
        self.json(&format!("{path}/.zarray"), &document);
        self.write(&format!("{path}/{}", vec!["0"; shape.len().max(1)].join(".")), chunk);
    }

    pub(crate) fn numbers(&self, path: &str, dtype: &str, shape: &[usize], chunk: &[u8]) {
        self.array(path, dtype, shape, chunk, &Value::Null);
        self.json(&format!("{path}/.zattrs"), &encoding("array", "0.2.0"));
    }

    pub(crate) fn texts(&self, path: &str, texts: &[&str]) {
        let size = |len: usize| u32::try_from(len).unwrap().to_le_bytes();
        let mut chunk = size(texts.len()).to_vec();
        for text in texts {
            chunk.extend(size(text.len()));
            chunk.extend(text.as_bytes());
        }
        self.array(path, "|O", &[texts.len()], &chunk, &json!([{"id": "vlen-utf8"}]));
        self.json(&format!("{path}/.zattrs"), &encoding("string-array", "0.2.0"));
    }

    pub(crate) fn table(&self, path: &str, names: &[&str], columns: &[&str]) {
        let mut attributes = encoding("dataframe", "0.2.0");
        attributes["_index"] = json!("_index");
        attributes["column-order"] = json!(columns);
        self.group(path, &attributes);
        self.texts(&format!("{path}/_index"), names);
    }

    pub(crate) fn csr(&self, path: &str, shape: [u64; 2], ends: &[i32], places: &[i32], values: &[f32]) {
        let mut attributes = encoding("csr_matrix", "0.1.0");
        attributes["shape"] = json!(shape);
        self.group(path, &attributes);
        self.numbers(&format!("{path}/indptr"), "<i4", &[ends.len()], &bytes(ends));
        self.numbers(&format!("{path}/indices"), "<i4", &[places.len()], &bytes(places));
        self.numbers(&format!("{path}/data"), "<f4", &[values.len()], &bytes(values));
    }

    pub(crate) fn import(&self, memory: usize) -> Result<Imported> {
        self.import_with(WriteOptions::new(), memory)
    }

    pub(crate) fn import_with(&self, options: WriteOptions, memory: usize) -> Result<Imported> {
        let root = self.0.join("made");
        let _ = fs::remove_dir_all(&root);
        let storage = |path: &str| Ok(Arc::new(LocalStorage::new(root.join(path))) as Arc<dyn WriteStorage>);
        let target = Target { storage: &storage, options: options.threads(1), key: None, memory };
        let how = Import { measurement: "RNA", layer: "data" };
        import(&target, &self.0.join("cells.zarr"), &how, &|_, _| ())
    }

    pub(crate) fn array_of(&self, path: &str) -> Array {
        Array::open(self.0.join("made").join(path)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Numbers of any type, which Zarr has with the lowest byte first.
pub(crate) trait Bytes: Copy {
    fn of(self) -> Vec<u8>;
}

macro_rules! of_bytes {
    ($($kind:ty),*) => {$(impl Bytes for $kind {
        fn of(self) -> Vec<u8> {
            self.to_le_bytes().to_vec()
        }
    })*};
}
of_bytes!(i32, i64, f32);

pub(crate) fn bytes<T: Bytes>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.of()).collect()
}

pub(crate) fn encoding(kind: &str, version: &str) -> Value {
    json!({"encoding-type": kind, "encoding-version": version})
}

pub(crate) fn below(path: &str, name: &str) -> String {
    Path::new(path).join(name).display().to_string()
}

pub(crate) const MEMORY: usize = 16 << 20;
