//! Enumerations: the values of an attribute whose cells are stored as their numbers.

use tdb_array::schema::{CellValNum, Enumeration, enumeration_file_name};

use crate::codes;
use crate::context::Ctx;
use crate::dump;
use crate::ffi::{Data, Failure, Freed, In, Object, Out, OutData, OutHandle, Text};
use crate::string::StringObject;

/// An enumeration behind a pointer. It never changes.
pub(crate) struct EnumerationObject(pub(crate) Enumeration);

impl Object for EnumerationObject {
    const NAME: &'static str = "enumeration";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Enumeration", text)
}

/// Values in memory of the caller.
#[derive(Clone, Copy)]
struct Values {
    data: Data,
    data_size: u64,
    offsets: Data,
    offsets_size: u64,
}

impl Values {
    /// The values, cut into single ones.
    fn cut(&self, enumeration: &Enumeration) -> Result<Vec<Vec<u8>>, Failure> {
        if self.data.is_null() && self.data_size > 0 {
            return Err(failure("Invalid data size; must be zero for null data."));
        }
        if self.offsets.is_null() && self.offsets_size > 0 {
            return Err(failure("Var sized offsets must be null if offsets_size is zero."));
        }
        let data = self.data.bytes(self.data_size)?;
        let CellValNum::Fixed(count) = enumeration.cell_val_num else { return self.cut_at_offsets(data) };
        if !self.offsets.is_null() || self.offsets_size > 0 {
            return Err(failure("Fixed length value type defined but offsets pointer is not null."));
        }
        let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
        let size = enumeration.datatype.size().saturating_mul(count).max(1);
        if !data.len().is_multiple_of(size) {
            return Err(failure("Invalid data size is not a multiple of the cell size."));
        }
        Ok(data.chunks_exact(size).map(<[u8]>::to_vec).collect())
    }

    fn cut_at_offsets(&self, data: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
        if !data.is_empty() && self.offsets_size == 0 {
            return Err(failure("Variable length datatype defined but offsets are not present."));
        }
        let bytes = self.offsets.bytes(self.offsets_size)?;
        if !bytes.len().is_multiple_of(8) {
            return Err(failure("Invalid offsets size is not a multiple of sizeof(uint64_t)"));
        }
        let starts: Vec<usize> = bytes
            .chunks_exact(8)
            .map(|chunk| {
                let number = chunk.iter().rev().fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
                usize::try_from(number).unwrap_or(usize::MAX)
            })
            .collect();
        let ends = starts.iter().skip(1).copied().chain([data.len()]);
        let values = starts.iter().zip(ends).map(|(start, end)| data.get(*start..end).map(<[u8]>::to_vec));
        values
            .collect::<Option<_>>()
            .ok_or_else(|| failure("Provided data buffer size is too small for the provided offsets."))
    }
}

/// An enumeration of these values, after those that it has.
fn extended(mut enumeration: Enumeration, values: Values) -> Result<Enumeration, Failure> {
    let new = values.cut(&enumeration)?;
    let old: Vec<Vec<u8>> =
        (0..enumeration.len()).filter_map(|index| enumeration.value(index)).map(<[u8]>::to_vec).collect();
    enumeration.file_name = enumeration_file_name().map_err(failure)?;
    let name = enumeration.name.clone();
    let (datatype, count) = (enumeration.datatype, enumeration.cell_val_num);
    let made = Enumeration::new(name, enumeration.file_name, datatype, count, old.iter().chain(&new));
    let mut made =
        made.map_err(|problem| failure(format!("Invalid duplicated value in enumeration: {problem}")))?;
    made.ordered = enumeration.ordered;
    Ok(made)
}

exported! {
    fn tiledb_enumeration_alloc(ctx: Ctx, name: Text, datatype: u32, number: u32, ordered: i32, data: Data, data_size: u64, offsets: Data, offsets_size: u64, enumeration: OutHandle<EnumerationObject>) -> Code for ctx {
        enumeration.put_null()?;
        let name = name.optional("name")?.ok_or("tiledb_enumeration_alloc: name must not be null")?;
        let (datatype, count) = (codes::datatype(datatype)?, codes::cell_val_num(number)?);
        let none: [&[u8]; 0] = [];
        let mut empty = Enumeration::new(name, "", datatype, count, none).map_err(failure)?;
        empty.ordered = ordered != 0;
        let made = extended(empty, Values { data, data_size, offsets, offsets_size })?;
        enumeration.put(EnumerationObject(made))
    }

    fn tiledb_enumeration_extend(ctx: Ctx, old: In<EnumerationObject>, data: Data, data_size: u64, offsets: Data, offsets_size: u64, new: OutHandle<EnumerationObject>) -> Code for ctx {
        let old = old.get()?.0.clone();
        if data_size == 0 && offsets_size == 0 {
            return Err(failure("Unable to extend an enumeration without a data buffer."));
        }
        new.put(EnumerationObject(extended(old, Values { data, data_size, offsets, offsets_size })?))
    }

    fn tiledb_enumeration_free(enumeration: Freed<EnumerationObject>) {
        enumeration.free();
    }

    fn tiledb_enumeration_get_name(ctx: Ctx, enumeration: In<EnumerationObject>, name: OutHandle<StringObject>) -> Code for ctx {
        name.put(StringObject(enumeration.get()?.0.name.clone()))
    }

    fn tiledb_enumeration_get_value_index(ctx: Ctx, enumeration: In<EnumerationObject>, value: Data, size: u64, exist: Out<i32>, index: Out<u64>) -> Code for ctx {
        let enumeration = &enumeration.get()?.0;
        let value = value.bytes(size)?;
        let found = (0..enumeration.len()).find(|index| enumeration.value(*index) == Some(value));
        index.set(found.map_or(u64::MAX, crate::number))?;
        exist.set(i32::from(found.is_some()))
    }

    fn tiledb_enumeration_get_type(ctx: Ctx, enumeration: In<EnumerationObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(enumeration.get()?.0.datatype.code()))
    }

    fn tiledb_enumeration_get_cell_val_num(ctx: Ctx, enumeration: In<EnumerationObject>, number: Out<u32>) -> Code for ctx {
        number.set(enumeration.get()?.0.cell_val_num.code())
    }

    fn tiledb_enumeration_get_ordered(ctx: Ctx, enumeration: In<EnumerationObject>, ordered: Out<i32>) -> Code for ctx {
        ordered.set(i32::from(enumeration.get()?.0.ordered))
    }

    fn tiledb_enumeration_get_data(ctx: Ctx, enumeration: In<EnumerationObject>, data: OutData, size: Out<u64>) -> Code for ctx {
        let bytes = &enumeration.get()?.0.data;
        size.set(crate::number(bytes.len()))?;
        if bytes.is_empty() { data.put_null() } else { data.keep(enumeration, bytes) }
    }

    fn tiledb_enumeration_get_offsets(ctx: Ctx, enumeration: In<EnumerationObject>, offsets: OutData, size: Out<u64>) -> Code for ctx {
        let starts = enumeration.get()?.0.offsets.as_deref().unwrap_or_default();
        let bytes: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        size.set(crate::number(bytes.len()))?;
        if bytes.is_empty() { offsets.put_null() } else { offsets.keep(enumeration, &bytes) }
    }

    fn tiledb_enumeration_dump_str(ctx: Ctx, enumeration: In<EnumerationObject>, text: OutHandle<StringObject>) -> Code for ctx {
        text.put(StringObject(dump::enumeration(&enumeration.get()?.0)))
    }
}
