//! Writes of cells, of metadata and of deletes.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use tdb_array::error::{ConditionErrorKind, QueryError};
use tdb_array::group::{ObjectType, object_type};
use tdb_array::query::Coordinate;
use tdb_array::schema::{Enumeration, MetadataValue};
use tdb_array::storage::WriteStorage;
use tdb_array::write::{Duplicates, MetadataChanges};
use tdb_array::{ArrayWriter, Layout, TimeWindow, WriteColumn};

use crate::condition::Condition;
use crate::errors::Failure;
use crate::place::Place;
use crate::read::order;
use crate::schema::{described, options_for};
use crate::values::Value;
use crate::watch;

/// A column for a write: name, values, offsets, validity.
type Given<'py> = (
    String,
    PyReadonlyArray1<'py, u8>,
    Option<PyReadonlyArray1<'py, u64>>,
    Option<PyReadonlyArray1<'py, u8>>,
);

/// The columns, as views of numpy's memory.
fn columns<'a>(given: &'a [Given<'_>]) -> Result<Vec<WriteColumn<'a>>, Failure> {
    let one = |(name, values, offsets, validity): &'a Given<'_>| {
        let apart = |_| Failure::Argument(format!("field {name:?}: the memory is not contiguous"));
        let values = values.as_slice().map_err(apart)?;
        let column = match offsets {
            Some(offsets) => WriteColumn::var(name, values, offsets.as_slice().map_err(apart)?),
            None => WriteColumn::bytes(name, values),
        };
        Ok(match validity {
            Some(validity) => column.nullable(validity.as_slice().map_err(apart)?),
            None => column,
        })
    };
    given.iter().map(one).collect()
}

/// The treatment of cells with equal coordinates.
pub(crate) fn duplicates(name: &str) -> Result<Duplicates, Failure> {
    match name {
        "refuse" => Ok(Duplicates::Refuse),
        "last" => Ok(Duplicates::KeepLast),
        _ => Err(Failure::Argument(format!("duplicates={name:?}: \"refuse\" or \"last\" is expected"))),
    }
}

/// An entry of the metadata for a write: key, datatype, bytes.
type Entry = (Vec<u8>, String, Vec<u8>);

/// The change that puts entries.
fn entries(put: Vec<Entry>) -> Result<MetadataChanges, Failure> {
    put.into_iter().try_fold(MetadataChanges::new(), |changes, (key, datatype, data)| {
        let datatype = tdb_text::schema::datatype(&datatype).map_err(Failure::Argument)?;
        Ok(changes.put(key, MetadataValue { datatype, data }))
    })
}

/// Writes cells as a fragment, and returns its name.
fn commit(
    writer: &ArrayWriter,
    columns: Vec<WriteColumn<'_>>,
    ranges: Vec<(String, Value, Value)>,
    order: Option<Layout>,
    duplicates: Duplicates,
) -> Result<String, Failure> {
    let mut write = writer.write().duplicates(duplicates);
    if let Some(order) = order {
        write = write.order(order);
    }
    for (dimension, low, high) in ranges {
        let (low, high) = (Coordinate::from(low), Coordinate::from(high));
        write = write.range(dimension, low..=high);
    }
    let write = columns.into_iter().fold(write, tdb_array::Write::column);
    Ok(write.commit()?)
}

/// An enumeration whose values are a column.
fn filled(known: &Enumeration, (name, data, offsets, _): &Given<'_>) -> Result<Enumeration, Failure> {
    let wrong = |what: String| Failure::Argument(format!("enumeration {name:?}: {what}"));
    let apart = |_| wrong("the memory is not contiguous".to_owned());
    let data = data.as_slice().map_err(apart)?;
    let values: Vec<&[u8]> = match offsets {
        Some(offsets) => {
            let end = |at: &u64| usize::try_from(*at).ok();
            let value = |(low, high): (&u64, &u64)| data.get(end(low)?..end(high)?);
            let offsets = offsets.as_slice().map_err(apart)?;
            let found = offsets.iter().zip(offsets.iter().skip(1)).map(value).collect::<Option<_>>();
            found.ok_or_else(|| wrong("its offsets lie outside of its values".to_owned()))?
        }
        None => data.chunks(known.datatype.size()).collect(),
    };
    let made = Enumeration::new(&known.name, &known.file_name, known.datatype, known.cell_val_num, values);
    let mut made = made.map_err(|error| wrong(error.to_string()))?;
    made.ordered = known.ordered;
    Ok(made)
}

/// Creates an array with its first cells, if there are any: it is there once all are written, and
/// nothing is if anything fails. `enumerations` are columns with the values of enumerations, which
/// are exact; `metadata` are entries (key, datatype, bytes).
#[pyfunction]
#[pyo3(signature = (place, json, enumerations, given, ranges, duplicates_name="refuse", time=None, metadata=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "a function of Python, with keywords")]
pub(crate) fn create_filled(
    py: Python<'_>,
    place: &Place,
    json: &str,
    enumerations: Vec<Given<'_>>,
    given: Vec<Given<'_>>,
    ranges: Vec<(String, Value, Value)>,
    duplicates_name: &str,
    time: Option<u64>,
    metadata: Vec<Entry>,
) -> PyResult<()> {
    let mut described = described(json)?;
    for column in &enumerations {
        if let Some(known) = described.enumerations.iter_mut().find(|known| known.name == column.0) {
            *known = filled(known, column)?;
        }
    }
    let columns = columns(&given)?;
    let duplicates = duplicates(duplicates_name)?;
    let metadata = (!metadata.is_empty()).then(|| entries(metadata)).transpose()?;
    watch::run(py, move || -> Result<(), Failure> {
        let options = options_for(place, &described, time);
        let made = options.begin_storage(place.write_storage()?, &described.schema);
        let made = made.map_err(Failure::of_new(place.location()))?;
        if !columns.is_empty() {
            commit(made.writer(), columns, ranges, None, duplicates)?;
        }
        if let Some(metadata) = metadata {
            made.writer().write_metadata(&metadata)?;
        }
        Ok(made.finish()?)
    })
}

/// Writes cells, and returns the name of the new fragment. Ranges are inclusive, and only for dense
/// arrays. `label` names a dimension label whose values are written.
#[pyfunction]
#[pyo3(signature = (place, given, ranges, order_name=None, duplicates_name="refuse", time=None, label=None))]
#[expect(clippy::too_many_arguments, reason = "a function of Python, with keywords")]
pub(crate) fn write(
    py: Python<'_>,
    place: &Place,
    given: Vec<Given<'_>>,
    ranges: Vec<(String, Value, Value)>,
    order_name: Option<&str>,
    duplicates_name: &str,
    time: Option<u64>,
    label: Option<&str>,
) -> PyResult<String> {
    let columns = columns(&given)?;
    let order = order_name.map(order).transpose()?;
    let duplicates = duplicates(duplicates_name)?;
    watch::run(py, move || -> Result<String, Failure> {
        let mut writer = place.write_options(time).open_storage(place.write_storage()?)?;
        if let Some(name) = label {
            writer = writer.label(name)?;
        }
        commit(&writer, columns, ranges, order, duplicates)
    })
}

/// Changes key-value metadata of an array or a group: puts values (key, datatype, bytes), removes
/// keys.
#[pyfunction]
#[pyo3(signature = (place, put, remove, time=None))]
pub(crate) fn write_metadata(
    py: Python<'_>,
    place: &Place,
    put: Vec<Entry>,
    remove: Vec<Vec<u8>>,
    time: Option<u64>,
) -> PyResult<()> {
    let changes = remove.into_iter().fold(entries(put)?, MetadataChanges::remove);
    watch::run(py, || -> Result<(), Failure> {
        let storage = place.write_storage()?;
        let options = place.write_options(time);
        if kind_of(place, &*storage)? == ObjectType::Group {
            let mut group = options.open_group_storage(storage)?;
            group.metadata(changes);
            return Ok(group.commit()?);
        }
        options.open_storage(storage)?.write_metadata(&changes)?;
        Ok(())
    })
}

/// The kind of object at a place.
pub(crate) fn kind_of(place: &Place, storage: &dyn WriteStorage) -> Result<ObjectType, Failure> {
    object_type(storage).map_err(|error| Failure::Io(place.location().to_owned(), error))
}

/// Deletes the cells that satisfy a condition, unless `dry_run` is set. Returns the number of cells
/// that the delete removes.
///
/// A delete also removes cells for which the condition is unknown, because they are null; it is
/// refused if there are any, unless `unknown_too` is set. With `by_coordinates` it removes exactly
/// the cells that satisfy the condition now.
#[pyfunction]
#[pyo3(signature = (place, condition, unknown_too=false, by_coordinates=false, dry_run=false, time=None))]
pub(crate) fn delete(
    py: Python<'_>,
    place: &Place,
    condition: &Condition,
    unknown_too: bool,
    by_coordinates: bool,
    dry_run: bool,
    time: Option<u64>,
) -> PyResult<u64> {
    watch::run(py, || -> Result<_, Failure> {
        let window = time.map(TimeWindow::until).map(|window| (window.start, window.end));
        let array = place.open_options(window).open_storage(place.storage()?)?;
        let asked = tdb_text::condition::with_dates(condition.0.as_ref().clone(), array.schema())
            .map_err(|error| tdb_array::Error::from(QueryError::Condition(error)))?;
        let writer = place.write_options(time).open_storage(place.write_storage()?)?;
        let (stored, removed) = if by_coordinates {
            let (listed, satisfying) = array.cells_condition(&asked)?;
            if satisfying > 0 {
                writer.check_delete(&listed)?;
            }
            (listed, satisfying)
        } else {
            let stored = asked.to_stored(&array).map_err(with_way_out)?;
            writer.check_delete(&stored)?;
            let counts = array.delete_counts(&asked)?;
            if counts.unknown() > 0 && !unknown_too {
                return Err(Failure::Argument(format!(
                    "in addition to the {} cells that satisfy the condition, {} cells would be deleted that are null or NaN in \
                     one of its fields, or older than that field; by_coordinates=True spares them, unknown_too=True deletes them",
                    counts.satisfying,
                    counts.unknown()
                )));
            }
            (stored, counts.removed)
        };
        // Without any cell there is no list of cells to write.
        if (removed > 0 || !by_coordinates) && !dry_run {
            writer.delete(&stored)?;
        }
        Ok(removed)
    })
}

/// The failure of a condition that no delete file can contain, with what helps.
fn with_way_out(error: tdb_array::Error) -> Failure {
    match &error {
        tdb_array::Error::Query(QueryError::Condition(condition))
            if matches!(condition.kind(), ConditionErrorKind::NotStored { .. }) =>
        {
            Failure::Argument(format!("{error}; by_coordinates=True finds the cells first"))
        }
        _ => Failure::Array(error),
    }
}
