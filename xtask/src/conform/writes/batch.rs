//! Cases on disk: written by tdb, listed for the peers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use super::answers;
use super::bench::{Case, Failed};

/// A case that is on disk.
#[derive(Debug)]
pub(super) struct Good {
    pub(super) number: usize,
    pub(super) case: Case,
    /// Number of cells of its queries.
    pub(super) cells: u64,
}

/// A batch that is on disk.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Cases that tdb created and reads correctly, in the order of the list for the peers.
    pub(super) good: Vec<Good>,
    /// Cases that tdb refuses to create, with the reason; they follow in the list.
    pub(super) refused: Vec<(Good, String)>,
    /// Number, case and error of those with a wrong outcome.
    pub(super) failures: Vec<(usize, Case, String)>,
    /// How many times an array was verified.
    pub(super) verified: usize,
}

/// Lets tdb process cases on two threads; the answers are in the order of the cases.
pub(super) fn each<T: Send, U: Send>(cases: Vec<T>, run: &(dyn Fn(T) -> U + Sync)) -> Result<Vec<U>, String> {
    let count = cases.len();
    let queue = Mutex::new(cases.into_iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((at, case)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let came = run(case);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, came));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().map_err(|_| "a thread died".to_owned())?;
    results.sort_by_key(|(at, _)| *at);
    if results.len() == count {
        Ok(results.into_iter().map(|(_, came)| came).collect())
    } else {
        Err("a thread died".into())
    }
}

/// Creates an empty folder.
pub(super) fn fresh(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

/// Lets tdb create the arrays of cases and read them, and lists them for the peers.
pub(super) fn write(folder: &Path, cases: Vec<(usize, Case)>) -> Result<Batch, String> {
    let arrays = folder.join("arrays");
    fresh(&arrays)?;
    let made = each(cases, &|(number, case): (usize, Case)| {
        let path = arrays.join(number.to_string());
        let came = case
            .write(&path)
            .and_then(|verified| Ok((verified, case.queries(&path).map_err(Failed::Wrong)?)));
        (number, case, came)
    })?;
    let mut batch = Batch::default();
    let (mut list, mut blob, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (number, case, came) in made {
        match came {
            Ok((verified, queries)) => {
                batch.verified += verified;
                list.push(case.for_peer(number, &queries, &mut blob));
                let cells = answers::cells(&queries);
                batch.good.push(Good { number, case, cells });
            }
            Err(Failed::Refused(why)) => refused.push((number, case, why)),
            Err(Failed::Wrong(why)) => batch.failures.push((number, case, why)),
        }
    }
    for (number, case, why) in refused {
        let queries = case.by_model();
        list.push(case.for_peer(number, &queries, &mut blob));
        let cells = answers::cells(&queries);
        batch.refused.push((Good { number, case, cells }, why));
    }
    store(folder, list, blob)?;
    Ok(batch)
}

/// Writes the list of cases and the file of their cells.
pub(super) fn store(folder: &Path, list: Vec<Value>, blob: Vec<u8>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(folder.join("cells"), blob).map_err(failed)?;
    fs::write(folder.join("cases.json"), Value::from(list).to_string()).map_err(failed)
}

/// A list of some of the cases, for one peer. For arrays of its `own`, only the cells are compared:
/// each library creates schemas of its own version.
pub(super) fn chosen(
    folder: &Path,
    name: &str,
    chosen: &[usize],
    own: bool,
    asked: &mut dyn FnMut(usize, &str) -> bool,
) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let part = folder.join(name);
    // The cells of the previous batch may be a link to the same file, and copying a file onto
    // itself empties it.
    fresh(&part)?;
    fresh(&part.join("arrays"))?;
    let list = fs::read(folder.join("cases.json")).map_err(failed)?;
    let list: Vec<Value> = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
    let list: Vec<Value> = chosen
        .iter()
        .filter_map(|at| Some((*at, list.get(*at).cloned()?)))
        .map(|(at, mut case)| {
            if let Some(queries) = case.get_mut("queries").and_then(Value::as_array_mut) {
                queries.retain(|query| {
                    let layout = query.get("layout").and_then(Value::as_str);
                    asked(at, layout.unwrap_or_default())
                });
            }
            if own {
                case.as_object_mut().and_then(|case| case.insert("own".into(), true.into()));
            }
            case
        })
        .collect();
    let list = serde_json::to_string(&list).map_err(|error| error.to_string())?;
    fs::write(part.join("cases.json"), list).map_err(failed)?;
    fs::hard_link(folder.join("cells"), part.join("cells"))
        .or_else(|_| fs::copy(folder.join("cells"), part.join("cells")).map(drop))
        .map_err(failed)?;
    Ok(part)
}
