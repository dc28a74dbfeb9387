//! Writers, readers and maintainers work on one array, each as a separate process: readers see
//! whole writes, each once, and all that were finished before they opened the array.
//! `TDB_CROWD_SECONDS=60 cargo test -p tdb-array --test processes crowd` does this for a minute.

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, thread};

use tdb_array::error::WriteError;
use tdb_array::maintain::{Consolidation, Stored, Vacuum, verify};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::LocalStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, Error, Layout, TimeWindow, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::{Random, Scratch, number, start};

const WRITERS: u8 = 8;
const READERS: u8 = 4;
const MAINTAINERS: u8 = 2;
/// Number of cells of a write.
const CELLS: usize = 12;

fn schema(duplicates: bool) -> ArraySchema {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("writer", 0u8..=WRITERS - 1).with_tile(4u8))
        .dimension(Dimension::new("write", 0i64..=1 << 40).with_tile(1000i64))
        .dimension(Dimension::new("cell", 0u8..=99).with_tile(10u8))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(100);
    let schema = if duplicates { schema.allow_duplicates() } else { schema };
    schema.build().unwrap()
}

/// The value of a cell.
fn value(writer: u8, write: i64, cell: u8) -> i64 {
    write * 1_000_003 + i64::from(writer) * 1009 + i64::from(cell)
}

struct Role {
    folder: PathBuf,
    number: u8,
    until: Instant,
}

impl Role {
    /// The role of this process, if it has this name.
    fn of(name: &str) -> Option<Self> {
        let folder = PathBuf::from(env::var("TDB_CROWD_FOLDER").ok()?);
        (env::var("TDB_CROWD_ROLE").unwrap() == name).then(|| Self {
            folder,
            number: u8::try_from(number("TDB_CROWD_NUMBER", 0)).unwrap(),
            until: Instant::now() + Duration::from_secs(number("TDB_CROWD_SECONDS", 3)),
        })
    }

