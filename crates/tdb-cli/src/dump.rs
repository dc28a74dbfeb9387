//! `tdb dump`: a file byte by byte, as the project's own parsers read it.

mod block;
mod fragment;
mod kind;
mod lists;
mod tile;

use std::fs;
use std::io::{self, Write};

use serde_json::{Value, json};
use tdb_schema::{ArraySchema, Enumeration, GroupDetails, MetadataEntry};

use self::block::{Block, Row, Trouble};
use crate::args::{DumpArgs, Kind};
use crate::failure::{Failure, Result, one_line};
use crate::table::{self, Heading};

/// Runs the command.
pub(crate) fn run(args: &DumpArgs, out: &mut dyn Write) -> Result {
    let bytes = fs::read(&args.file).map_err(|error| Failure::at(&args.file, error))?;
    let kind = args.kind.or_else(|| kind::of(&args.file)).filter(|_| !bytes.is_empty());
    let blocks = match kind {
        None if bytes.is_empty() => vec![Block::new("an empty file: its name says all")],
        None => {
            let what = "neither the name nor the folder says what this file is: say it with --kind";
            return Err(Failure::Usage(format!("{}: {what}", args.file.display())));
        }
        Some(Kind::Schema) => tile::explain("array schema", &bytes, |reader| {
            ArraySchema::parse_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Enumeration) => tile::explain("enumeration", &bytes, |reader| {
            Enumeration::parse_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Metadata) => tile::explain("array metadata", &bytes, |reader| {
            MetadataEntry::parse_all_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Group) => tile::explain("group", &bytes, |reader| {
            GroupDetails::parse_from(reader).map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Raw) => vec![Block::whole("bytes", &bytes)],
        Some(Kind::GenericTile) => tile::explain("payload", &bytes, |mut reader| {
            reader.take(reader.remaining(), "payload").map(|_| ()).map_err(Trouble::from)
        }),
        Some(Kind::Condition) => tile::explain("delete condition", &bytes, lists::condition),
        Some(Kind::FragmentMetadata) => fragment::explain_metadata(&args.file, &bytes),
        Some(Kind::Data) => fragment::explain_data(&args.file, &bytes),
        Some(Kind::Commits) => lists::explain_commits(&bytes),
        Some(Kind::Paths) => lists::explain_paths(&bytes),
        Some(Kind::ConsolidatedMetadata) => lists::explain_footers(&args.file, &bytes),
    };
    if args.json {
        let object = json!({
            "file": args.file.display().to_string(),
            "size": bytes.len(),
            "blocks": blocks.iter().map(block_json).collect::<Vec<_>>(),
        });
        writeln!(out, "{object:#}")?;
    } else {
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write_block(block, out)?;
        }
    }
    match blocks.iter().find_map(|block| Some((block, block.trouble.as_ref()?))) {
        Some((block, trouble)) => {
            out.flush()?;
            let what = format!("{}: {} ({})", block.title, trouble.what, block.place(trouble.offset));
            Err(Failure::at(&args.file, what))
        }
        None => Ok(()),
    }
}

fn write_block(block: &Block, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", one_line(&block.title))?;
    let headings =
        [Heading::right("offset"), Heading::right("length"), Heading::left("field"), Heading::left("value")];
    let row =
        |row: &Row| vec![row.offset.to_string(), row.len.to_string(), row.name.clone(), row.value.clone()];
    let rows: Vec<_> = block.rows.iter().map(row).collect();
    if !rows.is_empty() {
        table::write_rows(out, 2, &headings, &rows)?;
    }
    match &block.trouble {
        Some(trouble) => writeln!(
            out,
            "  makes no sense from {} on: {}",
            block.place(trouble.offset),
            one_line(&trouble.what)
        ),
        None => Ok(()),
    }
}

fn block_json(block: &Block) -> Value {
    let row =
        |row: &Row| json!({"offset": row.offset, "length": row.len, "field": row.name, "value": row.value});
    let trouble = |trouble: &Trouble| json!({"offset": trouble.offset, "what": trouble.what});
    json!({
        "title": block.title,
        "payload_of": block.payload_of,
        "fields": block.rows.iter().map(row).collect::<Vec<_>>(),
        "error": block.trouble.as_ref().map(trouble),
    })
}
