//! Experiments of what Cell Ranger writes: a matrix, and the names of cells and genes.

use std::collections::HashSet;
use std::io::BufRead;

use tdb_array::error::WriteError;
use tdb_array::group::ObjectType;

use crate::create::{Build, Target, folder_of};
use crate::facts::count;
use crate::lines::Lines;
use crate::market::Market;
use crate::table::{MAX_CATEGORIES, NewColumn, NewValues};
use crate::{Error, Kind, Result};

/// Bytes of an entry while it is handed on.
const ENTRY_BYTES: usize = 24;
/// The least number of entries that are handed on at a time.
const MIN_ENTRIES: usize = 1024;
/// The files, as errors name them.
const BARCODES: &str = "barcodes.tsv";
const FEATURES: &str = "features.tsv";
const MATRIX: &str = "matrix.mtx";
/// Columns of the file with the genes, of which Cell Ranger ARC writes the last three, and what
/// their values are. These are those of `tdb.soma.from_10x`.
const COLUMNS: [(&str, Are); 6] = [
    ("gene_ids", Are::Texts),
    ("gene_names", Are::Texts),
    ("feature_types", Are::Categories),
    ("chromosome", Are::Categories),
    ("start", Are::Numbers),
    ("end", Are::Numbers),
];

/// What the values of a column are, if they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Are {
    Texts,
    Categories,
    Numbers,
}

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The number of cells.
    pub cells: u64,
    /// The number of genes.
    pub genes: u64,
    /// The number of values.
    pub values: u64,
    /// What is not as it was, a sentence each: what was left out, or added up.
    pub notes: Vec<String>,
}

/// Makes an experiment with one measurement, which has one layer. Its objects and metadata are
/// those that `tdb.soma.from_10x` makes of the same folder. The names of cells and genes are in
/// memory, the matrix is read in parts. The experiment's own group comes last, and if anything
/// fails, what was made is removed. `heard` is told how many of how many values are written.
///
/// # Errors
/// There is something at the place already; a file is not what it should be, or the sizes disagree;
/// a name of a cell or a gene that is there twice; two values at the same place, if they are so far
/// from each other in a file without an order that they are not in memory together; any error of
/// writing.
pub fn import(
    target: &Target<'_>,
    source: TenX,
    measurement: &str,
    layer: &str,
    heard: &dyn Fn(u64, u64),
) -> Result<Imported> {
    let (ms, data) = (format!("ms/{}", folder_of(measurement)?), folder_of(layer)?);
    let mut market = Market::open(source.matrix)?;
    let [genes, cells, _] = market.sizes;
    let barcodes = lines(source.barcodes, BARCODES, "columns", cells)?;
    let barcodes: Vec<&str> =
        barcodes.iter().map(|line| line.split_once('\t').map_or(line.as_str(), |(first, _)| first)).collect();
    let features = lines(source.features, FEATURES, "rows", genes)?;
    let features: Vec<Vec<&str>> = features.iter().map(|line| line.split('\t').collect()).collect();
    let (columns, mut notes) = columns_of(&features);
    expect_unique(BARCODES, &barcodes)?;
    if let Some(NewColumn { values: NewValues::Texts(ids), .. }) = columns.first() {
        expect_unique(FEATURES, ids)?;
    }

    let build = Build::new(target)?;
    let written = || {
        let rows = barcodes.len();
        let obs = NewColumn { name: "obs_id", values: NewValues::Texts(barcodes) };
        build.table("obs", &[obs], rows, None)?;
        build.table(&format!("{ms}/var"), &columns, features.len(), Some("gene_ids"))?;
        let values = write_matrix(&build, &format!("{ms}/X/{data}"), &mut market, heard)?;
        let (array, group) = (ObjectType::Array, ObjectType::Group);
        build.collection(&format!("{ms}/X"), Kind::Collection, &[(layer, array)])?;
        build.collection(&ms, Kind::Measurement, &[("var", array), ("X", group)])?;
        build.collection("ms", Kind::Collection, &[(measurement, group)])?;
        build.collection("", Kind::Experiment, &[("obs", array), ("ms", group)])?;
        Ok(values)
    };
    let values = written().inspect_err(|_: &Error| build.remove())?;
    if market.added > 0 {
        let added = market.added;
        notes.push(format!("{MATRIX}: {added} values were added to others that are at the same place"));
    }
    Ok(Imported { cells, genes, values, notes })
}

/// The columns of the genes, and what is to be said of those that are none. Features without a
/// place in the genome may have shorter lines than others.
fn columns_of<'a>(features: &[Vec<&'a str>]) -> (Vec<NewColumn<'a>>, Vec<String>) {
    let width = features.iter().map(Vec::len).max().unwrap_or(2);
    let column = |(at, (name, are)): (usize, (&'static str, Are))| {
        let values: Vec<&str> = features.iter().map(|row| row.get(at).copied().unwrap_or("")).collect();
        let few = || values.iter().collect::<HashSet<_>>().len() <= MAX_CATEGORIES;
        let values = match are {
            Are::Numbers => match numbers(&values) {
                Some(numbers) => NewValues::Numbers(numbers),
                None => NewValues::Texts(values),
            },
            Are::Categories if few() => NewValues::Categories(values),
            Are::Categories | Are::Texts => NewValues::Texts(values),
        };
        NewColumn { name, values }
    };
    let columns = COLUMNS.into_iter().enumerate().take(width).map(column).collect();
    let more = width.saturating_sub(COLUMNS.len());
    let [.., (last, _)] = COLUMNS;
    let note = format!("{FEATURES}: {more} columns after {last} have no known names, and are left out");
    (columns, if more > 0 { vec![note] } else { Vec::new() })
}

/// The whole numbers that all values are, or nothing; `None` if there are others.
fn numbers(values: &[&str]) -> Option<Vec<Option<i64>>> {
    let one = |value: &&str| match *value {
        "" => Some(None),
        digits if digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().map(Some)
        }
        _ => None,
    };
    values.iter().map(one).collect()
}

