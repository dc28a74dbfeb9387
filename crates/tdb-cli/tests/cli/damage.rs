//! Damaged files: whatever is in them, each command ends, with exit code 0, 1 or 2, and says what
//! is wrong.
//!
//! `TDB_DAMAGE=1000 cargo test --release -p tdb-cli --test cli damage -- --nocapture` damages so
//! many copies of fixtures; `TDB_DAMAGE_FROM` is the number of the first.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tdb_codec::{Budget, FormatVersion, Limits};
use tdb_tile::GenericTile;

use crate::common::{Scratch, manifest, objects, tdb, text};

/// Copies of fixtures that are damaged, unless `TDB_DAMAGE` says otherwise.
const USUAL: u64 = 24;
/// Fixtures of more bytes are left out: debug builds take long to read them.
const LARGEST: u64 = 60_000;
/// Numbers that counts, sizes and offsets are replaced by.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    0x7f,
    0xff,
    0xffff,
    0x0100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 33,
    1 << 40,
    1 << 62,
    1 << 63,
    u64::MAX,
];

#[test]
fn no_command_panics_or_ends_otherwise_than_said_on_damaged_files() {
    let number = |name: &str| std::env::var(name).ok().and_then(|word| word.parse::<u64>().ok());
    let (first, count) = (number("TDB_DAMAGE_FROM").unwrap_or(0), number("TDB_DAMAGE").unwrap_or(USUAL));
    let mut all = manifest();
    all.extend(objects("group"));
    all.retain(|entry| entry["bytes"].as_u64().is_none_or(|bytes| bytes < LARGEST));
    let (mut damaged, mut noticed) = (0, 0);
    for case in first..first + count {
        let random = &mut Random(case);
        let entry = random.pick(&all).unwrap();
        let id = entry["id"].as_str().unwrap();
        let scratch = Scratch::copy_of(id);
        let Some((file, what)) = damage(random, scratch.path()) else { continue };
        // Where a command panics, the last line says on which file.
        println!("case {case}: {id}: {what}");
        damaged += 1;
        noticed += u64::from(run_all(scratch.path(), &file, entry));
    }
    assert!(damaged * 10 > count * 8, "{damaged} of {count} were damaged");
    assert!(noticed * 2 > damaged, "verify notices only {noticed} of {damaged}");
}

/// Runs every command that reads or changes an array; whether `verify` finds the damage.
fn run_all(array: &Path, damaged: &Path, entry: &Value) -> bool {
    let beside = Scratch::new();
    let key = entry["key"].as_str().map(|key| {
        let file = beside.path().join("key");
        fs::write(&file, key).unwrap();
        ["--key-file".to_owned(), text(&file).to_owned()]
    });
    let place = text(array);
    let (copy, picture) = (beside.path().join("copy"), beside.path().join("picture.png"));
    let commands: Vec<Vec<&str>> = vec![
        vec!["info", place],
        vec!["info", place, "--json"],
        vec!["fragments", place],
        vec!["log", place],
        vec!["explain", place],
        vec!["meta", place],
        vec!["group", place, "-r"],
        vec!["dump", text(damaged)],
        vec!["verify", place],
        vec!["read", place, "--threads", "1", "--limit", "20"],
        vec!["read", place, "--order", "global", "--format", "csv", "--limit", "20"],
        vec!["read", place, "--order", "col", "--format", "json", "--memory", "16MiB", "--limit", "20"],
        vec!["read", place, "--aggregate", "count"],
        vec!["show", place, "--out", text(&picture)],
        vec!["copy", place, text(&copy)],
        vec!["delete", place, "--where", "a > 3"],
        vec!["consolidate", place],
        vec!["consolidate", place, "--what", "commits"],
        vec!["consolidate", place, "--what", "metadata"],
        vec!["consolidate", place, "--what", "fragment-metadata"],
        vec!["vacuum", place],
        vec!["publish", place],
        vec!["read", place, "--order", "unordered", "--limit", "20"],
    ];
    let mut noticed = false;
    for mut command in commands {
        if command[0] == "dump" && !damaged.exists() {
            continue;
        }
        let takes_key = !["group", "dump", "publish"].contains(&command[0]);
        if let Some(key) = key.as_ref().filter(|_| takes_key) {
            command.extend(key.iter().map(String::as_str));
        }
        let outcome = tdb(&command);
        assert!([0, 1, 2].contains(&outcome.code), "{command:?}: exit code {}", outcome.code);
        let told = !outcome.err.is_empty() || command[0] == "verify" && !outcome.out.is_empty();
        assert!(outcome.code == 0 || told, "{command:?} fails and says nothing");
        noticed |= command[0] == "verify" && (outcome.code != 0 || outcome.out.contains("note"));
    }
    noticed
}

