//! Queries as bytes: planned by one process, run by others.
//!
//! Layout, integers little-endian, a string as its length (`u64`) and its bytes:
//!
//! | Field | Bytes |
//! |---|---|
//! | magic | `tdbquery` |
//! | version | `u8`: 1, or 2 for a query that marks the selected cells |
//! | URI | string |
//! | window | two `u64`: first and last millisecond |
//! | schema | string: its key |
//! | fragments | a count (`u64`), then that many strings: the keys of their folders |
//! | deletes | a count (`u64`), then that many strings: their keys |
//! | dimensions | a count (`u64`), then that many dimensions |
//! | fields | `0`: the default; `1`: a count (`u64`), then that many strings |
//! | order | `u8`: 255 for the default, or the code of a layout |
//! | condition | `0`: none; `1`: a condition (`tdb_cells::expression`) |
//! | selection | only in version 2: `1` |
//!
//! A dimension is `0` if all of it is asked for, otherwise `1`, a count (`u64`) and that many
//! ranges. A range is a byte that says which ends follow (`0` none, `1` low, `2` high, `3` both,
//! `4` one value that is both), and the bytes of these ends as strings.

use std::path::PathBuf;
use std::sync::Arc;

use tdb_codec::{Error as ParseError, Layout, Reader, Writer, to_u64};
use tdb_snapshot::directory::ExactFiles;

use super::Read;
use crate::array::{Array, OpenOptions};
use crate::fragment::Fragment;
use crate::partition::{self, Ranges};
use crate::plan::Plan;
use crate::replay::AsyncStorage;
use crate::requested::Bounds;
use crate::storage::{LocalStorage, Storage};
use crate::{DescriptionError, QueryCondition, QueryError, Result, TimeWindow};

const MAGIC: [u8; 8] = *b"tdbquery";
const STRUCTURE_VERSION: u8 = 1;
/// The version of a query that marks the selected cells: readers that do not know of these must not
/// take others for them.
const WITH_SELECTION: u8 = 2;
/// The code for an unspecified order.
const DEFAULT_ORDER: u8 = 255;

/// A query that another process can run. Its [bytes](Self::to_bytes) contain what was asked for,
/// and which files of the array are used.
///
/// ```
/// use tdb_array::query::QueryDescription;
/// use tdb_array::{Array, OpenOptions};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// // One process plans:
/// let array = Array::open(path)?;
/// let parts = array.read().range("rows", 1..=3).partitions(3)?;
/// let messages: Vec<Vec<u8>> =
///     parts.iter().map(|part| Ok(part.describe(path)?.to_bytes())).collect::<tdb_array::Result<_>>()?;
///
/// // Others read:
/// let mut cells = 0;
/// for message in messages {
///     let description = QueryDescription::from_bytes(&message)?;
///     let part = description.open(OpenOptions::new(), description.uri())?;
///     cells += part.collect()?.len();
/// }
/// assert_eq!(cells, array.read().range("rows", 1..=3).collect()?.len());
/// # Ok::<(), tdb_array::Error>(())
/// ```
///
/// It contains the URI of the array as the caller gave it, and the window in which the array was
/// opened; the schema; the fragments and deletes that are used; ranges, fields, order and
/// condition. Ranges of labels are stored as positions. It contains no keys, credentials or
/// settings of storages, and no memory budgets, limits or threads: the process that runs the query
/// chooses these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryDescription {
    uri: String,
    window: TimeWindow,
    files: ExactFiles,
    ranges: Arc<Ranges>,
    fields: Option<Vec<String>>,
    order: Option<Layout>,
    condition: Option<QueryCondition>,
    selection: bool,
}

