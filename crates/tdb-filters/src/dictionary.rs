//! DICTIONARY (14): strings as indices into a dictionary. Only for var-length strings.
//!
//! Chunk metadata: the common beginning in [`crate::strings`], then:
//!
//! | Field | Type |
//! |---|---|
//! | id width | u8: 1, 2, 4 or 8 |
//! | string-length width | u8: 1, 2, 4 or 8 |
//! | dictionary length in bytes | u32 |
//! | dictionary: per entry its length (**big-endian**) and its bytes; no count | |
//!
//! Data: one id for each cell, **big-endian**. Entries are in order of first appearance. The id
//! width is computed from the number of *cells*. Options: compressor = **7**, level i32 (ignored).

use std::collections::HashMap;

use tdb_codec::{Reader, Writer, read_be_uint, to_u32, to_u64, to_usize, write_be_uint};

use crate::error::{ErrorKind, Kind};
use crate::scratch::Charge;
use crate::string_hash::Keyed;
use crate::strings::{CodedStrings, Codes, Head, Strings, read_uint, split, width, width_for};

/// Reads the metadata block and appends the strings of `data`.
pub(crate) fn decode(
    block: &mut Reader<'_>,
    data: &[u8],
    values: &mut Vec<u8>,
    offsets: &mut Vec<u64>,
    charge: &Charge<'_>,
) -> Kind<()> {
    let Parsed { head, id_width, dictionary, entries } = Parsed::new(block, data, charge)?;
    let mut strings = Strings::new(&head, values, offsets);
    let mut push =
        |entry: &Entry| strings.push_one(dictionary.get(entry.start..).unwrap_or_default(), entry.len);
    look_up(data, id_width, &entries, &mut push)?;
    strings.finish()
}

/// Reads the metadata block and appends the strings of `data` as codes: the entries of the
/// dictionary, and the ids.
pub(crate) fn decode_codes(
    block: &mut Reader<'_>,
    data: &[u8],
    into: &mut CodedStrings,
    charge: &Charge<'_>,
) -> Kind<usize> {
    let Parsed { head, id_width, dictionary, entries } = Parsed::new(block, data, charge)?;
    // Chunks that were appended before have the first codes.
    let first = to_u32(into.starts.len()).unwrap_or(u32::MAX);
    // Entries that no cell has are kept too, so their bytes are not among those of the cells.
    charge.charge(dictionary.len())?;
    let mut codes = Codes::new(&head, entries.len(), into, charge)?;
    for entry in &entries {
        let end = entry.start.saturating_add(entry.len);
        codes.add(dictionary.get(entry.start..end).unwrap_or_default())?;
    }
    match id_width {
        1 => codes.extend(codes_of::<1>(data, first, &entries)),
        2 => codes.extend(codes_of::<2>(data, first, &entries)),
        4 => codes.extend(codes_of::<4>(data, first, &entries)),
        _ => codes.extend(codes_of::<8>(data, first, &entries)),
    }?;
    codes.finish()?;
    Ok(head.values_len)
}

/// The parsed metadata block.
struct Parsed<'b> {
    head: Head,
    id_width: usize,
    dictionary: &'b [u8],
    entries: Vec<Entry>,
}

impl<'b> Parsed<'b> {
    fn new(block: &mut Reader<'b>, data: &[u8], charge: &Charge<'_>) -> Kind<Self> {
        let head = Head::parse(block, charge)?;
        let id_width = width(block, "id width")?;
        let string_width = width(block, "string length width")?;
        let dictionary = block.bytes_u32("dictionary")?;
        let expected = to_u64(head.cells).saturating_mul(to_u64(id_width));
        for found in [data.len(), head.encoded_len].map(to_u64) {
            if found != expected {
                return Err(ErrorKind::WrongLength { expected, found });
            }
        }
        let entries = entries(dictionary, string_width, charge)?;
        Ok(Self { head, id_width, dictionary, entries })
    }
}

/// Passes on the entries of all ids, which have `width` bytes.
fn look_up(
    ids: &[u8],
    width: usize,
    entries: &[Entry],
    push: &mut impl FnMut(&Entry) -> Kind<()>,
) -> Kind<()> {
    match width {
        1 => look_up_wide::<1>(ids, entries, push),
        2 => look_up_wide::<2>(ids, entries, push),
        4 => look_up_wide::<4>(ids, entries, push),
        _ => look_up_wide::<8>(ids, entries, push),
    }
}

