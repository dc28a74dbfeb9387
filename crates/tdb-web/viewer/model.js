// An opened array as the views need it: its axes, its fields, its fragments, and what it has cost.

import { Axis } from './axis.js';
import { waited } from './latest.js';
import { cellBytes, storedShare } from './sample.js';
import { isNumeric, sort } from './types.js';

/** The share of a line of points that is free at both of its ends. */
const RIM = 0.02;

export class Model {
  /** Asks an array for what every view needs. */
  static async of(array, signal) {
    const fragments = await array.fragments({ signal });
    const nonEmpty = await array.nonEmptyDomain({ signal });
    signal?.throwIfAborted();
    return new Model(array, fragments, nonEmpty);
  }

  constructor(array, fragments, nonEmpty) {
    this.array = array;
    this.schema = array.schema;
    this.fragments = fragments;
    this.nonEmpty = nonEmpty;
    this.sparse = this.schema.type === 'sparse';
    this.dimensions = this.schema.dimensions;
    this.axes = new Map();
    this.dimensions.forEach((dimension, at) => {
      // Coordinates may be NaN or infinite: what holds them cannot be drawn.
      const bounds = [nonEmpty?.[at], dimension.currentDomain, dimension.domain].find(
        (one) => one && one.every((end) => typeof end !== 'string' && Number.isFinite(Number(end))),
      );
      if (!bounds) return;
      const axis = new Axis(dimension, bounds);
      // Points are not at the edge.
      if (this.sparse) axis.widen(RIM);
      this.axes.set(dimension.name, axis);
    });
    this.enumerations = new Map();
    this.share = storedShare(this.schema, fragments);
  }

  /** An attribute or a dimension. */
  field(name) {
    return (
      this.schema.attributes.find((one) => one.name === name) ??
      this.dimensions.find((one) => one.name === name)
    );
  }

  /** Attributes that can be a picture. */
  get pictured() {
    return this.schema.attributes.filter(isNumeric);
  }

  /** The values of an enumeration as texts; read once. */
  enumeration(name, signal) {
    if (!this.enumerations.has(name)) {
      // Without the signal of who asks first, because others will wait for it, too.
      const asked = this.array.enumeration(name).then(({ values }) => values.map(String));
      asked.catch(() => this.enumerations.delete(name));
      this.enumerations.set(name, asked);
    }
    return waited(this.enumerations.get(name), signal);
  }

  /** Stored bytes of some fields in one tile, about. */
  tileBytes(names) {
    const cells = this.dimensions.reduce((product, { tile, domain }) => {
      if (tile === null) return product * (domain ? Number(domain[1]) - Number(domain[0]) + 1 : 1);
      return product * Number(tile);
    }, 1);
    return cells * this.bytesOf(names) * this.share;
  }

  /** Bytes of these fields in one cell, before filters. */
  bytesOf(names) {
    return cellBytes(names.map((name) => this.field(name)).filter(Boolean));
  }

  /** All cells that the fragments hold. */
  get stored() {
    return this.fragments.reduce((sum, one) => sum + one.cells, 0);
  }

  /**
   * The dimensions of a picture: `{ x, y }`, where y is null for a line; null if none can be one.
   */
  pair(state) {
    const able = this.dimensions.filter(({ name }) => this.axes.has(name));
    if (able.length === 0) return null;
    const named = (name) => able.find((one) => one.name === name)?.name;
    if (able.length === 1) return { x: able[0].name, y: null };
    const y = named(state.y) ?? (this.sparse ? able[1] : able.at(-2)).name;
    const other = (taken) => able.toReversed().find((one) => one.name !== taken).name;
    const x = named(state.x) ?? (this.sparse ? able[0].name : other(y));
    return x === y ? { x: other(y), y } : { x, y };
  }

  /** Whether y grows upwards: coordinates do, rows of a grid do not. */
  get up() {
    return this.sparse;
  }

  /** A value of a dimension as it stands in the address, and back. */
  write(name, value) {
    const axis = this.axes.get(name);
    return axis ? axis.exactText(value) : encodeURIComponent(value).replaceAll('.', '%2E');
  }

  parse(name, text, isHigh) {
    const axis = this.axes.get(name);
    if (axis) return axis.parse(text, isHigh);
    try {
      return decodeURIComponent(text);
    } catch {
      return null;
    }
  }

  /**
   * The chosen ranges: `[low, high]` by the name of a dimension; only those that are named in the
   * state. It fails where `wrong` says so.
   */
  ranges(state) {
    const found = {};
    for (const { name } of this.dimensions) {
      const range = this.range(name, state);
      if (range) found[name] = range;
    }
    return found;
  }

