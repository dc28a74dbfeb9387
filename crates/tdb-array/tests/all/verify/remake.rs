//! Metadata files of fragments with something changed in them.

use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::{Array, OpenOptions};
use tdb_codec::{Budget, FormatVersion, Limits};
use tdb_fragment::{Footer, FooterLocation, Section, SectionOffsets};
use tdb_tile::GenericTile;

/// The only file whose key has this ending.
pub(crate) fn key(storage: &MemoryStorage, end: &str) -> String {
    let keys: Vec<String> = storage.keys().into_iter().filter(|key| key.ends_with(end)).collect();
    assert_eq!(keys.len(), 1, "{end}: {keys:?}");
    keys[0].clone()
}

/// Changes the bytes of a file.
pub(crate) fn change(storage: &MemoryStorage, end: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let key = key(storage, end);
    let mut bytes = storage.remove(&key).unwrap().to_vec();
    change(&mut bytes);
    storage.insert(key, bytes);
}

/// Replaces bytes that occur in a file exactly once.
pub(crate) fn replace(storage: &MemoryStorage, end: &str, from: &[u8], to: &[u8]) {
    change(storage, end, |bytes| {
        let mut places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from));
        let at = places.next().unwrap();
        assert_eq!(places.next(), None, "there more than once");
        bytes.splice(at..at + from.len(), to.iter().copied());
    });
}

/// Changes payloads of sections, and the footer, of the only fragment.
pub(crate) fn metadata(
    storage: &MemoryStorage,
    mut payload: impl FnMut(Section, &mut Vec<u8>),
    footer: impl FnOnce(&mut Footer),
) {
    let array: Array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.fragments().len(), 1);
    let fragment = &array.fragments()[0];
    let (schema, mut new) = (fragment.schema(), fragment.footer().clone());
    let file = storage.read_tail(fragment.metadata_key(), u64::MAX).unwrap().1;
    let mut bytes = Vec::new();
    new.sections = SectionOffsets::build(new.version, new.slots, |section| {
        let at = fragment.footer().sections.get(section).unwrap();
        let tile = GenericTile::parse(&file[usize::try_from(at).unwrap()..], at).unwrap();
        let mut content = tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap();
        payload(section, &mut content);
        let offset = bytes.len() as u64;
        bytes.extend(GenericTile::encode(&content, FormatVersion::CURRENT).unwrap());
        Ok::<_, tdb_codec::Error>(offset)
    })
    .unwrap();
    footer(&mut new);
    let location = FooterLocation::of(new.version, Some(schema)).unwrap();
    bytes.extend(location.end(new.to_bytes(schema).unwrap()).unwrap());
    storage.insert(fragment.metadata_key(), bytes);
}

/// Changes the payload of one section.
pub(crate) fn section(storage: &MemoryStorage, wanted: Section, change: impl FnOnce(&mut Vec<u8>)) {
    let mut change = Some(change);
    let once = |section, payload: &mut Vec<u8>| {
        if section == wanted {
            change.take().unwrap()(payload);
        }
    };
    metadata(storage, once, |_| ());
    assert!(change.is_none(), "no {wanted:?}");
}
