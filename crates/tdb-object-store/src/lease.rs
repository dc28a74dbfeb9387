//! A lease: who may change what there is once in an array.
//!
//! The lease is a file that is made where there is none, and replaced by who knows its version, as `WriteStorage::swap_file` does
//! it. It says who holds it and until when; its
//! holder renews it while it works, and removes it in the end. Where a holder died, the lease runs out, and whoever waits takes
//! it over by replacing exactly the version it saw, so that of several only one does.
//!
//! Whether a lease ran out is judged by the clock of whoever waits: clocks that are further apart than half a minute may take a
//! lease over that is still held. Its holder notices when it renews it, and not before.
//!
//! It binds those who ask for it: tdb's own evolutions, consolidations and vacuums. libtiledb knows no such thing, and a request
//! that was sent before a lease ran out may arrive after.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use object_store::{ObjectStoreExt, PutMode, UpdateVersion};
use tdb_storage::storage::StorageLock;
use tokio::sync::oneshot;

use crate::runtime::{start, wait};
use crate::store::Inner;

/// The key of the lease in an array's folder: every libtiledb looks past names that begin so.
const KEY: &str = ".tdb-lease";

/// How long a lease lasts that nobody renews.
const LASTS: Duration = Duration::from_secs(30);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(8);
/// How often somebody who waits looks again.
const LOOKED: Duration = Duration::from_millis(250);

/// Takes the lease, and waits for it if another has it.
pub(crate) fn take(inner: Arc<Inner>) -> io::Result<StorageLock> {
    let owner = owner()?;
    let (of, by) = (inner.clone(), owner.clone());
    let Some(version) = wait(async move { acquire(&of, &by).await })? else { return Ok(StorageLock::none()) };
    let (ended, end) = oneshot::channel();
    let (done, finished) = std::sync::mpsc::sync_channel(1);
    start(async move {
        keep(&inner, &owner, version, end).await;
        let _ = done.send(());
    })?;
    Ok(StorageLock::new(Held { ended: Some(ended), finished }))
}

/// Ends the lease when it is dropped, and waits until it is gone.
struct Held {
    ended: Option<oneshot::Sender<()>>,
    finished: std::sync::mpsc::Receiver<()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.ended.take());
        // A store that does not answer lets the lease run out.
        let _ = self.finished.recv_timeout(LASTS);
    }
}

/// Who holds a lease, and until when, in milliseconds since 1970.
fn content(owner: &str, until: u64) -> Vec<u8> {
    serde_json::json!({ "owner": owner, "until": until }).to_string().into_bytes()
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn until() -> u64 {
    now().saturating_add(u64::try_from(LASTS.as_millis()).unwrap_or(u64::MAX))
}

/// A name that nobody else has.
fn owner() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn put(inner: &Inner, owner: &str, mode: PutMode) -> io::Result<UpdateVersion> {
    inner.put(KEY, content(owner, until()), mode).await
}

/// Takes the lease as soon as it is free; `None` if the store cannot put on a condition.
async fn acquire(inner: &Inner, owner: &str) -> io::Result<Option<UpdateVersion>> {
    loop {
        match put(inner, owner, PutMode::Create).await {
            Ok(version) => return Ok(Some(version)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        if let Some(seen) = run_out(inner).await? {
            match put(inner, owner, PutMode::Update(seen)).await {
                Ok(version) => return Ok(Some(version)),
                // Another took it over first.
                Err(error) if is_lost(&error) => {}
                Err(error) => return Err(error),
            }
        }
        tokio::time::sleep(LOOKED).await;
    }
}

/// Whether a version was not replaced because another did so before, or removed it.
fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// The version of a lease that ran out; `None` if there is none, or it still holds.
async fn run_out(inner: &Inner) -> io::Result<Option<UpdateVersion>> {
    let (bytes, meta) = match inner.get(KEY).await {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let until = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    // A lease that nobody can read holds as long as any other, from when it was written.
    let until = until.and_then(|value| value.get("until")?.as_u64()).unwrap_or_else(|| {
        let lasts = u64::try_from(LASTS.as_millis()).unwrap_or(u64::MAX);
        u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0).saturating_add(lasts)
    });
    Ok((until < now()).then_some(UpdateVersion { e_tag: meta.e_tag, version: meta.version }))
}

/// Renews the lease until its holder is done, and removes it then.
async fn keep(inner: &Inner, owner: &str, mut version: UpdateVersion, mut end: oneshot::Receiver<()>) {
    // As long as nobody says that the work is done, or drops the lock.
    while tokio::time::timeout(RENEWED, &mut end).await.is_err() {
        match put(inner, owner, PutMode::Update(version.clone())).await {
            Ok(renewed) => version = renewed,
            // Taken over by another, or gone: it is not ours to remove any more.
            Err(error) if is_lost(&error) => return,
            // The next turn tries again.
            Err(_) => {}
        }
    }
    // Only our own: the moment between the look and the removal is shorter than a lease lasts.
    let Ok(path) = inner.path(KEY) else { return };
    if let Ok(found) = inner.store.head(&path).await
        && found.e_tag == version.e_tag
    {
        let _ = inner.store.delete(&path).await;
    }
}
