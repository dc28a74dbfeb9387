//! Tables and scans as bytes, in protocol buffers. The arrays in them are `QueryDescription`s:
//! locations, times, files, ranges, fields and conditions, and neither keys nor credentials.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::plan_err;
use datafusion_proto::protobuf;
use prost::Message;
use tdb_array::query::QueryDescription;
use tdb_arrow::Options;
use tdb_datafusion::datafusion;
use tdb_datafusion::{Result, ScanDescription, SortedColumn, TableDescription};

use crate::error::external;

/// The bytes before a message: no message of DataFusion or Ballista begins with them, because none
/// of their fields has the number and the kind that the first byte would mean. The last byte is the
/// version.
const TABLE: [u8; 9] = *b"tdbtable\x01";
const SCAN: [u8; 9] = *b"tdbscan\0\x01";

#[derive(Clone, PartialEq, Message)]
struct TableMessage {
    #[prost(bytes = "vec", tag = "1")]
    array: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    arrow: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ScanMessage {
    #[prost(message, optional, tag = "1")]
    schema: Option<protobuf::Schema>,
    #[prost(bytes = "vec", tag = "2")]
    arrow: Vec<u8>,
    #[prost(bool, tag = "3")]
    selection: bool,
    #[prost(uint64, optional, tag = "4")]
    limit: Option<u64>,
    #[prost(uint64, tag = "5")]
    row_bytes: u64,
    #[prost(message, repeated, tag = "6")]
    order: Vec<SortedMessage>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct SortedMessage {
    #[prost(uint64, tag = "1")]
    column: u64,
    #[prost(bool, tag = "2")]
    nulls_first: bool,
}

/// Whether the bytes are those of a table.
pub(crate) fn is_table(bytes: &[u8]) -> bool {
    bytes.starts_with(&TABLE)
}

/// Whether the bytes are those of a scan.
pub(crate) fn is_scan(bytes: &[u8]) -> bool {
    bytes.starts_with(&SCAN)
}

/// Appends a table.
pub(crate) fn write_table(table: &TableDescription, bytes: &mut Vec<u8>) -> Result<()> {
    let message = TableMessage { array: table.array.to_bytes(), arrow: table.arrow.codes().to_vec() };
    bytes.extend(TABLE);
    message.encode(bytes).map_err(external)
}

/// Reads what [`write_table`] wrote.
pub(crate) fn read_table(bytes: &[u8]) -> Result<TableDescription> {
    let Some(rest) = bytes.strip_prefix(&TABLE) else { return plan_err!("these bytes are not a table") };
    let message = TableMessage::decode(rest).map_err(external)?;
    Ok(TableDescription::new(read_part(&message.array)?, read_options(&message.arrow)?))
}

/// Appends a scan, without its partitions.
pub(crate) fn write_scan(scan: &ScanDescription, bytes: &mut Vec<u8>) -> Result<()> {
    let order = scan.order.iter().map(|sorted| {
        let column = u64::try_from(sorted.column).map_err(external)?;
        Ok(SortedMessage { column, nulls_first: sorted.nulls_first })
    });
    let message = ScanMessage {
        schema: Some(scan.schema.as_ref().try_into()?),
        arrow: scan.arrow.codes().to_vec(),
        selection: scan.selection,
        limit: scan.limit.map(u64::try_from).transpose().map_err(external)?,
        row_bytes: scan.row_bytes,
        order: order.collect::<Result<_>>()?,
    };
    bytes.extend(SCAN);
    message.encode(bytes).map_err(external)
}

/// Reads what [`write_scan`] wrote; the scan has no partitions yet.
pub(crate) fn read_scan(bytes: &[u8]) -> Result<ScanDescription> {
    let Some(rest) = bytes.strip_prefix(&SCAN) else { return plan_err!("these bytes are not a scan") };
    let message = ScanMessage::decode(rest).map_err(external)?;
    let Some(schema) = &message.schema else { return plan_err!("a scan without a schema") };
    let order = message.order.iter().map(|sorted| {
        let column = usize::try_from(sorted.column).map_err(external)?;
        Ok(SortedColumn { column, nulls_first: sorted.nulls_first })
    });
    Ok(ScanDescription {
        parts: Vec::new(),
        schema: Arc::new(Schema::try_from(schema)?),
        arrow: read_options(&message.arrow)?,
        selection: message.selection,
        limit: message.limit.map(usize::try_from).transpose().map_err(external)?,
        row_bytes: message.row_bytes,
        order: order.collect::<Result<_>>()?,
    })
}

/// Reads a partition.
pub(crate) fn read_part(bytes: &[u8]) -> Result<QueryDescription> {
    QueryDescription::from_bytes(bytes).map_err(external)
}

fn read_options(codes: &[u8]) -> Result<Options> {
    match codes.try_into().ok().and_then(Options::from_codes) {
        Some(options) => Ok(options),
        None => plan_err!("a table with types that this version of tdb does not know"),
    }
}
