//! Pictures of plain numbers: heat maps, densities with footprints, histograms, profiles and
//! timelines, as SVG, as PNG, and as characters for a terminal.
//!
//! A caller bins its data, names the axes, and gets a [`Picture`], or text. Nothing here reads or
//! writes a file, and the same numbers always become the same bytes.
//!
//! ```
//! use tdb_draw::{Axis, Grid, Plane, Ramp, Size};
//!
//! let mut plane = Plane::new("two by two", Axis::numbered("x", 0.0, 2.0, 2), Axis::numbered("y", 0.0, 2.0, 2));
//! plane.grid = Grid::new(2, 2, vec![1.0, 2.0, f64::NAN, 4.0]);
//! let svg = plane.picture(Size { width: 320, height: 240 }).svg();
//! assert!(svg.starts_with("<svg ") && svg.contains("<title>x 0..1, y 0..1: 1</title>"));
//! ```
//!
//! | item | shows |
//! |---|---|
//! | [`Plane`] | a grid of values with a scale of colours; NaN is blank; rectangles may lie over it |
//! | [`Histogram`] | how many values are in each interval |
//! | [`Profile`] | least, mean and greatest value along an axis |
//! | [`Timeline`] | bars in time, one a row, and where each is on one or two other axes |
#![forbid(unsafe_code)]

mod axis;
mod bars;
mod color;
mod frame;
mod number;
mod picture;
mod plane;
mod raster;
mod svg;
mod terminal;
mod timeline;

pub use crate::axis::{Axis, Tick};
pub use crate::bars::{Histogram, Profile};
pub use crate::color::{Color, Ramp};
pub use crate::number::{number, round_step, steps};
pub use crate::picture::{Picture, Size};
pub use crate::plane::{Footprint, Grid, Outline, Plane};
pub use crate::raster::PngError;
pub use crate::terminal::{Colors, Screen};
pub use crate::timeline::{Bar, Extent, Mark, Timeline};
