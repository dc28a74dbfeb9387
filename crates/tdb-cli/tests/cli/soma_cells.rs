//! Small experiments of single cells, as tiledbsoma lays them out.

use std::path::Path;

use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, Enumeration, MetadataValue, Range,
};
use tdb_array::write::MetadataChanges;
use tdb_array::{WriteColumn, WriteOptions};

use crate::common::text;

/// What is in an experiment.
pub(crate) struct Cells {
    /// The ids of `obs`, and how many there can be.
    pub(crate) obs: (Vec<i64>, i64),
    /// The values of the matrix, and its shape.
    pub(crate) data: Vec<(i64, i64, f32)>,
    pub(crate) shape: (i64, i64),
}

impl Default for Cells {
    /// Four cells, three genes, five values.
    fn default() -> Self {
        let data = vec![(0, 0, 1.0), (0, 2, 5.0), (1, 1, 2.0), (2, 0, 3.0), (3, 2, 7.0)];
        Self { obs: (vec![0, 1, 2, 3], 4), data, shape: (4, 3) }
    }
}

/// The entries of the metadata that say what an object is.
pub(crate) fn marks(kind: &str) -> MetadataChanges {
    MetadataChanges::new().put_text("soma_object_type", kind).put_text("soma_encoding_version", "1.1.0")
}

/// Changes an entry of the metadata of an array or a group.
pub(crate) fn mark(path: &Path, key: &str, value: &str) {
    assert_eq!(crate::common::said(&["meta", "set", text(path), key, value]), "");
}

/// Makes a group with everything in its folder that is named.
pub(crate) fn group(path: &Path, kind: &str, members: &[&str]) {
    WriteOptions::new().create_group(path).unwrap();
    let mut group = WriteOptions::new().open_group(path).unwrap();
    for member in members {
        group.add_path(member, true, Some(member)).unwrap();
    }
    group.metadata(marks(kind));
    group.commit().unwrap();
}

fn ids(name: &str, size: i64) -> (Dimension, Range) {
    let dimension = Dimension::new(name, 0i64..=i64::MAX - 3000).with_tile(2048i64);
    (dimension, Range::new(0i64.to_le_bytes(), (size - 1).to_le_bytes()))
}

/// A table with the ids, a name of each row, and a type of cell.
pub(crate) fn table(path: &Path, (rows, size): &(Vec<i64>, i64), prefix: &str) {
    let kinds =
        Enumeration::new("kind", "__0123_0", Datatype::StringUtf8, CellValNum::Var, ["B", "T"]).unwrap();
    let (dimension, current) = ids("soma_joinid", *size);
    let schema = ArraySchema::sparse()
        .dimension(dimension)
        .attribute(Attribute::string("name"))
        .attribute(Attribute::new("kind", Datatype::Int32, CellValNum::ONE).with_enumeration("kind"))
        .enumeration(&kinds)
        .current_domain(vec![current])
        .build()
        .unwrap();
    WriteOptions::new().enumeration(kinds).create(path, &schema).unwrap();
    let writer = WriteOptions::new().open(path).unwrap();
    writer.write_metadata(&marks("SOMADataFrame")).unwrap();
    if rows.is_empty() {
        return;
    }
    let names: Vec<String> = rows.iter().map(|id| format!("{prefix}{id}")).collect();
    let mut offsets = vec![0];
    names.iter().for_each(|name| offsets.push(offsets.last().unwrap() + name.len() as u64));
    let names = names.concat();
    let codes: Vec<i32> = rows.iter().map(|id| i32::try_from(id % 2).unwrap()).collect();
    let write = writer.write().column(WriteColumn::fixed("soma_joinid", rows));
    let write = write.column(WriteColumn::var("name", names.as_bytes(), &offsets));
    write.column(WriteColumn::fixed("kind", &codes)).commit().unwrap();
}

/// A sparse matrix.
pub(crate) fn matrix(path: &Path, shape: (i64, i64), data: &[(i64, i64, f32)]) {
    let rows: Vec<i64> = data.iter().map(|cell| cell.0).collect();
    let columns: Vec<i64> = data.iter().map(|cell| cell.1).collect();
    let values: Vec<f32> = data.iter().map(|cell| cell.2).collect();
    let values = WriteColumn::fixed("soma_data", &values);
    typed_matrix(path, shape, Attribute::of::<f32>("soma_data"), &rows, &columns, values);
}

/// A sparse matrix with values of any type.
pub(crate) fn typed_matrix(
    path: &Path,
    shape: (i64, i64),
    attribute: Attribute,
    rows: &[i64],
    columns: &[i64],
    values: WriteColumn<'_>,
) {
    let ((down, first), (right, second)) = (ids("soma_dim_0", shape.0), ids("soma_dim_1", shape.1));
    let schema = ArraySchema::sparse()
        .dimension(down)
        .dimension(right)
        .attribute(attribute)
        .current_domain(vec![first, second])
        .build()
        .unwrap();
    WriteOptions::new().create(path, &schema).unwrap();
    let writer = WriteOptions::new().open(path).unwrap();
    writer.write_metadata(&marks("SOMASparseNDArray")).unwrap();
    let write = writer.write().column(WriteColumn::fixed("soma_dim_0", rows));
    write.column(WriteColumn::fixed("soma_dim_1", columns)).column(values).commit().unwrap();
}

/// An experiment with a measurement `RNA`, and in it a layer `data`, a matrix `obsm/X_pca`, and
/// `uns` with a title.
pub(crate) fn experiment(path: &Path, cells: &Cells) {
    let rna = path.join("ms/RNA");
    table(&path.join("obs"), &cells.obs, "cell");
    table(&rna.join("var"), &((0..cells.shape.1).collect(), cells.shape.1), "gene");
    matrix(&rna.join("X/data"), cells.shape, &cells.data);
    matrix(&rna.join("obsm/X_pca"), (cells.shape.0, 2), &[(0, 0, 0.5), (1, 1, 0.25)]);
    // `group` makes members relative to the working folder, so these are added from inside.
    for (folder, kind, members) in [
        ("ms/RNA/X", "SOMACollection", &["data"][..]),
        ("ms/RNA/obsm", "SOMACollection", &["X_pca"]),
        ("ms/RNA/uns", "SOMACollection", &[]),
        ("ms/RNA", "SOMAMeasurement", &["var", "X", "obsm", "uns"]),
        ("ms", "SOMACollection", &["RNA"]),
        ("", "SOMAExperiment", &["obs", "ms"]),
    ] {
        group(&path.join(folder), kind, members);
    }
    let mut uns = WriteOptions::new().open_group(rna.join("uns")).unwrap();
    let title = MetadataValue { datatype: Datatype::StringUtf8, data: b"tiny".to_vec() };
    uns.metadata(MetadataChanges::new().put("title", title));
    uns.commit().unwrap();
}
