// Points of an embedding: in which order and colour they are drawn, and which one is near a place.

import { category, levels } from './color.js';
import { number } from './format.js';
import { state } from './state.js';

/** How near the pointer must be to a cell, in pixels. */
const NEAR = 9;
const LEVELS = 48;
/** Pixels across a point where there are few. */
const SIZE = 4.4;
const FEW = 3000;

/** Puts cells of one colour together, low values first, so that high ones are seen. */
export function buckets({ values, labels }, amount) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values ?? []) {
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  if (!(low <= high)) [low, high] = [0, 1];
  const level = (value) => {
    if (value !== value) return -1;
    if (labels) return value;
    if (!(high > low)) return 0;
    return Math.max(0, Math.min(LEVELS - 1, Math.floor(((value - low) / (high - low)) * LEVELS)));
  };
  const found = new Map([[-1, []]]);
  for (let at = 0; at < amount; at += 1) {
    const bucket = level(values ? values[at] : NaN);
    if (!found.has(bucket)) found.set(bucket, []);
    found.get(bucket).push(at);
  }
  return { low, high, buckets: [...found].sort((a, b) => a[0] - b[0]) };
}

/** Draws the cells; of a picked category in its colour, the others in grey below it. */
export function paint(context, plot, { places: { x, y, ids }, colors, dark }) {
  if (!colors?.buckets) return;
  const bytes = levels(state().ramp ?? 'viridis', dark);
  const zoomed = (plot.x.high - plot.x.low) / (plot.window.x[1] - plot.window.x[0]);
  const room = Math.min(1, plot.width / 500 + 0.25);
  const usual = SIZE * Math.sqrt(FEW / Math.max(FEW, ids.length)) * room;
  const size = Math.min(9, Math.max(1.4, usual * Math.sqrt(zoomed)));
  const { labels } = colors;
  const picked = labels && state().pick !== undefined ? labels.indexOf(state().pick) : -1;
  const color = (bucket) => {
    if (bucket < 0 || (picked >= 0 && bucket !== picked)) {
      return dark ? 'rgb(90 96 104)' : 'rgb(196 202 208)';
    }
    if (labels) return category(bucket, dark);
    const at = Math.floor(((bucket + 0.5) / LEVELS) * 256) * 4;
    return `rgb(${bytes[at]} ${bytes[at + 1]} ${bytes[at + 2]})`;
  };
  const above = (bucket) => Number(picked >= 0 && bucket === picked);
  for (const [bucket, cells] of colors.buckets.toSorted((a, b) => above(a[0]) - above(b[0]))) {
    context.fillStyle = color(bucket);
    context.beginPath();
    for (const cell of cells) {
      const [left, top] = plot.place(x[cell], y[cell]);
      if (left < -9 || top < -9 || left > plot.width + 9 || top > plot.height + 9) continue;
      if (size > 2.6) {
        context.moveTo(left + size / 2, top);
        context.arc(left, top, size / 2, 0, 2 * Math.PI);
      } else {
        context.rect(left - size / 2, top - size / 2, size, size);
      }
    }
    context.fill();
  }
}

/** The cell that is nearest to a place, as text; null if none is near. */
export function tell(plot, { x, y, ids }, colors, left, top) {
  const across = plot.width / (plot.window.x[1] - plot.window.x[0]);
  const down = plot.height / (plot.window.y[1] - plot.window.y[0]);
  let [best, least] = [-1, NEAR * NEAR];
  for (let at = 0; at < ids.length; at += 1) {
    const away = ((x[at] - left) * across) ** 2 + ((y[at] - top) * down) ** 2;
    if (away < least) [best, least] = [at, away];
  }
  if (best < 0) return null;
  const value = colors?.values?.[best];
  if (value === undefined) return `cell ${ids[best]}`;
  const text = value !== value ? 'null' : colors.labels ? colors.labels[value] : number(value);
  return `cell ${ids[best]} · ${colors.title} ${text}`;
}
