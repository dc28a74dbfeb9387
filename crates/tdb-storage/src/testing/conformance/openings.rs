//! Rules for two openings of the same place.

use std::io;
use std::sync::Arc;

use super::versions::versioned;
use super::writing::{exists, holds_bytes, is_absent};
use super::{Outcome, SharedRule, done, holds, offered, racing, refused, write};
use crate::{Durability, WriteStorage};

/// Two openings.
type Two<S> = [Arc<S>; 2];

pub(super) fn rules<S: WriteStorage + 'static>() -> Vec<SharedRule<Two<S>>> {
    vec![
        ("the other opening sees at once what one opening writes, replaces and removes", seen),
        ("one opening does not create a file again that the other has created", not_again),
        ("one opening does not replace a version that the other has replaced", stale),
        (
            "if several callers put the same file through two openings, one succeeds and the others fail",
            |[a, b]| racing::race(&a, &b),
        ),
        ("if several callers replace the same version through two openings, one succeeds", |[a, b]| {
            racing::count(&a, &b)
        }),
        (
            "if several callers of two openings create a file where none was expected, one succeeds",
            |[a, b]| racing::race_for_none(&a, &b),
        ),
        ("one opening holds the lock, and the other gets it when the first releases it", |[a, b]| {
            racing::locked(&a, &b)
        }),
        ("only one caller at a time holds the lock, of all callers of two openings", |[a, b]| {
            racing::excluded(&a, &b)
        }),
    ]
}

fn seen<S: WriteStorage>([one, other]: Two<S>) -> Outcome {
    write(&*one, "a/b", b"first")?;
    holds_bytes(&*other, "a/b", b"first")?;
    let listed = done("a listing", other.list("a"))?;
    holds(listed.len() == 1, || format!("the other lists {listed:?}"))?;
    match one.replace_file("a/b", b"another", Durability::Synced) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        replaced => {
            done("replacing a file", replaced)?;
            holds_bytes(&*other, "a/b", b"another")?;
            let (size, _) = done("the end of a file", other.read_tail("a/b", 2))?;
            holds(size == 7, || format!("the other sees a file of {size} bytes, not of 7"))?;
        }
    }
    done("removing a file", other.remove_file("a/b"))?;
    is_absent(&*one, "a/b")
}

fn not_again<S: WriteStorage>([one, other]: Two<S>) -> Outcome {
    done("making a folder", one.create_folder("a"))?;
    offered("putting a file", one.put_file("a/b", b"first", Durability::Synced))?;
    exists("putting it again", other.put_file("a/b", b"second", Durability::Synced))?;
    holds_bytes(&*one, "a/b", b"first")
}

fn stale<S: WriteStorage>([one, other]: Two<S>) -> Outcome {
    write(&*one, "a/b", b"first")?;
    let (_, version) = versioned(&*other, "a/b")?;
    let what = "replacing a version that the other opening read";
    offered(what, one.swap_file("a/b", Some(&version), b"second", Durability::Synced))?;
    let again = other.swap_file("a/b", Some(&version), b"third", Durability::Synced);
    exists("replacing it again", again)?;
    holds_bytes(&*other, "a/b", b"second")?;
    done("removing a file", one.remove_file("a/b"))?;
    let again = other.swap_file("a/b", Some(&version), b"third", Durability::Synced);
    refused("replacing a file that the other removed", again, io::ErrorKind::NotFound)
}
