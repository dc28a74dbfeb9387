//! The viewer: put together as releases have it, and tested in Chromium over made arrays, over
//! stored ones, and as `tdb view` shows them.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::{Browser, copy, node};
use crate::peer;

/// The page.
const SOURCE: &str = "crates/tdb-web/viewer";
/// What reads the arrays, in the folder of the page.
const READER: &str = "tdb-arrays";

/// The tests: of its parts, of the page over made arrays and over stored ones, and of `tdb view`.
const PARTS: &str = "crates/tdb-web/viewer/test/units.mjs";
const PAGE: &str = "crates/tdb-web/viewer/test/viewer.mjs";
const STORED: &str = "crates/tdb-web/viewer/test/real.mjs";
const VIEW: &str = "crates/tdb-web/viewer/test/view.mjs";

/// The fixtures that are looked at.
const FIXTURES: [&str; 8] = [
    "sql_grid",
    "sql_trips",
    "sql_stations",
    "sparse2d_rr",
    "enumeration",
    "encrypted_dense",
    "group_nested",
    "filter_checksum_sha256",
];
/// Where they are.
const ARRAYS: &str = "xtask/fixtures/arrays/2.30.0";

/// Puts the viewer together: the files that browsers load, and the package in a folder of it.
pub(super) fn gather(root: &Path, package: &Path, viewer: &Path) -> Result<(), String> {
    if viewer.exists() {
        fs::remove_dir_all(viewer).map_err(|error| format!("{}: {error}", viewer.display()))?;
    }
    loaded(&root.join(SOURCE), viewer)?;
    loaded(package, &viewer.join(READER))
}

/// Copies the files of a folder that browsers load.
fn loaded(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if let (Some("html" | "css" | "js" | "svg" | "wasm"), Some(name)) = (ending, path.file_name()) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Runs the tests; those in Chromium if it is here.
pub(super) fn test(
    root: &Path,
    package: &Path,
    viewer: &Path,
    target: &Path,
    browser: &Result<Browser, String>,
) -> Result<(), String> {
    node(root, PARTS, &[])?;
    let Ok(browser) = browser else { return Ok(()) };
    node(root, PAGE, &[&browser.packages])?;
    let arrays = target.join("npm/arrays");
    let _ = fs::remove_dir_all(&arrays);
    for name in FIXTURES {
        let array = arrays.join(name);
        peer::copy_folder(&root.join(ARRAYS).join(name), &array)?;
        command(&["publish".into(), "--recursive".into(), array.into_os_string()])?;
    }
    node(root, STORED, &[&browser.packages, package, &arrays])?;
    let addresses: Result<Vec<String>, String> =
        FIXTURES.iter().map(|name| view(&arrays.join(name), viewer)).collect();
    let addresses = addresses?;
    let mut arguments: Vec<&Path> = vec![&browser.packages];
    arguments.extend(addresses.iter().map(Path::new));
    node(root, VIEW, &arguments)?;
    fs::remove_dir_all(&arrays).map_err(|error| format!("{}: {error}", arrays.display()))
}

/// Runs the command.
fn command(words: &[OsString]) -> Result<(), String> {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let words = std::iter::once("tdb".into()).chain(words.iter().cloned());
    match tdb_cli::run::<OsString>(words, &mut out, &mut errors) {
        0 => Ok(()),
        _ => Err(format!("tdb: {}", String::from_utf8_lossy(&errors).trim())),
    }
}

/// Begins `tdb view` in a thread, which ends with this program, and returns the address that it
/// prints.
fn view(array: &Path, viewer: &Path) -> Result<String, String> {
    let (sender, printed): (Sender<u8>, Receiver<u8>) = channel();
    let words: Vec<OsString> = vec![
        "tdb".into(),
        "view".into(),
        array.into(),
        "--no-browser".into(),
        "--viewer-files".into(),
        viewer.into(),
    ];
    thread::spawn(move || {
        let mut errors = Vec::new();
        tdb_cli::run::<OsString>(words, &mut Sent(sender), &mut errors);
        eprintln!("tdb view: {}", String::from_utf8_lossy(&errors).trim());
    });
    let mut text = Vec::new();
    loop {
        let byte = printed.recv_timeout(Duration::from_secs(60));
        text.push(byte.map_err(|_| format!("tdb view {} printed no address", array.display()))?);
        let text = String::from_utf8_lossy(&text);
        if let Some(address) = text.strip_suffix('\n').and_then(|text| text.split_once("\nviewer: ")) {
            return Ok(address.1.to_owned());
        }
    }
}

/// What is written goes to whoever waits for it.
struct Sent(Sender<u8>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0.send(*byte).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
