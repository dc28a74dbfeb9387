//! A lease: the right to change what exists only once in an array.
//!
//! The lease is a file. It is created where there is none, and replaced by a process that knows its
//! version, as with `WriteStorage::swap_file`. It states who holds it and until when. Its holder
//! renews it while it works, and removes it at the end. If the holder dies, the lease expires, and
//! a waiting process takes it over by replacing exactly the version that it read, so that only one
//! of several succeeds.
//!
//! Whether a lease has expired is judged by the clock of the waiting process: if two clocks differ
//! by more than half a minute, a lease may be taken over that is still held. Its holder notices
//! this only when it renews the lease.
//!
//! It binds only those that use it: tdb's own evolutions, consolidations and vacuums. libtiledb has
//! no such lease, and a request that was sent before a lease expired may arrive afterwards.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use object_store::{ObjectStoreExt, PutMode, UpdateVersion};
use tdb_storage::StorageLock;
use tokio::sync::oneshot;

use crate::folder::Folder;
use crate::runtime::{start, wait};

/// The key of the lease in an array's folder: every libtiledb ignores names with this beginning.
const KEY: &str = ".tdb-lease";

/// How long a lease lasts if it is not renewed.
const LASTS: Duration = Duration::from_secs(30);
/// How often it is renewed.
const RENEWED: Duration = Duration::from_secs(8);
/// How often a waiting process checks the lease.
const LOOKED: Duration = Duration::from_millis(250);

/// Takes the lease, after waiting for it if another process holds it.
pub(crate) fn take(inner: Arc<Folder>) -> io::Result<StorageLock> {
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

/// Ends the lease when it is dropped, and waits until it is removed.
struct Held {
    ended: Option<oneshot::Sender<()>>,
    finished: std::sync::mpsc::Receiver<()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.ended.take());
        // If the store does not answer, the lease expires.
        let _ = self.finished.recv_timeout(LASTS);
    }
}

/// The content: who holds the lease, and until when, in milliseconds since 1970.
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

/// A unique name.
fn owner() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn put(inner: &Folder, owner: &str, mode: PutMode) -> io::Result<UpdateVersion> {
    inner.put(KEY, content(owner, until()), mode).await
}

/// Takes the lease as soon as it is free; `None` if the store does not support conditional puts.
async fn acquire(inner: &Folder, owner: &str) -> io::Result<Option<UpdateVersion>> {
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
                // Another process took it over first.
                Err(error) if is_lost(&error) => {}
                Err(error) => return Err(error),
            }
        }
        tokio::time::sleep(LOOKED).await;
    }
}

/// Whether a version was not replaced because another process replaced or removed it before.
fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// The version of an expired lease; `None` if there is none, or it has not expired.
async fn run_out(inner: &Folder) -> io::Result<Option<UpdateVersion>> {
    let (bytes, meta) = match inner.get(KEY).await {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let until = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    // A lease that cannot be parsed lasts as long as any other, counted from the time it was
    // written.
    let until = until.and_then(|value| value.get("until")?.as_u64()).unwrap_or_else(|| {
        let lasts = u64::try_from(LASTS.as_millis()).unwrap_or(u64::MAX);
        u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0).saturating_add(lasts)
    });
    Ok((until < now()).then_some(UpdateVersion { e_tag: meta.e_tag, version: meta.version }))
}

/// Renews the lease until its holder is done, then removes it.
async fn keep(inner: &Folder, owner: &str, mut version: UpdateVersion, mut end: oneshot::Receiver<()>) {
    // Until the holder reports that the work is done, or drops the lock.
    while tokio::time::timeout(RENEWED, &mut end).await.is_err() {
        match put(inner, owner, PutMode::Update(version.clone())).await {
            Ok(renewed) => version = renewed,
            // Another process has taken it over, or it is gone: it must not be removed any more.
            Err(error) if is_lost(&error) => return,
            // The next round tries again.
            Err(_) => {}
        }
    }
    // Remove only our own lease: the time between this check and the removal is shorter than a
    // lease lasts.
    let Ok(path) = inner.path(KEY) else { return };
    if let Ok(found) = inner.store.head(&path).await
        && found.e_tag == version.e_tag
    {
        let _ = inner.store.delete(&path).await;
    }
}
