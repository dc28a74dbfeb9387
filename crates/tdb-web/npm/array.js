// Arrays and groups, over an engine in this thread or in a worker.
import { Cells, columnOf, joined } from './cells.js';
import { toArrow } from './arrow.js';
import { parts } from './engine.js';
import { TdbError, checkKeys, checkOption, signalOf } from './errors.js';
import { rangesOf } from './ranges.js';
import { isText, numbersOf, scalar, valueOf } from './values.js';
import { checkForm, storeOf } from './zarr.js';

const CELLS = ['ranges', 'where', 'signal'];
const READ = [...CELLS, 'fields', 'order', 'selection', 'limit'];

const isString = (value) => typeof value === 'string';
const isTexts = (value) => Array.isArray(value) && value.every(isString);
const isCount = (value) => Number.isSafeInteger(value) && value > 0;
const isLimit = (value) => value === Infinity || (Number.isSafeInteger(value) && value >= 0);

/** The options of queries: what they must be, and how a message calls it. */
const QUERY = {
  where: [isString, 'a text'],
  fields: [isTexts, 'a list of names'],
  order: [isString, 'the name of an order'],
  selection: [(value) => typeof value === 'boolean', 'true or false'],
  limit: [isLimit, 'a number of cells'],
  batchBytes: [isCount, 'a number of bytes'],
  aggregates: [isTexts, 'a list of aggregates'],
  groupBy: [(value) => isTexts(value) && value.length > 0, 'a list of names'],
  maxGroups: [isCount, 'a number of groups'],
};

/** Refuses options of a query that it does not have, and values that they cannot have. */
function checkQuery(options, known, what) {
  checkKeys(options, known, what);
  for (const [name, [isRight, expected]] of Object.entries(QUERY))
    checkOption(name, options[name], isRight, expected);
  if (options.ranges !== undefined) checkKeys(options.ranges, null, `the ranges of ${what}`);
}

