//! `cargo xtask conform capi-stores`: TileDB-Py on object stores, with our library in the place of
//! libtiledb.
//!
//! The servers are those of `conform stores`, which this command starts on the loopback interface
//! and ends. `xtask/peer/capi/stores_job.py` makes arrays, groups and files there, changes them,
//! looks at them and removes them. Four times, two libraries take turns at that (or one does all);
//! all must see what libtiledb alone sees.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::capi;
use super::sides::{By, Phase, Sides, differences, pairs, turns};
use crate::servers::{Kind, Server};
use crate::{peer, python};

pub(super) const USAGE: &str = "[--server moto|azurite] [--library FILE] [--optional yes]";

const JOB: &str = "xtask/peer/capi/stores_job.py";
/// The phases of the job, and which of the two libraries runs each.
const PHASES: [Phase; 6] = [
    (By::First, "make"),
    (By::Second, "look"),
    (By::Second, "change"),
    (By::Second, "look-changed"),
    (By::First, "look-again"),
    (By::Second, "end"),
];
/// A store that both libraries have and for which there is no server.
const WITHOUT: &str =
    "| Google | not run: fake-gcs-server is a program in Go, which these commands do not install | | |";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    servers: Vec<Kind>,
    library: Option<PathBuf>,
    /// A server or a package that cannot be had does not count as a failure.
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { servers: Kind::ALL.to_vec(), library: None, optional: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--server" => options.servers.retain(|kind| kind.name() == value),
                "--library" => options.library = Some(PathBuf::from(value)),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg} {value}: {USAGE}")),
            }
        }
        if options.servers.is_empty() {
            Err(format!("there is no such server: {USAGE}"))
        } else {
            Ok(options)
        }
    }
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let made = python::environment(&folder, capi::ENVIRONMENT, capi::PYTHON, &capi::TOOLS, &[]);
    let environment = match made {
        Ok(environment) => environment,
        Err(why) if options.optional => {
            println!("skipped: TileDB-Py cannot be installed: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let library = match &options.library {
        Some(library) => library.clone(),
        None => capi::built(&root)?,
    };
    let work = folder.join("capi-stores-work");
    let sides = Sides::new(&environment, root.join(JOB), &work, &[capi::PACKAGE], &library)?;
    let mut wrong = Vec::new();
    println!(
        "| server | made and read with | read, changed and removed with | lines | is |\n|---|---|---|--:|---|"
    );
    for kind in &options.servers {
        match Server::start(*kind, &work.join(kind.name())) {
            Ok(server) => wrong.extend(compared(&sides, &server, *kind)?),
            Err(why) if options.optional => println!("skipped: {} cannot be started: {why}", kind.name()),
            Err(why) => wrong.push(format!("{} cannot be started: {why}", kind.name())),
        }
    }
    println!("{WITHOUT}");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Runs the job with each pair of libraries; returns what differs.
fn compared(sides: &Sides, server: &Server, kind: Kind) -> Result<Vec<String>, String> {
    let (mut first, mut wrong): (Option<String>, _) = (None, Vec::new());
    for pair in pairs() {
        let name = format!("{}-{}", kind.name(), pair.join("-"));
        let seen = match in_turns(sides, server, kind, pair) {
            Ok(seen) => seen,
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                continue;
            }
        };
        kept(sides.work(), &name, &seen)?;
        let found = differences(first.get_or_insert_with(|| seen.clone()), &seen);
        let (lines, is) = (seen.lines().count(), if found.is_empty() { "equal" } else { "different" });
        println!("| {} | {} | {} | {lines} | {is} |", kind.name(), pair[0], pair[1]);
        wrong.extend(found.into_iter().map(|how| format!("{name}: {how}")));
    }
    Ok(wrong)
}

/// Runs all phases below a URI of their own, and returns what was seen.
fn in_turns(sides: &Sides, server: &Server, kind: Kind, pair: [&str; 2]) -> Result<String, String> {
    let (uri, config) = (uri(kind, &pair.join("-")), config(server, kind).to_string());
    let mut seen = String::new();
    for (side, phases) in turns(pair, &PHASES) {
        seen += &sides.run(side, &[&[uri.as_str(), &config], phases.as_slice()].concat())?;
    }
    Ok(seen)
}

fn kept(work: &Path, name: &str, seen: &str) -> Result<(), String> {
    let file = work.join(format!("{name}.txt"));
    fs::write(&file, seen).map_err(|error| format!("{}: {error}", file.display()))
}

/// The URI of something in the bucket, as libtiledb has it.
fn uri(kind: Kind, name: &str) -> String {
    match kind {
        Kind::S3 => format!("s3://bucket/{name}"),
        Kind::Azure => format!("azure://bucket/{name}"),
    }
}

/// The configuration of libtiledb for a server.
fn config(server: &Server, kind: Kind) -> serde_json::Value {
    let options = server.options();
    let of = |name: &str| options.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
    match kind {
        Kind::S3 => json!({
            "vfs.s3.endpoint_override": server.address().to_string(),
            "vfs.s3.scheme": "http",
            "vfs.s3.region": of("aws_region"),
            "vfs.s3.use_virtual_addressing": "false",
            "vfs.s3.aws_access_key_id": of("aws_access_key_id"),
            "vfs.s3.aws_secret_access_key": of("aws_secret_access_key"),
        }),
        Kind::Azure => json!({
            "vfs.azure.storage_account_name": of("azure_storage_account_name"),
            "vfs.azure.storage_account_key": of("azure_storage_account_key"),
            "vfs.azure.blob_endpoint": of("azure_storage_endpoint"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_choose_a_server_and_a_library() {
        let options = Options::parse(&super::super::words("--server moto --library x.so")).unwrap();
        assert_eq!((options.servers, options.library), (vec![Kind::S3], Some(PathBuf::from("x.so"))));
        for wrong in ["--server minio", "--every 2", "--library"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }
}
