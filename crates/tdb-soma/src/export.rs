//! What Cell Ranger writes, of an experiment: a matrix, and the names of cells and genes.

use std::io::{self, Write};

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArrayType, CellValNum, Datatype, FieldKind};
use tdb_array::{Array, Cells, Column, Layout, MemoryBudget};

use crate::create::INDEX;
use crate::facts::{DATA, JOINID, whole};
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
    let cells = Names::of(obs, &[Some(&obs_id)])?;
    for row in &cells.rows {
        writeln!(files.barcodes, "{}", row.join("\t")).map_err(unwritten)?;
    }
    let var_id = id_column(var, how.var_id, VAR_ID)?;
    let has = |name: &'static str| var.array().and_then(|array| array.schema().field(name)).map(|_| name);
    let names = how.var_name.or_else(|| has(NAMES)).unwrap_or(&var_id);
    let genes = Names::of(var, &[Some(&var_id), Some(names), has(TYPES)])?;
    for row in &genes.rows {
        writeln!(files.features, "{}", row.join("\t")).map_err(unwritten)?;
    }
    let values = matrix(layer, array, &cells, &genes, how.memory, files.matrix, heard)?;
    let size = |names: &Names| u64::try_from(names.ids.len()).unwrap_or(u64::MAX);
    Ok(Imported { cells: size(&cells), genes: size(&genes), values })
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

/// The rows of a table in the order of their ids, as texts.
struct Names {
    ids: Vec<i64>,
    rows: Vec<Vec<String>>,
}

impl Names {
    /// The columns of these names; where there is none, the usual type of a feature.
    fn of(table: &Object, columns: &[Option<&str>]) -> Result<Self> {
        let array = table.array().ok_or_else(|| wrong(table, "this is no table".to_owned()))?;
        let texts: Vec<Text> =
            columns.iter().flatten().map(|name| Text::of(table, array, name)).collect::<Result<_>>()?;
        let mut wanted: Vec<&str> = columns.iter().flatten().copied().chain([JOINID]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut all: Vec<(i64, Vec<String>)> = Vec::new();
        for batch in array.read().fields(wanted).batches()? {
            let batch: Cells = batch?;
            let ids = batch.field(JOINID)?.values::<i64>()?;
            for (at, id) in ids.iter().enumerate() {
                let mut texts = texts.iter();
                let mut row = Vec::with_capacity(columns.len());
                for column in columns {
                    row.push(match (column, column.and_then(|_| texts.next())) {
                        (Some(name), Some(text)) => text.cell(table, batch.field(name)?, at)?,
                        _ => TYPE.to_owned(),
                    });
                }
                all.push((*id, row));
            }
        }
        all.sort_by_key(|(id, _)| *id);
        let (ids, rows) = all.into_iter().unzip();
        Ok(Self { ids, rows })
    }

    /// The position of an id, counted from 0.
    fn position(&self, id: i64) -> Option<usize> {
        // Those of most tables are counted from 0.
        let at = usize::try_from(id).ok().filter(|at| self.ids.get(*at) == Some(&id));
        at.or_else(|| self.ids.binary_search(&id).ok())
    }
}

/// How a column becomes texts.
struct Text {
    name: String,
    datatype: Datatype,
    /// The values of an enumeration.
    values: Option<Vec<String>>,
}

impl Text {
    fn of(table: &Object, array: &Array, name: &str) -> Result<Self> {
        let schema = array.schema();
        let field = schema.field(name).ok_or_else(|| {
            let known: Vec<&str> = schema.fields().map(|field| field.name).collect();
            wrong(table, format!("there is no column {name:?} (there are {})", known.join(", ")))
        })?;
        let enumeration = match field.kind {
            FieldKind::Attribute(at) => schema.attributes.get(at).and_then(|own| own.enumeration.as_deref()),
            _ => None,
        };
        let values = enumeration.map(|name| array.enumeration(name)).transpose()?.flatten();
        let is_text = |datatype: Datatype, count: CellValNum| datatype.is_string() && count.is_var();
        let kept = match &values {
            Some(values) => is_text(values.datatype, values.cell_val_num),
            None => is_text(field.datatype, field.cell_val_num) || field.datatype == Datatype::Int64,
        };
        if !kept {
            return Err(wrong(table, format!("column {name:?} is {}: texts are names", field.datatype)));
        }
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let values = values.map(|own| (0..own.len()).filter_map(|at| own.value(at).map(text)).collect());
        Ok(Self { name: name.to_owned(), datatype: field.datatype, values })
    }

    fn cell(&self, table: &Object, column: &Column, at: usize) -> Result<String> {
        let wrong = |what: &str| wrong(table, format!("column {:?}: {what}", self.name));
        let cell = column.cell(at).filter(|_| !column.is_null(at)).ok_or_else(|| wrong("a name is null"))?;
        let code = || whole(self.datatype, cell);
        let text = match &self.values {
            Some(values) => {
                let code = code().and_then(|code| usize::try_from(code).ok());
                let value = code.and_then(|code| values.get(code)).cloned();
                value.ok_or_else(|| wrong("a name is null"))?
            }
            None if self.datatype == Datatype::Int64 => code().unwrap_or_default().to_string(),
            None => str::from_utf8(cell).map_err(|_| wrong("a name is not UTF-8"))?.to_owned(),
        };
        if text.contains(['\t', '\n', '\r']) {
            return Err(wrong(&format!(
                "{text:?} has a tabulator or a line end, which the files cannot keep"
            )));
        }
        Ok(text)
    }
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
    let counted = array.read().aggregate([Aggregate::count()])?;
    let total = counted.first().and_then(tdb_array::query::AggregateValue::as_u64).unwrap_or(0);
    let data = array.schema().attribute(DATA).map(|attribute| attribute.datatype);
    let field = match data {
        Some(Datatype::Float32 | Datatype::Float64) => "real",
        Some(datatype) if whole(datatype, &vec![0; datatype.size()]).is_some() => "integer",
        other => {
            let what = other.map_or_else(|| "nothing".to_owned(), |other| other.to_string());
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
            let (gene, cell) = (place(genes, *gene, "var")?, place(cells, *cell, "obs")?);
            write!(text, "{gene} {cell} ").map_err(unwritten)?;
            value(data, at, &mut text).map_err(unwritten)?;
        }
        out.write_all(&text).map_err(unwritten)?;
        done = done.saturating_add(u64::try_from(batch.len()).unwrap_or(u64::MAX));
        heard(done, total);
    }
    Ok(done)
}

/// A value as text, which becomes the same value again.
fn value(column: &Column, at: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let cell = column.cell(at).unwrap_or_default();
    match column.datatype {
        Datatype::Float32 => writeln!(out, "{}", cell.try_into().map(f32::from_le_bytes).unwrap_or_default()),
        Datatype::Float64 => writeln!(out, "{}", cell.try_into().map(f64::from_le_bytes).unwrap_or_default()),
        datatype => writeln!(out, "{}", whole(datatype, cell).unwrap_or_default()),
    }
}

fn wrong(object: &Object, what: String) -> Error {
    Error::Input { file: object.path.clone(), line: None, what }
}

fn unwritten(error: io::Error) -> Error {
    Error::Output(error)
}
