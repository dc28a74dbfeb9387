//! The limits of uploads: time, and room on the way.
//!
//! A request has a time limit, which includes its body. Clients allow 30 seconds, after which a
//! read that hangs is made again. An upload through a slow connection takes longer without hanging:
//! if all files of a fragment are sent at once, each of them gets a share of the connection. So
//! uploads have a client with a longer limit, and few bytes are on the way at once.

use std::io;
use std::sync::{Arc, OnceLock};

use object_store::ObjectStore;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::io_error;

/// The time limit of an upload. What [`ROOM`] lets be sent at once takes so long at 1 Mbit/s.
pub(crate) const TIMEOUT: &str = "20 minutes";

/// Bytes of a unit of room.
const UNIT: usize = 1 << 20;

/// Units of room: eight parts of large files, or many small files.
const ROOM: usize = 128;

/// A sender takes permits for as many units. Uploads run on a runtime that never stops, so each
/// permit comes back.
static FREE: Semaphore = Semaphore::const_new(ROOM);

type Store = Arc<dyn ObjectStore>;

/// Opens a client.
type Open = Box<dyn Fn() -> object_store::Result<Store> + Send + Sync>;

/// The client for uploads of a store. It is opened when it is first needed: readers need none.
#[derive(Clone, Default)]
pub(crate) struct Uploads(Option<Arc<Lazy>>);

struct Lazy {
    open: Open,
    client: OnceLock<Store>,
}

impl Uploads {
    /// Uploads with a client of their own.
    pub(crate) fn new(open: Open) -> Self {
        Self(Some(Arc::new(Lazy { open, client: OnceLock::new() })))
    }

    /// The client; without one of their own, uploads use the store.
    pub(crate) fn client(&self, store: &Store) -> io::Result<Store> {
        let Some(lazy) = &self.0 else { return Ok(store.clone()) };
        if let Some(client) = lazy.client.get() {
            return Ok(client.clone());
        }
        let client = (lazy.open)().map_err(io_error)?;
        Ok(lazy.client.get_or_init(|| client).clone())
    }

    /// The client for a put, with room for its bytes if it is large.
    pub(crate) async fn of_put(
        &self,
        store: &Store,
        large: Option<usize>,
    ) -> io::Result<(Store, Option<SemaphorePermit<'static>>)> {
        let Some(bytes) = large else { return Ok((store.clone(), None)) };
        Ok((self.client(store)?, Some(room(bytes).await?)))
    }
}

/// Waits until so many bytes may be sent.
pub(crate) async fn room(bytes: usize) -> io::Result<SemaphorePermit<'static>> {
    let units = u32::try_from(bytes.div_ceil(UNIT).clamp(1, ROOM)).unwrap_or(1);
    // The semaphore is never closed.
    FREE.acquire_many(units).await.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use object_store::memory::InMemory;
    use tdb_storage::{Durability, Storage, WriteStorage};

    use super::*;
    use crate::runtime::wait;
    use crate::store::ObjectStorage;

    #[test]
    fn a_file_is_sent_when_there_is_room_for_it() {
        let storage = ObjectStorage::new(Arc::new(InMemory::new()), "").unwrap();
        let held = wait(async { room(ROOM * UNIT).await }).unwrap();
        let mut file = storage.create_file("a").unwrap();
        file.append(b"abc").unwrap();
        file.end();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(storage.size("a").unwrap_err().kind(), io::ErrorKind::NotFound);
        drop(held);
        file.finish(Durability::Synced).unwrap();
        assert_eq!(storage.size("a").unwrap(), 3);
    }

    #[test]
    fn uploads_have_a_client_of_their_own_which_is_opened_once() {
        let store: Store = Arc::new(InMemory::new());
        assert!(Arc::ptr_eq(&Uploads::default().client(&store).unwrap(), &store));
        let uploads = Uploads::new(Box::new(|| Ok(Arc::new(InMemory::new()))));
        let [first, second] = [&uploads, &uploads.clone()].map(|uploads| uploads.client(&store).unwrap());
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &store));
    }
}
