//! Functions that tell what an array or a group is made of:
//! `SELECT * FROM tiledb_fragments('path/to/array')`.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use tdb_array::history::history;
use tdb_array::schema::{CellValNum, DatatypeClass, FieldKind, FormatVersion, MetadataValue, Physical};
use tdb_array::storage::WriteStorage;
use tdb_array::stored::Fragment;

use crate::batch::{batch, counts, texts, times};
use crate::error::of_array;
use crate::members::GroupFunction;
use crate::{Locate, Result, TableOptions};

/// The functions, each with what a row is, and its columns. All take the location of an array,
/// `tiledb_members` that of a group, and show it at the time and with the key of the factory's
/// options; times are those in names of files. `tiledb_metadata` takes either.
pub const FUNCTIONS: [(&str, &str, &str); 5] = [
    (
        "tiledb_fragments",
        "a fragment, the oldest first",
        "name, first_time, last_time, version, dense, cells, bytes",
    ),
    (
        "tiledb_history",
        "an event, as `tdb log` shows it, at all times",
        "event, first_time, last_time, name, version, cells, bytes, state",
    ),
    ("tiledb_metadata", "a key of the metadata", "key, datatype, count, value"),
    ("tiledb_schema", "a field, dimensions first", "name, kind, datatype, values, nullable, enumeration"),
    (
        MEMBERS,
        "a member of a group; `tiledb_members('…', 'nested')` shows those of its groups too, each behind its group",
        "path, name, type, uri, relative, depth, location, there",
    ),
];

/// The function for groups.
const MEMBERS: &str = "tiledb_members";

type MakeBatch = fn(&Arc<dyn WriteStorage>, &TableOptions) -> Result<RecordBatch>;

const TABLES: [MakeBatch; 4] = [fragments, history_of, metadata, schema];

/// Registers all functions.
pub(crate) fn register(session: &SessionContext, places: &Arc<dyn Locate>, options: &TableOptions) {
    // The last of the functions is that of groups.
    for ((name, ..), table) in FUNCTIONS.into_iter().zip(TABLES) {
        let (places, options) = (places.clone(), options.clone());
        session.register_udtf(name, Arc::new(ArrayFunction { name, table, places, options }));
    }
    let (places, options) = (places.clone(), options.clone());
    session.register_udtf(MEMBERS, Arc::new(GroupFunction { name: MEMBERS, places, options }));
}

/// A table function of an array.
#[derive(Debug)]
struct ArrayFunction {
    name: &'static str,
    table: MakeBatch,
    places: Arc<dyn Locate>,
    options: TableOptions,
}

impl TableFunctionImpl for ArrayFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let location = match args.exprs() {
            [Expr::Literal(ScalarValue::Utf8(Some(text)), _)] => text,
            _ => return plan_err!("{0} takes the location of an array: {0}('path/to/array')", self.name),
        };
        let storage = self.places.storage(location)?;
        let batch = (self.table)(&storage, &self.options)?;
        Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
    }
}

/// A version as a column shows it.
fn number(version: FormatVersion) -> u32 {
    version.number()
}

fn fragments(storage: &Arc<dyn WriteStorage>, options: &TableOptions) -> Result<RecordBatch> {
    let array = options.array(storage).map_err(of_array)?;
    let all = || array.fragments().iter().map(AsRef::<Fragment>::as_ref);
    batch(vec![
        ("name", texts(all().map(|fragment| Some(fragment.name())))),
        ("first_time", times(all().map(|fragment| Some(fragment.timestamps().0)))),
        ("last_time", times(all().map(|fragment| Some(fragment.timestamps().1)))),
        (
            "version",
            Arc::new(all().map(|fragment| Some(number(fragment.version()))).collect::<UInt32Array>()),
        ),
        ("dense", Arc::new(all().map(|fragment| Some(fragment.is_dense())).collect::<BooleanArray>())),
        ("cells", counts(all().map(|fragment| Some(fragment.cell_count())))),
        ("bytes", counts(all().map(|fragment| Some(fragment.size())))),
    ])
}

