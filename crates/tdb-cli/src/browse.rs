//! `tdb browse`: looks around in arrays, groups and folders, on a terminal.
//!
//! `state` is what is shown and what a key changes of it, and `frame` draws it: neither does
//! anything else. `load` reads what the state asks for (`ask`), in a thread of its own: keys
//! work while a store answers. `terminal` is between these and the terminal.

#[cfg(feature = "browse")]
mod ask;
#[cfg(feature = "browse")]
mod cells;
#[cfg(feature = "browse")]
mod columns;
#[cfg(feature = "browse")]
mod frame;
#[cfg(feature = "browse")]
mod load;
#[cfg(feature = "browse")]
mod state;
#[cfg(feature = "browse")]
mod terminal;
#[cfg(test)]
#[cfg(feature = "browse")]
mod tests;

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;

use crate::args::{KeyArgs, WindowArgs};
use crate::failure::Result;
use crate::place::Stores;
use crate::screen::Screen;

/// Look around in arrays, groups and folders on a terminal.
///
/// A tree of them is on the left; on the right are the schema of the chosen array, its fragments,
/// the sizes and filters of its columns, its cells by page, its metadata or its history. Builds
/// with the feature browse have this command.
#[derive(Debug, Group)]
#[command(after_help = "\
The arrows move and open, Tab goes to the other side, the numbers choose what is shown, Page Down goes on, and q quits; the last line \
shows what the keys do. Only the cells of a page are read, and of long texts the beginning is shown. Of a dense array these are the cells of its non-empty domain. What cannot \
be opened shows its error, and nothing is ever written. tdb info --all prints such a tree.

Examples:
  tdb browse
  tdb browse weather
  tdb browse s3://bucket/stations --store-option aws_region=eu-west-1")]
pub(crate) struct BrowseArgs {
    /// An array, a group, or a folder with any of these in it. Default: the working folder.
    #[arg(default_value = ".")]
    place: PathBuf,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// Without the feature, the command is known, and says how to get it.
#[cfg(not(feature = "browse"))]
pub(crate) fn run(_: BrowseArgs, _: Stores, _: Option<Screen>, _: &mut dyn Write) -> Result {
    Err(crate::failure::Failure::Failed(crate::features::NO_BROWSE.to_owned()))
}

/// Runs the command.
#[cfg(feature = "browse")]
pub(crate) fn run(args: BrowseArgs, stores: Stores, screen: Option<Screen>, out: &mut dyn Write) -> Result {
    use std::io::IsTerminal;

    use crate::failure::Failure;
    use crate::tree::Explorer;

    let options = args.window.options(&args.key)?;
    let key = args.key.key()?;
    let reports = stores.are_traced() && std::io::stderr().is_terminal();
    let explorer = Explorer::new(stores, options);
    let object = explorer.at(&args.place)?;
    let Some(screen) = screen.filter(|_| std::io::stdin().is_terminal()) else {
        let what =
            "tdb browse needs a terminal for its keys and its screen; tdb info --all prints the same tree";
        return Err(Failure::Usage(what.to_owned()));
    };
    if reports {
        let what = "-v would write across the screen of tdb browse; 2>FILE sends it to a file";
        return Err(Failure::Usage(what.to_owned()));
    }
    let loader = move || load::Loader::new(explorer, args.window, key);
    terminal::run(object, loader, screen, out)
}
