//! Key-value metadata of open arrays.

use super::ArrayObject;
use crate::context::Ctx;
use crate::ffi::{Data, In, Out, OutData, OutText, Text};
use crate::metadata::{OutValue, put_has, value_of};

/// What cannot be done with an array that is closed.
const WHAT: &str = "Cannot get metadata";

exported! {
    fn tiledb_array_put_metadata(ctx: Ctx, array: In<ArrayObject>, key: Text, datatype: u32, count: u32, data: Data) -> Code for ctx {
        let value = value_of(datatype, count, data)?;
        let key = key.get("key")?;
        array.get()?.with_open("Cannot put metadata", |open| open.change_metadata(key, Some(value)))
    }

    fn tiledb_array_delete_metadata(ctx: Ctx, array: In<ArrayObject>, key: Text) -> Code for ctx {
        let key = key.get("key")?;
        array.get()?.with_open("Cannot delete metadata", |open| open.change_metadata(key, None))
    }

    fn tiledb_array_get_metadata(ctx: Ctx, array: In<ArrayObject>, key: Text, datatype: Out<u32>, count: Out<u32>, data: OutData) -> Code for ctx {
        let key = key.get("key")?;
        array.get()?.with_open(WHAT, |open| OutValue { datatype, count, data }.put_key(array, open.metadata()?, key))
    }

    fn tiledb_array_get_metadata_num(ctx: Ctx, array: In<ArrayObject>, count: Out<u64>) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| count.set(crate::number(open.metadata()?.len())))
    }

    fn tiledb_array_get_metadata_from_index(ctx: Ctx, array: In<ArrayObject>, index: u64, key: OutText, length: Out<u32>, datatype: Out<u32>, count: Out<u32>, data: OutData) -> Code for ctx {
        array.get()?.with_open(WHAT, |open| {
            OutValue { datatype, count, data }.put_index(array, open.metadata()?, index, (key, length))
        })
    }

    fn tiledb_array_has_metadata_key(ctx: Ctx, array: In<ArrayObject>, key: Text, datatype: Out<u32>, has: Out<i32>) -> Code for ctx {
        let key = key.get("key")?;
        array.get()?.with_open(WHAT, |open| put_has(open.metadata()?, key, datatype, has))
    }
}
