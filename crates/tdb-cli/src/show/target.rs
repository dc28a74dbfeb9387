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
pub(super) struct Target {
    place: Place,
    /// The bins across and down that are asked for.
    bins: Option<(usize, Option<usize>)>,
}

#[derive(Debug)]
enum Place {
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
        Ok(Self { place: Place::new(args, screen)?, bins: args.bins })
    }

    /// The largest numbers of columns and rows of a plane.
    pub(super) fn cells(&self, sparse: bool) -> Result<(usize, usize)> {
        let (columns, rows) = self.place.cells(sparse);
        let Some((width, height)) = self.bins else { return Ok((columns, rows)) };
        let height = height.unwrap_or(width);
        self.check(width <= columns && height <= rows, &format!("{columns}x{rows}"))?;
        Ok((width, height))
    }

    /// The largest number of parts of a line.
    pub(super) fn points(&self) -> Result<usize> {
        self.along(self.place.cells(false).0)
    }

    /// The largest number of bars of a histogram.
    pub(super) fn bars(&self) -> Result<usize> {
        let room = match &self.place {
            Place::Svg(..) | Place::Png(..) => HISTOGRAM_BARS,
            Place::Text(screen) => screen.bars(),
        };
        if self.bins.is_none() { Ok(room.min(HISTOGRAM_BARS)) } else { self.along(room) }
    }

    /// The bins that are asked for along one axis, or as many as there is room for.
    fn along(&self, room: usize) -> Result<usize> {
        match self.bins {
            None => Ok(room),
            Some((bins, None)) => self.check(bins <= room, &room.to_string()).map(|()| bins),
            Some((width, Some(height))) => {
                Err(Failure::Usage(format!("--bins {width}x{height}: this picture has one axis of bins")))
            }
        }
    }

    /// Checks that text has room for the bins that are asked for. A file has room for all.
    fn check(&self, fits: bool, room: &str) -> Result {
        if fits || !matches!(self.place, Place::Text(_)) {
            return Ok(());
        }
        let what =
            format!("--bins: there is room for {room}; --size makes more, and --out draws into a file");
        Err(Failure::Usage(what))
    }

    /// Writes a picture.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        picture: impl FnOnce(Size) -> Picture,
        text: impl FnOnce(tdb_draw::Screen) -> String,
    ) -> Result {
        let (name, bytes) = match &self.place {
            Place::Text(screen) => return Ok(out.write_all(text(*screen).as_bytes())?),
            Place::Svg(name, size) => (name, picture(*size).svg().into_bytes()),
            Place::Png(name, size) => {
                (name, picture(*size).png().map_err(|error| Failure::at(name.shown(), error))?)
            }
        };
        let mut file = name.begin()?;
        file.write_all(&bytes).map_err(|error| Failure::at(name.shown(), error))?;
        file.finish()
    }
}

impl Place {
    fn new(args: &ShowArgs, screen: Option<Screen>) -> Result<Self> {
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
    fn cells(&self, sparse: bool) -> (usize, usize) {
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

/// Parses `N` or `WxH`.
pub(super) fn parse_bins(text: &str) -> Result<(usize, Option<usize>), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=8192).contains(side));
    let bins = match text.split_once(['x', 'X']) {
        Some((width, height)) => side(width).zip(side(height).map(Some)),
        None => side(text).map(|side| (side, None)),
    };
    bins.ok_or_else(|| format!("{text:?} is not a number of bins such as 40 or 400x300, from 1 to 8192"))
}
