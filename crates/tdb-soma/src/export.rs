//! What Cell Ranger writes, of an experiment: a matrix, and the names of cells and genes.

use std::io::{self, Write};

use tdb_array::schema::{ArrayType, CellValNum, Datatype};
use tdb_array::{Array, Column, Layout, MemoryBudget};

use crate::create::INDEX;
use crate::facts::{DATA, count, whole};
use crate::names::Names;
use crate::{Error, Imported, Kind, Object, Result};

/// The column that has the ids if the metadata names none.
const OBS_ID: &str = "obs_id";
const VAR_ID: &str = "var_id";
/// The columns that Cell Ranger's files become, and what is written where there is none.
const NAMES: &str = "gene_names";
const TYPES: &str = "feature_types";
const TYPE: &str = "Gene Expression";

/// What is exported, and which columns have the names.
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    /// The measurement.
    pub measurement: &'a str,
    /// The layer.
    pub layer: &'a str,
    /// The column of `obs` with the barcodes. Default: the one that was the index of the table.
    pub obs_id: Option<&'a str>,
    /// The column of `var` with the ids of genes. Default: the one that was the index of the table.
    pub var_id: Option<&'a str>,
    /// The column of `var` with the names of genes. Default: `gene_names`, or the ids.
    pub var_name: Option<&'a str>,
    /// The memory of a read.
    pub memory: MemoryBudget,
}

/// The files that are written, uncompressed.
pub struct TenXFiles<'a> {
    /// `matrix.mtx`.
    pub matrix: &'a mut dyn Write,
    /// `barcodes.tsv`.
    pub barcodes: &'a mut dyn Write,
    /// `features.tsv`.
    pub features: &'a mut dyn Write,
}

/// Writes a layer of a measurement as Cell Ranger does, by ids of cells and then of genes. `heard`
/// is told how many of how many values are written.
///
/// # Errors
/// There is no such measurement, layer or column; a name with a tabulator or a line end; a value at
/// a place that is no id; a dense layer; any error of reading or writing.
pub fn export(
    experiment: &Object,
    how: &Export<'_>,
    files: &mut TenXFiles<'_>,
    heard: &dyn Fn(u64, u64),
) -> Result<Imported> {
    let measurement = part(experiment.member("ms"), experiment, how.measurement, "measurement")?;
    let obs = table(experiment, "obs")?;
    let var = table(measurement, "var")?;
    let layer = part(measurement.member("X"), measurement, how.layer, "layer")?;
    let array = layer.array().filter(|_| layer.kind == Some(Kind::SparseNdArray));
    let array = array
        .ok_or_else(|| wrong(layer, "this is no sparse matrix, and others are not exported".to_owned()))?;
    if array.schema().domain.dimensions.len() != 2 || array.schema().array_type != ArrayType::Sparse {
        return Err(wrong(layer, "a matrix with two axes is expected".to_owned()));
    }

    let obs_id = id_column(obs, how.obs_id, OBS_ID)?;
    let cells = Names::of(obs, &[Some(&obs_id)], TYPE, how.memory)?;
    for row in &cells.rows {
        writeln!(files.barcodes, "{}", row.join("\t")).map_err(unwritten)?;
    }
    let var_id = id_column(var, how.var_id, VAR_ID)?;
    let has = |name: &'static str| var.array().and_then(|array| array.schema().field(name)).map(|_| name);
    let names = how.var_name.or_else(|| has(NAMES)).unwrap_or(&var_id);
    let genes = Names::of(var, &[Some(&var_id), Some(names), has(TYPES)], TYPE, how.memory)?;
    for row in &genes.rows {
        writeln!(files.features, "{}", row.join("\t")).map_err(unwritten)?;
    }
    let values = matrix(layer, array, &cells, &genes, how.memory, files.matrix, heard)?;
    let size = |names: &Names| u64::try_from(names.ids.len()).unwrap_or(u64::MAX);
    Ok(Imported { cells: size(&cells), genes: size(&genes), values, notes: Vec::new() })
}

/// A member of a collection by its name.
fn part<'a>(collection: Option<&'a Object>, of: &Object, name: &str, what: &str) -> Result<&'a Object> {
    let members = collection.map_or(&[][..], Object::members);
    members.iter().find(|member| member.name == name).ok_or_else(|| {
        let known = members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "nothing".to_owned() } else { known };
        wrong(of, format!("there is no {what} {name:?} (there is {known})"))
    })
}

