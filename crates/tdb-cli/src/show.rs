//! `tdb show`: the cells of an array as a picture.

mod axis;
pub(crate) mod dates;
mod footprints;
mod lines;
mod plane;
mod scan;
mod target;
mod value;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use tdb_array::MemoryBudget;
use tdb_array::error::QueryError;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_schema::{Field, FieldKind};
use tdb_text::value::is_text;

pub(crate) use self::axis::BinnedAxis;
use self::scan::Scan;
use self::target::{ColorChoice, Target, parse_bins, parse_size};
use self::value::is_number;
use crate::args::{KeyArgs, RangeArgs, WindowArgs, parse_count};
use crate::failure::{Failure, Result};
use crate::notes;
use crate::place::Stores;
use crate::progress::ProgressArgs;
use crate::ranges;
use crate::screen::Screen;

/// Draw the cells of an array: on the terminal, or into an SVG or PNG file.
///
/// A dense array is drawn as a heat map of its first attribute of numbers on the plane of its first
/// two dimensions (a line, if it has one dimension), a sparse one as the density of its cells with
/// the footprints of its fragments (a histogram, if it has one dimension). Cells are put into bins
/// while they are read, in bounded memory.
#[derive(Debug, Group)]
#[command(after_help = "\
Only what is not empty is drawn, unless a range says otherwise. Of a dense array with more than two dimensions, the others are \
fixed at their first coordinate, unless a range says otherwise. Null, NaN, infinity, and cells that were never written, are blank. A bin \
with several cells has the colour of their mean. On a terminal, half blocks are drawn; without colours (NO_COLOR) or a terminal, \
plain characters.

Ranges and conditions are written as for tdb read.

Examples:
  tdb show weather
  tdb show weather --attr temperature --dims time,station --out weather.svg
  tdb show weather --attr temperature --kind histogram --where 'wind > 5'
  tdb show image --out image.png --bins 400x300
  tdb show weather --kind density --tiles --out weather.png --size 1200x800")]
pub(crate) struct ShowArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// The attribute whose values are drawn; for a histogram, any field.
    #[arg(long, value_name = "FIELD")]
    attr: Option<String>,
    /// The dimensions from left to right, and from bottom to top (of a dense array: from top to
    /// bottom).
    #[arg(long, value_name = "X,Y")]
    dims: Option<String>,
    /// What to draw. Default: what suits the array and the other options.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Also draw the rectangles of tiles.
    #[arg(long)]
    tiles: bool,
    #[command(flatten)]
    ranges: RangeArgs,
    /// Only cells that satisfy a condition; see tdb read.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: Option<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Draw into this file, which ends with .svg or .png, instead of the terminal.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that --out names, once the new one is complete.
    #[arg(long, requires = "out")]
    force: bool,
    /// The size of the picture in pixels (a PNG has two for each), or in characters. Default:
    /// 800x500, or the terminal's.
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<(u32, u32)>,
    /// Into how many bins cells are put: across and down, or along the line or the histogram.
    /// Default: what the picture has room for.
    #[arg(long, value_name = "N or WxH", value_parser = parse_bins)]
    bins: Option<(usize, Option<usize>)>,
    /// Whether to draw with colours and half blocks where there is no file.
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Use at most N threads. Default: as many as the machine has.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Keep memory below this, e.g. 2GiB or 500MB.
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    memory: MemoryBudget,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Means of an attribute on the plane of two dimensions.
    Heat,
    /// How many cells are where on the plane of two dimensions, with the footprints of fragments.
    Density,
    /// Least, mean and greatest value of an attribute along a dimension.
    Line,
    /// How often each value of a field occurs.
    Histogram,
}

