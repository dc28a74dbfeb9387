//! Bytes that nothing refers to: harmless, but useless, and not written on purpose.

use tdb_codec::{Gate, Reader, to_u64, to_usize};
use tdb_fragment::{TimestampedName, has_unlisted_conditions, parse_names, vacuum_target};
use tdb_tile::GenericTile;

use super::Verifier;
use crate::fragment::Fragment;

impl Verifier {
    /// Notes the bytes of a file from `used` on, if there are any.
    pub(super) fn unused(&mut self, key: &str, used: u64, size: u64) {
        if let Some(more) = size.checked_sub(used).filter(|more| *more > 0) {
            self.note(key, &format!("nothing refers to {more} of its bytes, from offset {used} on"));
        }
    }

    /// Notes what follows the generic tile at the beginning of `bytes`, which are at `offset` of a
    /// file.
    pub(super) fn unused_after_tile(&mut self, key: &str, bytes: &[u8], offset: u64) {
        if let Ok(tile) = GenericTile::parse(bytes, offset) {
            let end = |len: u64| offset.saturating_add(len);
            self.unused(key, end(tile.total_len()), end(to_u64(bytes.len())));
        }
    }

    /// Notes what follows the section at the beginning of `bytes`, which are at `offset` of a
    /// fragment's metadata file.
    pub(super) fn unused_after_section(&mut self, fragment: &Fragment, bytes: &[u8], offset: u64) {
        let key = fragment.metadata_key();
        let tile = GenericTile::parse(bytes, offset).map_or(0, |tile| tile.total_len());
        let rest = to_usize(tile).and_then(|tile| bytes.get(tile..)).unwrap_or_default();
        if has_unlisted_conditions(fragment.version()) && !rest.is_empty() {
            let rest_offset = offset.saturating_add(tile);
            let conditions = self.context.generic_tile(key, rest, rest_offset);
            if conditions.is_ok_and(|list| parse_names(Reader::new(&list), "processed conditions").is_ok()) {
                return self.unused_after_tile(key, rest, rest_offset);
            }
        }
        self.unused_after_tile(key, bytes, offset);
    }

    /// Notes what is before the sections of a fragment's metadata file, and what follows those of
    /// versions 1 and 2.
    pub(super) fn unused_metadata(&mut self, fragment: &Fragment) {
        let key = fragment.metadata_key();
        if !fragment.version().has(Gate::FragmentFooter) {
            if let Ok(bytes) = self.context.read_all(key) {
                self.unused_after_tile(key, &bytes, 0);
            }
            return;
        }
        let sections = fragment.footer().sections.iter();
        if let Some(first) = sections.map(|(_, offset)| offset).min() {
            self.unused(key, 0, first);
        }
    }

    /// Notes lines of a list of paths that refer to nothing in the array.
    pub(super) fn unused_lines<'l>(&mut self, key: &str, lines: impl Iterator<Item = &'l str>) {
        let strange = |line: &&str| {
            let name = vacuum_target(line).rsplit('/').next().unwrap_or_default();
            let stem = tdb_fragment::CommitKind::of(name).map_or(name, |(_, stem)| stem);
            TimestampedName::parse(stem).is_err()
        };
        let strange: Vec<&str> = lines.filter(strange).collect();
        if let Some(first) = strange.first() {
            let start =
                first.char_indices().nth(80).map_or(*first, |(end, _)| first.get(..end).unwrap_or_default());
            let what = format!(
                "{} of its lines refer to nothing in the array, such as \"{}\"",
                strange.len(),
                start.escape_debug()
            );
            self.note(key, &what);
        }
    }
}
