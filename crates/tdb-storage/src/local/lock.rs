//! The lock of an array's folder.

use std::fs::{File, OpenOptions};
use std::io;

use super::{LocalStorage, StorageLock, TEMPORARY, opening};

/// Waits for the lock of an open file or folder. Some network file systems have none.
fn locked(file: File) -> io::Result<StorageLock> {
    match file.lock() {
        Ok(()) => Ok(StorageLock::new(file)),
        Err(error) if error.kind() == io::ErrorKind::Unsupported || has_no_locks(&error) => {
            Ok(StorageLock::none())
        }
        Err(error) => Err(error),
    }
}

/// Whether a file system says that it has no locks: NFS does where the server's lock service does
/// not answer.
#[cfg(unix)]
fn has_no_locks(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error())
}

/// Whether a file system says that it has no locks.
#[cfg(not(unix))]
const fn has_no_locks(_: &io::Error) -> bool {
    false
}

impl LocalStorage {
    /// Waits for the lock of the array.
    #[cfg(unix)]
    pub(super) fn locked(&self) -> io::Result<StorageLock> {
        let folder = opening::open_folder(&self.root)?;
        let is_shared = is_shared(&folder);
        let lock = locked(folder)?;
        if is_shared { self.also_locked_by_file(lock) } else { Ok(lock) }
    }

    /// Waits for the lock of the array. Folders cannot be opened here.
    #[cfg(not(unix))]
    pub(super) fn locked(&self) -> io::Result<StorageLock> {
        self.locked_by_file()
    }

    /// A lock that is known to the server of a file system too. Without that one, the lock of the
    /// folder excludes nobody on other machines, and so counts as none.
    #[cfg(unix)]
    fn also_locked_by_file(&self, folder: StorageLock) -> io::Result<StorageLock> {
        let file = self.locked_by_file()?;
        Ok(if file.is_none() { file } else { StorageLock::new((file, folder)) })
    }

    /// Waits for the lock of a file in the array's folder. The lock ends with its process, and the
    /// empty file stays.
    fn locked_by_file(&self) -> io::Result<StorageLock> {
        let path = self.path(&format!("{TEMPORARY}.lock"));
        locked(opening::open(OpenOptions::new().write(true).create(true).truncate(false), &path)?)
    }
}

/// The numbers by which Linux knows file systems that other machines may share, and whose folders
/// it locks for itself alone: NFS, SMB (two), AFS, 9P, FUSE, Lustre, GPFS, BeeGFS.
#[cfg(target_os = "linux")]
const SHARED: [u32; 9] = [
    0x6969,
    0xff53_4d42,
    0xfe53_4d42,
    0x5346_414f,
    0x0102_1997,
    0x6573_5546,
    0x0bd0_0bd0,
    0x4750_4653,
    0x1983_0326,
];

/// Whether locks of this folder stay on this machine, while others may see its files.
#[cfg(target_os = "linux")]
fn is_shared(folder: &File) -> bool {
    let Ok(system) = rustix::fs::fstatfs(folder) else { return false };
    // The number has four bytes, whatever the width and the sign of the field are.
    system
        .f_type
        .to_le_bytes()
        .first_chunk()
        .is_some_and(|bytes| SHARED.contains(&u32::from_le_bytes(*bytes)))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_shared(_: &File) -> bool {
    false
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::WriteStorage;

    #[test]
    fn where_locks_of_folders_stay_on_their_machine_a_file_is_locked_too() {
        let folder = std::env::temp_dir().join(format!("tdb-locks-{}", std::process::id()));
        let storage = LocalStorage::new(&folder);
        storage.create_folder("").unwrap();
        drop(storage.lock().unwrap());
        let file = folder.join(format!("{TEMPORARY}.lock"));
        assert!(is_shared(&opening::open_folder(&folder).unwrap()) || !file.exists());

        // Another machine knows nothing of the lock of the folder.
        let held = storage.also_locked_by_file(StorageLock::new(())).unwrap();
        assert!(file.exists() && !held.is_none());
        let (sender, receiver) = mpsc::channel();
        let other = storage.clone();
        let waiting = thread::spawn(move || {
            let lock = other.also_locked_by_file(StorageLock::new(())).unwrap();
            sender.send(()).unwrap();
            lock
        });
        assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
        drop(held);
        receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(waiting.join().unwrap());
        storage.remove_folder("").unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn folders_of_the_kernels_own_file_systems_are_not_shared() {
        assert!(!is_shared(&opening::open_folder("/proc".as_ref()).unwrap()));
    }
}