/// Writes the matrix; returns the number of its values.
fn write_matrix(
    build: &Build<'_>,
    path: &str,
    market: &mut Market<Box<dyn BufRead>>,
    heard: &dyn Fn(u64, u64),
) -> Result<u64> {
    let [genes, cells, values] = market.sizes;
    let target = build.target;
    let writer = build.matrix(path, market.field.datatype(), [cells, genes])?;
    if values == 0 {
        return market.entries(1).map(|_| 0);
    }
    let half = target.memory / 2;
    let most = (half / ENTRY_BYTES / 4).max(MIN_ENTRIES);
    let mut stream = writer.sparse_stream(half)?;
    let mut done = 0u64;
    let failed = |error: tdb_array::Error| match error {
        tdb_array::Error::Write(WriteError::Duplicate { .. } | WriteError::DuplicateCells { .. }) => far(),
        other => other.into(),
    };
    while let Some(entries) = market.entries(most)? {
        let len = u64::try_from(entries.rows.len()).unwrap_or(u64::MAX);
        if len > 0 {
            stream.append(&entries.write_columns()).map_err(failed)?;
        }
        done = done.saturating_add(len);
        heard(done.saturating_add(market.added), values);
    }
    let fragments = stream.commit().map_err(failed)?;
    if !market.is_ordered && fragments.len() > 1 {
        // Two parts may have a value at the same place.
        if count(&build.written(path)?)? != done {
            return Err(far());
        }
    }
    Ok(done)
}

/// Values that cannot be added up, as they are never in memory together.
fn far() -> Error {
    let what = "values at the same place are far from each other in a file that is not ordered by columns and \
                rows: more memory, or an ordered file, lets them be added up";
    wrong(MATRIX, None, what.to_owned())
}

/// The lines of a file of names: as many as the matrix has rows or columns.
fn lines(input: Box<dyn BufRead>, file: &'static str, axis: &str, size: u64) -> Result<Vec<String>> {
    let (mut all, mut lines) = (Vec::new(), Lines::new(input, file));
    while lines.next()? {
        if u64::try_from(all.len()).is_ok_and(|len| len >= size) {
            return Err(lines.wrong(format!("this is one more than the matrix has {axis}, {size}")));
        }
        all.push(lines.text()?.to_owned());
    }
    if u64::try_from(all.len()) == Ok(size) {
        return Ok(all);
    }
    let what = format!("there are {} lines, but the matrix has {size} {axis}", all.len());
    Err(wrong(file, None, what))
}

/// Refuses names that are there twice.
fn expect_unique(file: &str, names: &[&str]) -> Result<()> {
    let mut seen = HashSet::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if !seen.insert(*name) {
            let number = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
            return Err(wrong(file, Some(number), format!("{name:?} is there before: names are unique")));
        }
    }
    Ok(())
}

fn wrong(file: &str, line: Option<u64>, what: String) -> Error {
    Error::Input { file: file.to_owned(), line, what }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, ErrorKind};
    use std::sync::Arc;

    use tdb_array::WriteOptions;
    use tdb_array::storage::testing::{Fault, Faults, FaultyStorage};
    use tdb_array::storage::{Below, MemoryStorage, Storage, WriteStorage};

    use super::*;

    type Faulty = Arc<FaultyStorage<MemoryStorage>>;

    fn made(faulty: &Faulty) -> Result<Imported> {
        let storage = |path: &str| -> Result<Arc<dyn WriteStorage>> {
            let own = faulty.clone();
            Ok(if path.is_empty() { own } else { Arc::new(Below::new(own, path)) })
        };
        let target = Target { storage: &storage, options: WriteOptions::new(), key: None, memory: 1 << 24 };
        let file = |text: &'static str| -> Box<dyn BufRead> { Box::new(Cursor::new(text)) };
        let source = TenX {
            matrix: file("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n2 2 5\n"),
            barcodes: file("a\nb\n"),
            features: file("g\tG\tx\nh\tH\ty\n"),
        };
        import(&target, source, "RNA", "data", &|_, _| {})
    }

    #[test]
    fn whichever_call_of_a_store_fails_nothing_is_left() {
        for fault in [Fault::Fail(ErrorKind::TimedOut), Fault::FailAfter(ErrorKind::TimedOut)] {
            let mut failures = 0;
            for call in 0.. {
                let faulty = Arc::new(FaultyStorage::new(MemoryStorage::default()));
                faulty.set(Faults::call(call, fault));
                if made(&faulty).is_ok() {
                    if faulty.faults() == 0 {
                        break;
                    }
                    // Something that an import does without.
                    continue;
                }
                failures += 1;
                let left = faulty.inner().list("").unwrap_or_default();
                assert!(left.is_empty(), "{fault:?} of call {call}: {left:?}");
            }
            assert!(failures > 20, "{failures}");
        }
    }

    #[test]
    fn what_is_there_already_is_not_touched() {
        let faulty = Arc::new(FaultyStorage::new(MemoryStorage::default()));
        made(&faulty).unwrap();
        let error = made(&faulty).unwrap_err().to_string();
        assert!(error.contains("there is something here already"), "{error}");
        assert!(faulty.inner().list("obs").is_ok_and(|left| !left.is_empty()));
    }
}
