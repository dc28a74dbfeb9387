// The values of one field: a histogram and statistics.

import { bin, fieldAxis, histogram, isNamed, nameBars } from './bars.js';
import { boxRanges, places } from './cells.js';
import { h, put } from './dom.js';
import { bytes, count, number, roughly, valueText } from './format.js';
import { Latest } from './latest.js';
import { estimate } from './sample.js';
import { state } from './state.js';
import { cellText } from './table.js';
import { quoted, sort } from './types.js';

/** The most tiles and bytes of a sample. */
const SAMPLE_TILES = 64;
const SAMPLE_BYTES = 24e6;
/** The most cells of a sample of numbers, and of texts, which take longer. */
const SAMPLE_CELLS = 1e6;
const SAMPLE_NAMES = 2e5;
const NAMES = 24;

export class Values {
  constructor(page, model) {
    this.page = page;
    this.model = model;
    this.latest = new Latest(page, () => model.array.stats());
    this.exactly = new Latest(page, () => model.array.stats());
    this.element = h('div', { class: 'values' }, h('p', { class: 'hint' }, 'Reading …'));
    this.update();
  }

  get field() {
    return (
      this.model.field(state().field ?? '') ??
      this.model.schema.attributes[0] ??
      this.model.dimensions[0]
    );
  }

  update() {
    const ranges = this.model.query(state());
    const { where, theme } = state();
    const asked = JSON.stringify([
      this.field.name,
      where,
      Object.entries(ranges).map(([name, range]) => [name, ...range.map(String)]),
    ]);
    if (theme !== this.theme) this.plot?.repaint();
    this.theme = theme;
    if (asked === this.asked) return;
    this.asked = asked;
    this.exactly.stop();
    this.latest.run(async (signal) => {
      const { field, model } = this;
      const labels = field.enumeration ? await model.enumeration(field.enumeration, signal) : null;
      const sample = model.sparse ? this.sparseSample(ranges) : this.denseSample(ranges);
      const columns = [];
      for await (const cells of model.array.batches({
        fields: [field.name],
        ranges: sample.ranges,
        where: where || undefined,
        order: model.sparse ? 'unordered' : 'row-major',
        limit: sample.limit,
        selection: true,
        signal,
      }))
        columns.push([cells.column(field.name), cells.selected]);
      if (!signal.aborted) this.show(columns, labels, sample, ranges);
    });
  }

  /** The most cells of a sample. */
  get most() {
    return isNamed(this.field) ? SAMPLE_NAMES : SAMPLE_CELLS;
  }

  /** All of a small window of a dense array, whole tiles here and there of a large one. */
  denseSample(ranges) {
    const { model } = this;
    const sides = model.dimensions.map((dimension) => {
      const axis = model.axes.get(dimension.name);
      const [low, high] = ranges[dimension.name];
      const [from, to] = [axis.offset(low), axis.offset(high) + 1];
      const tile = axis.tile === null ? to - from : Number(axis.tile);
      return {
        name: dimension.name,
        axis,
        from,
        to,
        tile,
        tiles: Math.ceil((to - from) / tile) + 1,
      };
    });
    const total = sides.reduce((product, { from, to }) => product * (to - from), 1);
    const tileCells = sides.reduce(
      (product, { from, to, tile }) => product * Math.min(tile, to - from),
      1,
    );
    const tileBytes = model.tileBytes([this.field.name]);
    const most = Math.max(1, Math.min(SAMPLE_TILES, SAMPLE_BYTES / tileBytes));
    if (total <= this.most && Math.ceil(total / tileCells) <= most * 4)
      return { ranges, all: true, total };
    const each = Math.max(1, Math.floor(most ** (1 / sides.length)));
    const side = this.most ** (1 / sides.length);
    const found = {};
    for (const { name, axis, from, to, tile, tiles } of sides) {
      const number = Math.min(each, tiles);
      const run = Math.max(1, Math.floor(Math.min(tile, side / number)));
      found[name] = number * run >= to - from ? ranges[name] : runs(axis, [from, to], number, run);
    }
    return { ranges: found, all: false, total };
  }

  sparseSample(ranges) {
    const { model } = this;
    const total = estimate(model.fragments, model.dimensions, ranges);
    const most = this.most / 2;
    if (total <= most) return { ranges, all: true, total };
    const able = model.dimensions.filter(({ name }) => model.axes.has(name)).slice(0, 2);
    const covered = (most / 2 / total) ** (1 / Math.max(1, able.length));
    const found = { ...ranges };
    for (const { name } of able) {
      const axis = model.axes.get(name);
      found[name] = boxRanges(
        axis,
        model.window(name, state()),
        able.length === 1 ? 32 : 8,
        covered,
      ).ranges;
    }
    return { ranges: found, all: false, total, limit: most };
  }

  show(columns, labels, sample, ranges) {
    const { field } = this;
    this.plot?.end();
    this.plot = null;
    const read = columns.reduce((sum, [column]) => sum + column.length, 0);
    const parts = isNamed(field) ? this.names(columns, labels) : this.measures(columns);
    const whole = sample.all && !state().where;
    const note = sample.all
      ? ''
      : `From ${roughly(read)} of about ${roughly(sample.total)} cells, all over the window.`;
    put(
      this.element,
      parts,
      h('p', { class: 'hint note' }, note),
      whole || isNamed(field) ? null : this.exact(ranges, sample.total),
    );
  }

