//! `tdb evolve`: changes an array's schema.

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::json;
use tdb_array::schema::{CellValNum, field_key};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{Array, OpenOptions, TimeWindow};
use tdb_schema::{Attribute, Dimension, Range};
use tdb_text::parse::parse_value;
use tdb_text::schema;
use tdb_text::suggest::hint;
use tdb_text::value::coordinate_text;

use crate::args::{ChangeArgs, LockArgs};
use crate::failure::{Failure, Result};
use crate::place::{Stores, shown};
use crate::ranges::{parse_named, parse_names};

/// The text after the options in the help.
const HELP: &str = "\
An attribute is NAME=TYPE, as in tdb import --types; NAME:TYPE is the same. After the type, [] means cells of variable length, [N] means N values per cell, and ? means that cells \
may be null. Texts and bytes are of variable length, other cells have one value. tdb create --help lists the datatypes.

Examples:
  tdb evolve weather --add 'wind=float32?' --add 'note=string_utf8' --drop pressure
  tdb evolve weather --extend-enum 'colours=pink,teal'
  tdb evolve weather --expand 'time=2020-01-01..2031-01-01'
  tdb evolve weather --upgrade";

/// Change an array's schema: attributes, enumerations, current domain, version.
///
/// All changes take effect at once. Existing data is not changed: it reads as fill values where it
/// lacks an attribute, and reads at earlier times still see what is dropped.
#[derive(Debug, Group)]
#[command(after_help = HELP, after_long_help = format!("{}\n\n{HELP}", schema::datatypes_help()))]
pub(crate) struct EvolveArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// Add an attribute: its name, and a datatype.
    #[arg(long, value_name = "NAME=TYPE")]
    add: Vec<String>,
    /// Drop an attribute.
    #[arg(long, value_name = "NAME")]
    drop: Vec<String>,
    /// Add values, separated by commas, at the end of an enumeration.
    #[arg(long, value_name = "NAME=A,B")]
    extend_enum: Vec<String>,
    /// Drop an enumeration that no attribute uses.
    #[arg(long, value_name = "NAME")]
    drop_enum: Vec<String>,
    /// Enlarge the current domain of a dimension.
    #[arg(long, value_name = "DIM=LO:HI", allow_hyphen_values = true)]
    expand: Vec<String>,
    /// Upgrade the array to the newest format version.
    #[arg(long)]
    upgrade: bool,
    /// Print one JSON object: the array, and the new schema file.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

impl EvolveArgs {
    /// Whether no change is asked for.
    fn is_empty(&self) -> bool {
        let lists = [&self.add, &self.drop, &self.extend_enum, &self.drop_enum, &self.expand];
        !self.upgrade && lists.into_iter().all(Vec::is_empty)
    }
}

/// Runs the command.
pub(crate) fn run(args: &EvolveArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let usage = |error: String| Failure::Usage(format!("{}: {error}", args.array.display()));
    // The newest schema is evolved, whatever its time.
    let mut options = OpenOptions::new().window(TimeWindow::ALL);
    if let Some(key) = args.change.key.key()? {
        options = options.key(key);
    }
    let storage = stores.storage(&args.array)?;
    let array = options.open_storage(storage.clone()).map_err(failed)?;
    let mut evolution = SchemaEvolution::new();
    for text in &args.add {
        evolution = evolution.add_attribute(parse_attribute(text).map_err(usage)?);
    }
    for name in &args.drop {
        check_attribute(&array, name).map_err(|error| Failure::at(&args.array, error))?;
        evolution = evolution.drop_attribute(name);
    }
    for text in &args.extend_enum {
        let (name, values) = extension(&array, text).map_err(usage)?;
        evolution = evolution.extend_enumeration(name, values);
    }
    for name in &args.drop_enum {
        evolution = evolution.drop_enumeration(name);
    }
    if !args.expand.is_empty() {
        evolution = evolution.expand_current_domain(expanded(&array, &args.expand).map_err(usage)?);
    }
    if args.upgrade {
        evolution = evolution.upgrade();
    }
    if args.is_empty() {
        let what = "nothing is to change: say what with --add, --drop, --extend-enum, --drop-enum, --expand or --upgrade";
        return Err(usage(what.to_owned()));
    }
    let key = args.lock.apply(args.change.options()?).evolve_storage(storage, &evolution).map_err(failed)?;
    // What the metadata says of a field goes with it.
    let metadata = array.metadata().map_err(failed)?;
    let of_dropped = |key: &&[u8]| args.drop.iter().any(|name| is_of(key, name));
    let gone = metadata.iter().map(|(key, _)| key).filter(of_dropped);
    let gone = gone.fold(MetadataChanges::new(), MetadataChanges::remove);
    if !gone.is_empty() {
        let writer = args.change.options()?.open_storage(stores.storage(&args.array)?).map_err(failed)?;
        writer.write_metadata(&gone).map_err(failed)?;
    }
    if args.json {
        writeln!(out, "{:#}", json!({"array": shown(&args.array), "schema": key}))?;
    } else {
        writeln!(out, "{key}")?;
    }
    Ok(())
}

/// Whether a key of metadata is about an attribute with this name.
fn is_of(key: &[u8], attribute: &str) -> bool {
    let behind = key.strip_prefix(field_key(attribute, false, "").as_bytes());
    behind.is_some_and(|property| !property.contains(&b'.'))
}