/// Passes on the entries of ids of `W` bytes.
fn look_up_wide<const W: usize>(
    ids: &[u8],
    entries: &[Entry],
    push: &mut impl FnMut(&Entry) -> Kind<()>,
) -> Kind<()> {
    ids.as_chunks::<W>().0.iter().try_for_each(|id| push(entry_of(*id, entries)?.0))
}

/// The codes of ids of `W` bytes, and the lengths of their strings.
fn codes_of<const W: usize>(
    ids: &[u8],
    first: u32,
    entries: &[Entry],
) -> impl ExactSizeIterator<Item = Kind<(u32, usize)>> {
    ids.as_chunks::<W>().0.iter().map(move |id| {
        let (entry, id) = entry_of(*id, entries)?;
        Ok((first.saturating_add(id), entry.len))
    })
}

/// An entry, and its number.
#[inline]
fn entry_of<const W: usize>(id: [u8; W], entries: &[Entry]) -> Kind<(&Entry, u32)> {
    let id = read_be_uint(&id).unwrap_or(u64::MAX);
    let entry = to_usize(id).and_then(|id| entries.get(id)).zip(u32::try_from(id).ok());
    entry.ok_or(ErrorKind::InvalidValue { value: id })
}

/// The position of a string in the dictionary.
struct Entry {
    start: usize,
    len: usize,
}

fn entries(dictionary: &[u8], string_width: usize, charge: &Charge<'_>) -> Kind<Vec<Entry>> {
    // The list is larger than the dictionary by a constant factor, so it is charged before it
    // grows.
    let max = dictionary.len().checked_div(string_width).unwrap_or(0);
    charge.charge(max.saturating_mul(size_of::<Entry>()))?;
    let mut entries = Vec::new();
    let mut reader = Reader::new(dictionary);
    while !reader.is_empty() {
        let len = read_uint(&mut reader, string_width, "dictionary entry length")?;
        let start = dictionary.len().saturating_sub(reader.remaining());
        reader.take(len, "dictionary entry").map_err(ErrorKind::Data)?;
        entries.push(Entry { start, len });
    }
    Ok(entries)
}

/// Appends the metadata block, and the ids of the strings to `out`.
pub(crate) fn encode(values: &[u8], offsets: &[u64], block: &mut Writer, out: &mut Vec<u8>) -> Kind<()> {
    let strings = split(values, offsets)?;
    let id_width = width_for(to_u64(strings.len()));
    let longest = strings.iter().map(|string| string.len()).max().unwrap_or(0);
    let string_width = width_for(to_u64(longest));
    let mut ids: HashMap<&[u8], u64, Keyed> = HashMap::with_hasher(Keyed::new());
    let mut dictionary = Vec::new();
    let mut id = |string| {
        let next = to_u64(ids.len());
        *ids.entry(string).or_insert_with(|| {
            write_be_uint(&mut dictionary, to_u64(string.len()), string_width);
            dictionary.extend_from_slice(string);
            next
        })
    };
    out.reserve(strings.len().saturating_mul(id_width));
    match id_width {
        1 => strings.iter().for_each(|string| put::<1>(id(string), out)),
        2 => strings.iter().for_each(|string| put::<2>(id(string), out)),
        4 => strings.iter().for_each(|string| put::<4>(id(string), out)),
        _ => strings.iter().for_each(|string| put::<8>(id(string), out)),
    }
    Head::write(strings.len(), values.len(), out.len(), block)?;
    block.u8(u8::try_from(id_width).unwrap_or(8));
    block.u8(u8::try_from(string_width).unwrap_or(8));
    block.bytes_u32(&dictionary, "dictionary")?;
    Ok(())
}

