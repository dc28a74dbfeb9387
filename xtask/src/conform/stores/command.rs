//! The command `tdb`, run with URLs.

use std::fs;
use std::path::Path;

use tdb_array::publish::MANIFEST;

use super::said;
use crate::servers::{Server, upload};

/// Runs every command on arrays of a server, and compares the output with that for a local copy.
pub(super) fn all(server: &Server, folder: &Path, root: &Path) -> Result<String, String> {
    let local = folder.join(format!("local-{}", server.url("").split(':').next().unwrap_or_default()));
    let tdb = Tdb { server, options: server.options(), local: &local };
    fs::create_dir_all(&local).map_err(said)?;
    let fixture = root.join("xtask/fixtures/arrays/2.30.0/quickstart");
    let fixture = fixture.to_str().ok_or("the repository's path is not UTF-8")?;
    let table = local.join("table.csv");
    fs::write(&table, "x,v\n1,2\n3,4\n").map_err(said)?;
    let table = table.to_str().ok_or("the path is not UTF-8")?.to_owned();

    tdb.both(&["copy", fixture, "@quickstart", "--time", "100"])?;
    tdb.both(&["read", "@quickstart"])?;
    tdb.both(&["read", "@quickstart", "--aggregate", "count, sum(a)", "--range", "rows=2:3"])?;
    tdb.both(&["verify", "@quickstart"])?;
    tdb.both(&["meta", "set", "@quickstart", "units", "kelvin", "--time", "110"])?;
    tdb.both(&["meta", "@quickstart"])?;
    tdb.both(&["copy", "@quickstart", "@again", "--time", "120"])?;
    tdb.both(&["read", "@again", "--format", "csv"])?;
    tdb.both(&["import", "@table", &table, "--dims", "x", "--time", "130"])?;
    tdb.both(&["import", "@table", &table, "--time", "140"])?;
    tdb.both(&["delete", "@table", "--where", "v = 4", "--dry-run"])?;
    tdb.there(&["delete", "@table", "--where", "v = 4"])?;
    tdb.here(&["delete", "@table", "--where", "v = 4"])?;
    tdb.both(&["read", "@table"])?;
    for command in ["evolve @table --add b:int32", "consolidate @table", "vacuum @table", "log @table"] {
        let words: Vec<&str> = command.split(' ').collect();
        tdb.there(&words)?;
        tdb.here(&words)?;
    }
    tdb.both(&["read", "@table", "--format", "json"])?;
    tdb.both(&["verify", "@quickstart"])?;
    let explained = tdb.there(&["explain", "@table", "--run"])?;
    if !explained.contains("requests") {
        return Err(format!("explain does not mention requests: {explained}"));
    }

    published(&tdb)?;
    through_a_cache(&tdb)?;
    tdb.there(&["group", "create", "@group"])?;
    let member = server.url("command/table");
    tdb.there(&["group", "add", "@group", &member, "--name", "T"])?;
    let shown = tdb.there(&["group", "@group", "--recursive"])?;
    if !(shown.contains('T') && shown.contains(&member) && shown.contains("array")) {
        return Err(format!("the group does not show its member: {shown}"));
    }

    let (storage, name) =
        (server.locations()?.storage(&server.url("command/dumped")).map_err(said)?, "__schema");
    upload(Path::new(fixture), &*storage)?;
    let schemas = storage.list(name).map_err(said)?;
    let schema = schemas.iter().find(|entry| !entry.is_folder).ok_or("there is no schema")?;
    let dumped = tdb.there(&["dump", &format!("@dumped/{name}/{}", schema.name)])?;
    if !dumped.contains("array schema") {
        return Err(format!("the schema is not explained: {dumped}"));
    }
    for wrong in ["@nothing", "s4://bucket/a"] {
        tdb.there(&["info", wrong]).err().ok_or_else(|| format!("info {wrong} succeeded"))?;
    }
    Ok("info, read, explain, dump, verify, publish, group, meta, log, copy, import, delete, evolve, consolidate, vacuum".to_owned())
}

