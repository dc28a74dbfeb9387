//! `tdb dump`: explains a file byte by byte, as the project's own parsers read it.

mod block;
mod fragment;
mod kind;
mod lists;
mod rest;
mod tile;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args as Group, ValueEnum};
use serde_json::{Value, json};
use tdb_array::Key;
use tdb_codec::Reader;
use tdb_schema::{ArraySchema, Enumeration, GroupDetails, MetadataEntry};
use tdb_text::value::hex_text;

use self::block::{Block, Detail, Row, Source, Trouble};
use self::kind::Kind;
use crate::args::KeyArgs;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::table::{self, Heading};

/// Explain a file of an array byte by byte.
#[derive(Debug, Group)]
#[command(after_help = "\
The kind of the file is determined from its name and its neighbours; for a file without these, give --kind. Damaged files are \
explained up to the first byte that cannot be interpreted, whose offset is shown. --json omits no byte: each field has \
its bytes in hexadecimal and, if it is more than bytes, its exact value.

Examples:
  tdb dump weather/__schema/__1577836800000_1577836800000_0123456789abcdef0123456789abcdef
  tdb dump weather/__schema/*
  tdb dump weather/__fragments/*/__fragment_metadata.tdb --json
  tdb dump stray.tdb --kind schema")]
pub(crate) struct DumpArgs {
    /// The file, or several.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What kind of file it is.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object, or of several files a list of them.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &DumpArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let key = args.key.key()?;
    let several = args.files.len() > 1;
    let mut objects = Vec::new();
    let mut troubles = Vec::new();
    for (index, path) in args.files.iter().enumerate() {
        let file = stores.read(path)?;
        let kind = args.kind.or_else(|| kind::of(path)).or_else(|| kind::sniff(&file));
        let kind = kind.filter(|_| !file.is_empty());
        let mut blocks = explain(path, &file, kind, ArrayAccess { stores, key: key.as_ref() });
        rest::add(&mut blocks, &file);
        if args.json {
            let name = kind.and_then(|kind| Some(kind.to_possible_value()?.get_name().to_owned()));
            objects.push(json!({
                "file": shown(path),
                "kind": name,
                "size": file.len(),
                "blocks": blocks.iter().map(|block| block_json(block, &file)).collect::<Vec<_>>(),
            }));
        } else {
            if several {
                writeln!(out, "{}{}:", if index > 0 { "\n" } else { "" }, one_line(&shown(path)))?;
            }
            for (index, block) in blocks.iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                write_block(block, &file, out)?;
            }
        }
        if let Some((block, trouble)) = blocks.iter().find_map(|block| Some((block, block.trouble.as_ref()?)))
        {
            let what = format!("{}: {} ({})", block.title, trouble.what, block.place(trouble.offset));
            troubles.push(Failure::at(path, what));
        }
    }
    if args.json {
        let all = if several { Value::Array(objects) } else { objects.pop().unwrap_or_default() };
        writeln!(out, "{all:#}")?;
    }
    match troubles.into_iter().next() {
        Some(first) => {
            out.flush()?;
            Err(first)
        }
        None => Ok(()),
    }
}

/// Access to other files of the same array.
#[derive(Clone, Copy)]
struct ArrayAccess<'a> {
    stores: &'a Stores,
    key: Option<&'a Key>,
}

fn explain(path: &Path, file: &[u8], kind: Option<Kind>, access: ArrayAccess<'_>) -> Vec<Block> {
    let key = access.key;
    let generic =
        |what: &str, parse: &dyn Fn(Reader<'_>) -> Result<(), Trouble>| tile::explain(what, file, key, parse);
    match kind {
        None if file.is_empty() => vec![Block::new("an empty file: only its name has a meaning")],
        None => {
            let what =
                "bytes: the kind of the file cannot be determined from its name and folder (give --kind)";
            vec![Block::raw(what, file)]
        }
        Some(Kind::Raw) => vec![Block::raw("bytes", file)],
        Some(Kind::Schema) => generic("array schema", &|reader| {
            ArraySchema::parse_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Enumeration) => generic("enumeration", &|reader| {
            Enumeration::parse_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Metadata) => generic("array metadata", &|reader| {
            MetadataEntry::parse_all_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Group) => {
            generic("group", &|reader| GroupDetails::parse_from(reader).map(|_| ()).map_err(Trouble::from))
        }
        Some(Kind::GenericTile) => generic("payload", &|mut reader| {
            reader.take(reader.remaining(), "payload").map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Condition) => generic("delete condition", &lists::condition),
        Some(Kind::Update) => generic("update", &lists::update),
        Some(Kind::FragmentMetadata) => fragment::explain_metadata(path, file, access),
        Some(Kind::Data) => fragment::explain_data(path, file, access),
        Some(Kind::Commits) => lists::explain_commits(file, key),
        Some(Kind::Paths) => lists::explain_paths(file),
        Some(Kind::ConsolidatedMetadata) => lists::explain_footers(path, file, access),
    }
}

fn write_block(block: &Block, file: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", one_line(&block.title))?;
    let headings =
        [Heading::right("offset"), Heading::right("length"), Heading::left("field"), Heading::left("value")];
    let row = |row: &Row| {
        let value = block.value(file, row, Detail::Short).unwrap_or_default();
        vec![row.offset.to_string(), row.len.to_string(), row.name.clone(), value]
    };
    let rows: Vec<_> = block.rows.iter().map(row).collect();
    if !rows.is_empty() {
        table::write_rows(out, 2, &headings, &rows)?;
    }
    match &block.trouble {
        Some(trouble) => writeln!(
            out,
            "  cannot be interpreted from {} on: {}",
            block.place(trouble.offset),
            one_line(&trouble.what)
        ),
        None => Ok(()),
    }
}

/// A block with all of its bytes: the fields of the file's own blocks together contain every byte
/// of the file, and those of a payload's blocks every byte of the payload.
fn block_json(block: &Block, file: &[u8]) -> Value {
    let row = |row: &Row| {
        json!({
            "offset": row.offset,
            "length": row.len,
            "field": row.name,
            "value": block.value(file, row, Detail::Exact),
            "hex": hex_text(block.bytes(file, row)),
        })
    };
    let trouble = |trouble: &Trouble| json!({"offset": trouble.offset, "what": trouble.what});
    let (payload_of, payload_size) = match &block.source {
        Source::File => (None, None),
        Source::Payload { tile, bytes } => (Some(tile), Some(bytes.len())),
    };
    json!({
        "title": block.title,
        "payload_of": payload_of,
        "payload_size": payload_size,
        "fields": block.rows.iter().map(row).collect::<Vec<_>>(),
        "error": block.trouble.as_ref().map(trouble),
    })
}
