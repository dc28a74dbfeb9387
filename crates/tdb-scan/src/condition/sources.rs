//! The fields of a condition in the fragments of an array: what statistics decide of tiles, and
//! which fields must be read where they do not.

use std::sync::{Arc, OnceLock};

use tdb_codec::{Datatype, to_u64};
use tdb_fragment::RTree;
use tdb_predicate::{Program, ProgramField, Verdict};
use tdb_schema::FieldKind;

use crate::batch_scope::BatchScope;
use crate::context::Context;
use crate::facts::{Extremes, Facts, FieldFacts, Nulls};
use crate::fragment::Fragment;
use crate::statistics::{Exact, Statistics, Whole};
use crate::storage::ReadSet;
use crate::tile_id::TileId;
use crate::tiles::FieldTiles;
use crate::{OrInternal, Result};

/// The internal error of a field that the program does not have.
pub(super) const NO_FIELD: &str = "a program has no field with this number";

/// A fragment by its number. Numbers of fragments do not come from files.
pub(crate) fn fragment_of(fragments: &[Arc<Fragment>], number: usize) -> Result<&Arc<Fragment>> {
    fragments.get(number).or_internal("the array has no fragment with this number")
}

/// A program's fields in all fragments; opened as they are needed.
pub struct Sources<'a> {
    pub(crate) context: &'a Context,
    /// The program: a condition, or only the fields of aggregates.
    pub program: &'a Program,
    pub(super) fragments: &'a [Arc<Fragment>],
    opened: Vec<OnceLock<Vec<FieldSource>>>,
    /// The memory that opening a field is charged to.
    scope: BatchScope,
}

/// A program's field in one fragment.
pub(super) struct FieldSource {
    /// The field in the fragment's schema; `None` if the fragment does not have it.
    pub(super) own: Option<FieldKind>,
    /// Whether nulls are possible: the array's schema may be stricter than the fragment's.
    pub(super) nullable: bool,
    tiles: OnceLock<FieldTiles>,
    facts: TileFacts,
}

impl FieldSource {
    /// Its tiles, which are opened when they are first asked for.
    pub(super) fn tiles(
        &self,
        context: &Context,
        fragment: &Fragment,
        own: FieldKind,
    ) -> Result<&FieldTiles> {
        if let Some(tiles) = self.tiles.get() {
            return Ok(tiles);
        }
        let tiles = FieldTiles::open(context, fragment, own)?;
        Ok(self.tiles.get_or_init(|| tiles))
    }
}

/// The source of the facts about a field's tiles.
enum TileFacts {
    Nothing,
    Statistics(Box<Statistics>),
    /// The rectangles, the number of the dimension in them, and its type.
    Tree(Arc<RTree>, usize, Datatype),
}

impl<'a> Sources<'a> {
    /// The statistics and columns of a condition in these fragments.
    pub fn new(context: &'a Context, program: &'a Program, fragments: &'a [Arc<Fragment>]) -> Self {
        let opened = fragments.iter().map(|_| OnceLock::new()).collect();
        Self { context, program, fragments, opened, scope: BatchScope::default() }
    }

    /// Charges the statistics of fragments that it holds to a read's memory.
    pub(crate) fn within(mut self, scope: &BatchScope) -> Self {
        self.scope = scope.clone();
        self
    }

    /// Bytes of the statistics it has opened so far.
    pub fn held(&self) -> u64 {
        let opened = self.opened.iter().filter_map(OnceLock::get).flatten();
        let held = opened.map(|source| match &source.facts {
            TileFacts::Statistics(statistics) => statistics.held(),
            TileFacts::Nothing | TileFacts::Tree(..) => 0,
        });
        held.fold(0, u64::saturating_add)
    }

