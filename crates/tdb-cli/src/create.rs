//! `tdb create`: creates a new array.

use std::fs;
use std::io::{Read as _, Write};
use std::path::PathBuf;

use clap::Args as Group;
use tdb_codec::FormatVersion;
use tdb_text::json::Json;
use tdb_text::schema::{self, At, datatypes_help, filters_help};

use crate::args::ChangeArgs;
use crate::compress::Compress;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;

/// The text after the options in the help.
const HELP: &str = "\
The fragments and metadata in the output of tdb info --json are ignored.

Examples:
  tdb create weather --schema schema.json
  tdb info weather --json | tdb create other --schema -
  tdb create weather --schema schema.json --force
  tdb create weather --schema schema.json --compress small

A schema:
  {\"type\": \"dense\",
   \"dimensions\": [{\"name\": \"day\", \"datatype\": \"DATETIME_DAY\", \"domain\": [\"2020-01-01\", \"2029-12-31\"], \"extent\": 365}],
   \"attributes\": [{\"name\": \"t\", \"datatype\": \"FLOAT32\", \"nullable\": true,
                   \"filters\": [\"byteshuffle\", {\"name\": \"zstd\", \"level\": 5}]},
                  {\"name\": \"station\", \"datatype\": \"STRING_UTF8\"}]}";

/// Create an array from a schema in JSON.
///
/// The schema has the format that tdb info --json prints, so the schema of one array can be used to
/// create another one. What is omitted has the same default as in libtiledb, except that texts and
/// bytes are of variable length ("cell_val_num": "var"). Only type and dimensions are required, and
/// a name and datatype for each dimension and attribute.
#[derive(Debug, Group)]
#[command(after_help = HELP, after_long_help = format!("{}\n\n{}\n\n{HELP}", datatypes_help(), filters_help()))]
pub(crate) struct CreateArgs {
    /// Folder of the array, which is created.
    pub(crate) array: PathBuf,
    /// File with the schema; - for standard input.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Format version of the array. Default: that of the schema, or else the version that libtiledb
    /// writes today.
    #[arg(long, value_name = "N", value_parser = parse_version)]
    version: Option<FormatVersion>,
    /// Create the array in place of the one that is there, which is removed.
    #[arg(long)]
    force: bool,
    /// Choose filters by datatype where the schema states none, and print them.
    #[arg(long, value_enum)]
    compress: Option<Compress>,
    #[command(flatten)]
    change: ChangeArgs,
}

/// A format version by number.
pub(crate) fn parse_version(text: &str) -> Result<FormatVersion, String> {
    let number = text.parse().map_err(|_| format!("{text:?} is not a format version"))?;
    FormatVersion::parse(number).map_err(|error| error.to_string())
}

/// Runs the command.
pub(crate) fn run(args: &CreateArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let text = if args.schema.as_os_str() == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        fs::read(&args.schema)
    };
    let text = text.map_err(|error| Failure::at(&args.schema, error))?;
    let mut json = Json::parse(&text).map_err(|error| {
        Failure::at(&args.schema, format!("this is not JSON: {error}; tdb create --help shows a schema"))
    })?;
    // The same mistake in the options of tdb copy is one of the command line, too.
    if let Some(wrong) = schema::outside_limits(&At::root(&json)) {
        return Err(Failure::Usage(format!("{}: {wrong}", args.schema.display())));
    }
    let parse = |json: &Json| {
        schema::parse(&At::root(json), args.version).map_err(|error| Failure::at(&args.schema, error))
    };
    let mut described = parse(&json)?;
    let mut chosen = Vec::new();
    if let Some(compress) = args.compress {
        chosen = compress.fill(&mut json, &described.schema, &[]);
        described = parse(&json)?;
    }
    let mut options = args.change.options()?;
    for enumeration in described.enumerations {
        options = options.enumeration(enumeration);
    }
    if args.force {
        options = options.replace();
    }
    let storage = stores.storage(&args.array)?;
    options
        .create_storage(&*storage, &described.schema)
        .map_err(|error| Failure::of_array(&args.array, error))?;
    for (field, filters) in chosen {
        writeln!(out, "{}", one_line(&format!("filters of {field}: {filters}")))?;
    }
    Ok(())
}
