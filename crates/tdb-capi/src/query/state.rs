//! How far a query is.

use super::{Kind, QueryObject, Running, Status};
use crate::context::Ctx;
use crate::ffi::{In, Out};

/// `TILEDB_REASON_NONE`.
const NO_REASON: u32 = 0;
/// `TILEDB_REASON_USER_BUFFER_SIZE`.
const BUFFER_SIZE: u32 = 1;

exported! {
    fn tiledb_query_get_status(ctx: Ctx, query: In<QueryObject>, status: Out<u32>) -> Code for ctx {
        status.set(query.get()?.0.lock().status.code())
    }

    fn tiledb_query_get_status_details(ctx: Ctx, query: In<QueryObject>, details: Out<u32>) -> Code for ctx {
        let query = query.get()?.0.lock();
        let is_full = query.status == Status::Incomplete && matches!(query.running, Running::Read(_));
        details.set(if is_full { BUFFER_SIZE } else { NO_REASON })
    }

    fn tiledb_query_has_results(ctx: Ctx, query: In<QueryObject>, has: Out<i32>) -> Code for ctx {
        let query = query.get()?.0.lock();
        let mut found = false;
        if query.kind == Kind::Read && query.status != Status::Uninitialized {
            for buffers in query.buffers.values() {
                let first = buffers.offsets.as_ref().or(buffers.data.as_ref());
                found |= first.is_some_and(|buffer| buffer.size().is_ok_and(|size| size != 0));
            }
        }
        has.set(i32::from(found))
    }
}
