// The picture of one dimension: values along it, or how many cells are where.

import { sparsePlane } from './cells.js';
import { h, put } from './dom.js';
import { finerButton, finerOf, sampled } from './finer.js';
import { number, roughly } from './format.js';
import { Latest } from './latest.js';
import { Axis } from './axis.js';
import { isOrdered, numbers } from './model.js';
import { Plot } from './plot.js';
import { densePasses } from './sample.js';
import { change, state } from './state.js';

const valueAxis = (name, low, high, whole = false) => {
  const rim = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.5 || 1;
  return new Axis(
    { name, datatype: 'FLOAT64', whole, tile: null, domain: null, currentDomain: null },
    [low - rim, high + rim],
  );
};

export class Line {
  constructor(page, model) {
    this.page = page;
    this.model = model;
    this.latest = new Latest(page, () => model.array.stats());
    this.note = h('p', { class: 'hint note' });
    const { x } = model.pair(state());
    this.axis = model.axes.get(x);
    this.plot = new Plot({
      label: `Values along ${x}`,
      x: this.axis,
      y: valueAxis('', 0, 1),
      up: true,
      locked: true,
      ratio: 0.46,
      paint: (context, plot) => this.paint(context, plot),
      at: (left) => this.tell(left),
      moved: (window) => change({ [`r.${x}`]: model.windowState(x, window.x), finer: null }),
    });
    this.element = h('div', { class: 'picture' }, this.plot.element, this.note);
    this.update();
  }

  get field() {
    const named = this.model.field(state().field ?? '');
    if (named && this.model.pictured.includes(named)) return named;
    return this.model.sparse ? null : this.model.pictured[0];
  }

  update() {
    const { name } = this.axis;
    const window = { x: this.model.window(name, state()), y: [0, 1] };
    const ranges = { ...this.model.query(state()) };
    delete ranges[name];
    const { where, finer, theme } = state();
    const asked = JSON.stringify([
      window,
      where,
      finer,
      this.field?.name,
      Object.entries(ranges).map(([key, range]) => [key, ...range.map(String)]),
    ]);
    if (this.asked === asked) {
      if (theme !== this.theme) this.plot.repaint();
      this.theme = theme;
      return;
    }
    this.asked = asked;
    this.plot.window = { x: window.x, y: this.plot.window.y };
    this.plot.draw();
    const request = {
      x: name,
      y: null,
      field: this.field?.name,
      window,
      ranges,
      where,
      finer: finerOf(state()),
      pixels: [Math.round(this.plot.width || 600), 1],
    };
    this.latest.run(async (signal, tell) => {
      for await (const { layer, points, note = '', coarse = false } of this.model.sparse
        ? sparsePlane(this.model, request, signal)
        : dense(this.model, request, signal)) {
        this.layer = layer;
        this.points = this.field ? points : null;
        this.scale();
        put(this.note, note, coarse ? [' ', finerButton()] : null);
        tell();
      }
    });
  }