fn history_of(storage: &Arc<dyn WriteStorage>, options: &TableOptions) -> Result<RecordBatch> {
    let events = history(storage.clone(), options.encryption_key()).map_err(of_array)?.events;
    batch(vec![
        ("event", texts(events.iter().map(|event| Some(event.kind.word())))),
        ("first_time", times(events.iter().map(|event| Some(event.timestamps?.0)))),
        ("last_time", times(events.iter().map(|event| Some(event.timestamps?.1)))),
        ("name", texts(events.iter().map(|event| Some(&event.key)))),
        ("version", Arc::new(events.iter().map(|event| event.version.map(number)).collect::<UInt32Array>())),
        ("cells", counts(events.iter().map(|event| event.cells))),
        ("bytes", counts(events.iter().map(|event| Some(event.bytes)))),
        ("state", texts(events.iter().map(|event| Some(event.state.word())))),
    ])
}

fn metadata(storage: &Arc<dyn WriteStorage>, options: &TableOptions) -> Result<RecordBatch> {
    let metadata = options.open_options().metadata_storage(storage.clone()).map_err(of_array)?;
    let count = |value: &MetadataValue| u64::try_from(value.count()).ok();
    batch(vec![
        ("key", texts(metadata.iter().map(|(key, _)| Some(String::from_utf8_lossy(key))))),
        ("datatype", texts(metadata.iter().map(|(_, value)| Some(value.datatype.name())))),
        ("count", counts(metadata.iter().map(|(_, value)| count(value)))),
        ("value", texts(metadata.iter().map(|(_, value)| text_of(value)))),
    ])
}

fn schema(storage: &Arc<dyn WriteStorage>, options: &TableOptions) -> Result<RecordBatch> {
    let array = options.array(storage).map_err(of_array)?;
    let schema = array.schema();
    let fields = || schema.fields();
    let kind = |kind| if matches!(kind, FieldKind::Dimension(_)) { "dimension" } else { "attribute" };
    let values = |count| match count {
        CellValNum::Var => "var".to_owned(),
        CellValNum::Fixed(count) => count.to_string(),
    };
    batch(vec![
        ("name", texts(fields().map(|field| Some(field.name)))),
        ("kind", texts(fields().map(|field| Some(kind(field.kind))))),
        ("datatype", texts(fields().map(|field| Some(field.datatype.name())))),
        ("values", texts(fields().map(|field| Some(values(field.cell_val_num))))),
        ("nullable", Arc::new(fields().map(|field| Some(field.nullable)).collect::<BooleanArray>())),
        ("enumeration", texts(fields().map(|field| schema.attribute(field.name)?.enumeration.as_deref()))),
    ])
}

/// A value as text: characters as they are, numbers with commas between them, anything else as
/// bytes in hexadecimal.
fn text_of(value: &MetadataValue) -> Option<String> {
    use DatatypeClass::{Char, Datetime, Integer, Real, String as Text, Time};

    let (class, size) = (value.datatype.class(), value.datatype.size());
    if matches!(class, Text | Char)
        && size == 1
        && let Ok(text) = std::str::from_utf8(&value.data)
    {
        return Some(text.to_owned());
    }
    if matches!(class, Integer | Real | Datetime | Time) {
        let physical = value.datatype.physical();
        let numbers = value.data.chunks_exact(size.max(1)).map(|element| number_of(physical, element));
        return Some(numbers.collect::<Option<Vec<_>>>()?.join(", "));
    }
    let mut text = String::new();
    value.data.iter().try_for_each(|byte| write!(text, "{byte:02x}")).ok()?;
    Some(text)
}

fn number_of(physical: Physical, bytes: &[u8]) -> Option<String> {
    Some(match physical {
        Physical::I8 => i8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::U8 => u8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::I16 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::U16 => u16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::I32 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::U32 => u32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::I64 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::U64 => u64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::F32 => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Physical::F64 => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
    })
}
