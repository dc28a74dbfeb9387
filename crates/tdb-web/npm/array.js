// Arrays and groups, over an engine in this thread or in a worker.
import { Cells, columnOf, joined } from './cells.js';
import { toArrow } from './arrow.js';
import { parts } from './engine.js';
import { TdbError, checkKeys, checkSignal } from './errors.js';
import { dateTicks, hexOf, isDate, isText, numbersOf, scalar, valueOf } from './values.js';

const CELLS = ['ranges', 'where', 'signal'];
const READ = [...CELLS, 'fields', 'order', 'selection'];

/** A window of time, as the modules take it. */
export function windowOf(at = [0, Date.now()]) {
  const time = (value) => {
    const number = value instanceof Date ? value.getTime() : value;
    const isTime =
      typeof number === 'bigint' ? number >= 0n : Number.isFinite(number) && number >= 0;
    if (!isTime)
      throw new TdbError('query', `${String(value)} is not a time in milliseconds since 1970`);
    return String(typeof number === 'bigint' ? number : Math.floor(number));
  };
  const [start, end] = Array.isArray(at) ? at : [0, at];
  return { start: time(start), end: time(end) };
}

/** What is read of a dimension, as ranges whose ends are texts. */
function rangesOf(name, selection, datatype) {
  const coordinate = (value) => {
    if (value instanceof Date) {
      if (!datatype || !isDate(datatype)) throw new TdbError('query', `"${name}" holds no dates`);
      return String(dateTicks(datatype, value));
    }
    if (value instanceof Uint8Array) return { bytes: hexOf(value) };
    if (!['number', 'bigint', 'string'].includes(typeof value)) {
      throw new TdbError('query', `the range of "${name}": ${String(value)} is no coordinate`);
    }
    return String(value);
  };
  const end = (value) =>
    value === null || value === Infinity || value === -Infinity ? null : coordinate(value);
  const one = (item) => {
    if (!Array.isArray(item)) return [coordinate(item), coordinate(item)];
    if (item.length !== 2)
      throw new TdbError('query', `the range of "${name}": a range has two ends`);
    return item.map(end);
  };
  if (Array.isArray(selection)) {
    const isRange = selection.length === 2 && !selection.some(Array.isArray);
    return isRange ? [one(selection)] : selection.map(one);
  }
  const isOne =
    selection === null ||
    typeof selection !== 'object' ||
    selection instanceof Date ||
    selection instanceof Uint8Array;
  if (isOne) return [one(selection)];
  checkKeys(selection, ['from', 'to', 'step'], `the range of "${name}"`);
  const [from, to, step] = [selection.from, selection.to, selection.step].map(BigInt);
  if (step <= 0n) throw new TdbError('query', `the range of "${name}": the step is not above 0`);
  const points = [];
  for (let at = from; at <= to; at += step) points.push([String(at), String(at)]);
  return points;
}

/** One interval a dimension, of an answer. */
function intervals(domain, dimensions, answer, start) {
  if (domain === null) return null;
  return domain.map((ends, index) =>
    ends.map((end) => scalar(dimensions[index].datatype, answer, start, end)),
  );
}

function schemaOf({ dimensions, attributes, ...rest }, answer, start) {
  const interval = (datatype, ends) =>
    ends && ends.map((end) => scalar(datatype, answer, start, end));
  const dimension = ({ domain, tile, currentDomain, ...own }) => ({
    ...own,
    domain: interval(own.datatype, domain),
    tile: scalar(own.datatype, answer, start, tile),
    currentDomain: interval(own.datatype, currentDomain),
  });
  const attribute = ({ fill, ...own }) => ({
    ...own,
    fill:
      fill &&
      valueOf(own.datatype, numbersOf(own.datatype, answer, start, fill), own.cellValNum === null),
  });
  return { ...rest, dimensions: dimensions.map(dimension), attributes: attributes.map(attribute) };
}

