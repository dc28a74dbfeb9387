// The interface of tdb-arrays over made arrays, so that the viewer can be tried without the module.

import { dateText } from '../calendar.js';
import { find } from './arrays.js';

/** Milliseconds of each round of requests. */
const ROUND = 30;

export class TdbError extends Error {
  constructor(kind, message, { file = null, offset = null, status = null } = {}) {
    super(message);
    Object.assign(this, { name: 'TdbError', kind, file, offset, status });
  }
}

const wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });

class Column {
  constructor(field, cells) {
    this.field = field;
    this.name = field.name;
    this.datatype = field.datatype;
    this.cellValNum = field.cellValNum === undefined ? 1 : field.cellValNum;
    this.enumeration = field.enumeration ?? null;
    this.length = cells.length;
    this.cells = cells;
    this.validity = field.nullable
      ? Uint8Array.from(cells, (cell) => (cell === null ? 0 : 1))
      : null;
    this.offsets = null;
  }

  get values() {
    if (ArrayBuffer.isView(this.cells)) return this.cells;
    const big = typeof this.cells.find((cell) => cell !== null) === 'bigint';
    this.made ??= big
      ? BigInt64Array.from(this.cells, (cell) => cell ?? 0n)
      : Float64Array.from(this.cells, (cell) => Number(cell ?? 0));
    return this.made;
  }

  isNull(cell) {
    return this.cells[cell] === null;
  }

  get(cell) {
    return this.cells[cell];
  }

  text(cell) {
    const value = this.cells[cell];
    if (value === null) return null;
    return this.datatype.startsWith('DATETIME_')
      ? dateText(value, this.datatype.split('_')[1])
      : String(value);
  }
}

class Cells {
  constructor(columns, length, shape, selected) {
    Object.assign(this, {
      columns,
      length,
      shape,
      selected,
      order: 'row-major',
      stats: { requests: 1, bytes: 0, rounds: 1, milliseconds: ROUND },
    });
  }

  column(name) {
    const found = this.columns.find((one) => one.name === name);
    if (!found) throw new TdbError('query', `the result has no field ${name}`);
    return found;
  }
}

const intervals = (selection, domain) => {
  if (selection === undefined) return [domain];
  if (selection === null) throw new TdbError('query', 'a range: null is no coordinate');
  if (!Array.isArray(selection))
    return typeof selection === 'object' ? selection : [[selection, selection]];
  if (selection.length === 2 && !Array.isArray(selection[0])) return [selection];
  return selection.map((one) => (Array.isArray(one) ? one : [one, one]));
};

function coordinates(selection, domain) {
  const found = [];
  const big = typeof domain[0] === 'bigint';
  const of = intervals(selection, domain);
  if (!Array.isArray(of)) {
    for (let at = of.from; at <= of.to; at += of.step) found.push(at);
    return found;
  }
  for (const [low, high] of of) for (let at = low; at <= high; at += big ? 1n : 1) found.push(at);
  return found;
}

function test(where) {
  if (!where) return () => true;
  const found = /^"?(\w+)"?\s*(=|>|<|>=|<=)\s*('.*'|[-\d.e]+)$/.exec(where);
  if (!found) throw new TdbError('query', `condition: expected a comparison: ${where}`);
  const [, name, operator, text] = found;
  const value = text.startsWith("'") ? text.slice(1, -1) : Number(text);
  const compare = {
    '=': (a) => a === value,
    '>': (a) => a > value,
    '<': (a) => a < value,
    '>=': (a) => a >= value,
    '<=': (a) => a <= value,
  }[operator];
  return (row) =>
    row[name] !== null && compare(typeof row[name] === 'bigint' ? Number(row[name]) : row[name]);
}

/** How many arrays are open. */
const opened = (by) => {
  window.fakeOpen = (window.fakeOpen ?? 0) + by;
};

