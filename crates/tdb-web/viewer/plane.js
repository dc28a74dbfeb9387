// The picture of two dimensions: a dense plane, or points as density.

import { densePlane, sparsePlane } from './cells.js';
import { category, levels } from './color.js';
import { h, put } from './dom.js';
import { finerButton, finerOf } from './finer.js';
import { count, number, valueText } from './format.js';
import { Latest } from './latest.js';
import { bounds } from './layer.js';
import { categoryPalette, namesLegend, rampLegend } from './legend.js';
import { isOrdered } from './model.js';
import { Plot } from './plot.js';
import { change, state } from './state.js';
import { sort } from './types.js';

/** Layers that stay, so that a movement shows at once what is known. */
const KEPT = 4;
/** The most outlines of fragments, and the least side of one in pixels. */
const MOST_FOOTPRINTS = 200;
const LEAST = 6;

export class Plane {
  constructor(page, model) {
    this.page = page;
    this.model = model;
    this.latest = new Latest(page, () => model.array.stats());
    this.layers = [];
    this.points = null;
    this.note = h('p', { class: 'hint note' });
    this.legend = h('div', { class: 'legends' });
    this.holder = h('div');
    this.element = h('div', { class: 'picture' }, this.holder, this.note);
    this.update();
  }

  /** What is drawn: nothing for density, the attribute otherwise. */
  get field() {
    const named = this.model.field(state().field ?? '');
    if (named && this.model.pictured.includes(named)) return named;
    return this.model.sparse ? null : this.model.pictured[0];
  }

  update() {
    const { x, y } = this.model.pair(state());
    const key = JSON.stringify([x, y]);
    if (this.key !== key) {
      this.key = key;
      this.plot?.end();
      const [xAxis, yAxis] = [this.model.axes.get(x), this.model.axes.get(y)];
      const sides = xAxis.length / yAxis.length;
      this.plot = new Plot({
        label: `${this.field?.name ?? 'Density of cells'} by ${y} and ${x}`,
        x: xAxis,
        y: yAxis,
        up: this.model.up,
        ratio:
          this.model.sparse || sides > 8 || sides < 0.125
            ? 0.62
            : Math.min(0.85, Math.max(0.4, 1 / sides)),
        paint: (context, plot) => this.paint(context, plot),
        at: (left, top) => this.tell(left, top),
        moved: (window) =>
          change({
            [`r.${x}`]: this.model.windowState(x, window.x),
            [`r.${y}`]: this.model.windowState(y, window.y),
            finer: null,
          }),
      });
      this.plot.foot.append(this.legend);
      put(this.holder, this.plot.element);
    }
    const { ramp, cut, lo, hi, theme } = state();
    const looks = JSON.stringify([ramp, cut, lo, hi, theme, this.page.dark()]);
    if (this.looks !== looks) {
      this.looks = looks;
      if (this.layers.length > 0) this.recolor();
    }
    const window = { x: this.model.window(x, state()), y: this.model.window(y, state()) };
    const others = Object.entries(this.model.query(state(), { slice: true })).filter(
      ([name]) => name !== x && name !== y,
    );
    const data = JSON.stringify([
      key,
      this.field?.name,
      state().where,
      others.map(([name, range]) => [name, ...range.map(String)]),
    ]);
    const asked = JSON.stringify([data, window, state().finer]);
    if (this.asked === asked) return;
    if (this.data !== data) this.layers = [];
    [this.data, this.asked] = [data, asked];
    if (JSON.stringify(this.plot.window) !== JSON.stringify(window)) this.plot.show(window, true);
    this.read({
      x,
      y,
      window,
      ranges: Object.fromEntries(others),
      field: this.field?.name,
      where: state().where,
      finer: finerOf(state()),
    });
  }

  read(request) {
    this.latest.run(async (signal, tell) => {
      if (request.field && this.field?.enumeration)
        this.names = await this.model.enumeration(this.field.enumeration, signal);
      const full = {
        ...request,
        pixels: [Math.round(this.plot.width || 600), Math.round(this.plot.height || 400)],
        nearest: !this.field || !isOrdered(this.field),
      };
      const answers = this.model.sparse
        ? sparsePlane(this.model, full, signal)
        : densePlane(this.model, full, signal);
      const before = this.layers.slice(-KEPT);
      let first = true;
      for await (const answer of answers) {
        if (signal.aborted) return;
        this.layers = [...(this.model.sparse ? [] : before), answer.layer];
        if (!first || this.model.sparse) this.layers = [answer.layer];
        else first = false;
        this.answer = answer;
        this.points = answer.points;
        this.recolor();
        tell();
      }
    });
  }

  /** Colours and legend for what is shown now. */
  recolor() {
    const { field } = this;
    const { ramp = 'viridis', cut, lo, hi } = state();
    const dark = this.page.dark();
    const found = bounds(this.layers.slice(-1), cut === '1');
    const [low, high] = found ?? [0, 1];
    const named = (text, usual) =>
      text !== undefined && Number.isFinite(Number(text)) ? Number(text) : usual;
    if (field && !isOrdered(field)) {
      this.category(field, dark);
    } else {
      this.colors = field
        ? { low: named(lo, low), high: named(hi, high), ramp, dark }
        : { low: 0, high: named(hi, high), ramp: 'density', dark, roots: true };
      const dated = field && (sort(field.datatype) === 'date' || sort(field.datatype) === 'time');
      const write = dated ? (value) => this.write(value) : undefined;
      const title = field
        ? this.model.sparse
          ? `mean of ${field.name}`
          : field.name
        : this.points
          ? 'cells'
          : 'cells in each spot';
      put(this.legend, found || !field ? rampLegend({ title, ...this.colors, write }) : null);
      if (!field && this.points) put(this.legend);
    }
    const cells =
      this.model.sparse && this.answer && !this.answer.sampled
        ? `${count(this.answer.cells)} cells in this window.`
        : '';
    const more = this.answer?.note ?? '';
    const outlined = this.footprints().length > 0;
    const none = outlined ? 'No cell that was read is written.' : 'No cells are written here.';
    const text = found ? [cells, more].filter(Boolean).join(' ') : none;
    const marks = outlined ? ' Outlines: where cells are written.' : '';
    put(this.note, text, marks, this.answer?.coarse ? [' ', finerButton()] : null);
    this.plot.repaint();
  }

