//! `tdb serve`: shows one array or group to programs on this machine over HTTP, reading only.
//!
//! The server is a strict one of its own (requests without a body, one range): the small server
//! crates are no longer maintained or bring a runtime, and what must be refused here is more than
//! what must be served.

mod answer;
mod connection;
mod range;
mod request;
mod site;
mod view;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args as Group;
use tdb_array::group::{ObjectType, object_type};
use tdb_zarr::{Hierarchy, Options};

use self::site::{Origin, Site};
pub(crate) use self::view::{ViewArgs, run as view};
use crate::args::{KeyArgs, WindowArgs};
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, is_url, location, shown};

/// Show an array or a group to programs on this machine over HTTP: its files, and as Zarr.
///
/// It listens on 127.0.0.1 only, below an address with a random part that nobody can guess, and
/// answers requests to read the named array or group, nothing else. Below files/ are its files as
/// they are, with ranges, and the manifest that pages need; below zarr/ it is a Zarr hierarchy with
/// the documents of versions 2 and 3, as it was when the command began. Ctrl-C ends it.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb serve weather
  tdb serve weather --port 8080 --allow-origin https://viewer.example.org
  tdb serve s3://bucket/stations --at 2024-12-31
  tdb serve cells.soma --anndata RNA")]
pub(crate) struct ServeArgs {
    /// Folder of the array or the group.
    object: PathBuf,
    /// Listen on this port; 0 is any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Also answer pages of this origin (scheme://host, with :port unless it is the scheme's own).
    /// Can be given several times. Pages of all other origins are refused.
    #[arg(long, value_name = "ORIGIN", value_parser = Origin::parse)]
    allow_origin: Vec<Origin>,
    /// Below zarr/, show this measurement of an experiment of SOMA as AnnData has it: obs, var, X,
    /// layers, obsm, varm. For vitessce and others that read AnnData in Zarr.
    #[arg(long, value_name = "MEASUREMENT")]
    anndata: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let hierarchy = hierarchy(args, stores)?;
    for refused in hierarchy.refused() {
        let what = if refused.path.is_empty() { "the array" } else { refused.path.as_str() };
        writeln!(err, "not shown as Zarr: {}: {}", one_line(what), one_line(&refused.reason))?;
    }
    let (listener, port) = listen(args.port)?;
    let site = Site {
        token: token()?,
        port,
        allowed: args.allow_origin.clone(),
        storage: stores.storage(&args.object)?,
        root: root(&args.object)?,
        hierarchy: Some(hierarchy),
        viewer: None,
    };
    let address = site.address();
    writeln!(out, "serving {} until Ctrl-C", one_line(&shown(&args.object)))?;
    writeln!(out, "files: {address}/files/")?;
    writeln!(out, "zarr:  {address}/zarr/")?;
    out.flush()?;
    connection::serve(&listener, &Arc::new(site));
    Ok(())
}

/// A listener on this machine only, and its port.
fn listen(port: u16) -> Result<(TcpListener, u16)> {
    let failed = |what: String| move |error| Failure::Failed(format!("{what}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(failed(format!("port {port} of 127.0.0.1")))?;
    let port = listener.local_addr().map_err(failed("the address of the server".to_owned()))?.port();
    Ok((listener, port))
}

/// The array or group as a hierarchy.
fn hierarchy(args: &ServeArgs, stores: &Stores) -> Result<Hierarchy> {
    let open = args.window.options(&args.key)?;
    let storage = stores.storage(&args.object)?;
    let failed = |error: tdb_zarr::Error| match error {
        tdb_zarr::Error::Array(error) => Failure::of_array(&args.object, error),
        tdb_zarr::Error::NoExperiment { why, .. } => {
            Failure::at(&args.object, format!("it cannot be shown as AnnData: {why}"))
        }
        other => Failure::at(&args.object, other),
    };
    if object_type(&*storage).is_ok_and(|found| found == ObjectType::Group) {
        let location = location(&args.object)?;
        let (places, options) = (stores.places(), Options::new());
        let shown = match &args.anndata {
            Some(measurement) => Hierarchy::of_experiment(&places, location, measurement, open, &options),
            None => Hierarchy::of_group(&places, location, open, &options),
        };
        return shown.map_err(failed);
    }
    if args.anndata.is_some() {
        let why = "this is an array, and --anndata shows an experiment of SOMA, which is a group";
        return Err(Failure::at(&args.object, why));
    }
    let array = open.open_storage(storage).map_err(|error| Failure::of_array(&args.object, error))?;
    Hierarchy::new(&array, &Options::new()).map_err(failed)
}

/// Where a folder of this machine really is; `None` for a URL of a store, which has no links.
fn root(object: &Path) -> Result<Option<PathBuf>> {
    let folder = object.to_str().and_then(|object| object.strip_prefix("file://")).map_or(object, Path::new);
    if is_url(folder) {
        return Ok(None);
    }
    folder.canonicalize().map(Some).map_err(|error| Failure::at(object, error))
}

/// The part of the address that cannot be guessed: 128 random bits.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Failed(format!("the system has no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn tokens_have_32_digits_and_differ() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()) && one != other);
    }
}
