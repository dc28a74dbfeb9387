//! Copies: a release creates an array, `tdb copy` writes it in another version, and a release of
//! that version reads the copy.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tdb_array::schema::ArraySchema;
use tdb_array::{Array, OpenOptions};
use tdb_codec::FormatVersion;

use super::batch::{self, Batch, Good};
use super::bench::{Case, KEY};
use super::cells::FUTURE;
use super::judge::{Bench, Job, Tally};
use super::model::Act;
use super::{BATCH, Run};
use crate::conform::peers::Outcome;
use crate::peer::READER;

/// A copy to be created.
#[derive(Clone, Debug)]
struct Copy {
    number: usize,
    /// The array, in the version of the release that creates it.
    case: Case,
    source: String,
    target: FormatVersion,
}

/// The outcome of a copy.
enum Came {
    /// tdb reads other cells from the release's array than the model expects.
    Other(String),
    /// tdb refuses to copy it.
    Refused(String),
    Wrong(String),
    Copied(Vec<super::answers::Query>),
}

/// The copies of a run.
pub(super) fn run(run: &Run<'_>, tally: &mut Tally) -> Result<(), String> {
    let count = run.options.only.map_or(run.options.copies(), |only| only + 1);
    let mut copies = Vec::new();
    for number in run.options.numbers(count) {
        let copy = draw(run, number)?;
        let version = copy.case.made.schema.version.number();
        if run.options.has_version(version) {
            copies.push(copy);
        }
    }
    for copies in copies.chunks(BATCH) {
        batch_of(run, copies, tally)?;
    }
    Ok(())
}

/// The copy with this number: from each version to each version, in turn.
fn draw(run: &Run<'_>, number: usize) -> Result<Copy, String> {
    let versions = run.releases.versions();
    let at = |turn: usize| versions.get(turn % versions.len().max(1)).copied().unwrap_or(22);
    let format = |version| FormatVersion::parse(version).map_err(|error| error.to_string());
    let source = format(at(number))?;
    let target = format(at(number / versions.len().max(1) + number))?;
    let mut case = super::draw(source, run.options.seed ^ 0x0c09_1e50, number);
    // A copy contains the current state of the array, and begins a new history.
    case.acts.retain(|act| act.time().is_some_and(|time| time < FUTURE));
    // The random part of libtiledb's names decides which of two fragments with the same time is
    // newer.
    let mut times = HashSet::new();
    case.acts.retain(|act| !matches!(act, Act::Write(_)) || times.insert(act.time()));
    let releases = run.releases.of(source.number());
    let turn = (number / versions.len().max(1)) % releases.len().max(1);
    let source = releases.get(turn).copied().unwrap_or(READER).to_owned();
    Ok(Copy { number, case, source, target })
}

