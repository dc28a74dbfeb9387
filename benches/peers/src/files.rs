//! Files of Parquet, read by the parquet crate: row groups and pages are left out by their
//! statistics, what is left is decoded only where a predicate is true, and threads take row groups
//! in turns.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, Scalar, StringViewArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions,
    ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use serde_json::Value;

use crate::{Fallible, ends, list, text};

const BATCH: usize = 16_384;

/// What a cell has to satisfy in one column.
#[derive(Clone)]
enum Test {
    Range(i64, i64),
    TextRange(String, String),
    OneOf(Arc<HashSet<i64>>),
    EqualInteger(i32),
    Above(f64),
    EqualText(String),
    Prefix(String),
}

type Tests = Vec<(String, Test)>;

/// `{"parquet": folder, "fields", "dimensions", "ranges", "points", "terms": [[field, operator,
/// value], …]}`
pub(crate) fn read(request: &Value, threads: usize) -> Fallible<(f64, Vec<RecordBatch>)> {
    let folder = text(request, "parquet")?;
    let fields: Vec<&str> = list(request, "fields")?.iter().filter_map(Value::as_str).collect();
    let tests = tests(request)?;
    let started = Instant::now();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Fallible<_>>()?;
    paths.sort();
    // Files first, so that the threads open them too; then their row groups.
    let files = parallel(threads, &paths, |path| open(path).map(|file| vec![file]))?;
    let groups: Vec<(usize, usize)> = files
        .iter()
        .enumerate()
        .flat_map(|(file, metadata)| {
            (0..metadata.metadata().num_row_groups()).map(move |group| (file, group))
        })
        .collect();
    let batches = parallel(threads, &groups, |(file, group)| {
        // A clone would share the position with other threads.
        let (path, metadata) = paths.get(*file).zip(files.get(*file)).ok_or("no such file")?;
        read_group(File::open(path)?, metadata, *group, &fields, &tests)
    })?;
    Ok((started.elapsed().as_secs_f64(), batches))
}

/// Runs jobs in turns on all threads, and puts their results together in the order of the jobs.
fn parallel<J: Sync, R: Send>(
    threads: usize,
    jobs: &[J],
    work: impl Fn(&J) -> Fallible<Vec<R>> + Sync,
) -> Fallible<Vec<R>> {
    let queue = Mutex::new(jobs.iter().enumerate());
    let results = Mutex::new(Vec::new());
    let run = || {
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((number, job)) = next else { break };
            let result = work(job);
            if let Ok(mut results) = results.lock() {
                results.push((number, result));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            scope.spawn(run);
        }
        run();
    });
    let mut results = results.into_inner().map_err(|error| error.to_string())?;
    results.sort_by_key(|(number, _)| *number);
    let mut all = Vec::new();
    for (_, result) in results {
        all.extend(result?);
    }
    Ok(all)
}

fn open(path: &PathBuf) -> Fallible<ArrowReaderMetadata> {
    let file = File::open(path)?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = ArrowReaderMetadata::load(&file, options.clone())?;
    // Strings as views.
    let viewed = metadata.schema().fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => {
            Field::new(field.name(), DataType::Utf8View, field.is_nullable())
        }
        _ => field.as_ref().clone(),
    });
    let schema = Arc::new(Schema::new(viewed.collect::<Vec<_>>()));
    Ok(ArrowReaderMetadata::try_new(metadata.metadata().clone(), options.with_schema(schema))?)
}

fn read_group(
    file: File,
    metadata: &ArrowReaderMetadata,
    group: usize,
    fields: &[&str],
    tests: &Tests,
) -> Fallible<Vec<RecordBatch>> {
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
    let leaf = |name: &str| metadata.schema().index_of(name);
    let mut selection: Option<RowSelection> = None;
    for (name, test) in tests {
        let column = leaf(name)?;
        let outside = match metadata.metadata().row_group(group).column(column).statistics() {
            Some(Statistics::Int64(found)) => {
                found.min_opt().zip(found.max_opt()).is_some_and(|(low, high)| !test.may_hold(*low, *high))
            }
            Some(Statistics::ByteArray(found)) => {
                let ends = found.min_opt().zip(found.max_opt());
                ends.is_some_and(|(low, high)| !test.may_hold_text(low.data(), high.data()))
            }
            _ => false,
        };
        if outside {
            return Ok(Vec::new());
        }
        if let Some(pages) = pages(metadata, group, column, test) {
            selection = Some(match selection {
                Some(before) => before.intersection(&pages),
                None => pages,
            });
        }
    }
    let mut predicates: Vec<Box<dyn ArrowPredicate>> = Vec::new();
    for (name, test) in tests {
        let (mask, test) = (ProjectionMask::leaves(builder.parquet_schema(), [leaf(name)?]), test.clone());
        predicates
            .push(Box::new(ArrowPredicateFn::new(mask, move |batch: RecordBatch| test.run(batch.column(0)))));
    }
    let columns = fields.iter().map(|name| leaf(name)).collect::<Result<Vec<_>, _>>()?;
    let mask = ProjectionMask::leaves(builder.parquet_schema(), columns);
    let mut builder = builder.with_row_groups(vec![group]).with_projection(mask).with_batch_size(BATCH);
    if let Some(selection) = selection {
        builder = builder.with_row_selection(selection);
    }
    if !predicates.is_empty() {
        builder = builder.with_row_filter(RowFilter::new(predicates));
    }
    Ok(builder.build()?.collect::<Result<Vec<_>, _>>()?)
}

