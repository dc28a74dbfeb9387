//! Opening files of the local file system: regular files only, and never blocking.
//!
//! Opening a named pipe blocks until another process opens its other end, and opening a device may
//! have any effect. So the type of a path is checked before it is opened, and again once it is
//! open, because it may have been replaced in between. For the same reason the system is told not
//! to block, where the standard library has a way to do that.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file, or a symbolic link to one, for reading.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// The same, and what the system says of the file.
pub(super) fn open_described(path: &Path) -> io::Result<(File, Metadata)> {
    described(OpenOptions::new().read(true), path)
}

/// Opens a regular file, or a symbolic link to one. If the file does not exist, it is created if
/// the options ask for it.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    described(options, path).map(|(file, _)| file)
}

fn described(options: &mut OpenOptions, path: &Path) -> io::Result<(File, Metadata)> {
    match fs::metadata(path) {
        Ok(metadata) => regular(metadata.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = without_waiting(options).open(path)?;
    let metadata = file.metadata()?;
    regular(metadata.file_type())?;
    Ok((file, metadata))
}

/// Opens a folder, to lock it or to sync it.
#[cfg(unix)]
pub(super) fn open_folder(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let folder = without_waiting(OpenOptions::new().read(true)).open(path)?;
    if folder.metadata()?.is_dir() { Ok(folder) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// An error for anything that is not a regular file.
fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let (error, what) = match special(kind) {
        _ if kind.is_dir() => (io::ErrorKind::IsADirectory, "a folder"),
        Some(what) => (io::ErrorKind::InvalidInput, what),
        None => (io::ErrorKind::InvalidInput, "something else"),
    };
    Err(io::Error::new(error, format!("it is {what}, not a regular file")))
}

#[cfg(unix)]
fn special(kind: FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kinds = [
        (kind.is_fifo(), "a named pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
    ];
    kinds.into_iter().find(|(is, _)| *is).map(|(_, what)| what)
}

#[cfg(not(unix))]
fn special(_: FileType) -> Option<&'static str> {
    None
}

/// `O_NONBLOCK`. It has no effect on regular files and folders. The standard library does not
/// define it, and its value depends on the system. Where the value is not known here, opening can
/// still block if a path is replaced by a named pipe between the check and the opening.
#[cfg(unix)]
const NONBLOCK: i32 = if cfg!(all(
    any(target_os = "linux", target_os = "android"),
    not(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "mips32r6",
        target_arch = "mips64r6",
        target_arch = "sparc",
        target_arch = "sparc64"
    ))
)) {
    0o4000
} else if cfg!(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
)) {
    4
} else {
    0
};

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, NONBLOCK)
}

#[cfg(not(unix))]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