class TdbArray {
  constructor(url, made, at) {
    opened(1);
    Object.assign(this, {
      kind: 'array',
      url,
      made,
      at_: at,
      schema: made.schema,
      timeRange: [0, at ?? Date.now()],
    });
    this.total = { requests: 3, bytes: 4000, rounds: 3, milliseconds: 90 };
  }

  async at(at, { signal } = {}) {
    await wait(ROUND, signal);
    return new TdbArray(this.url, this.made, Array.isArray(at) ? at[1] : Number(at));
  }

  async metadata({ signal } = {}) {
    await this.cost(1, 300, signal);
    return this.made.metadata ?? [];
  }

  async fragments() {
    return this.made.fragments.filter(
      ({ timeRange }) => this.at_ === undefined || timeRange[1] <= this.at_,
    );
  }

  async nonEmptyDomain() {
    return this.made.nonEmpty;
  }

  async enumeration(name, { signal } = {}) {
    await this.cost(1, 200, signal);
    return { name, datatype: 'STRING_UTF8', ordered: false, values: this.made.enumerations[name] };
  }

  /** Waits as long as the requests would take; `fakeReads` counts what was begun and ended. */
  async cost(requests, bytes, signal) {
    window.fakeReads ??= { begun: 0, ended: 0 };
    window.fakeReads.begun += 1;
    this.total.requests += requests;
    this.total.bytes += bytes;
    await wait(ROUND * Math.ceil(requests / 6) * (this.made.slow ?? 1), signal);
    window.fakeReads.ended += 1;
  }

  async read(options = {}) {
    const all = [];
    for await (const cells of this.batches(options)) all.push(cells);
    if (all.length === 1) return all[0];
    const fields = all[0].columns;
    return new Cells(
      fields.map(
        (column, at) =>
          new Column(
            column.field,
            all.flatMap((one) => one.columns[at].cells),
          ),
      ),
      all.reduce((sum, one) => sum + one.length, 0),
      null,
      null,
    );
  }

  async *batches({ fields, ranges = {}, where, limit = Infinity, signal } = {}) {
    const { schema, made } = this;
    const names =
      fields ??
      [...(schema.type === 'sparse' ? schema.dimensions : []), ...schema.attributes].map(
        ({ name }) => name,
      );
    const of = (name) =>
      schema.attributes.find((one) => one.name === name) ??
      schema.dimensions.find((one) => one.name === name);
    const chosen = test(where);
    if (made.damaged) {
      await this.cost(1, 100, signal);
      throw new TdbError('corrupt', made.damaged.message, made.damaged);
    }
    if (schema.type === 'dense') {
      const axes = schema.dimensions.map(({ name, domain }) => coordinates(ranges[name], domain));
      const length = axes.reduce((product, one) => product * one.length, 1);
      if (length > 5e6) throw new TdbError('query', `${length} cells are too many for the fake`);
      const tiles = axes.reduce(
        (product, one, at) =>
          product *
          new Set(
            one.map((value) => Math.floor(Number(value) / Number(schema.dimensions[at].tile))),
          ).size,
        1,
      );
      await this.cost(tiles, tiles * 4000, signal);
      const plain = (name) =>
        /^(FLOAT|U?INT(8|16|32))/.test(of(name).datatype) && !of(name).nullable;
      const columns = names.map((name) => new (plain(name) ? Float64Array : Array)(length));
      const selected = new Uint8Array(length).fill(1);
      const place = axes.map(() => 0);
      for (let cell = 0; cell < length; cell += 1) {
        // The module works in a worker.
        if (cell % 50000 === 49999) await wait(0, signal);
        const row = {};
        schema.dimensions.forEach(({ name }, at) => {
          row[name] = axes[at][place[at]];
        });
        Object.assign(row, made.cell(row, this.at_ ?? Infinity));
        if (row.empty || !chosen(row)) selected[cell] = 0;
        names.forEach((name, at) => {
          columns[at][cell] = row[name] ?? null;
        });
        for (let at = axes.length - 1; at >= 0; at -= 1) {
          place[at] += 1;
          if (place[at] < axes[at].length) break;
          place[at] = 0;
        }
      }
      yield new Cells(
        names.map((name, at) => new Column(of(name), columns[at])),
        length,
        axes.map((one) => one.length),
        selected,
      );
      return;
    }
    const inside = schema.dimensions.map(({ name, domain }) => [
      name,
      intervals(ranges[name], domain),
    ]);
    const rows = [];
    for (const row of made.rows) {
      if (row.time > (this.at_ ?? Infinity)) continue;
      if (rows.length >= limit) break;
      if (
        inside.every(
          ([name, list]) =>
            list === null ||
            list[0] === null ||
            list.some(
              ([low, high]) =>
                (low === null || row[name] >= low) && (high === null || row[name] <= high),
            ),
        ) &&
        chosen(row)
      )
        rows.push(row);
    }
    const size = 20000;
    for (let from = 0; from === 0 || from < rows.length; from += size) {
      const part = rows.slice(from, from + size);
      await this.cost(2, part.length * 12, signal);
      yield new Cells(
        names.map(
          (name) =>
            new Column(
              of(name),
              part.map((row) => row[name] ?? null),
            ),
        ),
        part.length,
        null,
        null,
      );
    }
  }