function metadataOf(items, answer, start) {
  return items.map(({ key, datatype, count, value }) => {
    if (count === 0) return { key, datatype, value: isText(datatype) ? '' : null };
    return {
      key,
      datatype,
      value: valueOf(datatype, numbersOf(datatype, answer, start, value), false),
    };
  });
}

/** The class of what an answer to `open` describes. */
export function objectOf(engine, opened, context) {
  const { document, start } = parts(opened.answer);
  const Kind = document.kind === 'group' ? TdbGroup : TdbArray;
  return new Kind(engine, opened.id, context, document, opened.answer, start);
}

class TdbObject {
  constructor(engine, id, context, document) {
    this.kind = document.kind;
    this.url = context.url;
    this.timeRange = document.timeRange.map(Number);
    // Hidden, so that an array that is printed shows what it is.
    Object.defineProperty(this, 'own', { value: { engine, id, context } });
    engine.opened(id);
  }

  stats() {
    return this.own.engine.stats(this.own.id);
  }

  close() {
    this.own.engine.close(this.own.id);
  }
}

export class TdbArray extends TdbObject {
  constructor(engine, id, context, document, answer, start) {
    super(engine, id, context, document);
    this.schema = schemaOf(document.schema, answer, start);
  }

  async at(at, options = {}) {
    checkKeys(options, ['signal'], 'at');
    const { engine, id, context } = this.own;
    return objectOf(
      engine,
      await engine.open({ like: id, options: windowOf(at) }, options.signal),
      context,
    );
  }

  async metadata(options = {}) {
    checkKeys(options, ['signal'], 'metadata');
    const { answer } = await this.ask({ op: 'metadata' }, options.signal);
    const { document, start } = parts(answer);
    return metadataOf(document, answer, start);
  }

  async fragments() {
    return (await this.described()).fragments;
  }

  async nonEmptyDomain() {
    return (await this.described()).nonEmptyDomain;
  }

  async enumeration(name, options = {}) {
    checkKeys(options, ['signal'], 'enumeration');
    const { answer } = await this.ask({ op: 'enumeration', name: String(name) }, options.signal);
    const { document, start } = parts(answer);
    const { datatype, ordered, length } = document;
    return {
      name: document.name,
      datatype,
      ordered,
      values: columnOf(document, length, answer, start).toArray(),
    };
  }

  async read(options = {}) {
    checkKeys(options, [...READ, 'limit'], 'read');
    const { limit, signal } = options;
    if (limit === undefined) return Cells.of(await this.ask(this.query('read', options), signal));
    if (!(Number.isInteger(limit) && limit >= 0))
      throw new TdbError('query', `the limit ${String(limit)} is no number of cells`);
    const [batches, stats] = [[], { requests: 0, bytes: 0, rounds: 0, milliseconds: 0 }];
    let length = 0;
    for await (const found of this.stream(
      { ...this.query('batches', options), first: true },
      signal,
    )) {
      batches.push(Cells.of(found));
      for (const name of Object.keys(stats)) stats[name] += found.stats[name];
      length += batches.at(-1).length;
      if (length >= limit) break;
    }
    // Without any batch there are no cells, but there are columns.
    if (batches.length === 0) return Cells.of(await this.ask(this.query('read', options), signal));
    return joined(batches, limit, stats);
  }

  async *batches(options = {}) {
    checkKeys(options, [...READ, 'limit', 'batchBytes'], 'batches');
    const { limit = Infinity, batchBytes, signal } = options;
    let left = limit;
    if (left <= 0) return;
    for await (const found of this.stream(
      { ...this.query('batches', options), batchBytes },
      signal,
    )) {
      const cells = Cells.of(found);
      yield cells.length > left ? joined([cells], left, cells.stats) : cells;
      left -= cells.length;
      if (left <= 0) return;
    }
  }