  scale() {
    const { layer } = this;
    let [low, high] = [Infinity, -Infinity];
    for (const values of [layer.lows ?? layer.values, layer.highs ?? layer.values]) {
      for (const value of values)
        if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    if (!(low <= high)) [low, high] = [0, 1];
    if (!this.field) low = 0;
    const y = valueAxis(this.field?.name ?? 'cells', low, high, !this.field);
    if (!this.field) y.low = 0;
    this.plot.y = y;
    this.plot.window = { x: this.plot.window.x, y: [y.low, y.high] };
    this.plot.draw();
  }

  paint(context, plot) {
    const { layer } = this;
    if (!layer) return;
    const dark = this.page.dark();
    const [strong, weak] = dark
      ? ['rgb(120 190 255)', 'rgb(120 190 255 / 0.3)']
      : ['rgb(20 90 170)', 'rgb(20 90 170 / 0.22)'];
    const wide = (layer.x[1] - layer.x[0]) / layer.columns;
    context.fillStyle = this.field ? weak : strong;
    const bar = (from, to, low, high) => {
      const [left, top] = plot.place(from, high);
      const [right, bottom] = plot.place(to, low);
      const room = right - left > 4 && !this.field ? 1 : 0;
      context.fillRect(left, top, Math.max(1, right - left - room), Math.max(1.5, bottom - top));
    };
    if (this.points) {
      context.fillStyle = strong;
      this.points.x.forEach((at, index) => {
        const [left, top] = plot.place(at, this.points.value[index]);
        context.beginPath();
        context.arc(left, top, this.points.x.length > 500 ? 2 : 3.5, 0, 2 * Math.PI);
        context.fill();
      });
      return;
    }
    context.strokeStyle = strong;
    context.lineWidth = 1.75;
    context.lineJoin = 'round';
    context.beginPath();
    let on = false;
    for (let at = 0; at < layer.columns; at += 1) {
      const value = layer.values[at];
      const from = layer.x[0] + at * wide;
      if (!Number.isFinite(value)) {
        on = false;
        continue;
      }
      if (!this.field) {
        bar(from, from + wide, 0, value);
        continue;
      }
      if (layer.lows) bar(from, from + wide, layer.lows[at], layer.highs[at]);
      const [left, top] = plot.place(from + wide / 2, value);
      if (on) context.lineTo(left, top);
      else {
        context.moveTo(left - (plot.width * wide) / (plot.window.x[1] - plot.window.x[0]) / 2, top);
        context.lineTo(left, top);
      }
      on = true;
    }
    if (this.field) context.stroke();
  }

  tell(left) {
    const { axis } = this;
    const place = `${axis.name} ${axis.discrete ? axis.text(axis.value(left)) : number(left)}`;
    const value = this.layer?.value(left, (this.layer.y[0] + this.layer.y[1]) / 2);
    if (value === undefined) return place;
    return `${place} · ${this.field?.name ?? 'cells'} ${value === value ? number(value) : 'none'}`;
  }

  end() {
    this.latest.stop();
    this.plot.end();
  }
}

/** A dense line: least, mean and greatest value of each pixel. */
async function* dense(model, { x, field, window, ranges, where, finer, pixels }, signal) {
  const axis = model.axes.get(x);
  const first = Math.floor(window.x[0]);
  const cells = Math.max(1, Math.ceil(window.x[1]) - first);
  const tile = axis.tile === null ? axis.length : Number(axis.tile);
  for (const pass of densePasses({
    cells: [cells, 1],
    tile: [tile, 1],
    pixels,
    tileBytes: model.tileBytes([field]),
    finer,
  })) {
    const start = first + Math.floor((Math.min(pass.x, cells) - 1) / 2);
    const [from, to] = [axis.value(start), axis.value(first + cells - 1)];
    const found = await model.array.read({
      fields: [field],
      ranges: {
        ...ranges,
        [x]: pass.x === 1 ? [from, to] : { from, to, step: axis.big ? BigInt(pass.x) : pass.x },
      },
      where: where || undefined,
      order: 'row-major',
      selection: true,
      signal,
    });
    const values = numbers(found.columns[0], found.selected);
    const columns = Math.min(values.length, pixels[0]);
    const layer = {
      x: [first, first + Math.max(cells, values.length * pass.x)],
      y: [0, 1],
      columns,
      rows: 1,
      ...spans(values, columns),
    };
    layer.value = (at) =>
      layer.values[Math.floor(((at - layer.x[0]) / (layer.x[1] - layer.x[0])) * columns)];
    if (!isOrdered(model.field(field))) delete layer.lows;
    yield {
      layer,
      ...sampled(pass, pass.x),
    };
  }
}

function spans(values, columns) {
  const [lows, means, highs] = [0, 1, 2].map(() => new Float64Array(columns).fill(NaN));
  for (let column = 0; column < columns; column += 1) {
    const [from, to] = [
      Math.floor((column * values.length) / columns),
      Math.floor(((column + 1) * values.length) / columns),
    ];
    let [sum, number] = [0, 0];
    for (let at = from; at < to; at += 1) {
      const value = values[at];
      if (!Number.isFinite(value)) continue;
      sum += value;
      number += 1;
      if (!(value >= lows[column])) lows[column] = value;
      if (!(value <= highs[column])) highs[column] = value;
    }
    if (number > 0) means[column] = sum / number;
  }
  return { lows, values: means, highs };
}
