//! An experiment of SOMA in a folder of its own.
#![allow(dead_code, reason = "every program of tests has its own copy, and needs another part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tdb_array::group::{GroupMember, LocalPlaces, ObjectType, Places};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Enumeration};
use tdb_array::{OpenOptions, TimeWindow, Write, WriteColumn, WriteOptions};
use tdb_zarr::{Hierarchy, Options, Span};

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tdb-anndata-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn shown(&self, measurement: &str) -> tdb_zarr::Result<Hierarchy> {
        self.shown_with(measurement, &Options::new())
    }

    pub(crate) fn shown_with(&self, measurement: &str, options: &Options) -> tdb_zarr::Result<Hierarchy> {
        let places: Arc<dyn Places> = Arc::new(LocalPlaces);
        let open = OpenOptions::new().window(TimeWindow::ALL);
        Hierarchy::of_experiment(&places, self.0.to_str().unwrap(), measurement, open, options)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn group(path: &Path, members: &[(&str, ObjectType)]) {
    WriteOptions::new().create_group(path).unwrap();
    let mut group = WriteOptions::new().open_group(path).unwrap();
    for (name, kind) in members {
        group.add(GroupMember::new(*kind, *name).with_name(*name).with_relative_uri()).unwrap();
    }
    group.commit().unwrap();
}

pub(crate) fn id(name: &str) -> Dimension {
    Dimension::new(name, 0i64..=999).with_tile(100i64)
}

/// A table with these ids, and the names of its rows.
pub(crate) fn table(path: &Path, name: &str, ids: &[i64]) {
    let types = Enumeration::new("t", "__t_0", Datatype::StringUtf8, CellValNum::Var, ["B", "T"]).unwrap();
    let schema = ArraySchema::sparse()
        .dimension(id("soma_joinid"))
        .attribute(Attribute::string(name))
        .attribute(Attribute::of::<i8>("type").with_enumeration("t").with_nulls())
        .attribute(Attribute::of::<f64>("score").with_nulls())
        .attribute(Attribute::of::<i32>("count").with_nulls())
        .attribute(Attribute::new("list", Datatype::Int32, CellValNum::Var))
        .enumeration(&types)
        .build()
        .unwrap();
    WriteOptions::new().enumeration(types).create(path, &schema).unwrap();
    let texts: String = ids.iter().map(|id| format!("n{id}")).collect();
    let ends = ids.iter().scan(0, |end, id| {
        *end += u64::try_from(format!("n{id}").len()).unwrap();
        Some(*end)
    });
    let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
    let count = ids.len();
    let valid: Vec<u8> = (0..count).map(|at| u8::from(at != 1)).collect();
    let lists = vec![0; count + 1];
    let (kinds, scores, counts) = (vec![1i8; count], vec![0.5f64; count], vec![7i32; count]);
    let columns = [
        WriteColumn::fixed("soma_joinid", ids),
        WriteColumn::var(name, texts.as_bytes(), &offsets),
        WriteColumn::fixed("type", &kinds).nullable(&valid),
        WriteColumn::fixed("score", &scores).nullable(&valid),
        WriteColumn::fixed("count", &counts).nullable(&valid),
        WriteColumn::var("list", &[], &lists),
    ];
    let writer = WriteOptions::new().open(path).unwrap();
    columns.into_iter().fold(writer.write(), Write::column).commit().unwrap();
}

/// A sparse matrix of these cells.
pub(crate) fn matrix(path: &Path, rows: &[i64], columns: &[i64], values: &[f32]) {
    let schema = ArraySchema::sparse()
        .dimension(id("soma_dim_0"))
        .dimension(id("soma_dim_1"))
        .attribute(Attribute::of::<f32>("soma_data"))
        .build()
        .unwrap();
    WriteOptions::new().create(path, &schema).unwrap();
    let writer = WriteOptions::new().open(path).unwrap();
    let write = writer.write().column(WriteColumn::fixed("soma_dim_0", rows));
    let write = write.column(WriteColumn::fixed("soma_dim_1", columns));
    write.column(WriteColumn::fixed("soma_data", values)).commit().unwrap();
}

pub(crate) fn experiment(name: &str, obs: &[i64]) -> Folder {
    use ObjectType::{Array, Group};
    let folder = Folder::new(name);
    let root = &folder.0;
    group(root, &[("obs", Array), ("ms", Group)]);
    table(&root.join("obs"), "obs_id", obs);
    group(&root.join("ms"), &[("RNA", Group)]);
    let rna = root.join("ms/RNA");
    group(&rna, &[("var", Array), ("X", Group), ("obsm", Group)]);
    table(&rna.join("var"), "var_id", &(0..70).collect::<Vec<i64>>());
    group(&rna.join("X"), &[("data", Array), ("raw", Array)]);
    matrix(&rna.join("X/data"), &[0, 2, 2], &[69, 0, 63], &[1.5, 2.5, 3.5]);
    matrix(&rna.join("X/raw"), &[1], &[1], &[9.0]);
    group(&rna.join("obsm"), &[("X_pca", Array), ("X_umap", Array)]);
    matrix(&rna.join("obsm/X_pca"), &[0, 1], &[0, 2], &[4.5, 5.5]);
    let dense = ArraySchema::dense()
        .dimension(id("soma_dim_0"))
        .dimension(Dimension::new("soma_dim_1", 0i64..=1).with_tile(2i64))
        .attribute(Attribute::of::<f32>("soma_data"))
        .build()
        .unwrap();
    WriteOptions::new().create(rna.join("obsm/X_umap"), &dense).unwrap();
    let writer = WriteOptions::new().open(rna.join("obsm/X_umap")).unwrap();
    let values: Vec<f32> = [1.0f32, 2.0].repeat(3);
    let write = writer.write().range("soma_dim_0", 0i64..=2).range("soma_dim_1", 0i64..=1);
    write.column(WriteColumn::fixed("soma_data", &values)).commit().unwrap();
    folder
}

pub(crate) fn document(hierarchy: &Hierarchy, key: &str) -> Value {
    serde_json::from_slice(&hierarchy.get(key, Span::All).unwrap().unwrap()).unwrap()
}
