//! Aggregates over dense arrays, one space tile after the other.
//!
//! They are over the cells that some fragment has, whichever fields it has: a cell that lacks a
//! field has its fill value, as in a read. Cells that were never written are counted, too, if there
//! is no condition.

use std::sync::Arc;

use tdb_codec::{to_u64, to_usize};
use tdb_predicate::{Columns, Program, Verdict};
use tdb_scan::dense::boxes::Box;
use tdb_scan::dense::condition::{Lacking, MatchField, Matcher};
use tdb_scan::dense::sources::Written;
use tdb_scan::dense::{Space, region::Region};
use tdb_scan::dense::{fragment_box, intersect, overlays};

use super::tally::{Tally, WantedField};
use crate::condition::Sources;
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::plan::Plan;
use crate::requested::Bounds;
use crate::storage::ReadSet;
use crate::stream::{self, Allowance};
use crate::{OrInternal, Result, parallel};

/// The fields of the aggregates, and whether each is still open: the tallies of the others are
/// known from statistics.
#[derive(Clone, Copy)]
struct OpenFields<'a> {
    wanted: &'a [WantedField],
    open: &'a [bool],
}

/// Some cells: how many there are, and the tally of each wanted field.
#[derive(Clone)]
struct Tallies {
    cells: u64,
    tallies: Vec<Tally>,
}

impl Tallies {
    fn nothing(wanted: &[WantedField]) -> Self {
        Self { cells: 0, tallies: wanted.iter().map(WantedField::nothing).collect() }
    }

    fn add(&mut self, wanted: &[WantedField], more: Self) -> Result<()> {
        self.cells += more.cells;
        for ((field, tally), more) in wanted.iter().zip(&mut self.tallies).zip(more.tallies) {
            field.add(tally, more)?;
        }
        Ok(())
    }
}

/// The number of cells, and the tally of each wanted field. With a memory budget, everything except
/// the statistics of whole fragments is computed part by part of the query.
pub(super) fn run(
    plan: &Plan,
    program: &Program,
    wanted: &[WantedField],
    memory: Option<Allowance>,
) -> Result<(u64, Vec<Tally>)> {
    let array = &plan.array;
    // Unwritten cells count, too, if there is no condition.
    let all =
        plan.condition.is_none().then(|| Space::new(plan)).transpose()?.map(|space| to_u64(space.cells()));
    let mut total = Tallies::nothing(wanted);
    let looks = !wanted.is_empty() || all.is_none();
    let Some(written) = array.bounds().filter(|_| looks) else {
        return Ok((all.unwrap_or(0), total.tallies));
    };
    // Only places where something was written have values to look at.
    let mut plan = plan.clone();
    for (dimension, range) in written.into_iter().enumerate() {
        plan = plan.narrowed(dimension, &Bounds { low: Some(range.low), high: Some(range.high) })?;
    }
    let plan = &plan;
    let mut open = vec![true; wanted.len()];
    if plan.condition.is_none() {
        let known = whole_fragments(plan, program, wanted)?.into_iter();
        for (known, (tally, open)) in known.zip(total.tallies.iter_mut().zip(&mut open)) {
            if let Some(known) = known {
                (*tally, *open) = (known, false);
            }
        }
        if !open.contains(&true) {
            return Ok((all.unwrap_or(0), total.tallies));
        }
    }
    match memory {
        None => scan(plan, program, OpenFields { wanted, open: &open }, &mut |more| total.add(wanted, more))?,
        Some(memory) => stream::for_each_part(plan, memory, |part| {
            // If a part turns out too large, what it has added so far must be dropped.
            let found = part.stage(|| {
                let mut found = Vec::new();
                scan(part, program, OpenFields { wanted, open: &open }, &mut |more| {
                    found.push(more);
                    Ok(())
                })?;
                Ok(found)
            })?;
            Arc::unwrap_or_clone(found).into_iter().try_for_each(|more| total.add(wanted, more))
        })?,
    }
    Ok((all.unwrap_or(total.cells), total.tallies))
}