    /// How many cells of a fragment can satisfy a condition, according to the statistics and the
    /// domain of the whole fragment.
    pub fn fragment_verdict(&self, root: usize, fragment: usize) -> Result<Verdict> {
        let fragment = fragment_of(self.fragments, fragment)?;
        let all = Whole::load(self.context, fragment)?;
        let whole: Vec<Option<Whole>> = self
            .program
            .fields
            .iter()
            .map(|field| {
                let own = fragment.schema().field_of(field.spec.own_field(fragment.schema(), field.kind)?)?;
                Whole::of(all.as_deref()?, fragment, &own).filter(|_| field.spec.nullable || !own.nullable)
            })
            .collect();
        let facts = |index: usize| -> FieldFacts<'_> {
            let field = self.program.fields.get(index);
            let own = field.map(|field| (field, field.spec.own_field(fragment.schema(), field.kind)));
            match own {
                Some((_, None)) => FieldFacts::Missing,
                Some((_, Some(kind @ FieldKind::Dimension(dimension)))) if keeps_values(fragment, kind) => {
                    let range = fragment.bounds().and_then(|domain| domain.get(dimension));
                    let known = field.zip(range);
                    FieldFacts::Known(known.map_or(Facts::UNKNOWN, |(field, range)| Facts {
                        extremes: Extremes::of_coordinates(field.spec.datatype, &range.low, &range.high),
                        nulls: Nulls::None,
                    }))
                }
                _ => {
                    let whole = whole.get(index).and_then(Option::as_ref);
                    FieldFacts::Known(whole.map_or(Facts::UNKNOWN, Whole::facts))
                }
            }
        };
        Ok(self.program.verdict(root, &facts))
    }

    /// The exact statistics of a field's cells in a tile; `None` if the fragment does not have the
    /// field.
    pub fn exact(
        &self,
        field: usize,
        TileId { fragment, tile }: TileId,
        cells: usize,
    ) -> Result<Option<Exact>> {
        let source = self.open(fragment)?.get(field).or_internal(NO_FIELD)?;
        if source.own.is_none() {
            return Ok(None);
        }
        Ok(Some(match &source.facts {
            TileFacts::Nothing => Exact::default(),
            TileFacts::Statistics(statistics) => statistics.exact(tile, to_u64(cells)),
            TileFacts::Tree(tree, dimension, _) => {
                let own = fragment_of(self.fragments, fragment)?;
                let range = tree.leaf(tile).and_then(|mbr| mbr.range(*dimension));
                let range = range.filter(|(low, _)| own.ends_at_cells(*dimension, low));
                let extremes = range.map(|(low, high)| Some((low.to_vec(), high.to_vec())));
                Exact { nulls: Some(0), sum: None, extremes }
            }
        }))
    }

    /// The exact statistics of every field in a whole fragment; `None` for fields that it does not
    /// have.
    pub fn exact_whole(&self, fragment: usize) -> Result<Vec<Option<Exact>>> {
        let fragment = fragment_of(self.fragments, fragment)?;
        let all = Whole::load(self.context, fragment)?;
        let exact = self.program.fields.iter().map(|field| {
            let own = fragment.schema().field_of(field.spec.own_field(fragment.schema(), field.kind)?)?;
            let whole = all.as_deref().and_then(|all| Whole::of(all, fragment, &own));
            let whole = whole.filter(|_| field.spec.nullable || !own.nullable);
            Some(whole.map_or_else(Exact::default, |whole| whole.exact()))
        });
        Ok(exact.collect())
    }

    /// How many cells of a tile can satisfy a condition, according to statistics and bounding
    /// rectangles. `cells` is the number of cells that the tile has room for.
    pub fn tile_verdict(
        &self,
        root: usize,
        TileId { fragment, tile }: TileId,
        cells: usize,
    ) -> Result<Verdict> {
        let sources = self.open(fragment)?;
        Ok(self.program.verdict(root, &|field| facts(sources, field, tile, cells)))
    }

    /// About which share of a tile's cells satisfies a condition, and whether anything is known of
    /// their values.
    pub(crate) fn tile_share(
        &self,
        root: usize,
        TileId { fragment, tile }: TileId,
        cells: usize,
    ) -> Result<(f64, bool)> {
        let sources = self.open(fragment)?;
        Ok(self.program.share(root, &|field| facts(sources, field, tile, cells)))
    }

    /// The program's fields that must be read to judge a tile's cells, after statistics were used.
    pub(crate) fn undecided(
        &self,
        root: usize,
        TileId { fragment, tile }: TileId,
        cells: usize,
    ) -> Result<Vec<usize>> {
        let sources = self.open(fragment)?;
        Ok(self.program.undecided(root, &|field| facts(sources, field, tile, cells)))
    }

    /// Adds the bytes that a field of the program is read from in a tile; nothing if the fragment
    /// does not have the field.
    pub(crate) fn need(
        &self,
        field: usize,
        TileId { fragment, tile }: TileId,
        read_set: &mut ReadSet,
    ) -> Result<()> {
        let source = self.open(fragment)?.get(field).or_internal(NO_FIELD)?;
        let fragment = fragment_of(self.fragments, fragment)?;
        let Some(own) = source.own else { return Ok(()) };
        source.tiles(self.context, fragment, own)?.need(self.context, tile, &mut read_set.ranges)
    }

    pub(super) fn open(&self, fragment: usize) -> Result<&[FieldSource]> {
        let slot = self.opened.get(fragment).or_internal("a fragment has no sources")?;
        let fragment = fragment_of(self.fragments, fragment)?;
        if let Some(sources) = slot.get() {
            return Ok(sources);
        }
        let open = |field: &ProgramField| -> Result<FieldSource> {
            let own = field.spec.own_field(fragment.schema(), field.kind);
            let mut source = FieldSource {
                own,
                nullable: field.spec.nullable,
                tiles: OnceLock::new(),
                facts: TileFacts::Nothing,
            };
            match own.and_then(|own| fragment.schema().field_of(own)) {
                // Extremes ignore nulls; if the cells cannot be null for the array, the extremes
                // are wrong.
                Some(own)
                    if matches!(own.kind, FieldKind::Attribute(_))
                        && (field.spec.nullable || !own.nullable) =>
                {
                    let statistics = Statistics::load(self.context, fragment, &own)?;
                    if self.scope.try_reserve_optional(statistics.held()) {
                        source.facts = TileFacts::Statistics(Box::new(statistics));
                    }
                }
                Some(own) if !fragment.is_dense() && !own.filters.changes_values() => {
                    if let FieldKind::Dimension(index) = own.kind {
                        source.facts = TileFacts::Tree(fragment.rtree(self.context)?, index, own.datatype);
                    }
                }
                _ => {}
            }
            Ok(source)
        };
        let sources = self.program.fields.iter().map(open).collect::<Result<Vec<_>>>()?;
        Ok(slot.get_or_init(|| sources))
    }
}

