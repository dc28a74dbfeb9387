//! Damage to every structure of every version, on bytes that libtiledb wrote.

use std::collections::BTreeMap;

use tdb_codec::{Error, ErrorKind, to_u64, to_usize};

use crate::reserialize::pieces::{Kind, Piece, pieces};

/// The smallest piece of each structure and version that is not empty.
fn samples() -> Vec<Piece> {
    let mut smallest: BTreeMap<(&str, u32), Piece> = BTreeMap::new();
    for piece in pieces() {
        let fields = piece.table().map_or(0, |_| piece.trace().len());
        if fields < 2 {
            continue;
        }
        let key = (piece.name, piece.version.number());
        if smallest.get(&key).is_none_or(|known| piece.bytes.len() < known.bytes.len()) {
            smallest.insert(key, piece);
        }
    }
    smallest.into_values().collect()
}

/// Why the bytes are rejected; `None` if they are not.
fn refusal(piece: &Piece, bytes: Vec<u8>) -> Option<Error> {
    let error = Piece { bytes, ..piece.clone() }.rewritten().err()?;
    if let Some(tdb_schema::Error::Parse(error)) = error.downcast_ref() {
        return Some(*error);
    }
    match error.downcast_ref::<Error>() {
        Some(error) => Some(*error),
        None => panic!("{}: an error that does not say where: {error}", piece.place),
    }
}

/// Whether a structure is a list without a count, which may end after each record.
fn is_open_list(kind: &Kind) -> bool {
    matches!(kind, Kind::Metadata | Kind::ConsolidatedCommits | Kind::Paths)
}

#[test]
fn every_structure_cut_off_anywhere_is_refused_where_it_ends() {
    for piece in samples() {
        let footer_end = piece.rewritten().unwrap().len();
        for len in 0..piece.bytes.len() {
            let cut = piece.bytes[..len].to_vec();
            let whole = match piece.kind {
                // Lists are read back as the complete records.
                Kind::Paths => continue,
                _ if is_open_list(&piece.kind) => Piece { bytes: cut.clone(), ..piece.clone() }
                    .rewritten()
                    .is_ok_and(|written| written == cut),
                // Only its own fields determine the length of the last footer.
                Kind::ConsolidatedFooters => refusal(&piece, cut.clone()).is_none(),
                Kind::Footer(_) => len >= footer_end,
                _ => false,
            };
            if whole {
                continue;
            }
            let error =
                refusal(&piece, cut).unwrap_or_else(|| panic!("{} cut to {len} was read", piece.place));
            assert!(error.offset <= to_u64(len), "{} cut to {len}: {error}", piece.place);
        }
    }
}

#[test]
fn bytes_after_a_structure_are_refused_unless_its_place_may_be_longer() {
    let mut refused = 0;
    for piece in samples() {
        // Footers of version 11 may be longer than their fields.
        if is_open_list(&piece.kind) || matches!(piece.kind, Kind::Footer(_) | Kind::ConsolidatedFooters) {
            continue;
        }
        let mut longer = piece.bytes.clone();
        longer.push(0);
        let error =
            refusal(&piece, longer).unwrap_or_else(|| panic!("{}: one byte more was read", piece.place));
        assert_eq!(error.kind, ErrorKind::TrailingBytes { count: 1 }, "{}", piece.place);
        assert_eq!(error.offset, to_u64(piece.bytes.len()), "{}", piece.place);
        refused += 1;
    }
    assert!(refused > 150, "only {refused}");
}

#[test]
fn every_count_and_length_that_the_bytes_cannot_hold_is_refused_where_it_stands() {
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for piece in samples() {
        let fields = piece.trace();
        for (index, field) in fields.iter().enumerate() {
            // A length is a number that is followed by bytes with the same name.
            let is_text = field.what.ends_with("name") || ["label URI", "fill value"].contains(&field.what);
            let is_length = is_text && fields.get(index + 1).is_some_and(|next| next.what == field.what);
            let is_length = is_length && (index == 0 || fields[index - 1].what != field.what);
            // A tree without levels may have any number of dimensions; a metadata value's count is
            // not the length of a list.
            let unchecked = ["R-tree dimension count", "metadata value count"];
            let is_count = field.what.ends_with(" count") && !unchecked.contains(&field.what);
            let is_number = field.len == 4 || field.len == 8;
            // The first number of a section is its count, or the size of its first part.
            let begins_section = index == 0 && matches!(piece.kind, Kind::Section(..)) && !is_count;
            let unchecked = unchecked.contains(&field.what) || field.what == "R-tree fanout";
            if unchecked || !is_number || !(is_count || is_length || begins_section) {
                continue;
            }
            let start = to_usize(field.offset).unwrap();
            let mut bytes = piece.bytes.clone();
            bytes[start..start + to_usize(field.len).unwrap()].fill(0xff);
            let error = refusal(&piece, bytes);
            let error = error.unwrap_or_else(|| panic!("{}: {} was read", piece.place, field.what));
            assert_eq!(error.what, field.what, "{}: {error}", piece.place);
            if !begins_section {
                let at = if is_count { field.offset } else { field.offset + field.len };
                assert_eq!(error.offset, at, "{}: {error}", piece.place);
            }
            *refused.entry(field.what).or_default() += 1;
        }
    }
    println!("refused counts and lengths: {refused:?}");
    for what in
        ["attribute count", "dimension name", "MBR count", "R-tree level count", "consolidated footer count"]
    {
        assert!(refused.contains_key(what), "{what} is in no fixture");
    }
}