  async aggregate(options) {
    checkKeys(options, [...CELLS, 'aggregates', 'groupBy', 'maxGroups'], 'aggregate');
    const { aggregates, groupBy, maxGroups, signal } = options;
    if (!Array.isArray(aggregates))
      throw new TdbError('query', 'aggregate needs a list of aggregates');
    const found = await this.ask(
      { ...this.selected('aggregate', options), aggregates, groupBy, maxGroups },
      signal,
    );
    if (groupBy) {
      const cells = Cells.of(found);
      if (cells.columns.length === groupBy.length + aggregates.length) {
        aggregates.forEach((text, index) =>
          Object.assign(cells.columns[groupBy.length + index], { name: text }),
        );
      }
      return cells;
    }
    const { document, start } = parts(found.answer);
    const isNamed = document.length === aggregates.length;
    return Object.fromEntries(
      document.map(({ name, datatype, value }, index) => {
        return [isNamed ? aggregates[index] : name, scalar(datatype, found.answer, start, value)];
      }),
    );
  }

  async arrow(options = {}) {
    checkKeys(options, [...READ, 'limit', 'batchBytes'], 'arrow');
    const batches = [];
    for await (const cells of this.batches(options)) batches.push(cells);
    // A stream has a schema also where there are no cells.
    if (batches.length === 0)
      batches.push(await this.read({ ...options, batchBytes: undefined, limit: 0 }));
    return toArrow(batches, this.schema);
  }

  async described() {
    const { answer } = await this.ask({ op: 'fragments' });
    const { document, start } = parts(answer);
    const domain = (found) => intervals(found, this.schema.dimensions, answer, start);
    return {
      fragments: document.fragments.map((own) => ({
        ...own,
        nonEmptyDomain: domain(own.nonEmptyDomain),
      })),
      nonEmptyDomain: domain(document.nonEmptyDomain),
    };
  }

  /** A request for cells, with what all of them have in common. */
  selected(op, { ranges = {}, where }) {
    const { dimensions, labels } = this.schema;
    const datatype = (name) =>
      [...dimensions, ...labels].find((own) => own.name === name)?.datatype;
    const asked = Object.entries(ranges).map(([name, selection]) => [
      name,
      rangesOf(name, selection, datatype(name)),
    ]);
    return { op, ranges: asked, where };
  }

  query(op, options) {
    const { fields, order, selection } = options;
    return { ...this.selected(op, options), fields, order, selection };
  }

  async ask(request, signal) {
    checkSignal(signal);
    return this.own.engine.run(this.own.id, request, signal);
  }

  stream(request, signal) {
    checkSignal(signal);
    return this.own.engine.stream(this.own.id, request, signal);
  }
}

export class TdbGroup extends TdbObject {
  constructor(engine, id, context, document, answer, start) {
    super(engine, id, context, document);
    const placed = ({ name, type, uri, relative }) => ({
      name,
      type,
      url: relative ? `${context.url}/${uri}` : uri,
    });
    Object.assign(this.own, {
      members: document.members.map(placed),
      metadata: metadataOf(document.metadata, answer, start),
    });
  }

  members() {
    return this.own.members.map((member) => ({ ...member }));
  }

  async metadata(options = {}) {
    checkKeys(options, ['signal'], 'metadata');
    return this.own.metadata;
  }

  async open(member, options = {}) {
    const named = (own) => own.name === member || own.url === member || own.url === member?.url;
    const found = this.own.members.find(named);
    if (!found)
      throw new TdbError('query', `the group has no member "${String(member?.name ?? member)}"`);
    const isBelow = found.url.startsWith(`${this.url}/`);
    if (isBelow && found.url.slice(this.url.length).split('/').includes('..')) {
      throw new TdbError('corrupt', `the member ${found.url} is outside of its group`, {
        file: this.url,
      });
    }
    if (!isBelow && !/^https?:/.test(found.url)) {
      throw new TdbError(
        'unsupported',
        `the member ${found.url} is at a place that is not read by HTTP`,
        { file: found.url },
      );
    }
    const { context } = this.own;
    // What grants access to the group grants access to what is below it, and to nothing else.
    return context.open(isBelow ? `${found.url}${context.search}` : found.url, {
      ...context.options,
      ...(isBelow ? {} : { headers: undefined }),
      ...options,
    });
  }
}
