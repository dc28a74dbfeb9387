//! The keys of dictionaries.

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer};
use arrow_schema::DataType;
use tdb_array::schema::{CellValNum, Datatype};

use crate::options::Options;
use crate::types;

/// The type of the keys of an attribute of this datatype; `None` if it is not integral.
pub(crate) fn key_type(datatype: Datatype, cell_val_num: CellValNum) -> Option<DataType> {
    let key = types::data_type(datatype, cell_val_num, &Options::new());
    key.is_dictionary_key_type().then_some(key)
}

/// Which keys are below `count`; `None` if the bytes are not keys of this type.
pub(crate) fn inside(key: &DataType, keys: &Buffer, count: usize) -> Option<BooleanBuffer> {
    fn of<T: ArrowNativeType + TryInto<usize>>(keys: &Buffer, count: usize) -> Option<BooleanBuffer> {
        if !keys.len().is_multiple_of(size_of::<T>()) {
            return None;
        }
        let keys: &[T] = keys.typed_data();
        let inside = |at: usize| {
            keys.get(at).and_then(|key| (*key).try_into().ok()).is_some_and(|key: usize| key < count)
        };
        Some(BooleanBuffer::collect_bool(keys.len(), inside))
    }
    match key {
        DataType::Int8 => of::<i8>(keys, count),
        DataType::UInt8 => of::<u8>(keys, count),
        DataType::Int16 => of::<i16>(keys, count),
        DataType::UInt16 => of::<u16>(keys, count),
        DataType::Int32 => of::<i32>(keys, count),
        DataType::UInt32 => of::<u32>(keys, count),
        DataType::Int64 => of::<i64>(keys, count),
        DataType::UInt64 => of::<u64>(keys, count),
        _ => None,
    }
}
