//! The files of the viewer: the page of `crates/tdb-web/viewer`, with the npm package `tdb-arrays`
//! in a folder of it. Releases have them beside the program; `cargo xtask wasm` makes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use clap::Args as Group;

use crate::failure::{Failure, Result};
use crate::place::shown;

/// The page, which names the array that it shows in its first element.
const INDEX: &str = "index.html";
const ROOT: &str = "<html lang=\"en\"";
/// What reads the arrays.
const READER: &str = "tdb-arrays/index.js";
/// Where the files are, from the folder of the program: in an archive, and after an installation.
const BESIDE: [&str; 2] = ["viewer", "../share/tdb/viewer"];
/// The variable of the environment that names another folder.
const VARIABLE: &str = "TDB_VIEWER";

/// Where the files are.
#[derive(Debug, Group)]
pub(crate) struct ViewerArgs {
    /// Folder of the viewer's files. Also read from the environment: TDB_VIEWER. Default: the
    /// folder viewer beside the program.
    #[arg(long, value_name = "FOLDER")]
    viewer_files: Option<PathBuf>,
}

impl ViewerArgs {
    /// The viewer. Its page shows what is at a URL, which may be relative to the page, and calls it
    /// by a name.
    pub(crate) fn find(&self, url: &str, name: &str) -> Result<Viewer> {
        let named = self.viewer_files.clone().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
        Viewer::of(named.map_or_else(beside, Ok)?, url, name)
    }
}

/// The files of the viewer, and the array that its page shows.
#[derive(Debug)]
pub(crate) struct Viewer {
    folder: PathBuf,
    /// The files by their names in the folder, with the types that browsers want.
    files: BTreeMap<String, &'static str>,
    index: String,
}

impl Viewer {
    fn of(folder: PathBuf, url: &str, name: &str) -> Result<Self> {
        let failed = |error| Failure::at(&folder, error);
        let mut files = BTreeMap::new();
        list(&folder, "", &mut files).map_err(failed)?;
        for needed in [INDEX, READER] {
            if !files.contains_key(needed) {
                let what = format!("this is not the folder of the viewer: it has no {needed}");
                return Err(Failure::at(&folder, what));
            }
        }
        let page = fs::read_to_string(folder.join(INDEX)).map_err(failed)?;
        let (before, after) = page.split_once(ROOT).ok_or_else(|| {
            Failure::at(&folder.join(INDEX), format!("this is not the page of the viewer: it has no {ROOT}>"))
        })?;
        let (url, name) = (escaped(url), escaped(name));
        let index = format!("{before}{ROOT} data-url=\"{url}\" data-name=\"{name}\"{after}");
        Ok(Self { folder, files, index })
    }

    /// A file, and its type; `None` if there is no such file. The page has the empty name, too.
    pub(crate) fn file(&self, name: &str) -> Option<(io::Result<Bytes>, &'static str)> {
        let name = if name.is_empty() { INDEX } else { name };
        let kind = *self.files.get(name)?;
        if name == INDEX {
            return Some((Ok(Bytes::from(self.index.clone())), kind));
        }
        Some((fs::read(self.folder.join(name)).map(Bytes::from), kind))
    }

    /// Puts the files into a new folder, the page last: without it, nothing is shown.
    pub(crate) fn copy_to(&self, folder: &Path) -> Result {
        let failed = |error: io::Error| Failure::at(folder, error);
        fs::create_dir(folder).map_err(failed)?;
        let copied = self.copy_files(folder);
        if copied.is_err() {
            // The first error is the one to show.
            let _ = fs::remove_dir_all(folder);
        }
        copied.map_err(failed)
    }

    fn copy_files(&self, folder: &Path) -> io::Result<()> {
        for name in self.files.keys().filter(|name| *name != INDEX) {
            let to = folder.join(name);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(self.folder.join(name), to)?;
        }
        fs::write(folder.join(INDEX), &self.index)
    }
}

/// The folder of the viewer that came with the program.
fn beside() -> Result<PathBuf> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("the place of this program is not known: {error}")))?;
    let own = program.parent().unwrap_or(Path::new(""));
    let places = BESIDE.map(|place| own.join(place));
    let found = places.iter().find(|place| place.join(INDEX).is_file()).cloned();
    found.ok_or_else(|| {
        let places = places.map(|place| place.display().to_string()).join(" and ");
        Failure::Failed(format!(
            "the viewer's page is not beside this program (looked for {places}): releases of tdb have it as \
             a folder named viewer, which --viewer-files or {VARIABLE} can name"
        ))
    })
}

/// Lists the files that browsers load, by their names below `folder`, with their types. What a link
/// leads to is not taken.
fn list(folder: &Path, below: &str, files: &mut BTreeMap<String, &'static str>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let whole = format!("{below}{name}");
        if kind.is_dir() && below.is_empty() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else if let (true, Some(kind)) = (kind.is_file(), media_type(&name)) {
            files.insert(whole, kind);
        }
    }
    Ok(())
}

/// The type by which a browser takes a file for what it is; `None` for what it does not load.
fn media_type(name: &str) -> Option<&'static str> {
    Some(match Path::new(name).extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        _ => return None,
    })
}

/// A text as the value of an attribute of HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// What the page calls an array: the last part of its path.
pub(crate) fn name(object: &Path) -> String {
    let whole = shown(object);
    let real = object.canonicalize().ok();
    let real = real.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let last = real.or_else(|| whole.split(['/', '\\']).rfind(|part| !part.is_empty()));
    last.unwrap_or(&whole).to_owned()
}

/// The relative URL that leads from a page in one folder to another folder. Both are absolute, and
/// without links. `None` if they are on different disks, or a name is not text.
pub(crate) fn relative_url(from: &Path, to: &Path) -> Option<String> {
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    let mut is_same_disk = false;
    while let (Some(one), Some(other)) = (from.peek(), to.peek()) {
        if one != other {
            break;
        }
        is_same_disk |= matches!(one, Component::RootDir | Component::Prefix(_));
        from.next();
        to.next();
    }
    if !is_same_disk {
        return None;
    }
    let up = from.map(|_| Some("..".to_owned()));
    let down = to.map(|part| part.as_os_str().to_str().map(encoded));
    let parts: Option<Vec<String>> = up.chain(down).collect();
    parts.map(|parts| if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// A name as a part of a URL.
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_an_array_by_relative_steps() {
        let url = |from: &str, to: &str| relative_url(Path::new(from), Path::new(to));
        assert_eq!(url("/data/viewer", "/data/weather").as_deref(), Some("../weather"));
        assert_eq!(url("/data/a b", "/data/a b/c#d/é").as_deref(), Some("c%23d/%C3%A9"));
        assert_eq!(url("/pages/x/y", "/data").as_deref(), Some("../../../data"));
        assert_eq!(url("/data", "/data").as_deref(), Some("."));
        assert_eq!(url("data", "/data"), None);
    }

    #[test]
    fn names_do_not_end_the_attribute_that_they_are_in() {
        assert_eq!(escaped("a\"><script>&"), "a&quot;>&lt;script>&amp;");
    }
}
