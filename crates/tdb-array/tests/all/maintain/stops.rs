//! Every kind of change, stopped at every call: after a crash, after a loss of power that loses
//! everything that was not synced, and on a full disk. The state found is the one before or the one
//! after the change, at every time; the change can be repeated, and vacuums leave nothing of the
//! attempt.

mod groups;

use core::ops::ControlFlow;

use tdb_array::maintain::{Consolidation, Stored, Vacuum, verify_with};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::{MemoryStorage, WriteStorage};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{
    Array, ArrayWriter, Column, Error, Key, Layout, OpenOptions, Result, TimeWindow, WriteColumn,
    WriteOptions,
};
use tdb_fragment::{Comparison, Condition};
use tdb_schema::{Attribute, Dimension, Enumeration};

use crate::maintain::KINDS;
use crate::maintain::fragile::Fragile;

/// The last time at which something happens.
const LAST: u64 = 1030;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sparse,
    Duplicates,
    Dense,
    /// Sparse and encrypted.
    Secret,
}

impl Kind {
    fn key(self) -> Option<Key> {
        (self == Self::Secret).then(|| Key::new([7; 32]))
    }

    fn at(self, time: u64) -> WriteOptions {
        let options = WriteOptions::new().threads(1).timestamp(time);
        match self.key() {
            Some(key) => options.key(key),
            None => options,
        }
    }

    fn schema(self) -> (ArraySchema, Enumeration) {
        let name = "__0123456789abcdef0123456789abcdef_0";
        let colours = ["red", "green"];
        let colours =
            Enumeration::new("colours", name, Datatype::StringAscii, CellValNum::Var, colours).unwrap();
        let colour = Attribute::new("c", Datatype::Uint8, CellValNum::ONE).with_enumeration("colours");
        let builder = if self == Self::Dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let builder = builder
            .dimension(Dimension::new("x", 0i32..=19).with_tile(4i32))
            .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
            .attribute(colour)
            .enumeration(&colours)
            .capacity(3);
        let builder = if self == Self::Duplicates { builder.allow_duplicates() } else { builder };
        (builder.build().unwrap(), colours)
    }

    fn create(self, storage: &dyn WriteStorage) -> Result<()> {
        let (schema, colours) = self.schema();
        self.at(1000).enumeration(colours).create_storage(storage, &schema)
    }

    /// Writes cells `first..=last`, or in a sparse array every second one of them.
    fn write(self, storage: impl WriteStorage + 'static, time: u64, first: i32, last: i32) -> Result<()> {
        self.write_into(&self.at(time).open_storage(storage)?, time, first, last)
    }