  /** What is wrong with the chosen ranges, as an error; null if nothing is. */
  wrong(state) {
    try {
      this.ranges(state);
      return null;
    } catch (error) {
      if (error.kind !== 'query') throw error;
      return error;
    }
  }

  /** The chosen range of a dimension; null if there is none. */
  range(name, state) {
    const texts = this.ends(name, state);
    if (texts.length > 2) throw this.unfit(name, state, 'a range is written low..high');
    const [low, high] = texts.map((text, end) => {
      if (text === '') return null;
      const value = this.parse(name, text, end === 1);
      if (value === null) throw this.unfit(name, state, `“${text}” is no value of it`);
      return value;
    });
    if (low === null && high === null) return null;
    // Texts are compared where they are read.
    if (!this.axes.has(name)) return [low, high];
    const bounds = this.bounds(name);
    // Without an end it goes on to where cells end, if they are not before it.
    const least = low ?? (bounds[0] < high ? bounds[0] : high);
    const most = high ?? (bounds[1] > low ? bounds[1] : low);
    if (least > most) throw this.unfit(name, state, 'it ends before it begins');
    return this.inside(name, least, most, state);
  }

  /** The texts of the ends of a chosen range; empty where it has none. */
  ends(name, state) {
    const texts = (state[`r.${name}`] ?? '').split('..');
    return texts.length === 1 ? [texts[0], texts[0]] : texts;
  }

  /** The error for a range that is none of the array. */
  unfit(name, state, why) {
    const what = `The range ${state[`r.${name}`]} of ${name}: ${why}.`;
    return Object.assign(new Error(what), { kind: 'query' });
  }

  /** Where a dimension has cells; its domain where there are none; null for strings without any. */
  bounds(name) {
    const at = this.dimensions.findIndex((one) => one.name === name);
    return this.nonEmpty?.[at] ?? this.dimensions[at].currentDomain ?? this.dimensions[at].domain;
  }

  /** A range cut to the domain, of which a part must be in it. */
  inside(name, low, high, state) {
    const { domain, currentDomain } = this.dimensions.find((one) => one.name === name);
    const [first, last] = currentDomain ?? domain ?? [low, high];
    if (high < first || low > last) {
      const [from, to] = [first, last].map((value) => this.write(name, value));
      throw this.unfit(name, state, `it is outside of the domain, ${from} to ${to}`);
    }
    return [low < first ? first : low, high > last ? last : high];
  }

  /**
   * The ranges of a query: the chosen ones; a slice where the picture has other dimensions; all
   * that holds cells.
   */
  query(state, { slice = false } = {}) {
    const chosen = this.ranges(state);
    const pair = slice ? this.pair(state) : null;
    if (this.sparse) return chosen;
    for (const { name } of this.dimensions) {
      if (chosen[name]) continue;
      const bounds = this.bounds(name);
      const apart = pair && name !== pair.x && name !== pair.y;
      chosen[name] = apart ? [bounds[0], bounds[0]] : bounds;
    }
    return chosen;
  }

  /** A window of offsets as the state has it. */
  windowState(name, [from, to]) {
    const axis = this.axes.get(name);
    const whole =
      Math.abs(from - axis.low) < 1e-9 * axis.length &&
      Math.abs(to - axis.high) < 1e-9 * axis.length;
    if (whole) return null;
    const high = axis.discrete ? axis.value(Math.max(from, Math.ceil(to) - 1)) : axis.value(to);
    return `${this.write(name, axis.value(from))}..${this.write(name, high)}`;
  }

  /** The window of the state in offsets. */
  window(name, state) {
    const axis = this.axes.get(name);
    const range = this.range(name, state);
    if (!range) return [axis.low, axis.high];
    const [from, to] = [axis.offset(range[0]), axis.offset(range[1]) + (axis.discrete ? 1 : 0)];
    return to > from ? [from, to] : [from - 0.5, from + 0.5];
  }
}

/** Numbers of a column for drawing: a `Float64Array`, NaN where a cell is null or not selected. */
export function numbers(column, selected) {
  const { values, validity, length } = column;
  const big = values instanceof BigInt64Array || values instanceof BigUint64Array;
  const found = new Float64Array(big ? length : values);
  if (big) for (let at = 0; at < length; at += 1) found[at] = Number(values[at]);
  for (const missing of [validity, selected]) {
    if (!missing) continue;
    for (let at = 0; at < length; at += 1) if (missing[at] === 0) found[at] = NaN;
  }
  return found;
}

/** Whether values of a field are numbers whose order means something. */
export const isOrdered = (field) => !field.enumeration && sort(field.datatype) !== 'boolean';
