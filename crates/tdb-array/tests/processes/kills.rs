//! A process that changes an array is killed, again and again. What it reported as done is there;
//! of the change in progress, all or nothing is there.
//! `TDB_KILLS=200 cargo test -p tdb-array --test processes kills` kills more often.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, io};

use tdb_array::maintain::{Stored, verify};
use tdb_array::storage::LocalStorage;
use tdb_array::{TimeWindow, WriteOptions};

use crate::model::{Change, FIRST, Model, added, cells, change, metadata, schema};
use crate::{Random, Scratch, number, start};

/// Number of changes of an array, before another one begins.
const CHANGES: usize = 16;

/// The `index`-th change of an array.
fn drawn(seed: u64, index: usize) -> Change {
    let random = &mut Random(seed << 32 | index as u64);
    let kind = [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits, Stored::Metadata];
    let kind = kind[usize::try_from(random.below(4)).unwrap()];
    let signed = |value: u64| i32::try_from(value).unwrap() - 40;
    match random.below(20) {
        0..=6 => {
            let count = 1 + random.below(12);
            let cell = |random: &mut Random| {
                let (x, y) = (random.below(10), random.below(4));
                ((i32::try_from(x).unwrap(), u8::try_from(y).unwrap()), signed(random.below(80)))
            };
            Change::Write((0..count).map(|_| cell(random)).collect::<BTreeMap<_, _>>())
        }
        7 | 8 => Change::Delete(signed(random.below(80))),
        9 => Change::Evolve,
        10 | 11 => Change::Metadata(
            u8::try_from(random.below(3)).unwrap(),
            (random.below(3) > 0).then(|| signed(random.below(80))),
        ),
        12..=14 => Change::Consolidate(kind),
        15 => Change::ConsolidateFew(3),
        16..=18 => Change::Vacuum(kind),
        _ => Change::VacuumOrphans,
    }
}

fn time(index: usize) -> u64 {
    FIRST + 2 + 2 * index as u64
}

/// The journal of the process: what it is doing, one line each.
fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}

fn say(folder: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(journal(folder))?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// The process that is killed: it changes the array, starting at some change, and reports this.
#[test]
fn child() {
    let Ok(folder) = env::var("TDB_KILL_FOLDER") else { return };
    let folder = PathBuf::from(folder);
    let (seed, from) = (number("TDB_KILL_SEED", 0), number("TDB_KILL_FROM", 0));
    let storage = LocalStorage::new(folder.join("array"));
    for index in usize::try_from(from).unwrap()..CHANGES {
        say(&folder, &format!("begin {index}")).unwrap();
        change(storage.clone(), time(index), &drawn(seed, index)).unwrap();
        say(&folder, &format!("done {index}")).unwrap();
    }
}

/// The numbers of the last change that was begun and of the last one that was done.
fn read_journal(folder: &Path) -> (Option<usize>, Option<usize>) {
    let text = fs::read_to_string(journal(folder)).unwrap_or_default();
    let last = |word: &str| {
        let mut lines = text.lines().rev();
        lines.find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
    };
    (last("begin"), last("done"))
}

/// Whether the array is as in the model, in every window, and has evolved as often.
fn is(storage: &LocalStorage, model: &Model, last: u64) -> bool {
    let windows = (FIRST..=last)
        .step_by(3)
        .chain([last, u64::MAX])
        .flat_map(|end| [0, FIRST + 7, FIRST + 20].map(|start| TimeWindow::between(start, end.max(start))));
    added(storage) == model.added()
        && windows.into_iter().all(|window| {
            cells(storage, window) == model.cells(window)
                && metadata(storage, window.end) == model.metadata(window.end)
        })
}

/// Copies the array for a later check (`cargo xtask conform crashes`).
fn keep(array: &Path, kill: u64) {
    let Some(folder) = env::var_os("TDB_KEEP") else { return };
    copy(array, &PathBuf::from(folder).join(format!("kill{kill:04}/array")));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_process_that_is_killed_anywhere_leaves_the_old_state_or_the_new() {
    let (wanted, seed) = (number("TDB_KILLS", 20), number("TDB_SEED", 1));
    let scratch = Scratch::new("kills");
    let random = &mut Random(seed);
    let (mut kills, mut within, mut undone) = (0, 0, 0);
    let mut array = 0;
    while kills < wanted {
        array += 1;
        let folder = scratch.0.join(array.to_string());
        let storage = LocalStorage::new(folder.join("array"));
        fs::create_dir_all(&folder).unwrap();
        let duplicates = array % 2 == 0;
        WriteOptions::new().timestamp(FIRST).create_storage(&storage, &schema(duplicates)).unwrap();
        let own = seed.wrapping_mul(1000) + array;
        let mut model = Model::new(duplicates);
        let mut next = 0;
        while next < CHANGES && kills < wanted {
            let words = [
                ("FOLDER", folder.display().to_string()),
                ("SEED", own.to_string()),
                ("FROM", next.to_string()),
            ];
            let words = words.map(|(name, value)| (format!("TDB_KILL_{name}"), value));
            let mut child =
                start("kills::child", &words.each_ref().map(|(name, value)| (name.as_str(), value.clone())));
            // After it has begun, it is killed at some random time.
            let deadline = Instant::now() + Duration::from_secs(60);
            while read_journal(&folder).0.is_none_or(|begun| begun < next) {
                assert!(
                    Instant::now() < deadline && child.try_wait().unwrap().is_none(),
                    "the child does nothing"
                );
                sleep(Duration::from_micros(200));
            }
            sleep(Duration::from_micros(random.below(60_000)));
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            assert!(ended.is_none_or(|status| status.success()), "array {array}: the child failed");
            child.wait().unwrap();
            // A child that ended by itself was not killed, and its number would be that of another
            // array.
            if ended.is_none() {
                kills += 1;
                keep(&folder.join("array"), kills);
            }
            let (begun, done) = read_journal(&folder);
            let begun = begun.unwrap();
            while next < begun + usize::from(done == Some(begun)) {
                model.apply(time(next), &drawn(own, next));
                next += 1;
            }
            let what = format!("array {array}, killed in change {begun}: {:?}", drawn(own, begun));
            let found = verify(storage.clone());
            assert!(found.is_clean(), "{what}: {:?} in {}", found.problems, folder.display());
            if done == Some(begun) {
                assert!(is(&storage, &model, time(begun) + 1), "{what}, after it, in {}", folder.display());
                continue;
            }
            within += 1;
            let mut after = model.clone();
            after.apply(time(begun), &drawn(own, begun));
            if is(&storage, &after, time(begun) + 1) {
                model = after;
                next = begun + 1;
            } else {
                assert!(
                    is(&storage, &model, time(begun) + 1),
                    "{what}: neither old nor new, in {}",
                    folder.display()
                );
                undone += 1;
            }
        }
    }
    println!(
        "{kills} kills of {array} arrays, {within} within a change, of which {undone} left the old state"
    );
    assert!(within * 4 > kills, "{within} of {kills} kills were within a change");
}