/// The picture that is drawn, with its fields.
enum PictureKind<'s> {
    /// Counts, or means of a field, on a plane of two dimensions.
    Plane { x: usize, y: usize, value: Option<Field<'s>> },
    /// A field along a dimension.
    Line { x: usize, value: Field<'s> },
    /// The values of a field.
    Histogram(Field<'s>),
}

/// Runs the command.
pub(crate) fn run(
    args: &ShowArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let target = Target::new(args, screen)?;
    let mut options = args.window.options(&args.key)?;
    if let Some(threads) = args.threads {
        options = options.threads(threads);
    }
    let opened = options.open_storage(stores.storage(&args.array)?);
    let array = opened.map_err(|error| Failure::of_array(&args.array, error))?;
    let schema = array.schema();
    let asked = ranges::query_ranges(&args.ranges, &args.array, schema)?;
    notes::print(&args.array, schema, &asked.notes, args.condition.as_deref(), err);
    let choice = PictureKind::of(args, schema)?;
    if args.tiles && !matches!(choice, PictureKind::Plane { .. }) {
        let what = "--tiles draws rectangles on a plane: it needs two dimensions, and --kind density or heat";
        return Err(args.usage(what));
    }
    let mut scan = Scan::new(&array, args, asked);
    match choice {
        PictureKind::Plane { x, y, value } => {
            let plane = plane::draw(&mut scan, x, y, value.as_ref(), &target)?;
            target.write(out, |size| plane.picture(size), |screen| plane.text(screen))
        }
        PictureKind::Line { x, value } => {
            let profile = lines::profile(&mut scan, x, &value, &target)?;
            target.write(out, |size| profile.picture(size), |screen| profile.text(screen))
        }
        PictureKind::Histogram(field) => {
            let histogram = lines::histogram(&mut scan, &field, &target)?;
            target.write(out, |size| histogram.picture(size), |screen| histogram.text(screen))
        }
    }
}

impl ShowArgs {
    fn usage(&self, what: impl core::fmt::Display) -> Failure {
        Failure::Usage(format!("{}: {what}", self.array.display()))
    }

    /// A field that the array does not have.
    fn unknown<'n>(&self, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
        let known = known.collect::<Vec<_>>().join(", ");
        let error = QueryError::UnknownField { name: name.to_owned(), known };
        Failure::of_array(&self.array, error.into())
    }

    /// The dimensions of `--dims`.
    fn dimensions(&self, schema: &ArraySchema) -> Result<Option<Vec<usize>>> {
        let Some(text) = &self.dims else { return Ok(None) };
        let find = |name: String| {
            schema.dimension_index(&name).ok_or_else(|| {
                if schema.attribute(&name).is_some() {
                    return self.usage(format!(
                        "--dims takes dimensions, and {name:?} is an attribute: --attr draws it"
                    ));
                }
                let known = schema.domain.dimensions.iter().map(|dimension| dimension.name.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                Failure::of_array(&self.array, QueryError::UnknownDimension { name, known }.into())
            })
        };
        let found = ranges::parse_names(text).into_iter().map(find).collect::<Result<Vec<_>>>()?;
        match found.as_slice() {
            [x, y] if x == y => Err(self.usage("--dims names the same dimension twice")),
            [_] | [_, _] => Ok(Some(found)),
            _ => Err(self.usage(format!("--dims takes one or two dimensions, not {}", found.len()))),
        }
    }
}

impl<'s> PictureKind<'s> {
    fn of(args: &ShowArgs, schema: &'s ArraySchema) -> Result<Self> {
        let dense = schema.array_type == ArrayType::Dense;
        let asked = args.dimensions(schema)?;
        let count = asked.as_ref().map_or(schema.domain.dimensions.len(), Vec::len);
        let kind = args.kind.unwrap_or(match (dense || args.attr.is_some(), count) {
            (true, 1) => Kind::Line,
            (true, _) => Kind::Heat,
            (false, 1) => Kind::Histogram,
            (false, _) => Kind::Density,
        });
        let first = asked.as_ref().and_then(|dims| dims.first().copied()).unwrap_or(0);
        // Rows go down, as they are read; elsewhere the first dimension goes to the right.
        let plane = match asked.as_deref() {
            Some([x, y]) => Some((*x, *y)),
            Some(_) => None,
            None if schema.domain.dimensions.len() < 2 => None,
            None if dense => Some((1, 0)),
            None => Some((0, 1)),
        };
        let plane = plane.ok_or_else(|| {
            let one = "a plane has two dimensions, and there is only one: use --kind histogram";
            args.usage(if asked.is_some() { "--kind heat and density need --dims X,Y" } else { one })
        });
        Ok(match kind {
            Kind::Heat => {
                let (x, y) = plane?;
                Self::Plane { x, y, value: Some(numbers(args, schema)?) }
            }
            Kind::Density => {
                if args.attr.is_some() {
                    return Err(
                        args.usage("--kind density counts cells, and draws no attribute: use --kind heat")
                    );
                }
                let (x, y) = plane?;
                Self::Plane { x, y, value: None }
            }
            Kind::Line => Self::Line { x: first, value: numbers(args, schema)? },
            Kind::Histogram => {
                let dimension = schema.field_of(FieldKind::Dimension(first));
                let field = match &args.attr {
                    Some(name) => Some(found(args, schema, name)?),
                    None if dense && asked.is_none() => Some(numbers(args, schema)?),
                    None => dimension,
                };
                let field = field.ok_or_else(|| args.usage("the array has no dimensions"))?;
                if !is_text(field.datatype) && !is_number(field.datatype, field.cell_val_num) {
                    return Err(args.usage(several(&field)));
                }
                Self::Histogram(field)
            }
        })
    }
}

fn found<'s>(args: &ShowArgs, schema: &'s ArraySchema, name: &str) -> Result<Field<'s>> {
    schema.field(name).ok_or_else(|| args.unknown(name, schema.fields().map(|field| field.name)))
}

/// The attribute whose numbers are drawn.
fn numbers<'s>(args: &ShowArgs, schema: &'s ArraySchema) -> Result<Field<'s>> {
    let drawn =
        |field: &Field<'_>| is_number(field.datatype, field.cell_val_num) && !field.datatype.is_datetime();
    let mut attributes = schema.fields().filter(|field| matches!(field.kind, FieldKind::Attribute(_)));
    let Some(name) = &args.attr else {
        return attributes.find(drawn).ok_or_else(|| {
            args.usage(
                "no attribute has one number in each cell; --kind density and histogram draw other arrays",
            )
        });
    };
    let field = found(args, schema, name)?;
    if !matches!(field.kind, FieldKind::Attribute(_)) {
        return Err(
            args.usage(format!("--attr takes an attribute, and {name:?} is a dimension: --dims draws it"))
        );
    }
    if !is_number(field.datatype, field.cell_val_num) && !is_text(field.datatype) {
        return Err(args.usage(several(&field)));
    }
    if !drawn(&field) {
        let datatype = field.datatype;
        let what =
            format!("attribute {name:?} ({datatype}) has no numbers that have a mean: use --kind histogram");
        return Err(args.usage(what));
    }
    Ok(field)
}

fn several(field: &Field<'_>) -> String {
    let Field { name, cell_val_num, .. } = field;
    format!("field {name:?} has several values in each cell ({cell_val_num}), and only single ones are drawn")
}