impl Read {
    /// Describes the query for another process. `uri` is where that process finds the array: it is
    /// passed on unchanged, and must contain no secret.
    ///
    /// The description names the fragments that have cells in the query's ranges, and all deletes
    /// of the window. Whoever opens it reads these and no others, so that all parts of a query
    /// agree, even if more is written in the meantime.
    ///
    /// # Errors
    /// A field, range or condition that does not fit the array, or a condition that is nested more
    /// than 256 levels deep. [`QueryError::TilePartition`] for a part of [`Read::tile_partitions`].
    pub fn describe(&self, uri: impl Into<String>) -> Result<QueryDescription> {
        if self.tiles.is_some() {
            return Err(QueryError::TilePartition.into());
        }
        let plan = self.clone().plan()?;
        let array = &plan.array;
        let dimensions = &array.schema().domain.dimensions;
        // Sets that were asked for out of order cannot be searched.
        let sets = plan.ranges.iter().zip(dimensions).map(|(set, dimension)| set.clone().merged(dimension));
        let sorted = Plan { ranges: sets.collect::<Result<_>>()?, ..plan.clone() };
        let counts = |fragment: &&Arc<Fragment>| sorted.meets(fragment);
        let fragments = array.fragments().iter().filter(counts).map(|fragment| fragment.folder().to_owned());
        let deletes = array.deletes().iter().map(|delete| delete.path.clone());
        if let Some(condition) = &self.condition {
            condition.write_to(&mut Writer::new()).map_err(QueryError::Condition)?;
        }
        Ok(QueryDescription {
            uri: uri.into(),
            window: array.window(),
            files: ExactFiles {
                schema: array.schema_key().to_owned(),
                fragments: fragments.collect(),
                deletes: deletes.collect(),
            },
            ranges: Arc::new(partition::ranges(&plan)),
            fields: self.fields.clone(),
            order: self.order,
            condition: self.condition.clone(),
            selection: self.selection,
        })
    }
}

impl QueryDescription {
    /// Reads what [`Self::to_bytes`] wrote. Nothing is checked against an array yet.
    ///
    /// # Errors
    /// [`Error::Description`](crate::Error::Description): not a description, another version, or
    /// damaged bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(parse(bytes)?)
    }

    /// Opens the array in a local folder, and returns the query.
    ///
    /// The window of the description replaces that of `options`. Labels are read as they are in the
    /// window.
    ///
    /// # Errors
    /// As [`OpenOptions::open`], and [`Error::FilesGone`](crate::Error::FilesGone) if files that
    /// the query was planned with no longer exist, because they were consolidated and then
    /// vacuumed: plan the query again. Fields, ranges or a condition that do not fit the array are
    /// reported when the query is run.
    pub fn open(&self, options: OpenOptions, path: impl Into<PathBuf>) -> Result<Read> {
        self.open_storage(options, LocalStorage::new(path))
    }

    /// Opens the array in a storage, and returns the query.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_storage(&self, options: OpenOptions, storage: impl Storage + 'static) -> Result<Read> {
        Ok(self.query(options.window(self.window).open_exactly(storage, &self.files)?))
    }

    /// Opens the array in an asynchronous storage, and returns the query.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_async(
        &self,
        options: OpenOptions,
        storage: impl AsyncStorage + 'static,
    ) -> Result<Read> {
        Ok(self.query(options.window(self.window).open_exactly_async(storage, self.files.clone()).await?))
    }

    fn query(&self, array: Array) -> Read {
        Read {
            resolved: Some(self.ranges.clone()),
            fields: self.fields.clone(),
            order: self.order,
            condition: self.condition.clone(),
            selection: self.selection,
            ..Read::new(array)
        }
    }

    /// The URI of the array, as it was given to [`Read::describe`].
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The window that the array is opened in.
    #[must_use]
    pub const fn window(&self) -> TimeWindow {
        self.window
    }

    /// The fragments that are read, by the paths of their folders in the array.
    #[must_use]
    pub fn fragments(&self) -> &[String] {
        &self.files.fragments
    }

    /// The query as bytes, for [`Self::from_bytes`] of this version of the library or a later one.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.bytes(&MAGIC);
        writer.u8(if self.selection { WITH_SELECTION } else { STRUCTURE_VERSION });
        writer.bytes_u64(self.uri.as_bytes());
        writer.u64(self.window.start);
        writer.u64(self.window.end);
        writer.bytes_u64(self.files.schema.as_bytes());
        write_names(&mut writer, &self.files.fragments);
        write_names(&mut writer, &self.files.deletes);
        writer.u64(to_u64(self.ranges.len()));
        for ranges in &*self.ranges {
            writer.bool(ranges.is_some());
            if let Some(ranges) = ranges {
                writer.u64(to_u64(ranges.len()));
                ranges.iter().for_each(|ends| write_range(&mut writer, ends));
            }
        }
        writer.bool(self.fields.is_some());
        if let Some(fields) = &self.fields {
            write_names(&mut writer, fields);
        }
        writer.u8(self.order.map_or(DEFAULT_ORDER, Layout::code));
        writer.bool(self.condition.is_some());
        if let Some(condition) = &self.condition {
            // Its depth was checked when it was described or read.
            let _ = condition.write_to(&mut writer);
        }
        if self.selection {
            writer.bool(true);
        }
        writer.into_vec()
    }
}

