// Windows of arrays as grids of numbers, coarse first. Each generator yields better and better
// answers.

import { Layer, shrink } from './layer.js';
import { pause } from './latest.js';
import { numbers } from './model.js';
import { densePasses, estimate, stripes } from './sample.js';
import { sampled } from './finer.js';
import { roughly } from './format.js';

/** The most points that are drawn one by one. */
export const MOST_POINTS = 5000;
/** The most sparse cells that a picture reads without being asked. */
const MOST_SPARSE = 600000;
const SAMPLED = [
  { boxes: 14, cells: 60000 },
  { boxes: 40, cells: 400000 },
];
const SAMPLE_BYTES = 12e6;

/** Cells of a window along an axis: the first offset, and how many. */
function span(axis, [from, to]) {
  const first = Math.max(Math.floor(from), axis.offset(axis.first));
  const last = Math.min(Math.ceil(to), axis.offset(axis.last) + 1);
  return { first, cells: Math.max(1, last - first) };
}

/**
 * Every `step`-th cell of a span: its selection, where the samples begin, and how many there are.
 */
function selection(axis, { first, cells }, step) {
  const start = first + Math.floor((Math.min(step, cells) - 1) / 2);
  const [from, to] = [axis.value(start), axis.value(first + cells - 1)];
  const number = Math.floor((first + cells - 1 - start) / step) + 1;
  return {
    number,
    of: step === 1 ? [from, to] : { from, to, step: axis.big ? BigInt(step) : step },
  };
}

/**
 * A plane of a dense array. Yields `{ layer, note, coarse }`.
 * @param request `{ x, y, field, window, pixels, ranges, where, finer }`
 */
export async function* densePlane(model, request, signal) {
  const { x, y, field, window, pixels, ranges, where, finer } = request;
  const [xAxis, yAxis] = [model.axes.get(x), model.axes.get(y)];
  const [xSpan, ySpan] = [span(xAxis, window.x), span(yAxis, window.y)];
  const tileOf = (axis) => (axis.tile === null ? axis.length : Number(axis.tile));
  const passes = densePasses({
    cells: [xSpan.cells, ySpan.cells],
    tile: [tileOf(xAxis), tileOf(yAxis)],
    pixels,
    tileBytes: model.tileBytes([field]),
    finer,
  });
  for (const pass of passes) {
    const [across, down] = [selection(xAxis, xSpan, pass.x), selection(yAxis, ySpan, pass.y)];
    const cells = await model.array.read({
      fields: [field],
      ranges: { ...ranges, [x]: across.of, [y]: down.of },
      where: where || undefined,
      order: 'row-major',
      selection: true,
      signal,
    });
    const flat = numbers(cells.columns[0], cells.selected);
    const order =
      model.dimensions.findIndex((one) => one.name === x) >
      model.dimensions.findIndex((one) => one.name === y);
    const values = order ? flat : turned(flat, across.number, down.number);
    const small = request.nearest
      ? { values, columns: across.number, rows: down.number }
      : shrink(values, across.number, down.number, pixels[0] * 2, pixels[1] * 2);
    const cover = ({ first, cells: length }, { number }, step) => [
      first,
      Math.min(first + number * step, first + Math.max(length, number * step)),
    ];
    const layer = new Layer({
      ...small,
      x: cover(xSpan, across, pass.x),
      y: cover(ySpan, down, pass.y),
    });
    yield {
      layer,
      ...sampled(pass, pass.x * pass.y),
    };
  }
}

/** Columns as rows. */
function turned(values, columns, rows) {
  const found = new Float64Array(values.length);
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1)
      found[row * columns + column] = values[column * rows + row];
  }
  return found;
}

/** A grid that counts points, and sums a value of them. */
class Bins {
  constructor(window, columns, rows, valued) {
    this.window = window;
    this.columns = columns;
    this.rows = rows;
    this.counts = new Float64Array(columns * rows);
    this.sums = valued ? new Float64Array(columns * rows) : null;
  }

  add(x, y, value) {
    const [left, right] = this.window.x;
    const [low, high] = this.window.y;
    const column = Math.floor(((x - left) / (right - left)) * this.columns);
    const row = Math.floor(((y - low) / (high - low)) * this.rows);
    if (column < 0 || row < 0 || column >= this.columns || row >= this.rows) return;
    const at = row * this.columns + column;
    if (this.sums && value !== value) return;
    this.counts[at] += 1;
    if (this.sums) this.sums[at] += value;
  }

  layer(scale = 1) {
    const { counts, sums } = this;
    const values = counts.map((count, at) =>
      count === 0 ? NaN : sums ? sums[at] / count : count * scale,
    );
    return new Layer({ ...this.window, columns: this.columns, rows: this.rows, values });
  }
}

/** At most `most` equal parts of a window; those of integers are whole. */
function grid(axis, [from, to], most) {
  if (!axis.discrete) return { range: [from, to], number: most };
  const low = Math.floor(from);
  const step = Math.max(1, Math.ceil((to - low) / most));
  const number = Math.max(1, Math.ceil((to - low) / step));
  return { range: [low, low + number * step], number };
}

/** Offsets of a column of coordinates; points of integers are in the middle of their cell. */
export function places(axis, column) {
  const { values, length } = column;
  const found = new Float64Array(length);
  if (!axis.discrete) {
    for (let at = 0; at < length; at += 1) found[at] = values[at];
  } else if (axis.big) {
    const origin = BigInt(axis.origin);
    for (let at = 0; at < length; at += 1) found[at] = Number(BigInt(values[at]) - origin) + 0.5;
  } else {
    for (let at = 0; at < length; at += 1) found[at] = values[at] - axis.origin + 0.5;
  }
  return found;
}

