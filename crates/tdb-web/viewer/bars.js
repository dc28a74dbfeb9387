// Histograms, and counts of names.

import { Axis } from './axis.js';
import { h } from './dom.js';
import { count, number, plural, valueText } from './format.js';
import { Plot } from './plot.js';
import { sort } from './types.js';

const MOST_BINS = 64;

/** An axis for the values of a field between two of them. */
export const fieldAxis = (field, low, high) =>
  new Axis(
    { name: field.name, datatype: field.datatype, tile: null, domain: null, currentDomain: null },
    [low, high],
  );

/** Offsets along an axis in equal bins; those of integers are whole. `{ from, step, counts }`. */
export function bin(offsets, axis) {
  const length = axis.high - axis.low;
  const step = axis.discrete
    ? Math.max(1, Math.ceil(length / MOST_BINS))
    : length / Math.min(MOST_BINS, Math.max(8, Math.ceil(Math.sqrt(offsets.length))));
  const counts = new Array(Math.max(1, Math.ceil(length / step - 1e-9))).fill(0);
  for (const offset of offsets) {
    if (!(offset >= axis.low && offset <= axis.high)) continue;
    counts[Math.min(counts.length - 1, Math.floor((offset - axis.low) / step))] += 1;
  }
  return { from: axis.low, step, counts };
}

/** The picture of a histogram. */
export function histogram(page, field, axis, { from, step, counts }) {
  const most = Math.max(1, ...counts);
  const y = new Axis(
    {
      name: 'cells',
      datatype: 'FLOAT64',
      whole: true,
      tile: null,
      domain: null,
      currentDomain: null,
    },
    [0, most * 1.05],
  );
  const x = axis;
  x.high = Math.max(x.high, from + step * counts.length);
  const paint = (context, plot) => {
    context.fillStyle = page.dark() ? 'rgb(120 190 255)' : 'rgb(20 90 170)';
    counts.forEach((amount, at) => {
      if (amount === 0) return;
      const [left, bottom] = plot.place(from + at * step, 0);
      const [right, top] = plot.place(from + (at + 1) * step, amount);
      const gap = right - left > 4 ? 1 : 0;
      context.fillRect(
        left,
        Math.min(top, bottom - 1),
        Math.max(1, right - left - gap),
        Math.max(1, bottom - top),
      );
    });
  };
  const text = (offset) =>
    axis.discrete
      ? valueText(BigInt(axis.origin) + BigInt(Math.floor(offset)), field.datatype)
      : number(offset);
  const at = (offset) => {
    const index = Math.floor((offset - from) / step);
    if (!(counts[index] >= 0)) return null;
    const low = from + index * step;
    const bounds =
      axis.discrete && step === 1
        ? text(low)
        : `${text(low)} to ${text(axis.discrete ? low + step - 1 : low + step)}`;
    return `${field.name} ${bounds} · ${plural(counts[index], 'cell')}`;
  };
  return new Plot({
    label: `Histogram of ${field.name}`,
    x,
    y,
    up: true,
    locked: true,
    ratio: 0.42,
    paint,
    at,
  });
}

/** Names with their counts as bars, the most frequent first. */
export function nameBars(names, total) {
  const most = Math.max(1, ...names.map(([, amount]) => amount));
  return h(
    'table',
    { class: 'bars' },
    h('caption', { class: 'hidden' }, 'How many cells have each value'),
    h(
      'thead',
      { class: 'hidden' },
      h(
        'tr',
        null,
        h('th', { scope: 'col' }, 'Value'),
        h('th', { scope: 'col' }, 'Cells'),
        h('th', { scope: 'col' }, 'Share'),
      ),
    ),
    h(
      'tbody',
      null,
      names.map(([name, amount]) => {
        const bar = h('span', { class: 'bar', 'aria-hidden': 'true' });
        bar.style.width = `${(100 * amount) / most}%`;
        return h(
          'tr',
          null,
          h(
            'th',
            { scope: 'row' },
            name === null
              ? h('span', { class: 'null' }, 'null')
              : name === ''
                ? h('span', { class: 'null' }, 'empty')
                : name,
          ),
          h('td', { class: 'of-bar' }, bar),
          h('td', { class: 'right' }, count(amount)),
          h('td', { class: 'right' }, `${number((100 * amount) / total)} %`),
        );
      }),
    ),
  );
}

/** Whether a field is counted by name. */
export const isNamed = (field) =>
  Boolean(field.enumeration) ||
  ['text', 'bytes', 'boolean'].includes(sort(field.datatype)) ||
  (field.cellValNum !== undefined && field.cellValNum !== 1);