    fn write_into(self, writer: &ArrayWriter, time: u64, first: i32, last: i32) -> Result<()> {
        let step = if self == Self::Dense { 1 } else { 2 };
        let x: Vec<i32> = (first..=last).step_by(step).collect();
        let a: Vec<i32> = x.iter().map(|x| x * 10_000 + i32::try_from(time).unwrap()).collect();
        let c: Vec<u8> = x.iter().map(|x| u8::from(x % 3 == 0)).collect();
        let write = writer.write();
        let write = if self == Self::Dense {
            write.range("x", first..=last)
        } else {
            write.order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x))
        };
        let write = write.column(WriteColumn::fixed("a", &a)).column(WriteColumn::fixed("c", &c));
        // Whether an evolution has added an attribute.
        let more = writer.schema().attributes.iter().any(|attribute| attribute.name == "b");
        let write = if more { write.column(WriteColumn::fixed("b", &a)) } else { write };
        write.commit().map(drop)
    }

    fn consolidate(self, storage: impl WriteStorage + 'static, what: Stored) -> Result<()> {
        let writer = self.at(0).open_storage(storage)?;
        let consolidation = Consolidation::new(what).amplification(1e9);
        consolidation.plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))
    }

    fn vacuum(self, storage: impl WriteStorage + 'static, vacuum: &Vacuum) -> Result<()> {
        let writer = self.at(0).open_storage(storage)?;
        vacuum.plan(&writer)?.run(&writer, &mut |_| ControlFlow::Continue(()))
    }

    /// An array that gives every kind of maintenance something to do.
    fn history(self) -> MemoryStorage {
        let storage = MemoryStorage::default();
        self.create(&storage).unwrap();
        let meta = |time, key: &str, value: i32| {
            let writer = self.at(time).open_storage(storage.clone()).unwrap();
            let changes = MetadataChanges::new().put_values(key, Datatype::Int32, &[value]);
            writer.write_metadata(&changes).unwrap();
        };
        self.write(storage.clone(), 1002, 2, 9).unwrap();
        meta(1003, "one", 1);
        self.write(storage.clone(), 1004, 6, 13).unwrap();
        if self != Self::Dense {
            delete(self, storage.clone(), 1005, 100_000).unwrap();
        }
        self.consolidate(storage.clone(), Stored::Commits).unwrap();
        self.write(storage.clone(), 1006, 4, 5).unwrap();
        self.consolidate(storage.clone(), Stored::FragmentMetadata).unwrap();
        meta(1007, "two", 2);
        self.write(storage.clone(), 1008, 14, 15).unwrap();
        meta(1009, "one", 3);
        storage
    }

    fn open(self, storage: &MemoryStorage, window: TimeWindow) -> Result<Array> {
        let options = OpenOptions::new().threads(1).window(window);
        let options = match self.key() {
            Some(key) => options.key(key),
            None => options,
        };
        options.open_storage(storage.clone())
    }

    /// Everything that a reader sees in every window.
    fn look(self, storage: &MemoryStorage) -> Vec<String> {
        let ends = [1001, 1003, 1004, 1005, 1007, 1009, LAST];
        let until = ends.into_iter().map(TimeWindow::until);
        let since = [1005, 1009, LAST].map(|end| TimeWindow::between(1004, end));
        until.chain(since).chain([TimeWindow::ALL]).map(|window| self.look_in(storage, window)).collect()
    }

    fn look_in(self, storage: &MemoryStorage, window: TimeWindow) -> String {
        let array = match self.open(storage, window) {
            Ok(array) => array,
            Err(Error::NotAnArray { .. }) => return "no array".to_owned(),
            Err(error) => return error.to_string(),
        };
        let cells = array.read().order(Layout::RowMajor).collect().unwrap();
        let row = |at: usize| -> Vec<Vec<u8>> {
            cells.columns().iter().map(|column: &Column| column.cell(at).unwrap().to_vec()).collect()
        };
        let mut rows: Vec<_> = (0..cells.len()).map(row).collect();
        rows.sort();
        let names: Vec<&str> = array.schema().attributes.iter().map(|a| a.name.as_str()).collect();
        let colours = array.enumeration("colours").unwrap().map(|colours| colours.len());
        let metadata: Vec<_> = array.metadata().unwrap().iter().map(|pair| format!("{pair:?}")).collect();
        format!("{window:?}: {names:?} {colours:?} {rows:?} {metadata:?}")
    }
}

fn delete(kind: Kind, storage: impl WriteStorage + 'static, time: u64, most: i32) -> Result<()> {
    let operands = vec![most.to_le_bytes().to_vec()];
    let condition = Condition::Value { field: "a".into(), comparison: Comparison::Greater, operands };
    kind.at(time).open_storage(storage)?.delete(&condition).map(drop)
}

/// The change that is stopped, the array it is made to, and how the result is read.
struct Trial<'t> {
    name: String,
    before: MemoryStorage,
    act: &'t dyn Fn(Fragile) -> Result<()>,
    look: &'t dyn Fn(&MemoryStorage) -> Vec<String>,
    /// Checks that the array is sound, and returns the files that nobody needs.
    leftovers: &'t dyn Fn(&MemoryStorage) -> Vec<String>,
    /// Vacuums the array, after which there are no such files.
    clean: &'t dyn Fn(&MemoryStorage),
}

impl Trial<'_> {
    /// Stops at every call; returns how many there are.
    fn run(&self) -> usize {
        let name = &self.name;
        let old = (self.look)(&self.before);
        let whole = Fragile::of(&self.before);
        (self.act)(whole.clone()).unwrap();
        let new = (self.look)(&whole.after_crash());
        assert_eq!((self.look)(&whole.after_power_loss()), new, "{name}: done, but not durable");
        let (mut calls, mut kept) = (0, 0);
        loop {
            let fragile = Fragile::of(&self.before);
            fragile.fail_after(calls);
            let done = (self.act)(fragile.clone()).is_ok();
            for (left, how) in fragile.after_stops() {
                let what = format!("{name} stopped at call {calls}, {how}");
                let found = (self.look)(&left);
                assert!(
                    found == old || found == new,
                    "{what}: {found:#?}\nis neither {old:#?}\nnor {new:#?}"
                );
                assert!(found == new || !done, "{what}: done, and undone");
                kept += usize::from(found == old);
                (self.leftovers)(&left);
                if found == old {
                    let again = Fragile::of(&left);
                    let repeated = (self.act)(again.clone());
                    assert!(repeated.is_ok(), "{what}, again: {repeated:?}");
                    let again = again.after_crash();
                    assert_eq!((self.look)(&again), new, "{what}, again");
                    if calls % 4 == 0 {
                        self.cleaned(&again, &new, &format!("{what}, again"));
                    }
                }
                self.cleaned(&left, &found, &what);
            }
            self.full_disk(calls, &old, &new);
            if done {
                break;
            }
            calls += 1;
        }
        assert!(calls > 1 && kept > 1, "{name}: {calls} calls, {kept} times the old state");
        calls
    }

    fn cleaned(&self, left: &MemoryStorage, found: &[String], what: &str) {
        (self.clean)(left);
        assert_eq!((self.look)(left), found, "{what}, cleaned");
        assert_eq!((self.leftovers)(left), [""; 0], "{what}, cleaned");
    }

    /// After some call nothing can be written any more, but files can be removed.
    fn full_disk(&self, calls: usize, old: &[String], new: &[String]) {
        let fragile = Fragile::of(&self.before);
        fragile.full_after(calls);
        let Err(error) = (self.act)(fragile.clone()) else { return };
        let what = format!("{}, disk full at call {calls}", self.name);
        assert!(
            error.to_string().contains("space") || error.to_string().contains("refused"),
            "{what}: {error}"
        );
        let left = fragile.after_crash();
        let found = (self.look)(&left);
        assert!(found == old || found == new, "{what}: {found:#?}");
        if found != old {
            return;
        }
        // Nothing is left of the attempt, either. Lists of commits may differ, and maintenance may
        // be one step further.
        if self.name.contains("consolidation") {
            if self.name.starts_with("Duplicates") {
                // What was replaced is no longer used, even if the file that lists it is missing.
                return;
            }
            assert_eq!((self.leftovers)(&left), [""; 0], "{what}");
        } else if !self.name.contains("vacuum") && !self.name.contains("creation") {
            assert_eq!(left.keys(), self.before.keys(), "{what}");
        }
    }
}