fn batch_of(run: &Run<'_>, copies: &[Copy], tally: &mut Tally) -> Result<(), String> {
    let folder = run.folder;
    batch::fresh(&folder.join("arrays"))?;
    batch::fresh(&folder.join("sources"))?;
    std::fs::write(folder.join("key"), KEY).map_err(|error| error.to_string())?;
    let again = |number: usize| {
        let version = copies.iter().find(|copy| copy.number == number);
        run.again("copies", version.map_or(0, |copy| copy.case.made.schema.version.number()), number)
    };
    let bench = Bench { releases: run.releases, script: run.script, folder, again: &again };
    let made = sources(run, copies, &bench, tally)?;
    let came = batch::each(made, &|copy: Copy| {
        let came = take(folder, &copy);
        (copy, came)
    })?;
    let mut others = Vec::new();
    let mut result = Batch::default();
    let (mut list, mut blob, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut targets: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
    for (copy, came) in came {
        let case = target_case(&copy);
        match came {
            Came::Other(why) => others.push((copy, why)),
            Came::Refused(why) => refused.push((copy, case, why)),
            Came::Wrong(why) => {
                let why = format!("copied to version {}: {why}", copy.target);
                tally.failed(&copy.case, copy.number, &why, &again(copy.number));
            }
            Came::Copied(queries) => {
                result.verified += 1;
                let version = copy.target.number();
                for reader in run.releases.readers(version, copy.number) {
                    targets.entry((version, reader.to_owned())).or_default().push(list.len());
                }
                list.push(without_schema(case.for_peer(copy.number, &queries, &mut blob)));
                let cells = super::answers::cells(&queries);
                result.good.push(Good { number: copy.number, case, cells });
            }
        }
    }
    let mut judges: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
    for (copy, case, why) in refused {
        let version = copy.target.number();
        let judge = if version == FormatVersion::CURRENT.number() {
            READER
        } else {
            run.releases.of(version).first().copied().unwrap_or(READER)
        };
        judges.entry((version, judge.to_owned())).or_default().push(list.len());
        let queries = case.by_model();
        list.push(without_schema(case.for_peer(copy.number, &queries, &mut blob)));
        result.refused.push((Good { number: copy.number, case, cells: 0 }, why));
    }
    batch::store(folder, list, blob)?;
    let jobs = |of: BTreeMap<(u32, String), Vec<usize>>| -> Vec<Job> {
        of.into_iter().map(|((version, reader), cases)| Job { version, reader, cases }).collect()
    };
    bench.read(&result, &jobs(targets), tally)?;
    bench.refusals(&result, &jobs(judges), tally)?;
    unread(run, others, &bench, tally)
}

/// Lets releases create the arrays to be copied; keeps those that were created.
fn sources(
    run: &Run<'_>,
    copies: &[Copy],
    bench: &Bench<'_>,
    tally: &mut Tally,
) -> Result<Vec<Copy>, String> {
    let mut by_release: BTreeMap<&str, Vec<&Copy>> = BTreeMap::new();
    for copy in copies {
        by_release.entry(&copy.source).or_default().push(copy);
    }
    let mut made = Vec::new();
    for (release, copies) in by_release {
        let list = listed(run.folder, release, &copies)?;
        let peer = bench.start(release, "write", &list, run.folder.join("sources"), copies.len())?;
        for (copy, answer) in copies.iter().zip(peer.finish()?) {
            if answer.outcome == Outcome::Equal {
                made.push((*copy).clone());
            } else {
                let version = copy.case.made.schema.version.number();
                let what = format!("copy {}, written by libtiledb {release}: {}", copy.number, answer.what);
                tally.own(version, release, what);
            }
        }
    }
    Ok(made)
}

/// Lists sources for their release.
fn listed(folder: &Path, release: &str, copies: &[&Copy]) -> Result<PathBuf, String> {
    let part = folder.join(format!("from-{release}"));
    let mut blob = Vec::new();
    let list = copies
        .iter()
        .map(|copy| without_schema(copy.case.for_peer(copy.number, &copy.case.by_model(), &mut blob)));
    let list = list.collect();
    batch::store(&part, list, blob)?;
    Ok(part)
}

/// Arrays that tdb reads differently from the model: the fault of the release, if the release reads
/// them in the same way.
fn unread(
    run: &Run<'_>,
    others: Vec<(Copy, String)>,
    bench: &Bench<'_>,
    tally: &mut Tally,
) -> Result<(), String> {
    for (copy, why) in others {
        let list = listed(run.folder, &copy.source, &[&copy])?;
        let sources = run.folder.join("sources");
        let read = bench.start(&copy.source, "read", &list, sources.clone(), 1)?.finish()?;
        let newest = bench.start(READER, "read", &list, sources, 1)?.finish()?;
        let version = copy.case.made.schema.version.number();
        let right = read.iter().chain(&newest).any(|answer| answer.outcome == Outcome::Equal);
        if right {
            let what = format!("written by libtiledb {}: {why}", copy.source);
            tally.failed(&copy.case, copy.number, &what, &(bench.again)(copy.number));
        } else {
            let said = read.first().map_or("", |answer| answer.what.as_str());
            tally.own(
                version,
                &copy.source,
                format!("copy {}: it reads its own array as {said}", copy.number),
            );
        }
    }
    Ok(())
}

/// The copy as a separate case.
fn target_case(copy: &Copy) -> Case {
    let mut case = copy.case.clone();
    case.made.schema.version = copy.target;
    case
}

/// Libraries create schemas of their own version, with filters that older versions do not have.
fn without_schema(mut case: Value) -> Value {
    case.as_object_mut().and_then(|case| case.insert("own".into(), true.into()));
    case
}

/// Reads the source, copies it, and reads the copy.
fn take(folder: &Path, copy: &Copy) -> Came {
    let number = copy.number.to_string();
    let (source, target) = (folder.join("sources").join(&number), folder.join("arrays").join(&number));
    if let Err(why) = copy.case.queries_now(&source) {
        return Came::Other(why);
    }
    let text = |path: &Path| path.display().to_string();
    let mut words = vec![
        "tdb".to_owned(),
        "copy".to_owned(),
        text(&source),
        text(&target),
        "--version".to_owned(),
        copy.target.to_string(),
    ];
    if copy.case.encrypted {
        for word in ["--source-key-file", "--key-file"] {
            words.extend([word.to_owned(), text(&folder.join("key"))]);
        }
    }
    let (mut out, mut said) = (Vec::new(), Vec::new());
    if tdb_cli::run(words, &mut out, &mut said) != 0 {
        return Came::Refused(String::from_utf8_lossy(&said).trim_end().to_owned());
    }
    let case = target_case(copy);
    let checked = case
        .verify(&target)
        .and_then(|()| same_schema(copy, &source, &target))
        .and_then(|()| case.queries_now(&target));
    match checked {
        Ok(queries) => Came::Copied(queries),
        Err(why) => Came::Wrong(why),
    }
}

/// Whether a copy in the current version has the schema of its source.
fn same_schema(copy: &Copy, source: &Path, target: &Path) -> Result<(), String> {
    if copy.target != FormatVersion::CURRENT {
        return Ok(());
    }
    let open = |path: &Path| -> Result<ArraySchema, String> {
        let options = OpenOptions::new();
        let options = match copy.case.key() {
            Some(key) => options.key(key),
            None => options,
        };
        let array: Array = options.open(path).map_err(|error| error.to_string())?;
        let mut schema = array.schema().clone();
        schema.version = copy.target;
        schema.enumerations.clear();
        schema.labels.iter_mut().for_each(|label| label.uri.clear());
        // The name that libtiledb 1.x stored for an attribute without a name.
        schema.attributes.iter_mut().filter(|own| own.name == "__attr").for_each(|own| own.name.clear());
        Ok(schema)
    };
    let (source, target) = (open(source)?, open(target)?);
    if source == target { Ok(()) } else { Err(format!("the schema is {target:?}, not {source:?}")) }
}
