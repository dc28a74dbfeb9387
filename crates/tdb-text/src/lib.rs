//! Values, dates, filters, conditions and schemas of TileDB arrays as people write them: as text
//! and as JSON.
//!
//! ```
//! use serde_json::json;
//! use tdb_text::json::Json;
//! use tdb_text::schema::{self, At};
//!
//! let described = Json::from(json!({
//!     "type": "dense",
//!     "dimensions": [{"name": "day", "datatype": "DATETIME_DAY", "domain": ["2020-01-01", "2020-12-31"], "extent": 7}],
//!     "attributes": [{"name": "rain", "datatype": "f32", "filters": ["byteshuffle", "zstd"]}],
//! }));
//! let made = schema::parse(&At::root(&described), None)?;
//! let shown = schema::to_json(&made.schema, &made.enumerations);
//! assert_eq!(shown["dimensions"][0]["domain"], json!(["2020-01-01", "2020-12-31"]));
//! assert_eq!(shown["attributes"][0]["datatype"], "FLOAT32");
//!
//! // Dates in a condition are in quotes.
//! let condition = tdb_text::condition::parse("day >= '2020-02-29' and rain > 0", &made.schema)?;
//! assert_eq!(condition.to_string(), "day >= 18321 and rain > 0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The command and the Python package share this notation, so that both understand what the other
//! prints. The crate knows nothing of files, of byte layouts, or of how queries are answered.
#![forbid(unsafe_code)]

pub mod condition;
pub mod json;
pub mod parse;
pub mod pipeline;
pub mod quotes;
pub mod report;
pub mod schema;
pub mod suggest;
mod texts;
pub mod value;

/// Dates.
pub use tdb_codec::calendar;
