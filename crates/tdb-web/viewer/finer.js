// A picture of a large window is a sample; a reader may ask for a finer one.

import { h } from './dom.js';
import { bytes, roughly } from './format.js';
import { MOST_BYTES } from './sample.js';
import { change, state } from './state.js';

/** By how much each step is finer. */
const STEP = 8;
const MOST = 4096;

/** How many times as much as usual a picture may read. */
export const finerOf = ({ finer }) => Math.min(MOST, Math.max(1, Number(finer) || 1));

/** What a sample leaves out, as text; and whether a finer one would show more. */
export function sampled({ exact, fine }, skipped) {
  if (exact) return { note: '', coarse: false };
  const cells = roughly(skipped);
  if (fine) return { note: `Each spot shows one of its ${cells} cells.`, coarse: false };
  return { note: `1 of every ${cells} cells was read; zoom in for all.`, coarse: true };
}

/** A button that asks for a finer picture, and says what it may cost. */
export function finerButton() {
  const next = finerOf(state()) * STEP;
  if (next > MOST) return null;
  return h(
    'button',
    { type: 'button', class: 'link', on: { click: () => change({ finer: next }) } },
    `Read finer (up to ${bytes(MOST_BYTES * next)})`,
  );
}
