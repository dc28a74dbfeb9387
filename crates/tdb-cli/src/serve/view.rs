//! `tdb view`: the viewer, on what this command serves.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as Group;
use tdb_array::group::object_type;

use super::site::Site;
use super::{connection, listen, root, token};
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::viewer::{ViewerArgs, name};

/// Where the files are, from the page.
const FILES: &str = "../files";

/// Look at an array or a group in a browser.
///
/// It shows pictures and tables of the cells, statistics, fragments, the past, the schema, and the
/// embeddings of SOMA experiments. The page and the files are served on 127.0.0.1 only, below an
/// address with a random part, until Ctrl-C; the page asks for the key of an encrypted array, and
/// for nothing from anywhere else.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb view weather
  tdb view s3://bucket/stations --no-browser --port 8080

tdb publish --viewer puts the page on a web server, so that others see an array by a link.")]
pub(crate) struct ViewArgs {
    /// Folder of the array or the group.
    object: PathBuf,
    /// Listen on this port; 0 is any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address, and start no browser. On a machine that others use they may see in the
    /// list of processes with which address a browser was started.
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    viewer: ViewerArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ViewArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let storage = stores.storage(&args.object)?;
    object_type(&*storage).map_err(|error| Failure::at(&args.object, error))?;
    let viewer = args.viewer.find(FILES, &name(&args.object))?;
    let (listener, port) = listen(args.port)?;
    let site = Site {
        token: token()?,
        port,
        allowed: Vec::new(),
        storage,
        root: root(&args.object)?,
        hierarchy: None,
        viewer: Some(viewer),
    };
    let address = format!("{}/viewer/", site.address());
    writeln!(out, "showing {} until Ctrl-C", one_line(&shown(&args.object)))?;
    writeln!(out, "viewer: {address}")?;
    out.flush()?;
    if !args.no_browser
        && let Err(error) = open::that_detached(&address)
    {
        writeln!(err, "no browser was started ({error}): open the address in one")?;
        err.flush()?;
    }
    connection::serve(&listener, &Arc::new(site));
    Ok(())
}
