//! `tdb sql`: questions to arrays in SQL.

#[cfg(feature = "sql")]
mod columns;
#[cfg(feature = "sql")]
mod copy;
#[cfg(feature = "sql")]
mod dictionaries;
#[cfg(feature = "sql")]
mod error;
#[cfg(feature = "sql")]
mod formats;
#[cfg(feature = "sql")]
mod functions;
#[cfg(feature = "sql")]
pub(crate) mod library;
#[cfg(feature = "sql")]
mod messages;
#[cfg(feature = "sql")]
mod prompt;
#[cfg(feature = "sql")]
pub(crate) mod runner;
#[cfg(feature = "sql")]
pub(crate) mod session;
#[cfg(feature = "sql")]
mod spill;
#[cfg(feature = "sql")]
mod statements;
#[cfg(feature = "sql")]
mod summary;
#[cfg(feature = "sql")]
mod tables;
#[cfg(feature = "sql")]
mod values;

use core::num::NonZeroU16;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use tdb_array::MemoryBudget;

use crate::args::{KeyArgs, WindowArgs, parse_threads};
use crate::failure::Result;
use crate::place::Stores;
use crate::screen::Screen;

/// Ask arrays in SQL.
///
/// Paths and URLs of arrays are tables: after FROM, in quotes. Their columns are the dimensions and
/// the attributes. The dialect and the functions are those of Apache DataFusion. Builds with the
/// feature sql have this command.
#[derive(Debug, Group)]
#[command(after_help = "\
The rows of a sparse array are its cells; those of a dense array, all cells of its non-empty domain. Names that are not in quotes are \
changed to lower case. Conditions on columns become ranges and conditions of the read, so that only the tiles that are needed are \
read; --explain shows them. Every statement opens the arrays that it names once, and sees one state of each. INSERT INTO adds rows to \
sparse arrays, UPDATE writes cells again, and COPY (SELECT …) TO 'folder' STORED AS TILEDB makes an array of a result, with the options \
of tdb import. CREATE EXTERNAL TABLE gives an array a name and options of its own: timestamp, key, days, threads.

Results are CSV unless they go to a terminal. In CSV, text is in quotes where it must be, null is nothing, and an empty string is \"\". \
Parquet and Arrow files have one result. The number of rows that INSERT, UPDATE and COPY write goes to standard error. Without statements they are read from standard input; on a \
terminal there is a prompt, whose history is kept in ~/.local/state/tdb/sql_history.

Examples:
  tdb sql \"SELECT city, avg(price) FROM 'trips' WHERE day >= DATE '2024-01-01' GROUP BY city\"
  tdb sql \"SELECT * FROM 's3://bucket/trips' LIMIT 10\" --store-option aws_region=eu-west-1
  tdb sql --explain \"SELECT count(*) FROM 'trips' WHERE day < DATE '2024-02-01'\"
  tdb sql --file report.sql --format ndjson --out report.ndjson
  tdb sql \"SELECT city, avg(price) FROM 'trips' GROUP BY city\" --out cities.parquet
  tdb sql \"CREATE EXTERNAL TABLE old STORED AS TILEDB LOCATION 'trips' OPTIONS (timestamp '1700000000000'); \
SELECT count(*) FROM old\"
  tdb sql \"COPY (SELECT city, day, price FROM 'trips.csv') TO 'trips' STORED AS TILEDB OPTIONS (dims 'city,day')\"
  tdb sql --table e=cells.soma \"SELECT o.cell_type, avg(x.soma_data) FROM e.rna.X.data x JOIN e.obs o ON o.soma_joinid = x.soma_dim_0 \
GROUP BY o.cell_type\"
  tdb sql --cluster 10.0.0.1:50050 \"SELECT count(*) FROM 's3://bucket/trips' WHERE price > 13\"
  tdb sql")]