/** A window as ranges of values. */
export function rangesOf(model, names, window) {
  const found = {};
  names.forEach((name, at) => {
    const axis = model.axes.get(name);
    const [from, to] = window[at];
    found[name] = [
      axis.value(from),
      axis.discrete ? axis.value(Math.max(from, Math.ceil(to) - 1)) : axis.value(to),
    ];
  });
  return found;
}

/**
 * Points of a sparse array in a window. Yields `{ layer, points, note, cells }`; `points` (`x`,
 * `y`, `value`) where they are few. y may be null: then points are along a line.
 */
export async function* sparsePlane(model, request, signal) {
  const { x, y, field, window, ranges, where, finer } = request;
  const names = y ? [x, y] : [x];
  const box = { ...ranges, ...rangesOf(model, names, y ? [window.x, window.y] : [window.x]) };
  const about = estimate(model.fragments, model.dimensions, box);
  if (about > MOST_SPARSE * finer && y) {
    yield* sampledPlane(model, request, about, signal);
    return;
  }
  const [columns, rows] = request.pixels.map((pixels) => Math.max(1, Math.round(pixels / 3)));
  const across = grid(model.axes.get(x), window.x, columns);
  const up = y ? grid(model.axes.get(y), window.y, rows) : { range: [0, 1], number: 1 };
  const place = { x: across.range, y: up.range };
  const bins = new Bins(place, across.number, up.number, Boolean(field));
  const kept = { x: [], y: [], value: [] };
  let [cells, drawn] = [0, performance.now()];
  const answer = () => ({
    layer: bins.layer(),
    points: cells <= MOST_POINTS && cells > 0 ? kept : null,
    cells,
    note: '',
  });
  const fields = [...new Set([...names, ...(field ? [field] : [])])];
  for await (const batch of model.array.batches({
    fields,
    ranges: box,
    where: where || undefined,
    order: 'unordered',
    signal,
  })) {
    const xs = places(model.axes.get(x), batch.column(x));
    const ys = y ? places(model.axes.get(y), batch.column(y)) : null;
    const values = field ? numbers(batch.column(field)) : null;
    for (let at = 0; at < batch.length; at += 1) {
      const [px, py, value] = [xs[at], ys ? ys[at] : 0.5, values ? values[at] : 1];
      bins.add(px, py, value);
      if (cells + at < MOST_POINTS) {
        kept.x.push(px);
        kept.y.push(py);
        kept.value.push(value);
      }
    }
    cells += batch.length;
    if (performance.now() - drawn > 250) {
      yield { ...answer(), points: null };
      drawn = performance.now();
      await pause();
    }
  }
  yield answer();
}

/** Of many points, those in small boxes all over the window. */
async function* sampledPlane(model, request, about, signal) {
  const { x, y, field, window, ranges, where, finer } = request;
  const fields = [...new Set([x, y, ...(field ? [field] : [])])];
  const tile = Math.max(1, model.schema.capacity) * model.bytesOf(fields) * model.share;
  for (const { boxes: side, cells } of SAMPLED) {
    const [boxes, most] = [Math.round(side * Math.sqrt(finer)), cells * finer];
    const number = Math.max(
      4,
      Math.min(boxes, Math.floor(Math.sqrt((SAMPLE_BYTES * finer) / tile))),
    );
    const covered = Math.min(1, Math.sqrt(most / about));
    const parts = [x, y].map((name, at) =>
      boxRanges(model.axes.get(name), at === 0 ? window.x : window.y, number, covered),
    );
    const bins = new Bins(window, number, number, Boolean(field));
    let found = 0;
    for await (const batch of model.array.batches({
      fields,
      ranges: { ...ranges, [x]: parts[0].ranges, [y]: parts[1].ranges },
      where: where || undefined,
      order: 'unordered',
      limit: 4 * most,
      signal,
    })) {
      const [xs, ys] = [
        places(model.axes.get(x), batch.column(x)),
        places(model.axes.get(y), batch.column(y)),
      ];
      const values = field ? numbers(batch.column(field)) : null;
      for (let at = 0; at < batch.length; at += 1)
        bins.add(xs[at], ys[at], values ? values[at] : 1);
      found += batch.length;
    }
    yield {
      layer: bins.layer(1 / (parts[0].covered * parts[1].covered)),
      points: null,
      cells: about,
      sampled: true,
      coarse: true,
      note:
        `About ${roughly(about)} cells; ${roughly(found)} of them, in ${number * number} places, ` +
        'were read. Zoom in for all.',
    };
    if (number < boxes) return;
  }
}

export function boxRanges(axis, window, number, covered) {
  const ranges = [];
  let length = 0;
  for (const [from, to] of stripes(window, number, covered)) {
    const low = axis.value(from);
    const high = axis.discrete
      ? axis.value(Math.max(Math.floor(from), Math.ceil(to) - 1))
      : axis.value(to);
    // Ranges that meet would give a cell twice.
    if (ranges.length > 0 && low <= ranges.at(-1)[1]) continue;
    ranges.push([low, high]);
    length += axis.discrete ? Number(BigInt(high) - BigInt(low)) + 1 : high - low;
  }
  return { ranges, covered: Math.min(1, length / (window[1] - window[0])) };
}