/// Appends the low `W` bytes of an id.
fn put<const W: usize>(id: u64, out: &mut Vec<u8>) {
    if let Some(low) = id.to_be_bytes().last_chunk::<W>() {
        out.extend_from_slice(low);
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Budget;

    use super::*;

    fn decoded(metadata: &[u8], data: &[u8]) -> Kind<(Vec<u8>, Vec<u64>)> {
        let (mut values, mut offsets) = (Vec::new(), Vec::new());
        let budget = Budget::new(1_000_000);
        let mut reader = Reader::new(metadata);
        decode(&mut reader, data, &mut values, &mut offsets, &Charge::new(&budget))?;
        reader.finish("block")?;
        Ok((values, offsets))
    }

    fn encoded(strings: &[&str]) -> (Vec<u8>, Vec<u8>) {
        let mut offsets = Vec::new();
        let mut values = Vec::new();
        for string in strings {
            offsets.push(values.len() as u64);
            values.extend(string.as_bytes());
        }
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(&values, &offsets, &mut block, &mut out).unwrap();
        assert_eq!(decoded(block.as_slice(), &out).unwrap(), (values, offsets));
        assert_eq!(coded(block.as_slice(), &out).unwrap(), strings);
        (block.into_vec(), out)
    }

    /// The strings of codes.
    fn coded(metadata: &[u8], data: &[u8]) -> Kind<Vec<String>> {
        let (mut into, budget) = (CodedStrings::default(), Budget::new(1_000_000));
        decode_codes(&mut Reader::new(metadata), data, &mut into, &Charge::new(&budget))?;
        let string = |cell| String::from_utf8(into.string(cell).unwrap().to_vec()).unwrap();
        Ok((0..into.codes.len()).map(string).collect())
    }

    #[test]
    fn eight_identifiers_are_the_reference_s_bytes() {
        let (a, b) = ("HG543232", "HG54");
        let (metadata, data) = encoded(&[a, a, a, b, b, "A", a, b]);
        let mut expected =
            vec![0, 0, 0, 0, 1, 0, 0, 0, 0x2d, 0, 0, 0, 8, 0, 0, 0, 0x40, 0, 0, 0, 1, 1, 16, 0, 0, 0];
        expected.extend(b"\x08HG543232\x04HG54\x01A");
        assert_eq!(metadata, expected);
        assert_eq!(data, [0, 0, 0, 1, 1, 2, 0, 1]);
        for len in 0..metadata.len() {
            assert!(decoded(&metadata[..len], &data).is_err());
        }
        for len in 0..data.len() {
            assert!(decoded(&metadata, &data[..len]).is_err());
        }
        assert!(decoded(&metadata, &[0, 0, 0, 1, 1, 3, 0, 1]).is_err());
        assert!(decoded(&metadata, &[0, 0, 0, 1, 1, 2, 0, 0]).is_err());
    }

    #[test]
    fn entries_that_no_cell_has_are_charged_too_when_they_stay() {
        // One cell, and a thousand entries without bytes.
        let dictionary = [0u8; 1000];
        let mut metadata = vec![0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 1];
        metadata.extend(1000u32.to_le_bytes());
        metadata.extend(dictionary);
        let coded = |budget: u64| {
            let (mut into, budget) = (CodedStrings::default(), Budget::new(budget));
            decode_codes(&mut Reader::new(&metadata), &[7], &mut into, &Charge::new(&budget)).map(|_| into)
        };
        let list = size_of::<Entry>() as u64 * 1000;
        let found = coded(8 + list + 1000 + 4 + 8000).unwrap();
        assert_eq!(
            (found.codes.as_slice(), found.starts.len(), found.string(0)),
            (&[7][..], 1000, Some(&b""[..]))
        );
        assert!(matches!(coded(8 + list + 1000 + 4 + 7999), Err(ErrorKind::OverBudget { .. })));
    }

    #[test]
    fn strings_around_the_length_of_a_wide_copy_come_back() {
        let long: String = ('a'..='z').cycle().take(70).collect();
        for max in 1..40 {
            let strings: Vec<&str> = (0..300).map(|i| &long[i % 30..i % 30 + i * 7 % max]).collect();
            encoded(&strings);
        }
    }

    #[test]
    fn the_id_width_follows_from_the_number_of_cells() {
        assert_eq!(encoded(&["x"; 255]).1.len(), 255);
        assert_eq!(encoded(&["x"; 300]).1.len(), 600);
        assert_eq!(encoded(&["x"; 65_536]).1.len(), 4 * 65_536);
        assert_eq!(encoded(&["", ""]).1, [0, 0]);
        assert_eq!(encoded(&[]).1, []);
    }

    #[test]
    fn ids_of_each_width_are_looked_up() {
        for width in [1u8, 2, 4, 8] {
            let mut metadata = vec![0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 2 * width, 0, 0, 0, 16, 0, 0, 0];
            metadata.extend([width, 1, 5, 0, 0, 0]);
            metadata.extend(b"\x01a\x02bc");
            let data: Vec<u8> =
                [1u64, 0].iter().flat_map(|id| id.to_be_bytes()[8 - usize::from(width)..].to_vec()).collect();
            assert_eq!(decoded(&metadata, &data), Ok((b"bca".to_vec(), vec![0, 2])), "{width}");
            assert_eq!(coded(&metadata, &data), Ok(vec!["bc".to_owned(), "a".to_owned()]), "{width}");
        }
    }
}