/// Adds up the cells of a query, space tile by space tile.
fn scan(
    plan: &Plan,
    program: &Program,
    OpenFields { wanted, open }: OpenFields<'_>,
    add: &mut dyn FnMut(Tallies) -> Result<()>,
) -> Result<()> {
    let context = plan.array.context();
    let space = Space::new(plan)?;
    let overlays = overlays(plan, &space)?;
    let written = Written::new(plan.array.fragments(), &overlays)?;
    let matcher = Matcher::open(plan, program, &space, &overlays, Lacking::Fill)?;
    let condition = match &plan.condition {
        Some(condition) => Some(Matcher::open(plan, condition, &space, &overlays, Lacking::Fails)?),
        None => None,
    };
    // In global order every region is a part of one space tile.
    let parts = space.rows()?.into_iter().map(|part| {
        let index = part.bounds.iter().enumerate().map(|(at, (low, _))| space.tile_index(at, *low));
        (index.collect::<Vec<u64>>(), part)
    });
    let parts: Vec<(Vec<u64>, Region)> = parts.collect();
    if let Some(prefetched) = &context.prefetched {
        let read_set =
            read_set(&space, &matcher, condition.as_ref(), OpenFields { wanted, open }, &parts, context)?;
        plan.fetch_if_it_fits(prefetched, &read_set)?;
    }
    let of_part = |(index, part): (Vec<u64>, Region), buffers: &mut PooledBuffers| {
        let mut mask = vec![0u8; part.cells()];
        written.paint(&part, &mut mask)?;
        of_part(
            &space,
            &matcher,
            condition.as_ref(),
            OpenFields { wanted, open },
            (&index, &part),
            mask,
            buffers,
        )
    };
    let pool = PooledBuffers::sharing(context.threads, parts.len());
    parallel::run(context.threads, parts, pool, of_part)?.into_iter().try_for_each(add)
}

/// The byte ranges that looking at the parts reads, as far as statistics are not enough.
fn read_set(
    space: &Space,
    matcher: &Matcher<'_>,
    condition: Option<&Matcher<'_>>,
    OpenFields { wanted, open }: OpenFields<'_>,
    parts: &[(Vec<u64>, Region)],
    context: &Context,
) -> Result<ReadSet> {
    let mut read_set = ReadSet::default();
    let mut buffers = PooledBuffers::default();
    for (index, part) in parts {
        let mut add = |own: &MatchField<'_>| {
            own.sources.need(context, (part, None), (index, &part.bounds), &mut read_set)
        };
        let mut verdict = Verdict::All;
        if let Some(condition) = condition {
            let columns = condition.columns(index, part, &mut buffers);
            let facts = |field: usize| columns.facts(field);
            verdict = condition.program.verdict(0, &facts);
            for field in condition.program.undecided(0, &facts) {
                add(condition.fields.get(field).or_internal("a program has no field with this number")?)?;
            }
        }
        for ((own, field), open) in matcher.fields.iter().zip(wanted).zip(open) {
            if !*open || verdict == Verdict::None {
                continue;
            }
            // Parts whose statistics are enough are not read.
            if verdict != Verdict::All || of_statistics(space, own, field, index, part)?.is_none() {
                add(own)?;
            }
        }
    }
    Ok(read_set)
}

/// Whether a box of whole tiles lies in the domain: statistics of tiles at the end of the domain
/// may have counted the padding.
fn in_domain(space: &Space, bounds: &Box) -> bool {
    let ends = space.dimensions().iter().map(tdb_schema::Dimension::last_ordinal);
    bounds.iter().zip(ends).all(|((_, high), last)| last.is_some_and(|last| *high <= last))
}

/// The tally of each field from the statistics of whole fragments, if these are enough: no fragment
/// overlaps another, all lie in the query, and all consist of whole tiles.
fn whole_fragments(plan: &Plan, program: &Program, wanted: &[WantedField]) -> Result<Vec<Option<Tally>>> {
    let array = &plan.array;
    let Some(fragments) = whole_and_disjoint(plan)? else { return Ok(Vec::new()) };
    let sources = Sources::new(array.context(), program, array.fragments());
    let mut tallies: Vec<_> = wanted.iter().map(|field| Some(field.nothing())).collect();
    for number in fragments {
        let exact = sources.exact_whole(number)?;
        let cells = to_usize(plan.fragment(number)?.cell_count());
        for ((tally, field), exact) in tallies.iter_mut().zip(wanted).zip(&exact) {
            // A fragment without the field has its fill value.
            let found = cells.map(|cells| field.of_statistics(exact.as_ref(), cells)).transpose()?.flatten();
            *tally = match tally.take().zip(found) {
                Some((mut tally, found)) => {
                    field.add(&mut tally, found)?;
                    Some(tally)
                }
                None => None,
            };
        }
    }
    Ok(tallies)
}

