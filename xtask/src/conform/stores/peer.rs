//! libtiledb and tdb on the same server.

use std::path::Path;

use serde_json::Value;
use tdb_array::{Array, OpenOptions, TimeWindow};

use super::{bytes, said};
use crate::peer::{READER, libraries, python};
use crate::servers::Server;

/// Arrays that tdb copies to the server and libtiledb reads there.
const OURS: [&str; 5] = [
    "2.30.0/quickstart",
    "2.30.0/sparse2d_rr",
    "2.30.0/deletes",
    "2.30.0/evolved_enumeration",
    "1.6.3/base_sparse",
];

/// libtiledb reads what tdb wrote there, and tdb reads what libtiledb wrote.
pub(super) fn both_ways(server: &Server, folder: &Path, root: &Path) -> Result<String, String> {
    let found = libraries(root, &[READER.to_owned()])?;
    let library = found.get(READER).and_then(|path| path.to_str()).ok_or("there is no libtiledb")?;
    let config = format!(
        "vfs.s3.endpoint_override=127.0.0.1:{}",
        server.endpoint().rsplit(':').next().unwrap_or_default()
    );
    let peer = |words: &[&str]| {
        let first = ["--lib", library, "--config", &config];
        python(root, "stores_peer.py", &[&first, words].concat())
    };
    for id in OURS {
        let (near, name) = (folder.join(id), id.replace('/', "-"));
        let there = server.url(&format!("ours/{name}"));
        let source = root.join("xtask/fixtures/arrays").join(id);
        for target in [near.to_str().ok_or("the path is not UTF-8")?, &there] {
            copy(server, &source, target)?;
        }
        let (here, far) = (peer(&["--read", near.to_str().unwrap_or_default()])?, peer(&["--read", &there])?);
        if here != far {
            return Err(format!("{id}: libtiledb reads {far} there, and here {here}"));
        }
    }
    let locations = server.locations()?;
    let written: Vec<Value> =
        serde_json::from_str(&peer(&["--write", &server.url("theirs")])?).map_err(said)?;
    let here = folder.join("theirs");
    peer(&["--write", here.to_str().ok_or("the path is not UTF-8")?])?;
    for name in written.iter().filter_map(Value::as_str) {
        let options = || OpenOptions::new().window(TimeWindow::ALL);
        let near = options().open(here.join(name)).map_err(said)?;
        let storage = locations.storage(&server.url(&format!("theirs/{name}"))).map_err(said)?;
        let far = options().open_storage(storage).map_err(said)?;
        let read = |array: &Array| bytes(array.read().collect());
        if read(&near).is_none() || read(&near) != read(&far) {
            return Err(format!("{name}: tdb reads other cells there"));
        }
    }
    Ok(format!("it reads {} arrays that tdb wrote, and tdb {} that it wrote", OURS.len(), written.len()))
}

fn copy(server: &Server, source: &Path, target: &str) -> Result<(), String> {
    let mut words =
        vec!["tdb".to_owned(), "copy".to_owned(), source.display().to_string(), target.to_owned()];
    for (key, value) in server.options() {
        words.extend(["--store-option".to_owned(), format!("{key}={value}")]);
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    match tdb_cli::run(&words, &mut out, &mut err) {
        0 => Ok(()),
        _ => Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&err))),
    }
}