/// An array that is published in its bucket is read by URL without credentials and without
/// listings, and so is what is written later. Azurite gives nothing without credentials: there,
/// only the manifest is looked for.
fn published(tdb: &Tdb<'_>) -> Result<(), String> {
    tdb.there(&["publish", "@again"])?;
    let place = tdb.server.locations()?.storage(&tdb.server.url("command/again")).map_err(said)?;
    let manifest = || place.read(MANIFEST).map_err(said);
    let first = manifest()?;
    for time in ["150", "160"] {
        if let Some(base) = tdb.server.public_url("command/again") {
            let read = |place: &str| run(&words(&["read", place, "--format", "csv"]));
            let (public, own) = (read(&base)?, tdb.there(&["read", "@again", "--format", "csv"])?);
            if public != own {
                return Err(format!("{base} holds {public}, and its bucket {own}"));
            }
            let meta = (run(&words(&["meta", &base]))?, tdb.there(&["meta", "@again"])?);
            if meta.0 != meta.1 {
                return Err(format!("{base} has the metadata {}, and its bucket {}", meta.0, meta.1));
            }
        }
        tdb.there(&["meta", "set", "@again", "published", time, "--time", time])?;
    }
    if manifest()? == first {
        return Err("later writes did not renew the manifest".to_owned());
    }
    Ok(())
}

/// A second process reads less from the store, a command that checks reads everything, and new
/// writes are visible.
fn through_a_cache(tdb: &Tdb<'_>) -> Result<(), String> {
    let folder = tdb.local.join("cache");
    let folder = folder.to_str().ok_or("the path is not UTF-8")?;
    let cached = |words: &[&str]| tdb.there(&[words, &["--cache", folder]].concat());
    let explain = || -> Result<[u64; 2], String> {
        let explained = cached(&["explain", "@quickstart", "--run", "--json", "--cache-tiles"])?;
        let explained: serde_json::Value = serde_json::from_str(&explained).map_err(said)?;
        let count = |name: &str| {
            explained
                .pointer(&format!("/run/{name}"))
                .and_then(serde_json::Value::as_u64)
                .ok_or_else(|| format!("no {name}: {explained}"))
        };
        Ok([count("requests")?, count("cache_hits")?])
    };
    let ([first, none], [second, hits]) = (explain()?, explain()?);
    if none != 0 || hits == 0 || first != second.saturating_add(hits) {
        return Err(format!("{first} requests and {none} hits at first, {second} and {hits} then"));
    }
    cached(&["verify", "@quickstart"])?;
    for (value, time) in [("kelvin", "110"), ("celsius", "150"), ("fahrenheit", "160")] {
        cached(&["meta", "set", "@quickstart", "units", value, "--time", time])?;
        let shown = cached(&["meta", "@quickstart"])?;
        if !shown.contains(value)
            || cached(&["read", "@quickstart"])? != tdb.here(&["read", "@quickstart"])?
        {
            return Err(format!("the cache shows old metadata or cells: {shown}"));
        }
    }
    Ok(())
}

struct Tdb<'a> {
    server: &'a Server,
    options: Vec<(&'static str, String)>,
    local: &'a Path,
}

impl Tdb<'_> {
    /// Runs the command on the server and in a local folder; both must print the same.
    fn both(&self, words: &[&str]) -> Result<(), String> {
        let (there, here) = (self.there(words)?, self.here(words)?);
        if there == here { Ok(()) } else { Err(format!("{words:?} prints {there} there, and here {here}")) }
    }

    /// Runs the command with URLs instead of arguments that begin with @.
    fn there(&self, words: &[&str]) -> Result<String, String> {
        let mut all = self.placed(words, &|name| self.server.url(&format!("command/{name}")));
        for (key, value) in &self.options {
            all.extend(["--store-option".to_owned(), format!("{key}={value}")]);
        }
        run(&all)
    }

    fn here(&self, words: &[&str]) -> Result<String, String> {
        run(&self.placed(words, &|name| self.local.join(name).display().to_string()))
    }

    fn placed(&self, words: &[&str], place: &dyn Fn(&str) -> String) -> Vec<String> {
        let word = |word: &&str| word.strip_prefix('@').map_or_else(|| (*word).to_owned(), place);
        std::iter::once("tdb".to_owned()).chain(words.iter().map(word)).collect()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    std::iter::once("tdb").chain(words.iter().copied()).map(str::to_owned).collect()
}

fn run(words: &[String]) -> Result<String, String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = tdb_cli::run(words, &mut out, &mut err);
    let err = String::from_utf8_lossy(&err).into_owned();
    if code == 0 { Ok(String::from_utf8_lossy(&out).into_owned()) } else { Err(format!("{words:?}: {err}")) }
}
