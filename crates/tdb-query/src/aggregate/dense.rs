//! Aggregates over dense arrays, one space tile after the other. Unwritten cells are counted, but have no value.

use tdb_codec::{to_u64, to_usize};

use super::tally::{Tally, WantedField};
use crate::asked::Ends;
use crate::condition::{Columns, Program, Sources, Verdict};
use crate::context::Context;
use crate::dense::boxes::{Box, intersect};
use crate::dense::condition::{MatchField, Matcher};
use crate::dense::space::{Region, Space};
use crate::dense::{Overlay, overlays};
use crate::plan::Plan;
use crate::storage::Needs;
use crate::stream::{self, Allowance};
use crate::worker::Worker;
use crate::{Result, parallel};

/// The number of cells, and the tally of each wanted field. With a memory budget, everything except the statistics of
/// whole fragments is computed part by part of the query.
pub(super) fn run(
    plan: &Plan,
    program: &Program,
    wanted: &[WantedField],
    memory: Option<Allowance>,
) -> Result<(u64, Vec<Tally>)> {
    let array = &plan.array;
    let context = array.context();
    let count = to_u64(Space::new(plan)?.cells());
    let mut tallies: Vec<Tally> = wanted.iter().map(WantedField::nothing).collect();
    let Some(written) = array.bounds().filter(|_| !wanted.is_empty()) else {
        return Ok((count, tallies));
    };
    // Only places where something was written have values to look at.
    let mut plan = plan.clone();
    for (dimension, range) in written.into_iter().enumerate() {
        plan = plan.narrowed(dimension, &Ends { low: Some(range.low), high: Some(range.high) });
    }
    let plan = &plan;
    let mut open = vec![true; wanted.len()];
    if plan.condition.is_none() {
        let space = Space::new(plan)?;
        // Of sparse fragments, only the domain is needed.
        let none = array.fragments().iter().map(|fragment| (!fragment.is_dense()).then(Overlay::default));
        let none = none.collect::<Vec<_>>();
        let matcher = Matcher::open(plan, program, &space, &none, true)?;
        let sources = Sources::new(context, program, array.fragments());
        let fields = matcher.fields.iter().zip(wanted).enumerate();
        for ((index, (own, field)), (tally, open)) in fields.zip(tallies.iter_mut().zip(&mut open)) {
            if let Some(found) = whole_fragments(plan, &space, &sources, own, (index, field))? {
                (*tally, *open) = (found, false);
            }
        }
    }
    if !open.contains(&true) {
        return Ok((count, tallies));
    }
    let mut add = |found: Vec<Tally>| {
        for ((field, tally), more) in wanted.iter().zip(&mut tallies).zip(found) {
            field.add(tally, more);
        }
    };
    match memory {
        None => scan(plan, program, (wanted, &open), &mut add)?,
        Some(memory) => stream::for_each_part(plan, memory, |part| {
            // If a part turns out too large, what it has added so far must be dropped.
            let mut found = Vec::new();
            scan(part, program, (wanted, &open), &mut |more| found.push(more))?;
            found.into_iter().for_each(&mut add);
            Ok(())
        })?,
    }
    Ok((count, tallies))
}

/// Adds up the cells of a query, space tile by space tile.
fn scan(
    plan: &Plan,
    program: &Program,
    (wanted, open): (&[WantedField], &[bool]),
    add: &mut dyn FnMut(Vec<Tally>),
) -> Result<()> {
    let context = plan.array.context();
    let space = Space::new(plan)?;
    let overlays = overlays(plan, &space)?;
    let matcher = Matcher::open(plan, program, &space, &overlays, true)?;
    let condition = match &plan.condition {
        Some(condition) => Some(Matcher::open(plan, condition, &space, &overlays, false)?),
        None => None,
    };
    // In global order every region is a part of one space tile.
    let parts = space.rows().into_iter().map(|part| {
        let index = part.bounds.iter().enumerate().map(|(at, (low, _))| space.tile_index(at, *low));
        (index.collect::<Vec<u64>>(), part)
    });
    let parts: Vec<(Vec<u64>, Region)> = parts.collect();
    if let Some(ahead) = &context.ahead {
        let needs = needs(&space, &matcher, condition.as_ref(), (wanted, open), &parts, context)?;
        plan.fetch_if_it_fits(ahead, &needs);
    }
    let of_part = |(index, part): (Vec<u64>, Region), worker: &mut Worker| {
        of_part(&space, &matcher, condition.as_ref(), (wanted, open), (&index, &part), worker)
    };
    let workers = Worker::sharing(context.threads, parts.len());
    parallel::run(context.threads, parts, workers, of_part)?.into_iter().for_each(add);
    Ok(())
}

/// What looking at the parts reads, as far as statistics do not answer.
fn needs(
    space: &Space,
    matcher: &Matcher<'_>,
    condition: Option<&Matcher<'_>>,
    (wanted, open): (&[WantedField], &[bool]),
    parts: &[(Vec<u64>, Region)],
    context: &Context,
) -> Result<Needs> {
    let mut needs = Needs::default();
    let mut worker = Worker::default();
    for (index, part) in parts {
        let mut add =
            |own: &MatchField<'_>| own.sources.need(context, (part, None), (index, &part.bounds), &mut needs);
        let mut verdict = Verdict::All;
        if let Some(condition) = condition {
            let columns = condition.columns(index, part, &mut worker);
            let facts = |field: usize| columns.facts(field);
            verdict = condition.program.verdict(0, &facts);
            for field in condition.program.undecided(0, &facts) {
                condition.fields.get(field).map_or(Ok(()), &mut add)?;
            }
        }
        for ((own, field), open) in matcher.fields.iter().zip(wanted).zip(open) {
            let known = || verdict == Verdict::All && of_statistics(space, own, field, index, part).is_some();
            if *open && verdict != Verdict::None && !known() {
                add(own)?;
            }
        }
    }
    Ok(needs)
}

