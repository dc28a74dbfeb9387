// What was written when, and where it is.

import { Axis } from './axis.js';
import { momentText } from './calendar.js';
import { category } from './color.js';
import { h } from './dom.js';
import { boundText, bytes, count, plural } from './format.js';
import { Plot } from './plot.js';
import { change, state } from './state.js';

/** The most fragments that are rows of the table. */
const ROWS = 200;
/** The most fragments that have colours of their own. */
const COLORED = 12;
/** The least side of a fragment in a picture, in pixels. */
const LEAST = 5;

export class Fragments {
  /** @param history the array with all of its fragments, whatever the time that `model` is at */
  constructor(page, model, history) {
    this.page = page;
    this.model = model;
    this.fragments = history.fragments;
    this.visible = new Set(model.fragments.map(({ name }) => name));
    this.picked = null;
    this.plots = [];
    this.element = h('div', { class: 'fragments' }, this.parts());
    page.cost({ requests: 0, bytes: 0, milliseconds: 0 });
  }

  parts() {
    if (this.fragments.length === 0) return h('p', { class: 'hint' }, 'Nothing has been written.');
    const pair = this.model.pair({});
    const figures = [h('section', null, h('h3', null, 'In time'), this.inTime())];
    if (pair?.y) figures.push(h('section', null, h('h3', null, 'In space'), this.inSpace(pair)));
    return [h('div', { class: 'figures' }, figures), this.table()];
  }

  color(at) {
    return this.fragments.length <= COLORED
      ? category(at, this.page.dark())
      : category(0, this.page.dark());
  }

  /** When fragments were written, and how large they are. */
  inTime() {
    const times = this.fragments.flatMap(({ timeRange }) => timeRange);
    const [first, last] = [
      times.reduce((a, b) => Math.min(a, b)),
      times.reduce((a, b) => Math.max(a, b)),
    ];
    const rim = Math.max(1, Math.ceil((last - first) * 0.04));
    const most = Math.max(1, ...this.fragments.map((one) => one.bytes));
    const unit =
      most < 1e4
        ? [1, 'bytes']
        : most < 1e7
          ? [1e3, 'kB']
          : most < 1e10
            ? [1e6, 'MB']
            : [1e9, 'GB'];
    const x = new Axis({ name: 'written', datatype: 'DATETIME_MS', tile: null, domain: null }, [
      BigInt(first - rim),
      BigInt(last + rim),
    ]);
    const y = new Axis({ name: unit[1], datatype: 'FLOAT64', tile: null, domain: null }, [
      0,
      (most / unit[0]) * 1.08,
    ]);
    const near = (offset) => {
      const reach = (x.high - x.low) * 0.015;
      return this.fragments.findIndex(
        ({ timeRange }) =>
          x.offset(BigInt(timeRange[0])) - reach <= offset &&
          offset <= x.offset(BigInt(timeRange[1])) + reach,
      );
    };
    const paint = (context, plot) =>
      this.fragments.forEach((one, at) => {
        const [from, top] = plot.place(x.offset(BigInt(one.timeRange[0])), one.bytes / unit[0]);
        const [to, bottom] = plot.place(x.offset(BigInt(one.timeRange[1])), 0);
        context.globalAlpha = this.visible.has(one.name) ? 1 : 0.3;
        context.fillStyle = this.color(at);
        const wide = Math.max(4, to - from);
        context.fillRect(
          (from + to - wide) / 2,
          Math.min(top, bottom - 2),
          wide,
          Math.max(2, bottom - top),
        );
        context.globalAlpha = 1;
      });
    return this.plot({
      label: 'When fragments were written',
      x,
      y,
      up: true,
      locked: true,
      ratio: 0.5,
      paint,
      at: (offset) => this.about(near(offset)),
    });
  }

  /** Where fragments have cells. */
  inSpace({ x, y }) {
    const axes = [this.model.axes.get(x), this.model.axes.get(y)];
    const places = axes.map((axis) =>
      this.model.dimensions.findIndex((one) => one.name === axis.name),
    );
    const boxes = this.fragments.map(
      ({ nonEmptyDomain }) =>
        nonEmptyDomain &&
        axes.map((axis, at) => {
          const [low, high] = nonEmptyDomain[places[at]];
          return [axis.offset(low), axis.offset(high) + (axis.discrete ? 1 : 0)];
        }),
    );
    const paint = (context, plot) =>
      boxes.forEach((box, at) => {
        if (!box) return;
        const [left, top, wide, high] = plot.pixels(...box, LEAST);
        const shown = this.visible.has(this.fragments[at].name);
        context.fillStyle = this.color(at);
        context.strokeStyle = this.color(at);
        context.globalAlpha = shown ? 0.12 : 0.04;
        context.fillRect(left, top, wide, high);
        context.globalAlpha = shown ? 1 : 0.35;
        context.lineWidth = 1.5;
        context.strokeRect(
          left + 0.75,
          top + 0.75,
          Math.max(1, wide - 1.5),
          Math.max(1, high - 1.5),
        );
        context.globalAlpha = 1;
      });
    const at = (left, top) =>
      this.about(
        boxes.findLastIndex(
          (box) =>
            box && box[0][0] <= left && left <= box[0][1] && box[1][0] <= top && top <= box[1][1],
        ),
      );
    return this.plot({
      label: 'Where fragments have cells',
      x: axes[0],
      y: axes[1],
      up: this.model.up,
      ratio: 0.5,
      paint,
      at,
    });
  }