  async aggregate({ aggregates }) {
    return Object.fromEntries(aggregates.map((name) => [name, 1]));
  }

  stats() {
    if (this.closed) throw new TdbError('closed', 'the array was closed');
    return { ...this.total };
  }

  close() {
    if (!this.closed) opened(-1);
    this.closed = true;
  }
}

class TdbGroup {
  constructor(url, made, search) {
    Object.assign(this, {
      kind: 'group',
      url,
      made,
      search,
      total: { requests: 2, bytes: 900, rounds: 2, milliseconds: 60 },
    });
  }

  members() {
    return this.made.members.map(([name, type, away]) => ({
      name,
      type,
      url: away ?? `${this.url}/${name}`,
    }));
  }

  async open(member, options) {
    const found = this.members().find(({ name, url }) => name === member || url === member.url);
    if (!found) throw new TdbError('query', `the group has no member "${member.name ?? member}"`);
    const isBelow = found.url.startsWith(`${this.url}/`);
    return open(isBelow ? `${found.url}${this.search}` : found.url, options);
  }

  async metadata() {
    return this.made.metadata ?? [];
  }

  stats() {
    return { ...this.total };
  }

  close() {}
}

export async function open(place, { key, signal } = {}) {
  await wait(3 * ROUND, signal);
  const { origin, pathname, search } = new URL(place);
  const path = pathname.replace(/\/+$/, '');
  const url = `${origin}${path}`;
  if (origin !== location.origin) await fetch(url);
  const made = await find(path);
  if (made?.signature && made.signature !== search)
    throw new TdbError('network', `${url}/tdb_manifest.txt: HTTP 403`, { status: 403 });
  if (!made) throw new TdbError('not-found', `${url}: no array or group is there`);
  if (made.key && !key)
    throw new TdbError(
      'unsupported',
      `${url}/__schema/__1_1_5fdf: tile at offset 0: the tile is encrypted (AES-256-GCM), ` +
        'and no key was given',
      { file: `${url}/__schema/__1_1_5fdf`, offset: 0 },
    );
  if (made.key && new TextDecoder().decode(key) !== made.key)
    throw new TdbError(
      'corrupt',
      `${url}/__schema/__1_1_5fdf: chunk 0 at offset 65: filter 'aes-256-gcm' cannot decrypt ` +
        'part 0: the key is wrong, or the bytes were changed (filter 2 of 2)',
      { file: `${url}/__schema/__1_1_5fdf`, offset: 0 },
    );
  return made.members ? new TdbGroup(url, made, search) : new TdbArray(url, made);
}
