//! The values of the dictionaries of a result: columns that have enumerations in the arrays that
//! they are from.

use std::collections::HashSet;
use std::sync::Arc;

use tdb_datafusion::datafusion::arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions, UInt32Array,
    new_empty_array,
};
use tdb_datafusion::datafusion::arrow::compute::{concat, take};
use tdb_datafusion::datafusion::arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Field, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use tdb_datafusion::datafusion::arrow::error::ArrowError;
use tdb_datafusion::datafusion::arrow::row::{Row, RowConverter, SortField};

use crate::thresholds::{MAX_COPIED_BYTES, MAX_COPIED_VALUES};

type Result<T> = core::result::Result<T, ArrowError>;

/// The values of all columns that are dictionaries, by the number of the column.
pub(super) struct Dictionaries(Vec<(usize, Values)>);

/// The values of a column: those of the dictionaries of all batches, each once, in the order in
/// which they are seen.
struct Values {
    field: FieldRef,
    /// The new ones of each batch.
    all: Vec<ArrayRef>,
    /// How many they are, and how many bytes the column holds.
    count: usize,
    bytes: usize,
    known: HashSet<Box<[u8]>>,
    converter: RowConverter,
    /// The last dictionary: most batches have the same.
    last: Option<ArrayRef>,
}

impl Dictionaries {
    pub(super) fn new(schema: &Schema) -> Result<Self> {
        let columns = schema.fields().iter().enumerate();
        let columns = columns.filter_map(|(at, field)| match field.data_type() {
            DataType::Dictionary(_, values) => Some(Values::new(field, values).map(|values| (at, values))),
            _ => None,
        });
        Ok(Self(columns.collect::<Result<_>>()?))
    }

    /// Looks at the dictionaries of a batch. A column of very many values is no longer one of them.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for (at, values) in &mut self.0 {
            if let Some(column) = batch.columns().get(*at) {
                values.add(column)?;
            }
        }
        let is_small =
            |values: &Values| values.count <= MAX_COPIED_VALUES && values.bytes <= MAX_COPIED_BYTES;
        self.0.retain(|(_, values)| is_small(values));
        Ok(())
    }

    /// A batch without rows, whose columns are the dictionaries of all values.
    pub(super) fn finish(self) -> Result<RecordBatch> {
        let columns = self.0.iter().map(|(_, values)| values.column());
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
            columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(0));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}

impl Values {
    fn new(field: &FieldRef, values: &DataType) -> Result<Self> {
        Ok(Self {
            field: field.clone(),
            all: vec![new_empty_array(values)],
            count: 0,
            bytes: 0,
            known: HashSet::new(),
            converter: RowConverter::new(vec![SortField::new(values.clone())])?,
            last: None,
        })
    }

    fn add(&mut self, column: &ArrayRef) -> Result<()> {
        let Some(dictionary) = column.as_any_dictionary_opt() else { return Ok(()) };
        let values = dictionary.values();
        if self.last.as_ref().is_some_and(|last| last.to_data().ptr_eq(&values.to_data())) {
            return Ok(());
        }
        let rows = self.converter.convert_columns(core::slice::from_ref(values))?;
        let is_new = |(at, row): (usize, Row<'_>)| {
            let is_new = values.is_valid(at) && self.known.insert(row.as_ref().into());
            is_new.then(|| u32::try_from(at).ok()).flatten()
        };
        let new: UInt32Array = rows.iter().enumerate().filter_map(is_new).map(Some).collect();
        if !new.is_empty() {
            let new = take(values, &new, None)?;
            self.count = self.count.saturating_add(new.len());
            self.bytes = self.bytes.saturating_add(new.get_array_memory_size().saturating_mul(2));
            self.all.push(new);
        }
        self.last = Some(values.clone());
        Ok(())
    }

    /// The column without rows.
    fn column(&self) -> Result<(Field, ArrayRef)> {
        let column = match self.field.data_type() {
            DataType::Dictionary(key, _) if self.fits(key) => self.empty(key)?,
            _ if self.fits(&DataType::Int16) => self.empty(&DataType::Int16)?,
            _ => self.empty(&DataType::Int32)?,
        };
        Ok((Field::new(self.field.name(), column.data_type().clone(), self.field.is_nullable()), column))
    }

    /// Whether keys of a type can tell the values apart.
    fn fits(&self, key: &DataType) -> bool {
        let most = match key {
            DataType::Int8 => i64::from(i8::MAX),
            DataType::UInt8 => i64::from(u8::MAX),
            DataType::Int16 => i64::from(i16::MAX),
            DataType::UInt16 => i64::from(u16::MAX),
            _ => i64::MAX,
        };
        i64::try_from(self.count).is_ok_and(|count| count <= most)
    }

    fn empty(&self, key: &DataType) -> Result<ArrayRef> {
        match key {
            DataType::Int8 => self.keyed::<Int8Type>(),
            DataType::Int16 => self.keyed::<Int16Type>(),
            DataType::Int64 => self.keyed::<Int64Type>(),
            DataType::UInt8 => self.keyed::<UInt8Type>(),
            DataType::UInt16 => self.keyed::<UInt16Type>(),
            DataType::UInt32 => self.keyed::<UInt32Type>(),
            DataType::UInt64 => self.keyed::<UInt64Type>(),
            _ => self.keyed::<Int32Type>(),
        }
    }

    fn keyed<K: ArrowDictionaryKeyType>(&self) -> Result<ArrayRef> {
        let keys = PrimitiveArray::<K>::from_iter_values([]);
        let all: Vec<&dyn Array> = self.all.iter().map(AsRef::as_ref).collect();
        Ok(Arc::new(DictionaryArray::try_new(keys, concat(&all)?)?))
    }
}
