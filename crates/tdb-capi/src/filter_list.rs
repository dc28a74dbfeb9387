//! Filter lists: pipelines of filters.

use tdb_array::schema::Pipeline;

use crate::context::Ctx;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle};
use crate::filter::FilterObject;
use crate::shared::Shared;

/// A pipeline behind a pointer.
pub(crate) struct FilterList(pub(crate) Shared<Pipeline>);

impl FilterList {
    /// A pipeline, to give to the caller.
    pub(crate) const fn of(pipeline: Pipeline) -> Self {
        Self(Shared::new(pipeline))
    }
}

impl Object for FilterList {
    const NAME: &'static str = "filter list";
}

exported! {
    fn tiledb_filter_list_alloc(ctx: Ctx, list: OutHandle<FilterList>) -> Code for ctx {
        list.put(FilterList::of(Pipeline::default()))
    }

    fn tiledb_filter_list_free(list: Freed<FilterList>) {
        list.free();
    }

    fn tiledb_filter_list_add_filter(ctx: Ctx, list: In<FilterList>, filter: In<FilterObject>) -> Code for ctx {
        let filter = filter.get()?.0.copy();
        list.get()?.0.lock().filters.push(filter);
        Ok(())
    }

    fn tiledb_filter_list_set_max_chunk_size(ctx: Ctx, list: In<FilterList>, size: u32) -> Code for ctx {
        list.get()?.0.lock().max_chunk_size = size;
        Ok(())
    }

    fn tiledb_filter_list_get_nfilters(ctx: Ctx, list: In<FilterList>, count: Out<u32>) -> Code for ctx {
        count.set(u32::try_from(list.get()?.0.lock().filters.len()).unwrap_or(u32::MAX))
    }

    fn tiledb_filter_list_get_filter_from_index(ctx: Ctx, list: In<FilterList>, index: u32, filter: OutHandle<FilterObject>) -> Code for ctx {
        let filters = list.get()?.0.copy().filters;
        let count = filters.len();
        let found = usize::try_from(index).ok().and_then(|index| filters.into_iter().nth(index));
        let found = found.ok_or_else(|| {
            Failure::new(format!("Filter {index} out of bounds, filter list has {count} filters."))
        })?;
        filter.put(FilterObject(Shared::new(found)))
    }

    fn tiledb_filter_list_get_max_chunk_size(ctx: Ctx, list: In<FilterList>, size: Out<u32>) -> Code for ctx {
        size.set(list.get()?.0.lock().max_chunk_size)
    }
}
