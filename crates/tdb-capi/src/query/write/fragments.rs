//! The fragments that a query has written.

use tdb_array::schema::Gate;

use crate::array_schema::times_of;
use crate::context::Ctx;
use crate::ffi::{Failure, In, Out, OutText};
use crate::query::{Query, QueryObject, failure};

/// A fragment that was written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenFragment {
    uri: String,
    /// The first and the last time of its cells.
    times: (u64, u64),
}

impl Query {
    /// Notes that fragments of these names were written.
    pub(super) fn note_fragments(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            let place = self.array.place();
            let in_folder = self.schema.version.has(Gate::FragmentFolders);
            let folder = if in_folder { place.below("__fragments") } else { place.clone() };
            let (uri, times) = (folder.below(&name).uri(), times_of(&name).unwrap_or((0, 0)));
            self.written.push(WrittenFragment { uri, times });
        }
    }

    fn written(&self, what: &str) -> Result<&[WrittenFragment], Failure> {
        if self.kind.writes() {
            return Ok(&self.written);
        }
        Err(failure(format!("Cannot get {what}; Applicable only to WRITE and MODIFY_EXCLUSIVE mode")))
    }

    fn fragment(&self, what: &str, index: u64) -> Result<WrittenFragment, Failure> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let found = self.written(what)?.get(index).cloned();
        found.ok_or_else(|| failure(format!("Cannot get {what}; Invalid fragment index")))
    }
}

exported! {
    fn tiledb_query_get_fragment_num(ctx: Ctx, query: In<QueryObject>, count: Out<u32>) -> Code for ctx {
        let query = query.get()?.0.lock();
        count.set(u32::try_from(query.written("number of fragments")?.len()).unwrap_or(u32::MAX))
    }

    fn tiledb_query_get_fragment_uri(ctx: Ctx, query: In<QueryObject>, index: u64, uri: OutText) -> Code for ctx {
        let found = query.get()?.0.lock().fragment("fragment URI", index)?;
        uri.keep(query, &found.uri)
    }

    fn tiledb_query_get_fragment_timestamp_range(ctx: Ctx, query: In<QueryObject>, index: u64, first: Out<u64>, last: Out<u64>) -> Code for ctx {
        let found = query.get()?.0.lock().fragment("fragment timestamp range", index)?;
        first.set(found.times.0)?;
        last.set(found.times.1)
    }
}