  plot(options) {
    const plot = new Plot(options);
    this.plots.push(plot);
    return plot.element;
  }

  about(at) {
    const one = this.fragments[at];
    if (!one) return null;
    const size = `${plural(one.cells, 'cell')} · ${bytes(one.bytes)}`;
    return `Fragment ${at + 1} · ${momentText(one.timeRange[1])} · ${size}`;
  }

  /** Where a fragment has cells, as a button that goes there. */
  place({ nonEmptyDomain }, at) {
    const { model } = this;
    const sides = model.dimensions.map(({ name, datatype }, side) => {
      const text = nonEmptyDomain[side].map((value) => boundText(value, datatype)).join(' to ');
      return h('span', { class: 'side-of' }, `${name} ${text}`);
    });
    const ranges = model.dimensions.map(({ name }, side) => {
      const [low, high] = nonEmptyDomain[side].map((value) => model.write(name, value));
      return [`r.${name}`, `${low}..${high}`];
    });
    const go = () => change({ tab: null, ...Object.fromEntries(ranges) }, { push: true });
    const label = h('span', { class: 'hidden' }, `Show fragment ${at + 1}: `);
    return h('button', { type: 'button', class: 'link', on: { click: go } }, label, sides);
  }

  table() {
    const { dimensions } = this.model;
    const latest = Math.max(...this.fragments.map(({ timeRange }) => timeRange[1]));
    const shown = this.fragments.slice(-ROWS);
    const skipped = this.fragments.length - shown.length;
    const rows = shown.map((one, index) => {
      const at = index + skipped;
      const dot = h('span', { class: 'dot', 'aria-hidden': 'true' });
      dot.style.background = this.color(at);
      const where = one.nonEmptyDomain ? this.place(one, at) : 'not known';
      const until = one.timeRange[1];
      const now = state().at === undefined ? latest : Number(state().at);
      const [from, to] = one.timeRange.map(momentText);
      return h(
        'tr',
        { class: this.visible.has(one.name) ? null : 'unseen' },
        h('th', { scope: 'row', class: 'right number' }, dot, String(at + 1)),
        h('td', { class: 'line' }, from === to ? to : `${from} to ${to}`),
        h('td', { class: 'right' }, count(one.cells)),
        h('td', { class: 'right' }, bytes(one.bytes)),
        h('td', null, where),
        h('td', null, one.dense ? 'dense' : 'sparse', `, version ${one.version}`),
        h(
          'td',
          null,
          h(
            'button',
            {
              type: 'button',
              class: 'quiet',
              'aria-pressed': String(until === now),
              'aria-label': `${until === now ? 'Shown' : 'Show'} as of fragment ${at + 1}`,
              on: { click: () => change({ at: until === latest ? null : until }) },
            },
            until === now ? 'Shown' : 'Show',
          ),
        ),
      );
    });
    const names = h(
      'details',
      null,
      h('summary', null, 'Names of the fragments'),
      h(
        'ol',
        { start: skipped + 1, class: 'names-list' },
        shown.map(({ name }) => h('li', null, h('code', null, name))),
      ),
    );
    return [
      h(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Fragments' },
        h(
          'table',
          { class: 'cells' },
          h(
            'caption',
            null,
            skipped > 0
              ? `The latest ${ROWS} of ${count(this.fragments.length)} fragments`
              : plural(this.fragments.length, 'fragment'),
          ),
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              ['', 'Written', 'Cells', 'Size', 'Has cells in', 'Kind', 'As of then'].map((text) =>
                h(
                  'th',
                  { scope: 'col', class: text === 'Cells' || text === 'Size' ? 'right' : null },
                  text || h('span', { class: 'hidden' }, 'Number'),
                ),
              ),
            ),
          ),
          h('tbody', null, rows),
        ),
      ),
      names,
    ];
  }

  update(changed) {
    if (changed.has('theme')) for (const plot of this.plots) plot.repaint();
  }

  end() {
    for (const plot of this.plots) plot.end();
  }
}