pub(crate) struct SqlArgs {
    /// Statements, separated by semicolons.
    statements: Option<String>,
    /// Read the statements from this file; - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "statements")]
    file: Option<PathBuf>,
    /// Name an array or a group in the statements. The arrays of a group are NAME.MEMBER, and those
    /// of groups in it NAME.MEMBER.MEMBER; of an experiment of single cells NAME.obs, NAME.RNA.var,
    /// NAME.RNA.X.data. May be given several times.
    #[arg(long, value_name = "NAME=PLACE", value_parser = parse_table)]
    table: Vec<(String, String)>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// How to print results. Default: a table on a terminal, otherwise from the ending of the
    /// file's name, or csv.
    #[arg(long, value_enum)]
    format: Option<SqlFormat>,
    /// Write results to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that --out names, once the new one is complete.
    #[arg(long, requires = "out")]
    force: bool,
    /// On a terminal, print everything: all rows and all columns.
    #[arg(long)]
    all: bool,
    /// Print how each query would be answered, and what it would read, instead of its result.
    /// Nothing is written.
    #[arg(long)]
    explain: bool,
    /// Let DROP TABLE 'path' remove the array and all of its history. Names that statements have
    /// given are forgotten without this, and nothing is removed.
    #[arg(long)]
    allow_drop: bool,
    /// Keep the memory of queries below this, e.g. 2GiB or 500MB. Sorts, joins and groups that need
    /// more use temporary files.
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemoryBudget>,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_negative_numbers = true)]
    threads: Option<NonZeroU16>,
    /// Answer queries of arrays in the cluster whose scheduler listens here (tdb cluster), which
    /// has its own memory and threads. Statements that write are refused. Builds with the feature
    /// cluster have this option.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["memory", "threads"])]
    cluster: Option<String>,
}

fn parse_table(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, place)) if !name.is_empty() && !place.is_empty() => {
            Ok((name.to_owned(), place.to_owned()))
        }
        _ => Err("a name and a place are needed, as in e=path/to/group".to_owned()),
    }
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// Aligned columns.
    Table,
    /// A header and a line for each row, with commas; nulls are empty.
    Csv,
    /// The same with tabulators.
    Tsv,
    /// A list of one object for each row.
    Json,
    /// One object on each line.
    #[value(alias = "jsonl")]
    Ndjson,
    /// A Parquet file of one result.
    #[value(alias = "pq")]
    Parquet,
    /// An Arrow IPC file of one result, also called Feather.
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    /// An Arrow IPC stream of one result.
    Arrows,
}

/// Without the feature, the command is known, and says how to get it.
#[cfg(not(feature = "sql"))]
pub(crate) fn run(_: &SqlArgs, _: Stores, _: Option<Screen>, _: &mut dyn Write, _: &mut dyn Write) -> Result {
    Err(crate::failure::Failure::Failed(crate::features::NO_SQL.to_owned()))
}

/// Runs the command.
#[cfg(feature = "sql")]
pub(crate) fn run(
    args: &SqlArgs,
    stores: Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let Some(text) = args.text()? else {
        return prompt::run(args, stores, screen, out, err);
    };
    let statements = statements::parse(&text).map_err(|error| error::failure(error, &text))?;
    let mut results = formats::Results::new(args, screen, out)?;
    let mut session = session::Session::new(args, stores)?;
    for statement in statements {
        session.run(statement, &mut results, err).map_err(|error| error.failure(&text))?;
    }
    results.finish()
}

#[cfg(feature = "sql")]
impl SqlArgs {
    /// The statements; `None` for those of a prompt.
    fn text(&self) -> Result<Option<String>> {
        use std::io::{IsTerminal, Read, stdin};

        use crate::failure::Failure;

        if let Some(statements) = &self.statements {
            return Ok(Some(statements.clone()));
        }
        let file = self.file.as_deref().filter(|file| file.as_os_str() != "-");
        if let Some(file) = file {
            return std::fs::read_to_string(file).map(Some).map_err(|error| Failure::at(file, error));
        }
        if self.file.is_none() && stdin().is_terminal() {
            return Ok(None);
        }
        let mut text = String::new();
        let read = stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Failure::at("standard input".as_ref(), error))?;
        Ok(Some(text))
    }
}