/// Whether the values of a fragment's field are those that its rectangles were made of.
fn keeps_values(fragment: &Fragment, own: FieldKind) -> bool {
    fragment.schema().field_of(own).is_some_and(|field| !field.filters.changes_values())
}

/// What is known of a field in a tile without decoding it.
pub(super) fn facts(sources: &[FieldSource], field: usize, tile: usize, cells: usize) -> FieldFacts<'_> {
    let Some(source) = sources.get(field) else {
        // Decoding the column will say that the program has no such field.
        return FieldFacts::Known(Facts::UNKNOWN);
    };
    if source.own.is_none() {
        return FieldFacts::Missing;
    }
    FieldFacts::Known(match &source.facts {
        TileFacts::Nothing => Facts::UNKNOWN,
        TileFacts::Statistics(statistics) => {
            let facts = statistics.facts(tile, to_u64(cells));
            if source.nullable { facts } else { Facts { nulls: Nulls::None, ..facts } }
        }
        TileFacts::Tree(tree, dimension, datatype) => {
            let range = tree.leaf(tile).and_then(|mbr| mbr.range(*dimension));
            range.map_or(Facts::UNKNOWN, |(low, high)| Facts {
                extremes: Extremes::of_coordinates(*datatype, low, high),
                nulls: Nulls::None,
            })
        }
    })
}