/// The rows of the pages that may have a wanted cell; `None` without an index of integers or text.
fn pages(metadata: &ArrowReaderMetadata, group: usize, column: usize, test: &Test) -> Option<RowSelection> {
    let metadata = metadata.metadata();
    let index = metadata.column_index()?.get(group)?.get(column)?;
    let may = |page: usize| match index {
        ColumnIndexMetaData::INT64(index) => Some(
            index
                .min_value(page)
                .zip(index.max_value(page))
                .is_none_or(|(low, high)| test.may_hold(*low, *high)),
        ),
        ColumnIndexMetaData::BYTE_ARRAY(index) => {
            let ends = index.min_value(page).zip(index.max_value(page));
            Some(ends.is_none_or(|(low, high)| test.may_hold_text(low, high)))
        }
        _ => None,
    };
    let starts = metadata.offset_index()?.get(group)?.get(column)?.page_locations();
    let rows = usize::try_from(metadata.row_group(group).num_rows()).ok()?;
    let start =
        |page: usize| starts.get(page).map_or(Some(rows), |page| usize::try_from(page.first_row_index).ok());
    let mut wanted = Vec::new();
    for page in 0..starts.len() {
        if may(page)? {
            wanted.push(start(page)?..start(page + 1)?);
        }
    }
    Some(RowSelection::from_consecutive_ranges(wanted.into_iter(), rows))
}

fn tests(request: &Value) -> Fallible<Tests> {
    let mut tests = Vec::new();
    for (name, range) in list(request, "dimensions")?.iter().zip(list(request, "ranges")?) {
        if let (Some(name), Some((low, high))) = (name.as_str(), ends(range)) {
            tests.push((name.to_owned(), Test::Range(low, high)));
        }
        let text = |at: usize| range.get(at)?.as_str().map(str::to_owned);
        if let (Some(name), Some((low, high))) = (name.as_str(), text(0).zip(text(1))) {
            tests.push((name.to_owned(), Test::TextRange(low, high)));
        }
    }
    for (name, values) in request.get("points").and_then(Value::as_object).into_iter().flatten() {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        tests.push((name.clone(), Test::OneOf(Arc::new(values))));
    }
    for term in request.get("terms").and_then(Value::as_array).into_iter().flatten() {
        let part = |at: usize| term.get(at).and_then(Value::as_str).unwrap_or_default();
        let value = term.get(2).ok_or("a term without a value")?;
        let text = || part(2).to_owned();
        let test = match part(1) {
            "==" if value.is_string() => Test::EqualText(text()),
            "==" => Test::EqualInteger(i32::try_from(value.as_i64().ok_or("not an integer")?)?),
            ">" => Test::Above(value.as_f64().ok_or("not a number")?),
            "prefix" => Test::Prefix(text()),
            other => return Err(format!("unknown operator {other:?}").into()),
        };
        tests.push((part(0).to_owned(), test));
    }
    Ok(tests)
}

impl Test {
    /// Whether some integer from `low` to `high` satisfies it.
    fn may_hold(&self, low: i64, high: i64) -> bool {
        match self {
            Self::Range(from, to) => *from <= high && *to >= low,
            Self::OneOf(values) => values.iter().any(|value| (low..=high).contains(value)),
            _ => true,
        }
    }

    /// Whether some text from `low` to `high` satisfies it.
    fn may_hold_text(&self, low: &[u8], high: &[u8]) -> bool {
        match self {
            Self::TextRange(from, to) => from.as_bytes() <= high && to.as_bytes() >= low,
            Self::EqualText(value) => (low..=high).contains(&value.as_bytes()),
            Self::Prefix(prefix) => {
                prefix.as_bytes() <= high && low.get(..prefix.len()).unwrap_or(low) <= prefix.as_bytes()
            }
            _ => true,
        }
    }

    fn run(&self, column: &dyn Array) -> Result<BooleanArray, ArrowError> {
        use arrow_ord::cmp::{eq, gt, gt_eq, lt_eq};
        let long = |value: i64| Scalar::new(Int64Array::from(vec![value]));
        match self {
            Self::Range(low, high) => {
                arrow_arith::boolean::and(&gt_eq(&column, &long(*low))?, &lt_eq(&column, &long(*high))?)
            }
            Self::TextRange(low, high) => {
                let (column, end) = (column.as_string_view(), |end: &String| {
                    Scalar::new(StringViewArray::from(vec![end.as_str()]))
                });
                arrow_arith::boolean::and(&gt_eq(column, &end(low))?, &lt_eq(column, &end(high))?)
            }
            Self::OneOf(values) => {
                let column = column.as_primitive::<Int64Type>();
                Ok(BooleanArray::from_unary(column, |value| values.contains(&value)))
            }
            Self::EqualInteger(value) => {
                eq(column.as_primitive::<Int32Type>(), &Scalar::new(Int32Array::from(vec![*value])))
            }
            Self::Above(value) => {
                gt(column.as_primitive::<Float64Type>(), &Scalar::new(Float64Array::from(vec![*value])))
            }
            Self::EqualText(value) => {
                eq(column.as_string_view(), &Scalar::new(StringViewArray::from(vec![value.as_str()])))
            }
            Self::Prefix(prefix) => {
                let text = column.as_string_view();
                Ok(text
                    .prefix_bytes_iter(prefix.len())
                    .map(|start| Some(start == prefix.as_bytes()))
                    .collect())
            }
        }
    }
}