/// Whether a box of whole tiles lies in the domain: statistics of tiles at its end may have counted the padding.
fn in_domain(space: &Space, bounds: &Box) -> bool {
    let ends = space.dimensions().iter().map(tdb_schema::Dimension::last_ordinal);
    bounds.iter().zip(ends).all(|((_, high), last)| last.is_some_and(|last| *high <= last))
}

/// The tally of a field from the statistics of whole fragments, if these are enough: no fragment overlaps another,
/// all lie in the query, and all consist of whole tiles.
fn whole_fragments(
    plan: &Plan,
    space: &Space,
    sources: &Sources<'_>,
    own: &MatchField<'_>,
    (index, field): (usize, &WantedField),
) -> Result<Option<Tally>> {
    let Some(domains) = own.sources.domains().collect::<Option<Vec<&Box>>>() else { return Ok(None) };
    let aligned = |domain: &&Box| {
        let corner = |pick: fn(&(u64, u64)) -> u64| -> Box {
            let index = domain.iter().enumerate().map(|(at, span)| space.tile_index(at, pick(span)));
            space.tile_box(&index.collect::<Vec<_>>())
        };
        let (first, last) = (corner(|span| span.0), corner(|span| span.1));
        let whole = domain
            .iter()
            .zip(first.iter().zip(&last))
            .all(|(span, (first, last))| *span == (first.0, last.1));
        whole && space.has_all(domain)
    };
    let apart = || {
        let mut sorted = domains.clone();
        sorted.sort_unstable();
        // Only neighbours along the first dimension can overlap.
        sorted.iter().enumerate().all(|(at, domain)| {
            let end = domain.first().map_or(0, |span| span.1);
            let near = sorted.iter().skip(at.saturating_add(1));
            near.take_while(|other| other.first().is_some_and(|span| span.0 <= end))
                .all(|other| intersect(domain, other).is_none())
        })
    };
    if domains.is_empty() || !domains.iter().all(aligned) || !apart() {
        return Ok(None);
    }
    let mut tally = field.nothing();
    for fragment in own.sources.fragments() {
        let exact = sources.exact_whole(fragment)?.into_iter().nth(index).flatten();
        let cells = plan.array.fragments().get(fragment).and_then(|fragment| to_usize(fragment.cell_count()));
        let Some(found) =
            exact.zip(cells).and_then(|(exact, cells)| field.of_statistics(Some(&exact), cells))
        else {
            return Ok(None);
        };
        field.add(&mut tally, found);
    }
    Ok(Some(tally))
}

/// Adds up the written cells of a part of a space tile, field by field.
fn of_part(
    space: &Space,
    matcher: &Matcher<'_>,
    condition: Option<&Matcher<'_>>,
    (wanted, open): (&[WantedField], &[bool]),
    (index, part): (&[u64], &Region),
    worker: &mut Worker,
) -> Result<Vec<Tally>> {
    let mut mask = vec![1u8; part.cells()];
    let looked_at = match condition {
        Some(condition) => Some((condition, condition.apply(index, part, &mut mask, worker)?)),
        None => None,
    };
    let mut tallies: Vec<Tally> = wanted.iter().map(WantedField::nothing).collect();
    if !mask.contains(&1) {
        return Ok(tallies);
    }
    let all = !mask.contains(&0);
    let mut columns = matcher.columns(index, part, worker);
    if let Some((condition, painted)) = looked_at {
        columns.take_over(condition, painted);
    }
    let slots = tallies.iter_mut().zip(wanted.iter().zip(open)).zip(&matcher.fields).enumerate();
    for (at, ((tally, (field, open)), own)) in slots {
        if !open || own.sources.is_empty() {
            continue;
        }
        if all && let Some(found) = of_statistics(space, own, field, index, part) {
            *tally = found;
            continue;
        }
        let Some(view) = columns.column(at, &mask)? else { continue };
        let chosen: Option<Vec<u32>> = match view.present {
            None if all => None,
            None => {
                Some((0u32..).zip(&mask).filter(|(_, wanted)| **wanted != 0).map(|(cell, _)| cell).collect())
            }
            Some(present) => {
                let both = (0u32..).zip(mask.iter().zip(present));
                Some(
                    both.filter(|(_, (wanted, present))| **wanted & **present != 0)
                        .map(|(cell, _)| cell)
                        .collect(),
                )
            }
        };
        *tally = field.of_column(view, part.cells(), chosen.as_deref());
    }
    Ok(tallies)
}

/// The tallies from statistics, if a single tile contains everything that was written here, and its statistics
/// contain everything that is wanted.
fn of_statistics(
    space: &Space,
    own: &MatchField<'_>,
    field: &WantedField,
    index: &[u64],
    part: &Region,
) -> Option<Tally> {
    let only = own.sources.only(space, index, part).filter(|only| only.all)?;
    let statistics = own.statistics.get(only.source)?.as_ref()?;
    // The statistics of a consolidated fragment's tile include the fill values outside the fragment's domain.
    if !in_domain(space, &space.tile_box(index)) || only.cells != space.tile_cells {
        return None;
    }
    let exact = statistics.exact(only.tile, to_u64(space.tile_cells));
    field.of_statistics(Some(&exact), only.cells)
}