/// Runs a change of an array through all stops.
fn array(kind: Kind, what: &str, before: &MemoryStorage, act: &dyn Fn(Fragile) -> Result<()>) -> usize {
    let trial = Trial {
        name: format!("{kind:?}: {what}"),
        before: before.clone(),
        act,
        look: &|storage| kind.look(storage),
        leftovers: &|storage| leftovers(kind, storage),
        clean: &|storage| {
            if kind.open(storage, TimeWindow::ALL).is_err() {
                // Nothing was created: there is nothing to vacuum, and creating clears the rest.
                kind.create(storage).unwrap();
                storage.keys().iter().for_each(|key| drop(storage.remove(key)));
                return;
            }
            kind.vacuum(storage.clone(), &Vacuum::orphans()).unwrap();
            for what in KINDS {
                kind.vacuum(storage.clone(), &Vacuum::new(what)).unwrap();
            }
        },
    };
    trial.run()
}

fn leftovers(kind: Kind, storage: &MemoryStorage) -> Vec<String> {
    if kind.open(storage, TimeWindow::ALL).is_err() {
        return Vec::new();
    }
    let found = verify_with(storage.clone(), kind.key());
    assert!(found.is_clean(), "{:?}", found.problems);
    let orphans = found.notes.iter().map(|note| note.path.clone());
    let temporary = storage.keys().into_iter().filter(|key| key.ends_with(".tmp"));
    orphans.chain(temporary).collect()
}

const ARRAYS: [Kind; 4] = [Kind::Sparse, Kind::Duplicates, Kind::Dense, Kind::Secret];

#[test]
fn arrays_with_their_first_cells_stop_anywhere() {
    for kind in ARRAYS {
        // The changes that an import or a copy makes.
        array(kind, "new array", &MemoryStorage::default(), &|storage| {
            let (schema, colours) = kind.schema();
            let array = kind.at(1002).enumeration(colours).begin_storage(storage, &schema)?;
            array.writer().write_metadata(&MetadataChanges::new().put_text("k", "v"))?;
            kind.write_into(array.writer(), 1002, 2, 9)?;
            kind.write_into(array.writer(), 1002, 10, 15)?;
            array.finish()
        });
    }
}

#[test]
fn creations_stop_anywhere() {
    for kind in ARRAYS {
        array(kind, "creation", &MemoryStorage::default(), &|storage| kind.create(&storage));
    }
}

#[test]
fn writes_and_deletes_stop_anywhere() {
    for kind in ARRAYS {
        let before = kind.history();
        array(kind, "write", &before, &|storage| kind.write(storage, 1020, 0, 7));
        if kind != Kind::Dense {
            array(kind, "delete", &before, &|storage| delete(kind, storage, 1020, 50_000));
        }
        array(kind, "metadata", &before, &|storage| {
            let changes = MetadataChanges::new().put_text("three", "3").remove("one");
            kind.at(1020).open_storage(storage)?.write_metadata(&changes).map(drop)
        });
    }
}

