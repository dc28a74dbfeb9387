//! Every structure in the fixtures, read and written again, is the same bytes libtiledb wrote.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

mod hostile;
mod pieces;
mod rewrite;

use std::collections::{BTreeMap, BTreeSet};

use tdb_codec::{Gate, Structure, Wire};
use tdb_fragment::{RTree, Section};

use crate::reserialize::pieces::{Kind, Piece, pieces};
use crate::reserialize::rewrite::structures;

/// Bytes that libtiledb does not initialise: a name, the reason, and which pieces have them. The
/// rest of such a piece must be the same.
type Uninitialised = (&'static str, &'static str, fn(&Piece, written: &[u8]) -> bool);

const UNINITIALISED: [Uninitialised; 1] = [(
    "8 bytes behind footers of version 11",
    "libtiledb 2.8 and later write an offset of fragment statistics that version 11 does not have",
    |piece, written| {
        let gates = piece.version.has(Gate::TileStatistics) && !piece.version.has(Gate::FragmentStatistics);
        matches!(piece.kind, Kind::Footer(..))
            && gates
            && piece.bytes.len() == written.len() + 8
            && piece.bytes.starts_with(written)
    },
)];

/// Structures that no fixture has, and why.
const WITHOUT_FIXTURE: [(&str, &str); 4] = [
    ("update", "experimental: `tdb-fragment` has the bytes of one that libtiledb wrote"),
    ("tile global order mins", "version 23 is in no release"),
    ("tile global order maxes", "version 23 is in no release"),
    ("group details", "files of groups are taken apart and written again in tdb-cli's tests/groups.rs"),
];

/// Rows of tables that no fixture has, and why.
const ROWS_WITHOUT_FIXTURE: [(&str, &str); 5] = [
    ("optional section count", "version 23 is in no release"),
    ("optional section identifier", "version 23 is in no release"),
    ("optional section", "version 23 is in no release"),
    ("condition value offsets size", "no recorded delete has IN or NOT IN"),
    ("condition value offsets", "no recorded delete has IN or NOT IN"),
];

#[test]
fn every_structure_of_every_fixture_is_written_as_it_was_read() {
    let mut counts: BTreeMap<&str, BTreeMap<u32, usize>> = BTreeMap::new();
    let mut uninitialised: BTreeMap<&str, usize> = BTreeMap::new();
    for piece in pieces() {
        let written = piece.rewritten().unwrap_or_else(|error| panic!("{}: {error}", piece.place));
        if written != piece.bytes {
            let known = UNINITIALISED.iter().find(|(_, _, has)| has(&piece, &written));
            let (name, ..) = known.unwrap_or_else(|| panic!("{} is written otherwise", piece.place));
            *uninitialised.entry(name).or_default() += 1;
        }
        *counts.entry(piece.name).or_default().entry(piece.version.number()).or_default() += 1;
    }
    println!("structure: version × count");
    for (name, versions) in &counts {
        let versions: Vec<String> =
            versions.iter().map(|(version, count)| format!("{version}×{count}")).collect();
        println!("{name}: {}", versions.join(" "));
    }
    for (name, reason, _) in UNINITIALISED {
        println!("uninitialised: {name}: {} ({reason})", uninitialised.get(name).unwrap_or(&0));
        assert!(uninitialised.contains_key(name), "no fixture has {name}");
    }
    let missing: BTreeSet<&str> =
        structures().map(|structure| structure.name).filter(|name| !has_piece(&counts, name)).collect();
    for (name, reason) in WITHOUT_FIXTURE {
        println!("no fixture: {name} ({reason})");
    }
    let known: BTreeSet<&str> = WITHOUT_FIXTURE.iter().map(|(name, _)| *name).collect();
    let unknown: Vec<_> = missing.difference(&known).collect();
    assert!(unknown.is_empty(), "structures without a fixture: {unknown:?}");
}

/// Whether a structure was counted, under its own name or under that of its use.
fn has_piece(counts: &BTreeMap<&str, BTreeMap<u32, usize>>, name: &str) -> bool {
    match name {
        "ignore and vacuum files" => ["ignore file", "vacuum file", "vacuum file of metadata"]
            .iter()
            .all(|name| counts.contains_key(name)),
        name => counts.contains_key(name),
    }
}

#[test]
fn the_fields_every_parser_reads_are_those_of_its_table() {
    let mut proven: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut read: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for piece in pieces() {
        let Some(table) = piece.table() else { continue };
        let fields = piece.trace();
        if let Err(error) = table.check(piece.version, &fields) {
            panic!("{}, version {}: {error}", piece.place, piece.version);
        }
        assert!(table.is_in(piece.version), "{}: version {}", piece.place, piece.version);
        proven.entry(table.name).or_default().insert(piece.version.number());
        read.entry(table.name).or_default().extend(fields.iter().map(|field| field.what));
    }
    for (name, versions) in &proven {
        println!("{name}: {} versions", versions.len());
    }
    // Every row of a table must occur in a file.
    for table in structures().filter(|table| proven.contains_key(table.name)) {
        let mut unread: BTreeSet<&str> = BTreeSet::new();
        names(table, &mut unread, 0);
        for row in unread.difference(&read[table.name]) {
            let known = ROWS_WITHOUT_FIXTURE.iter().find(|(name, _)| name == row);
            let (_, reason) = known.unwrap_or_else(|| panic!("{}: no fixture has {row}", table.name));
            println!("no fixture: {row} of {} ({reason})", table.name);
        }
    }
}

/// The names of a table's fields, parts included.
fn names(table: &Structure, found: &mut BTreeSet<&'static str>, depth: usize) {
    for row in table.rows {
        match row.wire {
            Wire::Structure(part) if depth < 6 => names(part, found, depth + 1),
            Wire::Structure(_) | Wire::OneOf(_) => {}
            _ => {
                found.insert(row.name);
            }
        }
    }
}

#[test]
fn trees_built_from_the_leaves_are_those_libtiledb_built() {
    let mut seen = 0;
    for piece in pieces() {
        let Kind::Section(Section::RTree, schema, _) = &piece.kind else { continue };
        let tree = RTree::parse(&piece.bytes, piece.version, &schema.domain).unwrap();
        let leaves: Vec<Vec<tdb_array::schema::Range>> = (0..tree.leaf_count())
            .map(|leaf| {
                let ranges = tree.leaf(leaf).unwrap();
                ranges.ranges().map(|(low, high)| tdb_array::schema::Range::new(low, high)).collect()
            })
            .collect();
        let built = RTree::build(&leaves, &schema.domain).unwrap();
        let written = built.to_bytes(piece.version, &schema.domain).unwrap();
        assert!(written == piece.bytes, "{}", piece.place);
        seen += usize::from(leaves.len() > 1);
    }
    assert!(seen > 50, "only {seen} trees");
}
