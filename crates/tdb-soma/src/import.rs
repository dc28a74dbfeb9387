//! Experiments of what Cell Ranger writes: a matrix, and the names of cells and genes.

use std::collections::HashSet;
use std::io::BufRead;

use tdb_array::WriteColumn;
use tdb_array::group::ObjectType;
use tdb_array::query::Aggregate;
use tdb_array::{Array, OpenOptions};

use crate::create::{NewColumn, Target, folder_of};
use crate::facts::DATA;
use crate::market::{Entries, Market, Values};
use crate::{Error, Kind, Result};

/// The most categories of texts that are kept as an enumeration; tiledbsoma has the same threshold.
const MAX_CATEGORIES: usize = 4096;
/// Bytes of an entry while it is handed on.
const ENTRY_BYTES: usize = 24;
/// The least number of entries that are handed on at a time.
const MIN_ENTRIES: usize = 1024;
/// Columns of the file with the genes.
const FEATURES: [&str; 3] = ["gene_ids", "gene_names", "feature_types"];

/// What a folder of Cell Ranger has, uncompressed.
pub struct TenX {
    /// `matrix.mtx`: a row for each gene, a column for each cell.
    pub matrix: Box<dyn BufRead>,
    /// `barcodes.tsv`: the names of the cells, a line each.
    pub barcodes: Box<dyn BufRead>,
    /// `features.tsv`, or `genes.tsv`: ids and names of genes, and what they are.
    pub features: Box<dyn BufRead>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The number of cells.
    pub cells: u64,
    /// The number of genes.
    pub genes: u64,
    /// The number of values.
    pub values: u64,
}

/// Makes an experiment with one measurement, which has one layer. Its objects and metadata are
/// those that `tdb.soma.from_10x` makes of the same folder. The names of cells and genes are in
/// memory, the matrix is read in parts. The experiment's own group comes last. `heard` is told how
/// many of how many values are written.
///
/// # Errors
/// A file is not what it should be, or the sizes disagree; a name of a cell or a gene that is there
/// twice; two values at the same place; any error of writing.
pub fn import(
    target: &Target<'_>,
    source: TenX,
    measurement: &str,
    layer: &str,
    heard: &dyn Fn(u64, u64),
) -> Result<Imported> {
    let (ms, data) = (format!("ms/{}", folder_of(measurement)?), folder_of(layer)?);
    let barcodes = lines(source.barcodes, "barcodes.tsv")?;
    let barcodes: Vec<&str> =
        barcodes.iter().map(|line| line.split('\t').next().unwrap_or_default()).collect();
    let features = lines(source.features, "features.tsv")?;
    let features: Vec<Vec<&str>> = features.iter().map(|line| line.split('\t').collect()).collect();
    let mut market = Market::open(source.matrix)?;
    let [genes, cells, values] = market.sizes;
    for (file, found, axis, size) in
        [("barcodes.tsv", barcodes.len(), "columns", cells), ("features.tsv", features.len(), "rows", genes)]
    {
        if u64::try_from(found) != Ok(size) {
            return Err(wrong(
                file,
                None,
                format!("there are {found} lines, but the matrix has {size} {axis}"),
            ));
        }
    }
    let ids: Vec<&str> = features.iter().map(|row| row.first().copied().unwrap_or_default()).collect();
    expect_unique("barcodes.tsv", &barcodes)?;
    expect_unique("features.tsv", &ids)?;

    let obs = NewColumn { name: "obs_id", values: barcodes, is_category: false };
    target.table("obs", &[obs], usize::try_from(cells).unwrap_or(usize::MAX), None)?;
    let width = features.iter().map(Vec::len).min().unwrap_or(2);
    let column = |(at, name): (usize, &'static str)| {
        let values: Vec<&str> = features.iter().filter_map(|row| row.get(at).copied()).collect();
        let is_category = at == 2 && values.iter().collect::<HashSet<_>>().len() <= MAX_CATEGORIES;
        NewColumn { name, values, is_category }
    };
    let columns: Vec<NewColumn<'_>> = FEATURES.into_iter().enumerate().take(width).map(column).collect();
    target.table(&format!("{ms}/var"), &columns, ids.len(), Some("gene_ids"))?;
    write_matrix(target, &format!("{ms}/X/{data}"), &mut market, heard)?;
    let (array, group) = (ObjectType::Array, ObjectType::Group);
    target.collection(&format!("{ms}/X"), Kind::Collection, &[(layer, array)])?;
    target.collection(&ms, Kind::Measurement, &[("var", array), ("X", group)])?;
    target.collection("ms", Kind::Collection, &[(measurement, group)])?;
    target.collection("", Kind::Experiment, &[("obs", array), ("ms", group)])?;
    Ok(Imported { cells, genes, values })
}

