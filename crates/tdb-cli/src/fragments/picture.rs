//! The fragments of an array as a timeline with footprints.

use tdb_array::history::{Event, EventKind, State};
use tdb_array::schema::{ArraySchema, Range};
use tdb_codec::{Datatype, to_u64};
use tdb_draw::{Bar, Mark, Picture, Size, Tick, Timeline};
use tdb_text::calendar;

use super::{domain_text, name_of};
use crate::count::count;
use crate::show::BinnedAxis;
use crate::show::dates;
use crate::thresholds::MAX_TIMELINE_ROWS;

const SIZE: Size = Size { width: 900, height: 420 };

/// Draws the fragments.
pub(super) fn draw(array: &str, schema: Option<&ArraySchema>, events: &[Event]) -> Picture {
    let order = family_order(events);
    let left_out = order.len().saturating_sub(MAX_TIMELINE_ROWS);
    let shown: Vec<&Event> = chosen(order, events).into_iter().filter_map(|at| events.get(at)).collect();
    let times = shown.iter().filter_map(|event| event.timestamps);
    let ends = times.reduce(|(first, last), (begin, end)| (first.min(begin), last.max(end)));
    let (first, last) = ends.unwrap_or((0, 0));
    let long = (last.saturating_sub(first)).max(1) as f64;
    let share = |time: u64| if first == last { 0.5 } else { time.saturating_sub(first) as f64 / long };
    let axes = axes(schema, &shown);
    let name = array.trim_end_matches('/').rsplit('/').next().unwrap_or(array);
    let bars = shown.iter().map(|event| {
        let (begin, end) = event.timestamps.unwrap_or((first, first));
        let places = event.bounds.as_deref().map_or_else(Vec::new, |bounds| places(schema, &axes, bounds));
        let cells = event.cells.map_or_else(|| "-".to_owned(), |cells| cells.to_string());
        let domain = domain_text(schema, event.bounds.as_deref()).unwrap_or_default();
        Bar {
            time: [share(begin), share(end)],
            amount: event.cells.unwrap_or(0) as f64,
            mark: mark(event),
            title: format!(
                "{}: {}, {}, {}, {domain}",
                name_of(event),
                event
                    .cells
                    .map_or_else(|| "cells that nobody can count".to_owned(), |cells| count(cells, "cell")),
                count(event.bytes, "byte"),
                calendar::span_text(begin, end)
            ),
            text: cells,
            places,
        }
    });
    let bars: Vec<Bar> = bars.collect();
    Timeline {
        title: format!("{name}: fragments"),
        note: note(&bars, events, left_out, &axes),
        times: ticks(first, last, share),
        bars,
        unit: "cells".to_owned(),
        places: axes.iter().map(|(name, along)| along.axis(name)).collect(),
    }
    .picture(SIZE)
}

/// As many as can be told apart: those in use before those that were replaced, and of each the
/// newest.
fn chosen(order: Vec<usize>, events: &[Event]) -> Vec<usize> {
    let in_use = |at: &usize| events.get(*at).is_some_and(|event| !is_replaced(event));
    let live = order.iter().filter(|at| in_use(at)).count();
    let mut live_left_out = live.saturating_sub(MAX_TIMELINE_ROWS);
    let mut others_left_out =
        order.len().saturating_sub(live).saturating_sub(MAX_TIMELINE_ROWS.saturating_sub(live));
    let mut keeps = |at: &usize| {
        let left_out = if in_use(at) { &mut live_left_out } else { &mut others_left_out };
        let keeps = *left_out == 0;
        *left_out = left_out.saturating_sub(1);
        keeps
    };
    order.into_iter().filter(|at| keeps(at)).collect()
}

/// The fragments by time, each consolidated one before those that it replaced.
fn family_order(events: &[Event]) -> Vec<usize> {
    fn add(at: usize, events: &[Event], order: &mut Vec<usize>) {
        let Some(event) = events.get(at).filter(|_| !order.contains(&at)) else { return };
        order.push(at);
        let Some((first, last)) = event.timestamps.filter(|_| is_merged(event)) else { return };
        for (other, replaced) in events.iter().enumerate() {
            // Not every array has files that say what was replaced by what.
            let inside = replaced.timestamps.is_some_and(|(begin, end)| first <= begin && end <= last);
            if inside && is_replaced(replaced) {
                add(other, events, order);
            }
        }
    }
    let mut order = Vec::new();
    // The second round finds those whose successor is gone.
    for round in [false, true] {
        for (at, event) in events.iter().enumerate() {
            if round || !is_replaced(event) {
                add(at, events, &mut order);
            }
        }
    }
    order
}

