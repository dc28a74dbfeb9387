// What the colours of a picture mean.

import { category, levels } from './color.js';
import { h, s } from './dom.js';
import { steps } from './ticks.js';

const WIDE = 240;

/** A ramp with its numbers. `write` makes a value a text (dates). */
export function rampLegend({ title, low, high, ramp, dark, roots, write }) {
  const bytes = levels(ramp, dark);
  const canvas = h('canvas', { width: 256, height: 1, 'aria-hidden': 'true', class: 'ramp' });
  const context = canvas.getContext('2d');
  const image = context.createImageData(256, 1);
  image.data.set(bytes);
  context.putImageData(image, 0, 0);
  const bend = (value) => (roots ? Math.sqrt(Math.max(0, value)) : value);
  const place = (value) =>
    high > low ? ((bend(value) - bend(low)) / (bend(high) - bend(low))) * WIDE : WIDE / 2;
  const ticks = write
    ? [low, high].map((value) => ({ value, text: write(value) }))
    : steps(low, high, roots ? 8 : 5);
  const shapes = [];
  let free = -Infinity;
  for (const { value, text } of ticks) {
    const half = text.length * 3.6;
    const at = Math.min(WIDE - half, Math.max(half, place(value)));
    shapes.push(s('line', { x1: place(value), x2: place(value), y1: 0, y2: 4, class: 'tick' }));
    if (at - half < free + 6) continue;
    free = at + half;
    shapes.push(s('text', { x: at, y: 17, class: 'label middle' }, text));
  }
  const axis = s(
    'svg',
    { viewBox: `0 0 ${WIDE} 22`, width: WIDE, height: 22, 'aria-hidden': 'true' },
    shapes,
  );
  const spoken = `Colours from ${write ? write(low) : low} to ${write ? write(high) : high}`;
  return h(
    'div',
    { class: 'legend', role: 'img', 'aria-label': `${title}. ${spoken}` },
    h('span', { class: 'legend-title' }, title),
    canvas,
    axis,
  );
}

/** Names of colours: `[text, color, count]`; a click or a key picks one out. */
export function namesLegend({ title, names, picked, pick, more = 0 }) {
  const items = names.map(([text, color, amount], at) => {
    const dot = s(
      'svg',
      { width: 12, height: 12, viewBox: '0 0 12 12', 'aria-hidden': 'true' },
      s('circle', { cx: 6, cy: 6, r: 5, fill: color }),
    );
    const inner = [
      dot,
      h('span', { class: 'name' }, text),
      amount === undefined ? null : h('span', { class: 'amount' }, amount),
    ];
    if (!pick) return h('li', { class: 'entry' }, inner);
    return h(
      'li',
      null,
      h(
        'button',
        {
          type: 'button',
          class: 'entry',
          'aria-pressed': String(picked === at),
          on: { click: () => pick(picked === at ? null : at) },
        },
        inner,
      ),
    );
  });
  return h(
    'div',
    { class: 'legend' },
    h('span', { class: 'legend-title' }, title),
    h('ul', { class: 'names' }, items),
    more > 0 ? h('p', { class: 'hint' }, `and ${more} more`) : null,
  );
}

/** The colours of categories as bytes, for layers. */
export function categoryPalette(number, dark) {
  const bytes = new Uint8ClampedArray(Math.max(1, number) * 4);
  for (let at = 0; at < number; at += 1)
    bytes.set([...category(at, dark).match(/\d+/g).map(Number), 255], at * 4);
  return bytes;
}