fn table<'a>(object: &'a Object, name: &str) -> Result<&'a Object> {
    object.table(name).ok_or_else(|| wrong(object, format!("there is no table {name}")))
}

/// The column with the names of the rows.
fn id_column(table: &Object, given: Option<&str>, usual: &str) -> Result<String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let array = table.array().ok_or_else(|| wrong(table, "this is no table".to_owned()))?;
    let own = table.text(INDEX).and_then(|json| json.strip_prefix('"')?.strip_suffix('"'));
    let found = [own, Some(usual)].into_iter().flatten().find(|name| array.schema().field(name).is_some());
    found.map(str::to_owned).ok_or_else(|| {
        let known: Vec<&str> = array.schema().fields().map(|field| field.name).collect();
        wrong(table, format!("no column is known to have the ids; there are {}", known.join(", ")))
    })
}

fn matrix(
    layer: &Object,
    array: &Array,
    cells: &Names,
    genes: &Names,
    memory: MemoryBudget,
    out: &mut dyn Write,
    heard: &dyn Fn(u64, u64),
) -> Result<u64> {
    let total = count(array)?;
    let data = array.schema().attribute(DATA).filter(|data| data.cell_val_num == CellValNum::ONE);
    let field = match data.map(|data| data.datatype) {
        Some(Datatype::Float32 | Datatype::Float64) => "real",
        // Readers that do not know this word fail; so it is said only of what others may not hold.
        Some(Datatype::Uint64) => "unsigned-integer",
        Some(Datatype::Bool) => "integer",
        Some(datatype) if whole(datatype, &vec![0; datatype.size()]).is_some() => "integer",
        other => {
            let what = other.map_or_else(|| "not one for each place".to_owned(), |other| other.to_string());
            return Err(wrong(layer, format!("the values are {what}, not numbers")));
        }
    };
    let head = format!(
        "%%MatrixMarket matrix coordinate {field} general\n{} {} {total}\n",
        genes.ids.len(),
        cells.ids.len()
    );
    out.write_all(head.as_bytes()).map_err(unwritten)?;
    let read = array.read().fields(["soma_dim_0", "soma_dim_1", DATA]).order(Layout::RowMajor).memory(memory);
    let (mut done, mut text) = (0u64, Vec::new());
    for batch in read.batches()? {
        let batch = batch?;
        let rows = batch.field("soma_dim_0")?.values::<i64>()?;
        let columns = batch.field("soma_dim_1")?.values::<i64>()?;
        let data = batch.field(DATA)?;
        text.clear();
        for (at, (cell, gene)) in rows.iter().zip(columns).enumerate() {
            let place = |names: &Names, id: i64, of: &str| {
                let at = names.position(id).and_then(|at| at.checked_add(1));
                at.ok_or_else(|| {
                    wrong(layer, format!("there is a value for the id {id}, which {of} does not have"))
                })
            };
            let (row, column) = (place(genes, *gene, "var")?, place(cells, *cell, "obs")?);
            let value = value(data, at).ok_or_else(|| {
                wrong(layer, format!("the value of the ids {cell} of obs and {gene} of var is null"))
            })?;
            writeln!(text, "{row} {column} {value}").map_err(unwritten)?;
        }
        out.write_all(&text).map_err(unwritten)?;
        done = done.saturating_add(u64::try_from(batch.len()).unwrap_or(u64::MAX));
        heard(done, total);
    }
    if done != total {
        // The head of the file would be wrong.
        return Err(tdb_array::Error::internal("a matrix has not as many values as were counted").into());
    }
    Ok(done)
}

/// A value as text, which becomes the same value again; `None` for a null. A truth value is 0 or 1.
fn value(column: &Column, at: usize) -> Option<String> {
    let cell = column.cell(at).filter(|_| !column.is_null(at))?;
    match column.datatype {
        Datatype::Float32 => Some(f32::from_le_bytes(cell.try_into().ok()?).to_string()),
        Datatype::Float64 => Some(f64::from_le_bytes(cell.try_into().ok()?).to_string()),
        Datatype::Bool => Some(u8::from(cell != [0]).to_string()),
        datatype => whole(datatype, cell).map(|value| value.to_string()),
    }
}

fn wrong(object: &Object, what: String) -> Error {
    Error::Input { file: object.path.clone(), line: None, what }
}

fn unwritten(error: io::Error) -> Error {
    Error::Output(error)
}