fn write_matrix(
    target: &Target<'_>,
    path: &str,
    market: &mut Market<Box<dyn BufRead>>,
    heard: &dyn Fn(u64, u64),
) -> Result<()> {
    let [genes, cells, values] = market.sizes;
    let writer = target.matrix(path, market.field.datatype(), [cells, genes])?;
    if values == 0 {
        return market.entries(1).map(|_| ());
    }
    let half = target.memory / 2;
    let most = (half / ENTRY_BYTES / 4).max(MIN_ENTRIES);
    let mut stream = writer.sparse_stream(half)?;
    let mut done = 0u64;
    while let Some(Entries { rows, columns, values: own }) = market.entries(most)? {
        let data = match &own {
            Values::Signed(own) => WriteColumn::fixed(DATA, own),
            Values::Unsigned(own) => WriteColumn::fixed(DATA, own),
            Values::Real(own) => WriteColumn::fixed(DATA, own),
        };
        // Cells are the rows of SOMA.
        let places = [WriteColumn::fixed("soma_dim_0", &columns), WriteColumn::fixed("soma_dim_1", &rows)];
        stream.append(&[&places[..], &[data]].concat())?;
        done = done.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        heard(done, values);
    }
    let fragments = stream.commit()?;
    if !market.is_ordered && fragments.len() > 1 {
        // Two parts may have a value at the same place.
        let mut options = OpenOptions::new();
        if let Some(key) = &target.key {
            options = options.key(key.clone());
        }
        let array: Array = options.open_storage((target.storage)(path)?)?;
        let counted = array.read().aggregate([Aggregate::count()])?;
        let counted = counted.first().and_then(tdb_array::query::AggregateValue::as_u64).unwrap_or(0);
        if counted != values {
            let what = format!("{} values are at places that others have", values.saturating_sub(counted));
            return Err(wrong("matrix.mtx", None, what));
        }
    }
    Ok(())
}

/// The lines of a file of names.
fn lines(mut input: Box<dyn BufRead>, file: &str) -> Result<Vec<String>> {
    let (mut all, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        let number = u64::try_from(all.len()).unwrap_or(u64::MAX).saturating_add(1);
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(|error| wrong(file, Some(number), error.to_string()))? == 0 {
            return Ok(all);
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            line.pop();
        }
        let text =
            str::from_utf8(&line).map_err(|_| wrong(file, Some(number), "this is not UTF-8".to_owned()))?;
        all.push(text.to_owned());
    }
}

/// Refuses names that are there twice.
fn expect_unique(file: &str, names: &[&str]) -> Result<()> {
    let mut seen = HashSet::with_capacity(names.len());
    match names.iter().position(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(at) => {
            let name = names.get(at).copied().unwrap_or_default();
            let number = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
            Err(wrong(file, Some(number), format!("{name:?} is there before: names are unique")))
        }
    }
}

fn wrong(file: &str, line: Option<u64>, what: String) -> Error {
    Error::Input { file: file.to_owned(), line, what }
}
