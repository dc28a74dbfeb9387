//! Commit files, vacuum files, consolidated metadata, array metadata.

use tdb_codec::{Reader, to_u64};
use tdb_fragment::{
    CommitKind, Condition, Footer, TimestampedName, Update, parse_consolidated_commits,
    parse_consolidated_footers, parse_path_lines,
};
use tdb_schema::MetadataEntry;

use super::Verifier;

impl Verifier {
    /// Checks a file if it is a commit file; other files are ignored.
    pub(super) fn commit(&mut self, key: &str) {
        let name = key.rsplit('/').next().unwrap_or_default();
        let Some((kind, stem)) = CommitKind::of(name) else { return };
        if let Err(error) = TimestampedName::parse(stem) {
            self.problem(key, None, error.to_string());
        }
        match kind {
            CommitKind::Write | CommitKind::Ok => {
                if let Some(bytes) = self.read(key) {
                    self.unused(key, 0, to_u64(bytes.len()));
                }
            }
            CommitKind::Consolidated => {
                let Some(bytes) = self.read(key) else { return };
                match parse_consolidated_commits(&bytes) {
                    Ok(records) => {
                        self.unused_lines(key, records.iter().map(|record| record.path.as_str()));
                        for (offset, delete) in records.iter().filter_map(|record| record.delete) {
                            if let Some(payload) = self.generic_tile(key, delete, offset) {
                                self.unused_after_tile(key, delete, offset);
                                self.condition(key, offset, &payload);
                            }
                        }
                    }
                    Err(error) => self.problem(key, Some(error.offset), error.to_string()),
                }
            }
            CommitKind::Ignore | CommitKind::Vacuum => self.paths(key),
            CommitKind::Delete => {
                if let Some(payload) = self.generic_file(key) {
                    self.condition(key, 0, &payload);
                }
            }
            CommitKind::Update => {
                let Some(payload) = self.generic_file(key) else { return };
                match Update::parse(&payload) {
                    Ok(_) => self
                        .note(key, "an update: the cells that it affects read as deleted, as in libtiledb"),
                    Err(error) => self.payload_problem(key, 0, &error),
                }
            }
            CommitKind::ConsolidatedMetadata => self.consolidated_metadata(key),
            _ => {}
        }
    }

    fn condition(&mut self, key: &str, offset: u64, payload: &[u8]) {
        if let Err(error) = Condition::parse(payload) {
            self.payload_problem(key, offset, &error);
        }
    }

    fn paths(&mut self, key: &str) {
        let Some(bytes) = self.read(key) else { return };
        match parse_path_lines(&bytes) {
            Ok(lines) => self.unused_lines(key, lines.iter().map(String::as_str)),
            Err(error) => self.problem(key, Some(error.offset), error.to_string()),
        }
    }

    fn consolidated_metadata(&mut self, key: &str) {
        let Some(payload) = self.generic_file(key) else { return };
        let footers = match parse_consolidated_footers(Reader::new(&payload)) {
            Ok(footers) => footers,
            Err(error) => return self.payload_problem(key, 0, &error),
        };
        for footer in footers {
            let parsed = Footer::parse_head(footer.bytes, footer.offset).and_then(|(_, name)| {
                let schema = self.schema_of(name.as_deref());
                schema
                    .map_or(Ok(()), |schema| Footer::parse(footer.bytes, footer.offset, &schema).map(|_| ()))
            });
            if let Err(error) = parsed {
                self.payload_problem(key, 0, &error);
            }
        }
    }

    pub(super) fn metadata(&mut self, key: &str) {
        if matches!(CommitKind::of(key), Some((CommitKind::Vacuum, _))) {
            return self.paths(key);
        }
        let Some(payload) = self.generic_file(key) else { return };
        if let Err(error) = MetadataEntry::parse_all(&payload) {
            self.payload_problem(key, 0, &error);
        }
    }
}