const fn is_merged(event: &Event) -> bool {
    matches!(event.kind, EventKind::ConsolidatedFragment(_))
}

const fn is_replaced(event: &Event) -> bool {
    !matches!(event.state, State::Live | State::Damaged(_))
}

fn mark(event: &Event) -> Mark {
    match event.state {
        State::Damaged(_) => Mark::Damaged,
        State::Live if is_merged(event) => Mark::Merged,
        State::Live => Mark::Live,
        _ => Mark::Replaced,
    }
}

/// The axes of the first two dimensions, over all that is shown. Dimensions of texts have none.
fn axes(schema: Option<&ArraySchema>, events: &[&Event]) -> Vec<(String, BinnedAxis)> {
    let Some(schema) = schema else { return Vec::new() };
    let mut found = Vec::new();
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let ranges = events.iter().filter_map(|event| event.bounds.as_deref()?.get(index));
        let all = ranges.cloned().reduce(|mut all, range| {
            all.unite(dimension.datatype, &range);
            all
        });
        if let Some(along) = all.and_then(|all| BinnedAxis::of_range(dimension, &all))
            && found.len() < 2
        {
            found.push((dimension.name.clone(), along));
        }
    }
    found
}

fn places(schema: Option<&ArraySchema>, axes: &[(String, BinnedAxis)], bounds: &[Range]) -> Vec<[f64; 2]> {
    let place = |(name, along): &(String, BinnedAxis)| {
        let index = schema?.dimension_index(name)?;
        let (dimension, range) = (schema?.domain.dimensions.get(index)?, bounds.get(index)?);
        along.extent(dimension.datatype, &range.low, &range.high)
    };
    axes.iter().map(place).collect::<Option<_>>().unwrap_or_default()
}

fn ticks(first: u64, last: u64, share: impl Fn(u64) -> f64) -> Vec<Tick> {
    let found = dates::round(Datatype::DatetimeMs, first.into(), last.into(), 4).unwrap_or_default();
    let tick = |(time, text): (i128, String)| Some(Tick { at: share(u64::try_from(time).ok()?), text });
    found.into_iter().filter_map(tick).collect()
}

/// The number of fragments that a read has to look at, in words.
fn note(bars: &[Bar], events: &[Event], left_out: usize, axes: &[(String, BinnedAxis)]) -> String {
    let live: Vec<&Bar> = bars.iter().filter(|bar| matches!(bar.mark, Mark::Live | Mark::Merged)).collect();
    let in_use = events.iter().filter(|event| matches!(event.state, State::Live)).count();
    let fragments = count(to_u64(bars.len().saturating_add(left_out)), "fragment");
    let mut note = format!("{fragments}, {in_use} of them in use");
    if !axes.is_empty() && live.len() == in_use {
        note += &format!("; at most {} of these overlap", deepest(&live));
    }
    if left_out > 0 {
        note += &format!("; {left_out} are not shown");
    }
    note
}

/// The most fragments over one point.
fn deepest(bars: &[&Bar]) -> usize {
    // At the place where most fragments overlap, some fragment begins in each dimension.
    let begins = |axis: usize| {
        let mut found: Vec<f64> = bars.iter().filter_map(|bar| Some(bar.places.get(axis)?[0])).collect();
        found.sort_by(f64::total_cmp);
        found.dedup();
        found
    };
    let over = |at: f64, bar: &&&Bar, axis: usize| {
        bar.places.get(axis).is_some_and(|[low, high]| *low <= at && at < high.max(*low + 1e-12))
    };
    let axes = bars.iter().map(|bar| bar.places.len()).max().unwrap_or(0);
    let first = begins(0).into_iter().map(|x| bars.iter().filter(|bar| over(x, bar, 0)).collect::<Vec<_>>());
    first
        .map(|column| match axes {
            2 => begins(1)
                .into_iter()
                .map(|y| column.iter().filter(|bar| over(y, bar, 1)).count())
                .max()
                .unwrap_or(0),
            _ => column.len(),
        })
        .max()
        .unwrap_or(0)
}
