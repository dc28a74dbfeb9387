//! Reads a piece and writes it again, and returns the fields that its parser read.

use tdb_array::schema::ArraySchema;
use tdb_codec::{FormatVersion, Reader, Structure, Trace, TracedField, Writer};
use tdb_fragment::{
    Condition, Footer, LegacyMetadata, RTree, Section, TileValues, Update, parse_consolidated_commits_from,
    parse_consolidated_footers, parse_fragment_statistics, parse_names, parse_path_lines_from,
    parse_u64_list, parse_words, write_consolidated_commits, write_consolidated_footers,
    write_fragment_statistics, write_names, write_path_lines, write_u64_list, write_words,
};
use tdb_schema::{Enumeration, MetadataEntry};

use crate::reserialize::pieces::{Kind, Piece};

type Written = Result<Vec<u8>, Box<dyn std::error::Error>>;

impl Piece {
    /// The table of the piece's structure; `None` for files whose name contains all information.
    pub(crate) fn table(&self) -> Option<&'static Structure> {
        let name = match &self.kind {
            Kind::Schema => "array schema",
            Kind::Enumeration => "enumeration",
            Kind::Metadata => "array metadata",
            Kind::Legacy(_) => "legacy fragment metadata",
            Kind::Footer(..) => "footer",
            Kind::Section(section, ..) => section.name(),
            Kind::ConsolidatedFooters => "consolidated fragment metadata",
            Kind::ConsolidatedCommits => "consolidated commits",
            Kind::Paths => "ignore and vacuum files",
            Kind::Condition => "delete condition",
            Kind::Update => "update",
            Kind::Empty => return None,
        };
        Some(structures().find(|structure| structure.name == name).unwrap())
    }

    /// The fields the parser reads.
    pub(crate) fn trace(&self) -> Vec<TracedField> {
        let trace = Trace::new();
        self.read(Reader::new(&self.bytes).traced(&trace), self.version).unwrap();
        trace.fields()
    }

    /// The piece read, and written in its version.
    pub(crate) fn rewritten(&self) -> Written {
        self.read(Reader::new(&self.bytes), self.version)
    }

    fn read(&self, reader: Reader<'_>, version: FormatVersion) -> Written {
        Ok(match &self.kind {
            Kind::Schema => ArraySchema::parse_from(reader)?.to_bytes(version)?,
            Kind::Enumeration => Enumeration::parse_from(reader)?.to_bytes(version)?,
            Kind::Metadata => MetadataEntry::write_all(&MetadataEntry::parse_all_from(reader)?)?,
            Kind::Legacy(schema) => LegacyMetadata::parse_from(reader, schema)?.to_bytes(version, schema)?,
            Kind::Footer(schema) => Footer::parse_from(reader, schema)?.to_bytes(schema)?,
            Kind::Section(section, schema, slots) => {
                let name = section.name();
                match section {
                    Section::RTree => RTree::parse_from(reader, version, &schema.domain)?
                        .to_bytes(version, &schema.domain)?,
                    Section::Mins(_)
                    | Section::Maxes(_)
                    | Section::GlobalOrderMins(_)
                    | Section::GlobalOrderMaxes(_) => TileValues::parse(reader, name)?.to_bytes(),
                    Section::Sums(_) => write_words(&parse_words(reader, name)?),
                    Section::FragmentStatistics => {
                        write_fragment_statistics(&parse_fragment_statistics(reader, slots.len())?)
                    }
                    Section::ProcessedConditions => write_names(&parse_names(reader, name)?),
                    _ => write_u64_list(&parse_u64_list(reader, name)?),
                }
            }
            Kind::ConsolidatedFooters => {
                let footers = parse_consolidated_footers(reader)?;
                let footers: Vec<_> =
                    footers.iter().map(|footer| (footer.name.as_str(), footer.bytes)).collect();
                write_consolidated_footers(&footers, version)?
            }
            Kind::ConsolidatedCommits => {
                write_consolidated_commits(&parse_consolidated_commits_from(reader)?, version)?
            }
            Kind::Paths => write_path_lines(&parse_path_lines_from(reader)?)?,
            Kind::Condition => Condition::parse_from(reader)?.to_bytes(version)?,
            Kind::Update => Update::parse_from(reader)?.to_bytes(version)?,
            Kind::Empty => Writer::new().into_vec(),
        })
    }
}

/// The tables of both crates.
pub(crate) fn structures() -> impl Iterator<Item = &'static Structure> {
    tdb_schema::STRUCTURES.into_iter().chain(tdb_fragment::STRUCTURES)
}