/** A window of time, as the modules take it. */
export function windowOf(at = [0, Date.now()]) {
  const time = (value) => {
    const number = value instanceof Date ? value.getTime() : value;
    const isTime =
      typeof number === 'bigint' ? number >= 0n : Number.isFinite(number) && number >= 0;
    if (!isTime)
      throw new TdbError('query', `${String(value)} is not a time in milliseconds since 1970`);
    return String(BigInt(typeof number === 'bigint' ? number : Math.floor(number)));
  };
  if (Array.isArray(at) && at.length !== 2)
    throw new TdbError('query', `"at" is a time, or two of them, not ${at.length}`);
  const [start, end] = Array.isArray(at) ? at : [0, at];
  return { start: time(start), end: time(end) };
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
      await engine.open({ like: id, options: windowOf(at) }, signalOf(options)),
      context,
    );
  }

  async metadata(options = {}) {
    checkKeys(options, ['signal'], 'metadata');
    const { answer } = await this.ask({ op: 'metadata' }, options);
    const { document, start } = parts(answer);
    return metadataOf(document, answer, start);
  }

  async fragments(options = {}) {
    checkKeys(options, ['signal'], 'fragments');
    return (await this.described(options)).fragments;
  }

  async nonEmptyDomain(options = {}) {
    checkKeys(options, ['signal'], 'nonEmptyDomain');
    return (await this.described(options)).nonEmptyDomain;
  }

  async enumeration(name, options = {}) {
    checkKeys(options, ['signal'], 'enumeration');
    const { answer } = await this.ask({ op: 'enumeration', name: String(name) }, options);
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
    checkQuery(options, READ, 'read');
    const { limit = Infinity } = options;
    if (limit === Infinity) return Cells.of(await this.ask(this.query('read', options), options));
    const [batches, stats] = [[], { requests: 0, bytes: 0, rounds: 0, milliseconds: 0 }];
    let length = 0;
    for await (const found of this.stream(
      { ...this.query('batches', options), first: true },
      options,
    )) {
      batches.push(Cells.of(found));
      for (const name of Object.keys(stats)) stats[name] += found.stats[name];
      length += batches.at(-1).length;
      if (length >= limit) break;
    }
    // Without any batch there are no cells, but there are columns.
    if (batches.length === 0) return Cells.of(await this.ask(this.query('read', options), options));
    return joined(batches, limit, stats);
  }

  async *batches(options = {}) {
    checkQuery(options, [...READ, 'batchBytes'], 'batches');
    const { limit = Infinity, batchBytes } = options;
    let left = limit;
    if (left <= 0) return;
    for await (const found of this.stream(
      { ...this.query('batches', options), batchBytes },
      options,
    )) {
      const cells = Cells.of(found);
      yield cells.length > left ? joined([cells], left, cells.stats) : cells;
      left -= cells.length;
      if (left <= 0) return;
    }
  }

  async aggregate(options) {
    checkQuery(options, [...CELLS, 'aggregates', 'groupBy', 'maxGroups'], 'aggregate');
    const { aggregates, groupBy, maxGroups } = options;
    if (!aggregates) throw new TdbError('query', 'aggregate needs a list of aggregates');
    if (maxGroups && !groupBy)
      throw new TdbError('query', 'the option "maxGroups" needs "groupBy"');
    const found = await this.ask(
      { ...this.selected('aggregate', options), aggregates, groupBy, maxGroups },
      options,
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
    // A stream of Arrow has no place for what is selected.
    const known = [...READ, 'batchBytes'].filter((name) => name !== 'selection');
    checkQuery(options, known, 'arrow');
    const batches = [];
    for await (const cells of this.batches(options)) batches.push(cells);
    // A stream has a schema also where there are no cells.
    const { batchBytes: _, ...read } = options;
    if (batches.length === 0) batches.push(await this.read({ ...read, limit: 0 }));
    return toArrow(batches, this.schema);
  }

  zarr(options = {}) {
    return storeOf(this, checkForm(options));
  }

  async described(options) {
    const { answer } = await this.ask({ op: 'fragments' }, options);
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

  async ask(request, options) {
    return this.own.engine.run(this.own.id, request, signalOf(options));
  }

  stream(request, options) {
    return this.own.engine.stream(this.own.id, request, signalOf(options));
  }
}

/** Where a member is, and whether it is below the group, which has access to it then. */
function placeOf({ uri, relative }, group) {
  if (relative) {
    // It is a path of folders, whose names may have any characters.
    const parts = uri.split('/');
    const url = `${group}/${parts.map(encodeURIComponent).join('/')}`;
    return { url, isBelow: true, isOutside: parts.includes('..') };
  }
  // `..` and what stands for it is gone then.
  const url = /^https?:/.test(uri) && URL.canParse(uri) ? new URL(uri).href : uri;
  return { url, isBelow: url.startsWith(`${group}/`), isOutside: false };
}

export class TdbGroup extends TdbObject {
  constructor(engine, id, context, document, answer, start) {
    super(engine, id, context, document);
    Object.assign(this.own, {
      members: document.members.map((member) => {
        const { name, type } = member;
        return { name, type, ...placeOf(member, context.url) };
      }),
      metadata: metadataOf(document.metadata, answer, start),
      stores: [],
    });
  }

  members() {
    return this.own.members.map(({ name, type, url }) => ({ name, type, url }));
  }

  async metadata(options = {}) {
    checkKeys(options, ['signal'], 'metadata');
    signalOf(options);
    return this.own.metadata;
  }

  zarr(options = {}) {
    return storeOf(this, checkForm(options));
  }

  close() {
    for (const store of this.own.stores.splice(0)) store.close();
    super.close();
  }

  async open(member, options = {}) {
    const named = (own) => own.name === member || own.url === member || own.url === member?.url;
    const found = this.own.members.find(named);
    if (!found)
      throw new TdbError('query', `the group has no member "${String(member?.name ?? member)}"`);
    return this.openFound(found, options);
  }

  openFound(found, options = {}) {
    const { url, isBelow, isOutside } = found;
    if (isOutside) {
      throw new TdbError('corrupt', `the member ${url} is outside of its group`, {
        file: this.url,
      });
    }
    if (!isBelow && !/^https?:/.test(url)) {
      throw new TdbError(
        'unsupported',
        `the member ${url} is at a place that is not read by HTTP`,
        { file: url },
      );
    }
    const { context } = this.own;
    // What grants access to the group grants access to what is below it, and to nothing else.
    return context.open(isBelow && !url.includes('?') ? `${url}${context.search}` : url, {
      ...context.options,
      ...(isBelow ? {} : { headers: undefined }),
      ...options,
    });
  }
}
