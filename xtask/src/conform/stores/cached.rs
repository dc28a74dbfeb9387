//! Arrays on a server, read twice through a cache in a folder: the results must be those of the
//! local folder, and the second reader must send fewer requests.

use tdb_array::{Array, Layout, OpenOptions};
use tdb_object_store::Locations;

use super::{bytes, said};

/// Number of requests of the first reader, of a second reader, which also blocks, and of a reader
/// that awaits.
#[derive(Clone, Copy, Default)]
pub(super) struct Requests {
    pub(super) first: u64,
    pub(super) second: u64,
    pub(super) awaited: u64,
}

/// Reads an array three times through the cache of `locations`, which has not seen it before.
pub(super) fn compare(
    here: &Array,
    options: &OpenOptions,
    locations: &Locations,
    url: &str,
    runtime: &tokio::runtime::Runtime,
) -> Result<Requests, String> {
    let right = bytes(here.read().order(Layout::GlobalOrder).collect());
    let block = || -> Result<u64, String> {
        let array = options.clone().open_storage(locations.storage(url).map_err(said)?).map_err(said)?;
        if bytes(array.read().order(Layout::GlobalOrder).collect()) != right {
            return Err("the answers differ through a cache".to_owned());
        }
        Ok(array.stats().requests)
    };
    let (first, second) = (block()?, block()?);
    let storage = locations.awaited(url).map_err(said)?;
    let array = runtime.block_on(options.clone().open_async(storage)).map_err(said)?;
    if bytes(runtime.block_on(array.read().order(Layout::GlobalOrder).collect_async())) != right {
        return Err("the answers differ through a cache, awaited".to_owned());
    }
    let awaited = array.stats().requests;
    if second > first || awaited > first {
        return Err(format!("{first} requests at first, {second} then, {awaited} awaited"));
    }
    Ok(Requests { first, second, awaited })
}