/// Damages a file of an array: its name, and what was done to it. `None` if nothing changed.
fn damage(random: &mut Random, array: &Path) -> Option<(PathBuf, String)> {
    let mut files = Vec::new();
    list(array, &mut files);
    files.sort();
    let is_data = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap();
        name.ends_with(".tdb") && !name.starts_with("__")
    };
    let wants_data = random.below(3) == 0;
    let some: Vec<PathBuf> = files.iter().filter(|file| is_data(file) == wants_data).cloned().collect();
    let file = random.pick(if some.is_empty() { &files } else { &some })?.clone();
    let old = fs::read(&file).unwrap();
    let name = file.strip_prefix(array).unwrap().display().to_string();
    let (new, what) = match random.below(16) {
        0 => {
            fs::remove_file(&file).unwrap();
            return Some((file, format!("{name} is gone")));
        }
        1 => (fs::read(random.pick(&files)?).unwrap(), "has the bytes of another file"),
        2..=10 => match payload_changed(random, &old) {
            Some(new) => (new, "has another payload"),
            None => (changed(random, old.clone()), "has other bytes"),
        },
        _ => (changed(random, old.clone()), "has other bytes"),
    };
    let is_changed = new != old;
    fs::write(&file, new).unwrap();
    is_changed.then(|| (file, format!("{name} {what}")))
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The file with one of its generic tiles decoded, changed and encoded again, so that the damage
/// passes checks of compressed data. In a fragment's metadata file the new tile stands before the
/// footer, which refers to it.
fn payload_changed(random: &mut Random, file: &[u8]) -> Option<Vec<u8>> {
    let mut tiles = Vec::new();
    let mut at = 0;
    while at < file.len() {
        match tile_at(file, at) {
            Some((end, payload)) => {
                tiles.push((at, end, payload));
                at = end;
            }
            None => at += 1,
        }
    }
    let (start, end, payload) = random.pick(&tiles)?.clone();
    let new = GenericTile::encode(&changed(random, payload), FormatVersion::CURRENT).unwrap();
    if tiles.len() == 1 {
        return Some([&file[..start], &new, &file[end..]].concat());
    }
    let size = u64::from_le_bytes(file.last_chunk().copied()?);
    let footer = file.len().checked_sub(8)?.checked_sub(usize::try_from(size).ok()?)?;
    let (sections, mut rest) = (&file[..footer], file[footer..].to_vec());
    let [old, moved] = [start, footer].map(|place| u64::try_from(place).unwrap().to_le_bytes());
    for place in 0..rest.len().saturating_sub(8) {
        if rest[place..place + 8] == old {
            rest[place..place + 8].copy_from_slice(&moved);
        }
    }
    Some([sections, &new, &rest].concat())
}

/// The generic tile that begins at a byte: where it ends, and its payload.
fn tile_at(file: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
    let number = |from: usize, len: usize| -> Option<usize> {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(file.get(at + from..at + from + len)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let (persisted, pipeline) = (number(4, 8)?, number(30, 4)?);
    let end = at.checked_add(34)?.checked_add(pipeline)?.checked_add(persisted)?;
    let tile = GenericTile::parse(file.get(at..end)?, 0).ok()?;
    let payload = tile.decode(None, &Limits::default(), &Budget::new(1 << 24)).ok()?;
    Some((end, payload))
}

/// Other bytes: a few of them flipped, replaced by a number, cut off, repeated or left out.
fn changed(random: &mut Random, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..1 + random.below(3) {
        let len = bytes.len();
        if len == 0 {
            return vec![0; 9];
        }
        // Headers are at the beginning, footers at the end.
        let near = random.below(60).min(len - 1);
        let at = [random.below(len), near, len - 1 - near][random.below(3)];
        let end = len.min(at + [1, 4, 8, 40][random.below(4)]);
        match random.below(8) {
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 | 3 => {
                let number = random.pick(&NUMBERS).copied().unwrap_or(0).to_le_bytes();
                bytes[at..end.min(at + 8)].copy_from_slice(&number[..end.min(at + 8) - at]);
            }
            4 => bytes.truncate(at),
            5 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            6 => drop(bytes.drain(at..end)),
            _ => bytes[at..end].fill([0, 0xff][random.below(2)]),
        }
    }
    bytes
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((value ^ (value >> 31)) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}