fn write_names(writer: &mut Writer, names: &[String]) {
    writer.u64(to_u64(names.len()));
    names.iter().for_each(|name| writer.bytes_u64(name.as_bytes()));
}

fn write_range(writer: &mut Writer, Bounds { low, high }: &Bounds) {
    let point = low.is_some() && low == high;
    let ends = u8::from(low.is_some()) | u8::from(high.is_some()) << 1;
    writer.u8(if point { 4 } else { ends });
    let high = high.as_ref().filter(|_| !point);
    low.iter().chain(high).for_each(|end| writer.bytes_u64(end));
}

fn parse(bytes: &[u8]) -> core::result::Result<QueryDescription, DescriptionError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(DescriptionError::NotADescription)?;
    let mut reader = Reader::with_offset(rest, to_u64(MAGIC.len()));
    let version = reader.u8("description version")?;
    if !matches!(version, STRUCTURE_VERSION | WITH_SELECTION) {
        return Err(DescriptionError::UnknownVersion { version, known: WITH_SELECTION });
    }
    let uri = reader.string_u64("URI")?;
    let window = TimeWindow { start: reader.u64("window start")?, end: reader.u64("window end")? };
    let schema = reader.string_u64("schema key")?;
    let fragments = read_names(&mut reader, "fragment count", "fragment key")?;
    let deletes = read_names(&mut reader, "delete count", "delete key")?;
    let dimensions = reader.count_u64(1, "dimension count")?;
    let ranges = (0..dimensions).map(|_| read_ranges(&mut reader)).collect::<Result<_, ParseError>>()?;
    let named = reader.bool("whether there are fields")?;
    let fields = named.then(|| read_names(&mut reader, "field count", "field name")).transpose()?;
    let order = reader.code("order", |code| match code {
        DEFAULT_ORDER => Some(None),
        code => Layout::from_code(code).map(Some),
    })?;
    let conditioned = reader.bool("whether there is a condition")?;
    let condition = conditioned.then(|| QueryCondition::read_from(&mut reader)).transpose()?;
    let selection = version == WITH_SELECTION && reader.bool("whether selected cells are marked")?;
    reader.finish("description")?;
    let files = ExactFiles { schema, fragments, deletes };
    Ok(QueryDescription { uri, window, files, ranges: Arc::new(ranges), fields, order, condition, selection })
}

fn read_names(
    reader: &mut Reader<'_>,
    count: &'static str,
    name: &'static str,
) -> Result<Vec<String>, ParseError> {
    let count = reader.count_u64(8, count)?;
    (0..count).map(|_| reader.string_u64(name)).collect()
}

fn read_ranges(reader: &mut Reader<'_>) -> Result<Option<Vec<Bounds>>, ParseError> {
    if !reader.bool("whether there are ranges")? {
        return Ok(None);
    }
    let count = reader.count_u64(1, "range count")?;
    (0..count).map(|_| read_range(reader)).collect::<Result<_, ParseError>>().map(Some)
}

