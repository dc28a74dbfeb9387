//! The published state of a storage: only the files listed in a manifest exist.

use core::fmt::{self, Debug};
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::{ByteRange, Entry, FetchHints, Manifest, Reply, Request, Storage, StoredFile, Tally};

/// A published state lists a file that is missing or has changed: the array was changed later by a
/// program that did not renew the manifest, or is being changed now. It is the cause of an
/// [`io::Error`] of the kind [`StaleNetworkFileHandle`](io::ErrorKind::StaleNetworkFileHandle).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedManifest {
    /// The file.
    pub key: String,
    /// When the state was published, in milliseconds since 1970.
    pub time: u64,
    /// The size according to the manifest, and the size of the file, in bytes; `None` if the file
    /// is gone.
    pub sizes: Option<(u64, u64)>,
}

impl fmt::Display for OutdatedManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, time, sizes } = self;
        write!(
            f,
            "the published state is older than the array: published at {time} (milliseconds since 1970), it lists {key}, "
        )?;
        match sizes {
            None => f.write_str("which is gone")?,
            Some((stated, found)) => write!(f, "which had {stated} bytes and now has {found}")?,
        }
        f.write_str("; read it again later, or publish the array again")
    }
}

impl core::error::Error for OutdatedManifest {}

impl From<OutdatedManifest> for io::Error {
    fn from(outdated: OutdatedManifest) -> Self {
        Self::new(io::ErrorKind::StaleNetworkFileHandle, outdated)
    }
}