  category(field, dark) {
    const seen = new Map();
    for (const value of this.layers.at(-1)?.values ?? [])
      if (value >= 0) seen.set(value, (seen.get(value) ?? 0) + 1);
    const names =
      sort(field.datatype) === 'boolean' && !field.enumeration
        ? ['false', 'true']
        : (this.names ?? []);
    const most = [...seen].sort((a, b) => b[1] - a[1]);
    this.colors = {
      palette: categoryPalette(Math.max(names.length, 1), dark),
      low: 0,
      high: 1,
      dark,
      version: names.length,
    };
    const entries = most
      .slice(0, 12)
      .sort((a, b) => a[0] - b[0])
      .map(([value]) => [
        names[value] ?? String(value),
        category(value % Math.max(1, names.length), dark),
      ]);
    put(
      this.legend,
      namesLegend({ title: field.name, names: entries, more: most.length - entries.length }),
    );
  }

  paint(context, plot) {
    if (!this.colors) return;
    if (this.points) {
      this.dots(context, plot);
      return;
    }
    for (const layer of this.layers) layer.draw(context, plot, this.colors);
    context.strokeStyle = 'rgb(217 72 1)';
    context.lineWidth = 1.5;
    for (const { x, y } of this.footprints()) {
      context.strokeRect(...plot.pixels(x, y, LEAST));
    }
  }

  /** Where a coarse picture of a dense array may have missed what is written. */
  footprints() {
    const { model, plot } = this;
    if (model.sparse || !this.answer?.coarse || model.fragments.length > MOST_FOOTPRINTS) return [];
    const whole = {
      x: plot.window.x[1] - plot.window.x[0],
      y: plot.window.y[1] - plot.window.y[0],
    };
    const side = (axis, domain) => {
      const [low, high] = domain[model.dimensions.findIndex(({ name }) => name === axis.name)];
      return [axis.offset(low), axis.offset(high) + 1];
    };
    return model.fragments
      .filter(({ nonEmptyDomain }) => nonEmptyDomain)
      .map(({ nonEmptyDomain: domain }) => ({ x: side(plot.x, domain), y: side(plot.y, domain) }))
      .filter(({ x, y }) => (x[1] - x[0]) * (y[1] - y[0]) < (whole.x * whole.y) / 4);
  }

  dots(context, plot) {
    const { x, y, value } = this.points;
    const radius = x.length > 1500 ? 2.2 : x.length > 200 ? 3.2 : 5;
    const bytes =
      this.field && !this.colors.palette ? levels(this.colors.ramp, this.colors.dark) : null;
    const { low, high } = this.colors;
    context.globalAlpha = x.length > 400 ? 0.75 : 0.9;
    const plain = this.page.dark() ? 'rgb(120 190 255)' : 'rgb(20 90 170)';
    for (let at = 0; at < x.length; at += 1) {
      const [left, top] = plot.place(x[at], y[at]);
      if (left < -9 || top < -9 || left > plot.width + 9 || top > plot.height + 9) continue;
      context.fillStyle = plain;
      if (bytes && value[at] === value[at]) {
        const part =
          high > low
            ? Math.min(255, Math.max(0, Math.floor(((value[at] - low) / (high - low)) * 256)))
            : 127;
        context.fillStyle = `rgb(${bytes[part * 4]} ${bytes[part * 4 + 1]} ${bytes[part * 4 + 2]})`;
      } else if (this.colors.palette && value[at] >= 0) {
        context.fillStyle = category(value[at], this.colors.dark);
      } else if (this.field) {
        context.fillStyle = 'rgb(140 140 140)';
      }
      context.beginPath();
      context.arc(left, top, radius, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  write(value) {
    return valueText(BigInt(Math.round(value)), this.field.datatype);
  }

  /** What is under a place, as text. */
  tell(left, top) {
    const { x, y } = this.plot;
    const place = [
      [y, top],
      [x, left],
    ].map(
      ([axis, offset]) =>
        `${axis.name} ${axis.discrete ? axis.text(axis.value(offset)) : number(offset)}`,
    );
    const layer = this.layers.findLast((one) => one.value(left, top) !== undefined);
    const value = layer?.value(left, top);
    if (value === undefined) return place.join(' · ');
    const what = this.field?.name ?? 'cells';
    let text = 'none';
    if (value === value) {
      text =
        this.field && !isOrdered(this.field)
          ? ((sort(this.field.datatype) === 'boolean' ? ['false', 'true'] : this.names)?.[value] ??
            String(value))
          : this.field && ['date', 'time'].includes(sort(this.field.datatype))
            ? this.write(value)
            : number(value);
    }
    return [...place, `${what} ${text}`].join(' · ');
  }

  end() {
    this.latest.stop();
    this.plot?.end();
  }
}
