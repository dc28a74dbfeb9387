//! Buffers: bytes with a datatype, which only serialization uses.

use crate::context::Ctx;
use crate::ffi::{Data, Freed, In, Object, Out, OutData, OutHandle};
use crate::shared::Shared;

/// The code of UINT8, the type of a new buffer.
const UINT8: u32 = 6;

/// Bytes with a datatype. They are copied from the caller, whose memory need not last.
#[derive(Clone, Default)]
pub(crate) struct Buffer {
    datatype: Option<u32>,
    bytes: Vec<u8>,
}

/// A buffer behind a pointer.
pub(crate) struct BufferObject(Shared<Buffer>);

impl Object for BufferObject {
    const NAME: &'static str = "buffer";
}

/// Several buffers behind a pointer.
pub(crate) struct BufferList(Vec<Buffer>);

impl Object for BufferList {
    const NAME: &'static str = "buffer list";
}

impl BufferList {
    fn size(&self) -> u64 {
        self.0.iter().map(|buffer| crate::number(buffer.bytes.len())).sum()
    }
}

exported! {
    fn tiledb_buffer_alloc(ctx: Ctx, buffer: OutHandle<BufferObject>) -> Code for ctx {
        buffer.put(BufferObject(Shared::default()))
    }

    fn tiledb_buffer_free(buffer: Freed<BufferObject>) {
        buffer.free();
    }

    fn tiledb_buffer_set_type(ctx: Ctx, buffer: In<BufferObject>, datatype: u32) -> Code for ctx {
        buffer.get()?.0.lock().datatype = Some(datatype);
        Ok(())
    }

    fn tiledb_buffer_get_type(ctx: Ctx, buffer: In<BufferObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(buffer.get()?.0.lock().datatype.unwrap_or(UINT8))
    }

    fn tiledb_buffer_get_data(ctx: Ctx, buffer: In<BufferObject>, data: OutData, size: Out<u64>) -> Code for ctx {
        let bytes = buffer.get()?.0.copy().bytes;
        size.set(crate::number(bytes.len()))?;
        if bytes.is_empty() { data.put_null() } else { data.keep(buffer, &bytes) }
    }

    fn tiledb_buffer_set_data(ctx: Ctx, buffer: In<BufferObject>, data: Data, size: u64) -> Code for ctx {
        let bytes = data.bytes(size)?.to_vec();
        buffer.get()?.0.lock().bytes = bytes;
        Ok(())
    }

    fn tiledb_buffer_list_alloc(ctx: Ctx, list: OutHandle<BufferList>) -> Code for ctx {
        list.put(BufferList(Vec::new()))
    }

    fn tiledb_buffer_list_free(list: Freed<BufferList>) {
        list.free();
    }

    fn tiledb_buffer_list_get_num_buffers(ctx: Ctx, list: In<BufferList>, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(list.get()?.0.len()))
    }

    fn tiledb_buffer_list_get_buffer(ctx: Ctx, list: In<BufferList>, index: u64, buffer: OutHandle<BufferObject>) -> Code for ctx {
        let list = list.get()?;
        let found = usize::try_from(index).ok().and_then(|index| list.0.get(index));
        let found = found.ok_or("Cannot get buffer; index out of bounds")?;
        buffer.put(BufferObject(Shared::new(found.clone())))
    }

    fn tiledb_buffer_list_get_total_size(ctx: Ctx, list: In<BufferList>, size: Out<u64>) -> Code for ctx {
        size.set(list.get()?.size())
    }

    fn tiledb_buffer_list_flatten(ctx: Ctx, list: In<BufferList>, buffer: OutHandle<BufferObject>) -> Code for ctx {
        let bytes = list.get()?.0.iter().flat_map(|buffer| buffer.bytes.iter().copied()).collect();
        buffer.put(BufferObject(Shared::new(Buffer { datatype: None, bytes })))
    }
}