impl OutdatedManifest {
    /// The outdated manifest that caused an error, wherever it is in the chain of causes.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// A copy of an error for another caller with the same request: of the same kind, with the same
/// text.
pub fn error_again(error: &io::Error) -> io::Error {
    OutdatedManifest::of(error)
        .map_or_else(|| io::Error::new(error.kind(), error.to_string()), |outdated| outdated.clone().into())
}

impl Manifest {
    /// The size of a file that must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`].
    pub fn known(&self, key: &str) -> io::Result<u64> {
        self.size(key).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The contents of a folder that must exist.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`].
    pub fn listed(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.list(folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Checks that a file has the same size as when it was published.
    ///
    /// # Errors
    /// [`OutdatedManifest`] if not.
    pub fn check_size(&self, key: &str, found: u64) -> io::Result<()> {
        match self.size(key) {
            Some(stated) if stated != found => Err(self.outdated(key, Some((stated, found))).into()),
            _ => Ok(()),
        }
    }

    /// The error of a request for a file: if the file is listed here but gone, an error that the
    /// state is outdated.
    #[must_use]
    pub fn explained(&self, key: &str, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::NotFound && self.size(key).is_some() {
            return self.outdated(key, None).into();
        }
        error
    }

    fn outdated(&self, key: &str, sizes: Option<(u64, u64)>) -> OutdatedManifest {
        OutdatedManifest { key: key.to_owned(), time: self.time(), sizes }
    }
}

/// A storage in the state recorded by a manifest: folders list what the manifest contains, and
/// files are read from the storage. The storage is never asked to list a folder, so it only needs
/// to read. Files that the manifest does not list do not exist.
#[derive(Clone, Debug)]
pub struct Published<S> {
    storage: S,
    manifest: Manifest,
}

impl<S: Storage> Published<S> {
    /// The files of `storage` that `manifest` lists.
    pub const fn new(storage: S, manifest: Manifest) -> Self {
        Self { storage, manifest }
    }

    /// The published state of a storage, according to the manifest stored in it.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if there is none; [`io::ErrorKind::InvalidData`] if it is
    /// damaged.
    pub fn open(storage: S) -> io::Result<Self> {
        let manifest = Manifest::parse(&storage.read(crate::MANIFEST)?)?;
        Ok(Self::new(storage, manifest))
    }

    /// The manifest.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn explained(&self, key: &str, error: io::Error) -> io::Error {
        self.manifest.explained(key, error)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Storage> Storage for Published<S> {
    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let storage: Arc<dyn Storage> = self.storage.with_tally(tally)?.into();
        Some(Box::new(Published::new(storage, self.manifest.clone())))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.manifest.listed(folder)
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        self.manifest.known(key)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let size = self.manifest.known(key)?;
        if max == 0 || size == 0 {
            return Ok((size, Bytes::new()));
        }
        let read = self.storage.read_tail(key, max).map_err(|error| self.explained(key, error))?;
        self.manifest.check_size(key, read.0)?;
        Ok(read)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.manifest.known(key)?;
        self.storage.read_into(key, offset, out).map_err(|error| self.explained(key, error))
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        self.manifest.known(key)?;
        self.storage.open(key).map_err(|error| self.explained(key, error))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        self.fetch(&requests).into_iter().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let is_read = |request: &&Request| {
            !matches!(request, Request::List(_)) && self.manifest.size(request.key()).is_some()
        };
        let reads: Vec<Request> = requests.iter().filter(is_read).cloned().collect();
        let mut replies = if reads.is_empty() { Vec::new() } else { self.storage.fetch(&reads) }.into_iter();
        let answer = |request: &Request| match request {
            Request::List(folder) => self.list(folder).map(Reply::Entries),
            request if !is_read(&request) => Err(io::ErrorKind::NotFound.into()),
            request => {
                let reply = replies.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
                let reply = reply.map_err(|error| self.explained(request.key(), error))?;
                if let Reply::Tail(size, _) = &reply {
                    self.manifest.check_size(request.key(), *size)?;
                }
                Ok(reply)
            }
        };
        requests.iter().map(answer).collect()
    }

    fn hints(&self) -> Option<FetchHints> {
        self.storage.hints()
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MANIFEST, MemoryStorage};

    /// Two files of which the manifest lists one, one that it lists but that is gone, and one that
    /// has grown since.
    fn published() -> Published<MemoryStorage> {
        let mut manifest = Manifest::new(77);
        manifest.add_file("a/x", 3).unwrap();
        manifest.add_file("a/gone", 4).unwrap();
        manifest.add_file("a/grown", 1).unwrap();
        let files = [("a/x", &b"abc"[..]), ("a/other", b"z"), ("a/grown", b"12")];
        let storage = MemoryStorage::new(files);
        storage.insert(MANIFEST, manifest.to_bytes());
        Published::open(storage).unwrap()
    }

    #[test]
    fn only_what_the_manifest_names_is_there() {
        let storage = published();
        let names: Vec<String> = storage.list("a").unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["gone", "grown", "x"]);
        assert_eq!(&storage.read("a/x").unwrap()[..], b"abc");
        assert_eq!(storage.read_tail("a/x", 2).unwrap(), (3, Bytes::from_static(b"bc")));
        for error in [storage.read("a/other").unwrap_err(), storage.list("b").unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
        let requests =
            [Request::List("a".to_owned()), Request::whole("a/other"), Request::range("a/x", 1..3)];
        let mut replies = storage.fetch(&requests).into_iter();
        assert_eq!(replies.next().unwrap().unwrap().into_entries().unwrap().len(), 3);
        assert_eq!(replies.next().unwrap().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(&replies.next().unwrap().unwrap().into_bytes().unwrap()[..], b"bc");
    }

    #[test]
    fn what_is_gone_or_has_changed_makes_the_state_outdated() {
        let storage = published();
        let mut out = [0; 1];
        let gone = OutdatedManifest { key: "a/gone".to_owned(), time: 77, sizes: None };
        for error in [
            storage.read("a/gone").unwrap_err(),
            storage.read_into("a/gone", 0, &mut out).unwrap_err(),
            storage.fetch(&[Request::range("a/gone", 0..1)]).remove(0).unwrap_err(),
        ] {
            assert_eq!(OutdatedManifest::of(&error), Some(&gone), "{error}");
            assert_eq!(error.kind(), io::ErrorKind::StaleNetworkFileHandle);
            assert_eq!(OutdatedManifest::of(&error_again(&error)), Some(&gone));
        }
        let grown = storage.read("a/grown").unwrap_err();
        assert_eq!(OutdatedManifest::of(&grown).unwrap().sizes, Some((1, 2)));
        assert!(grown.to_string().contains("the published state is older than the array"), "{grown}");
    }
}