/// Parses `NAME=TYPE` or `NAME:TYPE`, optionally followed by `[]`, `[N]` and `?`.
fn parse_attribute(text: &str) -> Result<Attribute, String> {
    let (name, rest) = text
        .rsplit_once([':', '='])
        .ok_or_else(|| format!("{text:?} is not NAME=TYPE, such as 'wind=float32'"))?;
    let (rest, nullable) = rest.strip_suffix('?').map_or((rest, false), |rest| (rest, true));
    let (kind, cells) = match rest.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        None => (rest, None),
        Some((kind, "")) => (kind, Some(CellValNum::Var)),
        Some((kind, count)) => {
            let count = count.parse().ok().and_then(CellValNum::from_code);
            (kind, Some(count.ok_or_else(|| format!("{text:?}: [N] needs a number of values"))?))
        }
    };
    let datatype = schema::datatype(kind)?;
    let cells = cells.unwrap_or_else(|| schema::usual_cells(datatype));
    let attribute = Attribute::new(name, datatype, cells);
    Ok(if nullable { attribute.with_nulls() } else { attribute })
}

/// Returns an error if an attribute that is to be dropped is not there.
fn check_attribute(array: &Array, name: &str) -> Result<(), String> {
    let known = || array.schema().attributes.iter().map(|own| own.name.as_str());
    // Writing refuses to drop a dimension, with an error of its own.
    if array.schema().field(name).is_some() {
        return Ok(());
    }
    let list = known().collect::<Vec<_>>().join(", ");
    Err(format!("--drop: the attribute {name:?} is not there (there are {list}){}", hint(name, known())))
}

/// Parses `NAME=A,B`: the enumeration's name, and values of its type.
fn extension(array: &Array, text: &str) -> Result<(String, Vec<Vec<u8>>), String> {
    let (name, values) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=A,B"))?;
    let known = array.enumeration(name).map_err(|error| error.to_string())?;
    let known = known.ok_or_else(|| {
        let known = || array.schema().enumerations.iter().map(|own| own.name.as_str());
        let list = known().collect::<Vec<_>>().join(", ");
        let there = if list.is_empty() { "the array has none".to_owned() } else { format!("it has {list}") };
        format!("the array has no enumeration {name:?} ({there}){}", hint(name, known()))
    })?;
    let values = parse_names(values)
        .iter()
        .map(|value| parse_value(known.datatype, value))
        .collect::<Result<_, _>>()?;
    Ok((name.to_owned(), values))
}

/// The current domain (or the domain) with some dimensions' ranges replaced.
fn expanded(array: &Array, texts: &[String]) -> Result<Vec<Range>, String> {
    let schema = array.schema();
    let mut ranges: Vec<Range> = match &schema.current_domain {
        Some(current) => current.ranges.clone(),
        None => {
            let domain = |dimension: &Dimension| {
                let (low, high) = dimension.domain.clone().unwrap_or_default();
                Range::new(low, high)
            };
            schema.domain.dimensions.iter().map(domain).collect()
        }
    };
    for text in texts {
        let (index, ends) = parse_named(schema, "--expand", text)?;
        if let Some(range) = ranges.get_mut(index) {
            range.low = ends.low.unwrap_or_else(|| range.low.clone());
            range.high = ends.high.unwrap_or_else(|| range.high.clone());
            if let Some(dimension) = schema.domain.dimensions.get(index) {
                check_inside(dimension, range)?;
            }
        }
    }
    Ok(ranges)
}

/// Returns an error that says what to do if a current domain would reach out of the domain.
fn check_inside(dimension: &Dimension, range: &Range) -> Result<(), String> {
    let Some((low, high)) = &dimension.domain else { return Ok(()) };
    if Range::new(low.as_slice(), high.as_slice()).covers(dimension.datatype, range) {
        return Ok(());
    }
    let [low, high] = [low, high].map(|end| coordinate_text(dimension, end));
    Err(format!(
        "--expand: dimension {:?} has the domain {low}..{high}, and a domain cannot grow: a current domain grows inside of it \
         (tdb import --domain makes a new array with another one)",
        dimension.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_a_name_a_type_and_what_cells_may_be() {
        let of = |text| {
            let attribute = parse_attribute(text).unwrap();
            (attribute.name, attribute.datatype.name(), attribute.cell_val_num.code(), attribute.nullable)
        };
        assert_eq!(of("a:int32"), ("a".into(), "INT32", 1, false));
        assert_eq!(of("a:b:string_utf8[]?"), ("a:b".into(), "STRING_UTF8", u32::MAX, true));
        assert_eq!(of("a=b=int32"), ("a=b".into(), "INT32", 1, false));
        assert_eq!(of("p:float64[2]"), ("p".into(), "FLOAT64", 2, false));
        assert_eq!(of("t:string"), ("t".into(), "STRING_UTF8", u32::MAX, false), "texts are of any length");
        assert_eq!(of("t:string[1]"), ("t".into(), "STRING_UTF8", 1, false));
        for bad in ["a", "a:int33", "a:int32[x]", "a:int32[0]"] {
            assert!(parse_attribute(bad).is_err(), "{bad}");
        }
    }
}