#[test]
fn evolutions_stop_anywhere() {
    let evolutions = [
        (
            "attribute added",
            SchemaEvolution::new().add_attribute(Attribute::new("b", Datatype::Int32, CellValNum::ONE)),
        ),
        ("attribute dropped", SchemaEvolution::new().drop_attribute("a")),
        ("enumeration extended", SchemaEvolution::new().extend_enumeration("colours", ["blue"])),
    ];
    for kind in ARRAYS {
        let before = kind.history();
        for (what, evolution) in &evolutions {
            if kind != Kind::Dense && *what == "attribute dropped" {
                // The delete needs it.
                continue;
            }
            array(kind, what, &before, &|storage| {
                match kind.at(1020).evolve_storage(storage, evolution) {
                    // Repeating it changes nothing.
                    Err(Error::Write(error)) if error.to_string().contains("already") => Ok(()),
                    Err(Error::Write(error)) if error.to_string().contains("not there") => Ok(()),
                    other => other.map(drop),
                }
            });
        }
    }
}

/// A test of its own for each kind of array, so that they run side by side.
macro_rules! each_kind {
    ($run:ident: $($test:ident of $kind:ident,)*) => {$(
        #[test]
        fn $test() {
            $run(Kind::$kind);
        }
    )*};
}

each_kind! { consolidations:
    consolidations_of_sparse_arrays_stop_anywhere of Sparse,
    consolidations_of_duplicates_stop_anywhere of Duplicates,
    consolidations_of_dense_arrays_stop_anywhere of Dense,
    consolidations_of_encrypted_arrays_stop_anywhere of Secret,
}

fn consolidations(kind: Kind) {
    let before = kind.history();
    // Where a cell may be there twice, only the consolidation of fragments is another one.
    let kinds = if kind == Kind::Duplicates { &[Stored::Fragments][..] } else { &KINDS };
    for what in kinds {
        array(kind, &format!("consolidation of {what:?}"), &before, &|storage| {
            kind.consolidate(storage, *what)
        });
    }
    // Fragments whose commits are in one list, in two, and in files of their own.
    let listed = kind.history();
    kind.consolidate(listed.clone(), Stored::Commits).unwrap();
    array(kind, "consolidation of listed fragments", &listed, &|storage| {
        kind.consolidate(storage, Stored::Fragments)
    });
    kind.vacuum(listed.clone(), &Vacuum::new(Stored::Commits)).unwrap();
    kind.write(listed.clone(), 1010, 0, 3).unwrap();
    array(kind, "consolidation of partly listed fragments", &listed, &|storage| {
        kind.consolidate(storage, Stored::Fragments)
    });
}

each_kind! { vacuums:
    vacuums_of_sparse_arrays_stop_anywhere of Sparse,
    vacuums_of_duplicates_stop_anywhere of Duplicates,
    vacuums_of_dense_arrays_stop_anywhere of Dense,
    vacuums_of_encrypted_arrays_stop_anywhere of Secret,
}

fn vacuums(kind: Kind) {
    let before = kind.history();
    for what in KINDS {
        kind.consolidate(before.clone(), what).unwrap();
    }
    kind.write(before.clone(), 1010, 0, 3).unwrap();
    kind.consolidate(before.clone(), Stored::FragmentMetadata).unwrap();
    kind.consolidate(before.clone(), Stored::Commits).unwrap();
    before.insert("__fragments/__1005_1005_0123456789abcdef0123456789abcdef_22/a0.tdb", &b"x"[..]);
    before.insert(".tdb-__1005_1005_0123456789abcdef0123456789abcdef.tmp", &b"x"[..]);
    for what in [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits] {
        if kind == Kind::Dense && what == Stored::Fragments {
            // Some windows still see all inputs.
            continue;
        }
        let vacuum = Vacuum::new(what);
        array(kind, &format!("vacuum of {what:?}"), &before, &|storage| kind.vacuum(storage, &vacuum));
    }
    array(kind, "vacuum of leftovers", &before, &|storage| kind.vacuum(storage, &Vacuum::orphans()));
    let fragments = Vacuum::new(Stored::Fragments).drop_history(true);
    array(kind, "vacuum that drops history", &before, &|storage| kind.vacuum(storage, &fragments));
}

#[test]
fn a_vacuum_of_metadata_that_drops_history_changes_nothing_that_is_read_now() {
    let before = Kind::Sparse.history();
    Kind::Sparse.consolidate(before.clone(), Stored::Metadata).unwrap();
    let vacuum = Vacuum::new(Stored::Metadata).drop_history(true);
    let trial = Trial {
        name: "vacuum of metadata".into(),
        before,
        act: &|storage| Kind::Sparse.vacuum(storage, &vacuum),
        // Files are removed one by one, and with them the past.
        look: &|storage| vec![Kind::Sparse.look_in(storage, TimeWindow::until(LAST))],
        leftovers: &|storage| leftovers(Kind::Sparse, storage),
        clean: &|storage| Kind::Sparse.vacuum(storage.clone(), &vacuum).unwrap(),
    };
    trial.run();
}