    fn array(&self) -> PathBuf {
        self.folder.join("array")
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    fn say(&self, line: &str) {
        let path = journal(&self.folder, env::var("TDB_CROWD_ROLE").unwrap().as_str(), self.number);
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

fn journal(folder: &Path, role: &str, number: u8) -> PathBuf {
    folder.join(format!("{role}{number}"))
}

/// How many writes each writer has done.
fn done(folder: &Path) -> Vec<i64> {
    let count = |writer| match fs::read_to_string(journal(folder, "writer", writer)) {
        Ok(text) => i64::try_from(text.matches('\n').count()).unwrap(),
        Err(_) => 0,
    };
    (0..WRITERS).map(count).collect()
}

#[test]
fn writer() {
    let Some(role) = Role::of("writer") else { return };
    let mut write = 0i64;
    while role.goes_on() {
        let cells: Vec<u8> = (0..u8::try_from(CELLS).unwrap()).collect();
        let a: Vec<i64> = cells.iter().map(|cell| value(role.number, write, *cell)).collect();
        let array = WriteOptions::new().threads(1).open(role.array()).unwrap();
        array
            .write()
            .order(Layout::Unordered)
            .column(WriteColumn::fixed("writer", &[role.number; CELLS]))
            .column(WriteColumn::fixed("write", &[write; CELLS]))
            .column(WriteColumn::fixed("cell", &cells))
            .column(WriteColumn::fixed("a", &a))
            .commit()
            .unwrap();
        role.say(&write.to_string());
        write += 1;
    }
}

/// Checks that each visible write is complete and occurs once, and that none is missing that was
/// `done` before the array was opened; returns the number of writes of each writer. If writes are
/// committed while a long folder is being listed, the system may show a later one and not an
/// earlier one.
fn check(array: &Array, done: &[i64]) -> Result<Vec<i64>, Error> {
    let read = array.read().order(Layout::Unordered).collect()?;
    let writer: &[u8] = read.field("writer")?.values()?;
    let write: &[i64] = read.field("write")?.values()?;
    let cell: &[u8] = read.field("cell")?.values()?;
    let a: &[i64] = read.field("a")?.values()?;
    let mut found: BTreeMap<(u8, i64), Vec<u8>> = BTreeMap::new();
    for at in 0..read.len() {
        assert_eq!(a[at], value(writer[at], write[at], cell[at]), "a cell that nobody wrote");
        found.entry((writer[at], write[at])).or_default().push(cell[at]);
    }
    let mut counts = vec![0; usize::from(WRITERS)];
    for ((writer, write), mut cells) in found {
        cells.sort_unstable();
        let whole =
            cells.len() == CELLS && cells.iter().enumerate().all(|(at, cell)| usize::from(*cell) == at);
        assert!(whole, "write {write} of writer {writer} has cells {cells:?}");
        let count: &mut i64 = &mut counts[usize::from(writer)];
        let before = done[usize::from(writer)];
        assert!(
            *count == write || *count >= before,
            "of writer {writer} write {count} of {before} is missing"
        );
        *count += 1;
    }
    Ok(counts)
}

/// Whether a vacuum removed files since the array was opened: it must be opened again.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

#[test]
fn reader() {
    let Some(role) = Role::of("reader") else { return };
    let (mut reads, mut gone) = (0, 0);
    while role.goes_on() {
        let before = done(&role.folder);
        let array = Array::open(role.array());
        match array.and_then(|array| check(&array, &before)) {
            Ok(counts) => {
                for (writer, (counted, before)) in counts.iter().zip(&before).enumerate() {
                    assert!(
                        counted >= before,
                        "writer {writer} had done {before} writes, {counted} are there"
                    );
                }
                reads += 1;
            }
            Err(error) if is_gone(&error) => gone += 1,
            Err(error) => panic!("{error}"),
        }
    }
    role.say(&format!("{reads} reads, {gone} of an array that was vacuumed meanwhile"));
    assert!(reads > 0);
}

#[test]
fn maintainer() {
    let Some(role) = Role::of("maintainer") else { return };
    let random = &mut Random(u64::from(role.number));
    let (mut runs, mut refused) = (0, 0);
    let kinds = [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits];
    while role.goes_on() {
        let what = if random.below(2) == 0 {
            Stored::Fragments
        } else {
            kinds[usize::try_from(random.below(3)).unwrap()]
        };
        let most = usize::try_from(2 + random.below(30)).unwrap();
        let writer = WriteOptions::new().threads(1).open(role.array()).unwrap();
        let plan = if random.below(2) == 0 {
            Consolidation::new(what).counts(2, most).plan(&writer)
        } else {
            Vacuum::new(what).plan(&writer)
        };
        match plan.and_then(|plan| plan.run(&writer, &mut |_| ControlFlow::Continue(()))) {
            Ok(()) => runs += 1,
            // The other one was faster.
            Err(Error::Write(WriteError::Refused { .. })) => refused += 1,
            Err(error) if is_gone(&error) => refused += 1,
            Err(error) => panic!("{what:?}: {error}"),
        }
    }
    role.say(&format!("{runs} maintenances, {refused} refused"));
    assert!(runs > 0);
}

fn crowd(name: &str, duplicates: bool, maintained: bool) {
    let scratch = Scratch::new(name);
    let folder =
        env::var_os("TDB_KEEP").map_or_else(|| scratch.0.clone(), |keep| PathBuf::from(keep).join(name));
    fs::create_dir_all(&folder).unwrap();
    let array = folder.join("array");
    WriteOptions::new().create(&array, &schema(duplicates)).unwrap();
    let maintainers = if maintained { MAINTAINERS } else { 0 };
    let roles = [("writer", WRITERS), ("reader", READERS), ("maintainer", maintainers)];
    let each = roles.iter().flat_map(|(role, count)| (0..*count).map(move |number| (*role, number)));
    let children: Vec<_> = each
        .map(|(role, number)| {
            let words = [
                ("TDB_CROWD_FOLDER", folder.display().to_string()),
                ("TDB_CROWD_ROLE", role.to_owned()),
                ("TDB_CROWD_NUMBER", number.to_string()),
            ];
            (role, number, start(&format!("crowd::{role}"), &words))
        })
        .collect();
    for (role, number, mut child) in children {
        assert!(child.wait().unwrap().success(), "{role} {number} failed, in {}", folder.display());
    }
    let done = done(&folder);
    let counts = check(&Array::open(&array).unwrap(), &done).unwrap();
    assert_eq!(counts, done, "{}", folder.display());
    let found = verify(LocalStorage::new(&array));
    assert!(found.is_clean(), "{:?}", found.problems);
    let told = [("reader", READERS), ("maintainer", maintainers)].into_iter().flat_map(|(role, count)| {
        let folder = &folder;
        (0..count)
            .map(move |number| fs::read_to_string(journal(folder, role, number)).unwrap().trim().to_owned())
    });
    println!(
        "{name}: {} writes of {CELLS} cells; {}",
        counts.iter().sum::<i64>(),
        told.collect::<Vec<_>>().join("; ")
    );
}

#[test]
fn eight_writers_and_four_readers_see_every_write_whole_and_once() {
    crowd("writers", false, false);
}

#[test]
fn maintainers_disturb_neither_writers_nor_readers() {
    crowd("maintained", false, true);
    crowd("duplicates", true, true);
}

#[test]
fn evolutions_at_once_are_all_kept() {
    let scratch = Scratch::new("evolutions");
    let array = scratch.0.join("array");
    WriteOptions::new().create(&array, &schema(false)).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let array = &array;
            scope.spawn(move || {
                for index in 0..6 {
                    let added =
                        Attribute::new(format!("b{thread}_{index}"), Datatype::Int32, CellValNum::ONE);
                    let evolution = SchemaEvolution::new().add_attribute(added);
                    WriteOptions::new().evolve(array, &evolution).unwrap();
                }
            });
        }
    });
    let evolved = Array::open_at(&array, TimeWindow::ALL).unwrap();
    assert_eq!(evolved.schema().attributes.len(), 1 + 4 * 6);
}

#[test]
fn of_several_that_create_an_array_in_one_folder_one_does() {
    let scratch = Scratch::new("creations");
    let array = scratch.0.join("array");
    let created: usize = thread::scope(|scope| {
        let create = || usize::from(WriteOptions::new().create(&array, &schema(false)).is_ok());
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(created, 1);
    assert_eq!(Array::open(&array).unwrap().schema_keys().len(), 1);
}