/// The numbers of the fragments that reach into a query, if all cells of each count.
fn whole_and_disjoint(plan: &Plan) -> Result<Option<Vec<usize>>> {
    let space = Space::new(plan)?;
    let mut domains: Vec<(Box, usize)> = Vec::new();
    for (number, fragment) in plan.array.fragments().iter().enumerate() {
        let Some(domain) = fragment_box(fragment)? else { continue };
        if intersect(&domain, space.query()).is_none() {
            continue;
        }
        let corner = |pick: fn(&(u64, u64)) -> u64| -> Box {
            let index = domain.iter().enumerate().map(|(at, span)| space.tile_index(at, pick(span)));
            space.tile_box(&index.collect::<Vec<_>>())
        };
        let (first, last) = (corner(|span| span.0), corner(|span| span.1));
        let mut ends = domain.iter().zip(first.iter().zip(&last));
        let whole = ends.all(|(span, (first, last))| *span == (first.0, last.1));
        if !fragment.is_dense() || !whole || !space.has_all(&domain) {
            return Ok(None);
        }
        domains.push((domain, number));
    }
    domains.sort_unstable();
    // Only neighbours along the first dimension can overlap.
    let disjoint = domains.iter().enumerate().all(|(at, (domain, _))| {
        let end = domain.first().map_or(0, |span| span.1);
        let near = domains.iter().skip(at + 1);
        near.take_while(|(other, _)| other.first().is_some_and(|span| span.0 <= end))
            .all(|(other, _)| intersect(domain, other).is_none())
    });
    // Sums of reals are added in the order of the fragments.
    let mut numbers: Vec<usize> = domains.into_iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    Ok(disjoint.then_some(numbers))
}

/// Adds up the cells of a part of a space tile that are 1 in `mask`, as far as they satisfy the
/// condition, field by field.
fn of_part(
    space: &Space,
    matcher: &Matcher<'_>,
    condition: Option<&Matcher<'_>>,
    OpenFields { wanted, open }: OpenFields<'_>,
    (index, part): (&[u64], &Region),
    mut mask: Vec<u8>,
    buffers: &mut PooledBuffers,
) -> Result<Tallies> {
    let mut found = Tallies::nothing(wanted);
    if !mask.contains(&1) {
        return Ok(found);
    }
    let looked_at = match condition {
        Some(condition) => Some((condition, condition.apply(index, part, &mut mask, buffers)?)),
        None => None,
    };
    let cells = mask.iter().filter(|wanted| **wanted != 0).count();
    found.cells = to_u64(cells);
    if cells == 0 {
        return Ok(found);
    }
    let chosen = || (0u32..).zip(&mask).filter(|(_, wanted)| **wanted != 0).map(|(cell, _)| cell).collect();
    let chosen: Option<Vec<u32>> = (cells < part.cells()).then(chosen);
    let mut columns = matcher.columns(index, part, buffers);
    if let Some((condition, painted)) = looked_at {
        columns.take_over(condition, painted)?;
    }
    let slots = found.tallies.iter_mut().zip(wanted.iter().zip(open)).zip(&matcher.fields).enumerate();
    for (at, ((tally, (field, open)), own)) in slots {
        if !open {
            continue;
        }
        let known = match &chosen {
            _ if own.sources.is_empty() => Some(field.of_fill(cells)?),
            None => of_statistics(space, own, field, index, part)?,
            Some(_) => None,
        };
        if let Some(known) = known {
            *tally = known;
        } else {
            let view = columns.column(at, &mask)?.or_internal("a field with sources has no column")?;
            *tally = field.of_column(view, part.cells(), chosen.as_deref())?;
        }
    }
    Ok(found)
}

/// The tallies from statistics, if a single tile contains everything that was written here, and its
/// statistics contain everything that is wanted.
fn of_statistics(
    space: &Space,
    own: &MatchField<'_>,
    field: &WantedField,
    index: &[u64],
    part: &Region,
) -> Result<Option<Tally>> {
    let Some(only) = own.sources.single_tile(space, index, part).filter(|only| only.all) else {
        return Ok(None);
    };
    let statistics =
        own.statistics.get(only.source).or_internal("a source has no place for its statistics")?;
    let Some(statistics) = statistics else { return Ok(None) };
    // The statistics of a consolidated fragment's tile include the fill values outside the
    // fragment's domain.
    if !in_domain(space, &space.tile_box(index)) || only.cells != space.tile_cells {
        return Ok(None);
    }
    let exact = statistics.exact(only.tile, to_u64(space.tile_cells));
    field.of_statistics(Some(&exact), only.cells)
}