fn read_range(reader: &mut Reader<'_>) -> Result<Bounds, ParseError> {
    let ends = reader.code("range ends", |code| (code <= 4).then_some(code))?;
    let low =
        matches!(ends, 1 | 3 | 4).then(|| reader.bytes_u64("range low")).transpose()?.map(<[u8]>::to_vec);
    let high = matches!(ends, 2 | 3).then(|| reader.bytes_u64("range high")).transpose()?.map(<[u8]>::to_vec);
    Ok(Bounds { high: if ends == 4 { low.clone() } else { high }, low })
}

#[cfg(test)]
mod tests {
    use tdb_codec::ErrorKind;

    use super::*;
    use tdb_cells::field;

    fn sample() -> QueryDescription {
        let end = |value: i32| Some(value.to_le_bytes().to_vec());
        let ranges = vec![
            None,
            Some(vec![
                Bounds { low: end(1), high: end(9) },
                Bounds { low: end(4), high: end(4) },
                Bounds { low: None, high: end(7) },
                Bounds { low: end(8), high: None },
                Bounds::default(),
            ]),
            Some(Vec::new()),
        ];
        QueryDescription {
            uri: "s3://bucket/array".into(),
            window: TimeWindow::between(3, 77),
            files: ExactFiles {
                schema: "__schema/__1_1_0".into(),
                fragments: vec!["__fragments/__2_2_0_22".into(), "__4_5_0".into()],
                deletes: vec!["__commits/__6_6_0_22.del".into()],
            },
            ranges: Arc::new(ranges),
            fields: Some(vec!["a".into(), "__timestamps".into()]),
            order: Some(Layout::GlobalOrder),
            condition: Some(field("a").gt(3).or(field("s").eq("x"))),
            selection: false,
        }
    }

    #[test]
    fn a_query_that_marks_cells_has_a_version_that_older_readers_refuse() {
        let marked = QueryDescription { selection: true, ..sample() };
        let bytes = marked.to_bytes();
        assert_eq!((bytes[8], sample().to_bytes()[8]), (2, 1));
        assert_eq!(QueryDescription::from_bytes(&bytes).unwrap(), marked);
        assert!(QueryDescription::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn a_description_round_trips_and_every_truncation_is_refused() {
        let bytes = sample().to_bytes();
        assert_eq!(QueryDescription::from_bytes(&bytes).unwrap(), sample());
        for len in 0..bytes.len() {
            assert!(QueryDescription::from_bytes(&bytes[..len]).is_err(), "{len}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        let Err(DescriptionError::Damaged(error)) = parse(&longer) else { panic!("a byte is left over") };
        assert_eq!((error.offset, error.kind), (to_u64(bytes.len()), ErrorKind::TrailingBytes { count: 1 }));
    }

    #[test]
    fn the_least_description_is_the_bytes_that_the_table_says() {
        let mut bytes = b"tdbquery\x01".to_vec();
        // Its URI, its window, its schema, no fragments, no deletes, one dimension.
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, b'u', 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, b's', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0]);
        let description = QueryDescription::from_bytes(&bytes).unwrap();
        assert_eq!((description.uri(), description.window()), ("u", TimeWindow::until(9)));
        assert_eq!(description.ranges.as_slice(), [None]);
        assert_eq!(description.to_bytes(), bytes);
    }

    #[test]
    fn other_bytes_and_other_versions_are_refused_by_name() {
        assert_eq!(parse(b"TDBQUERY\x01"), Err(DescriptionError::NotADescription));
        assert_eq!(parse(b"tdbquery\x03"), Err(DescriptionError::UnknownVersion { version: 3, known: 2 }));
    }

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_refused_where_it_stands() {
        let mut bytes = sample().to_bytes();
        let fragments = bytes.windows(16).position(|window| window == b"__schema/__1_1_0").unwrap() + 16;
        bytes[fragments + 7] = 0xff;
        let Err(DescriptionError::Damaged(error)) = parse(&bytes) else { panic!("a count is damaged") };
        assert_eq!((error.what, error.offset), ("fragment count", to_u64(fragments)));
        assert!(matches!(error.kind, ErrorKind::CountTooLarge { .. }));
    }
}
