//! Key-value metadata of arrays and groups, as the C API passes values.

use tdb_array::schema::{ArrayMetadata, Datatype, MetadataValue};

use crate::codes;
use crate::ffi::{Data, Failure, In, Object, Out, OutData, OutText, Outcome};

/// A value of the caller: `count` values of a datatype, or none at null.
///
/// # Errors
/// A datatype that there is not, or that metadata cannot have.
pub(crate) fn value_of(datatype: u32, count: u32, data: Data) -> Result<MetadataValue, Failure> {
    let datatype = codes::datatype(datatype)?;
    if datatype == Datatype::Any {
        return Err(Failure::of("Metadata", "Cannot put metadata; Value type 'ANY' is not supported"));
    }
    let size = crate::number(datatype.size()).saturating_mul(u64::from(count));
    let bytes = if data.is_null() { &[][..] } else { data.bytes(size)? };
    Ok(MetadataValue { datatype, data: bytes.to_vec() })
}

/// The arguments through which a value is returned.
#[derive(Clone, Copy)]
pub(crate) struct OutValue {
    pub(crate) datatype: Out<u32>,
    pub(crate) count: Out<u32>,
    pub(crate) data: OutData,
}

impl OutValue {
    /// Returns a value, which `owner` keeps. One without bytes is one value at null.
    pub(crate) fn put<T: Object>(self, owner: In<T>, value: &MetadataValue) -> Outcome {
        self.datatype.set(u32::from(value.datatype.code()))?;
        if value.data.is_empty() {
            self.count.set(1)?;
            return self.data.put_null();
        }
        self.count.set(u32::try_from(value.count()).unwrap_or(u32::MAX))?;
        self.data.keep(owner, &value.data)
    }

    /// Returns the value of a key; null if there is none.
    pub(crate) fn put_key<T: Object>(self, owner: In<T>, metadata: &ArrayMetadata, key: &str) -> Outcome {
        match metadata.get(key) {
            Some(value) => self.put(owner, value),
            None => self.data.put_null(),
        }
    }

    /// Returns the key and the value at a position.
    pub(crate) fn put_index<T: Object>(
        self,
        owner: In<T>,
        metadata: &ArrayMetadata,
        index: u64,
        (key, length): (OutText, Out<u32>),
    ) -> Outcome {
        let found = usize::try_from(index).ok().and_then(|index| metadata.iter().nth(index));
        let (name, value) =
            found.ok_or_else(|| Failure::of("Metadata", "Cannot get metadata; index out of bounds"))?;
        length.set(u32::try_from(name.len()).unwrap_or(u32::MAX))?;
        key.keep(owner, &String::from_utf8_lossy(name))?;
        self.put(owner, value)
    }
}

/// Returns whether there is a key, and the datatype of its value.
pub(crate) fn put_has(metadata: &ArrayMetadata, key: &str, datatype: Out<u32>, has: Out<i32>) -> Outcome {
    if let Some(value) = metadata.get(key) {
        datatype.set(u32::from(value.datatype.code()))?;
    }
    has.set(i32::from(metadata.get(key).is_some()))
}