  names(columns, labels) {
    const seen = new Map();
    let total = 0;
    for (const [column, selected] of columns) {
      for (let cell = 0; cell < column.length; cell += 1) {
        if (selected && !selected[cell]) continue;
        const text = cellText(column, cell, labels);
        seen.set(text, (seen.get(text) ?? 0) + 1);
        total += 1;
      }
    }
    const most = [...seen].sort((a, b) => b[1] - a[1]);
    const rest = most.slice(NAMES).reduce((sum, [, amount]) => sum + amount, 0);
    return [
      facts([
        ['cells', count(total)],
        ['different values', count(seen.size - (seen.has(null) ? 1 : 0))],
        ['null', count(seen.get(null) ?? 0)],
      ]),
      total > 0 ? nameBars(most.slice(0, NAMES), total) : h('p', { class: 'hint' }, 'No cells.'),
      rest > 0
        ? h(
            'p',
            { class: 'hint' },
            `and ${count(most.length - NAMES)} more, of ${count(rest)} cells`,
          )
        : null,
    ];
  }

  measures(columns) {
    const { field } = this;
    let [low, high, nulls, cells] = [null, null, 0, 0];
    for (const [column, selected] of columns) {
      for (let cell = 0; cell < column.length; cell += 1) {
        if (selected && !selected[cell]) continue;
        cells += 1;
        if (column.validity && column.validity[cell] === 0) {
          nulls += 1;
          continue;
        }
        const value = column.values[cell];
        if (value !== value || value === Infinity || value === -Infinity) continue;
        if (low === null || value < low) low = value;
        if (high === null || value > high) high = value;
      }
    }
    const known = [
      ['cells', count(cells)],
      ['null', count(nulls)],
    ];
    if (low === null)
      return [facts(known), h('p', { class: 'hint' }, cells === 0 ? 'No cells.' : 'No values.')];
    const axis = fieldAxis(field, low, high);
    const offsets = new Float64Array(cells - nulls);
    let kept = 0;
    for (const [column, selected] of columns) {
      places(axis, column).forEach((offset, cell) => {
        const missing =
          (selected && !selected[cell]) || (column.validity && column.validity[cell] === 0);
        if (missing || !Number.isFinite(offset)) return;
        offsets[kept] = offset;
        kept += 1;
      });
    }
    const sorted = offsets.subarray(0, kept).sort();
    const mean = sorted.reduce((sum, offset) => sum + offset / sorted.length, 0);
    const spread = Math.sqrt(
      sorted.reduce((sum, offset) => sum + (offset - mean) ** 2 / sorted.length, 0),
    );
    const text = (offset) => {
      if (!axis.discrete) return number(offset);
      if (axis.kind !== 'integer')
        return valueText(BigInt(axis.origin) + BigInt(Math.floor(offset)), field.datatype);
      return number(Number(axis.origin) + offset - 0.5);
    };
    this.plot = histogram(this.page, field, axis, bin(sorted, axis));
    return [
      facts([
        ...known,
        ['least', valueText(low, field.datatype)],
        ['median', text(sorted[Math.floor(sorted.length / 2)])],
        ['mean', text(mean)],
        ['greatest', valueText(high, field.datatype)],
        axis.kind === 'integer' || axis.kind === 'real'
          ? ['standard deviation', number(spread)]
          : null,
      ]),
      this.plot.element,
    ];
  }

  /** A button that asks for exact numbers of everything, and says what that may cost. */
  exact(ranges, total) {
    const { field, model } = this;
    const answer = h('div', { 'aria-live': 'polite' });
    const size = total * model.bytesOf([field.name]) * model.share;
    const summed = ['integer', 'real'].includes(sort(field.datatype));
    const asks = [
      'count',
      `min(${quoted(field.name)})`,
      `max(${quoted(field.name)})`,
      ...(summed ? [`mean(${quoted(field.name)})`] : []),
    ];
    const ask = () =>
      this.exactly.run(async (signal) => {
        put(answer, h('p', { class: 'hint' }, 'Reading …'));
        const found = await model.array.aggregate({
          aggregates: asks,
          ranges,
          where: state().where || undefined,
          signal,
        });
        put(
          answer,
          facts(
            asks.map((name) => [
              name === 'count' ? 'cells' : name,
              name === 'count'
                ? count(found[name])
                : typeof found[name] === 'number' && name.startsWith('mean')
                  ? number(found[name])
                  : valueText(found[name], field.datatype),
            ]),
          ),
        );
      });
    return h(
      'div',
      { class: 'exact' },
      h(
        'button',
        { type: 'button', on: { click: ask } },
        `Ask all cells (up to about ${bytes(size)})`,
      ),
      answer,
    );
  }

  end() {
    this.latest.stop();
    this.exactly.stop();
    this.plot?.end();
  }
}

const facts = (pairs) =>
  h(
    'dl',
    { class: 'facts cards' },
    pairs
      .filter(Boolean)
      .map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))),
  );

/** Runs of cells amid equal parts of an interval, none twice; whole tiles if they fit. */
function runs(axis, [from, to], number, run) {
  const base = axis.offset(axis.first);
  const tile = axis.tile === null ? 0 : Number(axis.tile);
  const found = [];
  let free = from;
  for (let at = 0; at < number; at += 1) {
    const middle = from + ((to - from) * (at + 0.5)) / number;
    const begin =
      run === tile
        ? base + Math.floor((middle - base) / tile) * tile
        : Math.floor(middle - run / 2);
    const [low, high] = [Math.max(begin, free), Math.min(begin + run, to)];
    if (low >= high) continue;
    found.push([axis.value(low), axis.value(high - 1)]);
    free = high;
  }
  return found;
}
