//! The destination of a picture: a file, or text.

use std::io::Write;

use clap::ValueEnum;
use tdb_draw::{Colors, Picture, Size};

use super::ShowArgs;
use crate::failure::{Failure, Result};
use crate::new_file::NewName;
use crate::screen::Screen;
use crate::thresholds::{DENSE_BIN_PIXELS, HISTOGRAM_BARS, SPARSE_BIN_PIXELS};

/// Whether to draw with colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// The destination of a picture.
#[derive(Debug)]
pub(super) enum Target {
    Svg(NewName, Size),
    Png(NewName, Size),
    Text(tdb_draw::Screen),
}

/// The size of a picture in a file.
const DEFAULT: Size = Size { width: 800, height: 500 };
/// The space around the data in a file.
const AROUND: Size = Size { width: 140, height: 110 };

impl Target {
    pub(super) fn new(args: &ShowArgs, screen: Option<Screen>) -> Result<Self> {
        let size = args.size.map(|(width, height)| Size { width, height });
        let Some(path) = &args.out else {
            let screen = screen.filter(|_| args.color != ColorChoice::Never);
            return Ok(Self::Text(text_screen(args, screen)));
        };
        let size = size.unwrap_or(DEFAULT);
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg(NewName::new(path, args.force)?, size)),
            Some("png") => Ok(Self::Png(NewName::new(path, args.force)?, size)),
            _ => {
                let what = format!("{}: the name of a picture ends with .svg or .png", path.display());
                Err(Failure::Usage(what))
            }
        }
    }

    /// The largest numbers of columns and rows of a plane.
    pub(super) fn cells(&self, sparse: bool) -> (usize, usize) {
        let bins = |side: u32, around: u32| {
            let bin = if sparse { SPARSE_BIN_PIXELS } else { DENSE_BIN_PIXELS };
            usize::try_from(side.saturating_sub(around).max(64) / bin).unwrap_or(1)
        };
        match self {
            Self::Svg(_, size) | Self::Png(_, size) => {
                (bins(size.width, AROUND.width), bins(size.height, AROUND.height))
            }
            Self::Text(screen) => screen.cells(),
        }
    }

    /// The largest number of parts of a line.
    pub(super) fn points(&self) -> usize {
        self.cells(false).0
    }

    /// The largest number of bars of a histogram.
    pub(super) fn bars(&self) -> usize {
        match self {
            Self::Svg(..) | Self::Png(..) => HISTOGRAM_BARS,
            Self::Text(screen) => screen.bars().min(HISTOGRAM_BARS),
        }
    }

    /// Writes a picture.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        picture: impl FnOnce(Size) -> Picture,
        text: impl FnOnce(tdb_draw::Screen) -> String,
    ) -> Result {
        let (name, bytes) = match self {
            Self::Text(screen) => return Ok(out.write_all(text(*screen).as_bytes())?),
            Self::Svg(name, size) => (name, picture(*size).svg().into_bytes()),
            Self::Png(name, size) => {
                (name, picture(*size).png().map_err(|error| Failure::at(name.shown(), error))?)
            }
        };
        let mut file = name.begin()?;
        file.write_all(&bytes).map_err(|error| Failure::at(name.shown(), error))?;
        file.finish()
    }
}

fn text_screen(args: &ShowArgs, screen: Option<Screen>) -> tdb_draw::Screen {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let colored = match args.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => screen.is_some() && set("NO_COLOR").is_none() && !dumb,
    };
    let many = set("COLORTERM").is_some_and(|term| term == "truecolor" || term == "24bit");
    let colors = match (colored, many) {
        (false, _) => Colors::Plain,
        (true, false) => Colors::Cube,
        (true, true) => Colors::True,
    };
    let side = |side: u32| usize::try_from(side).unwrap_or(usize::MAX);
    let (columns, lines) = match (args.size, screen) {
        (Some((width, height)), _) => (side(width), side(height)),
        // With a line for the next prompt.
        (None, Some(screen)) => (screen.columns.max(20), screen.rows.saturating_sub(1).max(10)),
        (None, None) => (80, 24),
    };
    tdb_draw::Screen { columns, lines, colors }
}

/// Parses `WxH`.
pub(super) fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (10..=8192).contains(side));
    let sides = text.split_once(['x', 'X']).and_then(|(width, height)| Some((side(width)?, side(height)?)));
    sides.ok_or_else(|| format!("{text:?} is not a size such as 800x500, with sides from 10 to 8192"))
}
