//! A group that is open: for reading, or for changes that are written when it is closed.

use tdb_array::TimeWindow;
use tdb_array::group::{Group, GroupMember, GroupWriter, ObjectType};
use tdb_array::schema::ArrayMetadata;
use tdb_array::write::MetadataChanges;

use super::{Change, MODIFY_EXCLUSIVE, READ, WRITE, failure};
use crate::config::Config;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};
use crate::place::{self, ContextPlaces, Place};

/// What an open group can do.
pub(super) enum OpenGroup {
    /// Members and metadata, as they were when the group was opened.
    Read(Box<Reading>),
    /// Changes of members and metadata.
    Write(Box<Writing>),
    /// Nothing but to be deleted.
    Exclusive,
}

/// A group that is open for reading.
pub(super) struct Reading {
    pub(super) group: Group,
    pub(super) metadata: ArrayMetadata,
}

/// A group that is open for changes.
pub(super) struct Writing {
    pub(super) writer: GroupWriter,
    pub(super) places: ContextPlaces,
    metadata: MetadataChanges,
}

impl OpenGroup {
    /// Opens the group of a place.
    pub(super) fn new(
        context: &Context,
        config: &Config,
        place: &Place,
        query_type: u32,
    ) -> Result<Self, Failure> {
        let places = ContextPlaces(context.stores().clone());
        if place.object_type()? != ObjectType::Group {
            return Err(failure(format!("Cannot open group; Group does not exist: '{}'", place.uri())));
        }
        let end = config.parsed::<u64>("sm.group.timestamp_end").filter(|end| *end != u64::MAX);
        match query_type {
            READ => {
                let mut options = place::open_options(context, config)?;
                let start = config.parsed("sm.group.timestamp_start").unwrap_or(0);
                if let Some(end) = end {
                    options = options.window(TimeWindow::between(start, end));
                } else if start > 0 {
                    options = options.since(start);
                }
                let group = options.open_group_in(std::sync::Arc::new(places), location(place))?;
                let metadata = group.metadata()?;
                Ok(Self::Read(Box::new(Reading { group, metadata })))
            }
            WRITE => {
                let mut options = place::write_options(context, config)?;
                if let Some(end) = end {
                    options = options.timestamp(end);
                }
                let writer = options.open_group_storage(place.storage()?)?;
                Ok(Self::Write(Box::new(Writing { writer, places, metadata: MetadataChanges::new() })))
            }
            MODIFY_EXCLUSIVE => Ok(Self::Exclusive),
            _ => Err(failure("Cannot open group; query type is not READ, WRITE or MODIFY_EXCLUSIVE")),
        }
    }

    /// The group, if it is open for reading.
    pub(super) fn reading(&self, what: &str) -> Result<&Reading, Failure> {
        match self {
            Self::Read(reading) => Ok(reading),
            _ => Err(failure(format!("Cannot {what}; Group was not opened in read mode"))),
        }
    }

    /// The group, if it is open for changes.
    pub(super) fn writing(&mut self, what: &str) -> Result<&mut Writing, Failure> {
        match self {
            Self::Write(writing) => Ok(writing),
            _ => {
                Err(failure(format!("Cannot {what}; Group was not opened in write or modify_exclusive mode")))
            }
        }
    }

    /// Writes the changes.
    pub(super) fn close(self) -> Outcome {
        if let Self::Write(writing) = self {
            let Writing { mut writer, metadata, .. } = *writing;
            writer.metadata(metadata);
            writer.commit()?;
        }
        Ok(())
    }
}

impl Writing {
    /// Changes the value of a key.
    pub(super) fn change(&mut self, key: &str, change: Change) {
        let changes = core::mem::take(&mut self.metadata);
        self.metadata = match change {
            Some(value) => changes.put(key, value),
            None => changes.remove(key),
        };
    }
}

/// A place as groups name it: a path, or a URI in memory.
pub(super) fn location(place: &Place) -> String {
    let uri = place.uri();
    uri.strip_prefix("file://").map(str::to_owned).unwrap_or(uri)
}

/// The URI of a member, as libtiledb shows it.
pub(super) fn uri_of(group: &Group, member: &GroupMember) -> String {
    let location = group.location_of(member);
    if location.contains("://") { location } else { format!("file://{location}") }
}
