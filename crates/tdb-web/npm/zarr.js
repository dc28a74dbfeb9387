// Arrays and groups as stores of Zarr: what readers such as zarrita ask for documents and chunks.
import { parts } from './engine.js';
import { TdbError, checkKeys, checkOption, signalOf, untilAborted } from './errors.js';

/** The document in which version 2 has those of all nodes. */
const CONSOLIDATED = '.zmetadata';
/** The documents of a group that are in it. */
const OF_GROUPS = ['.zattrs', '.zgroup'];
/** Most groups inside of each other. */
const MAX_DEPTH = 64;
/** Most members of a hierarchy that are open: groups may have each other as members many times. */
const MAX_OPEN = 10_000;

const isSize = (value) => Number.isSafeInteger(value) && value >= 0;
const isCount = (value) => Number.isSafeInteger(value) && value > 0;

/** Refuses options of `zarr` that it does not have. */
export function checkForm(options) {
  checkKeys(options, ['version', 'rows'], 'zarr');
  checkOption('version', options.version, (value) => value === 2 || value === 3, '2 or 3');
  checkOption('rows', options.rows, isCount, 'a number of cells');
  return { version: options.version, rows: options.rows };
}

/** The parts of a key that are asked for, as the modules take them. */
function spanOf(range) {
  checkKeys(range, ['offset', 'length', 'suffixLength'], 'the range of getRange');
  const { offset, length, suffixLength } = range;
  const isSuffix = suffixLength !== undefined && offset === undefined && length === undefined;
  if (isSuffix && isSize(suffixLength)) return { last: suffixLength };
  if (suffixLength === undefined && isSize(offset) && isSize(length))
    return { between: [offset, offset + length] };
  const expected = '{ offset, length } or { suffixLength }, whole numbers of bytes, are expected';
  throw new TdbError('query', `the range of getRange: ${expected}`);
}

/** A key without the slash at its beginning. */
function keyOf(key) {
  checkOption('key', key, (value) => typeof value === 'string', 'the key of a document or chunk');
  if (key === undefined) throw new TdbError('query', 'the key of a document or chunk is missing');
  return key.startsWith('/') ? key.slice(1) : key;
}

/** A store over one array or group. `ask(request, signal)` asks the module. */
class ZarrStore {
  constructor(ask, stats, form) {
    // Hidden, so that a store that is printed shows what it is.
    Object.defineProperty(this, 'own', { value: { ask, stats, form } });
  }

  async get(key, options = {}) {
    return this.found(keyOf(key), {}, this.signal('get', options));
  }

  async getRange(key, range, options = {}) {
    return this.found(keyOf(key), spanOf(range), this.signal('getRange', options));
  }

  async refused(options = {}) {
    return this.refusals(this.signal('refused', options));
  }

  stats() {
    return this.own.stats();
  }

  signal(method, options) {
    checkKeys(options, ['signal'], method);
    return signalOf(options);
  }

  /** What a request says. */
  async asked(request, signal) {
    const { ask, form } = this.own;
    const { answer } = await ask({ op: 'zarr', ...form, ...request }, signal);
    return { answer, ...parts(answer) };
  }

  /** The bytes of a key, or of a part of it; undefined if there is no such key. */
  async found(key, span, signal) {
    const { answer, document, start } = await this.asked({ key, ...span }, signal);
    if (document.bytes === null) return undefined;
    const [at, length] = document.bytes;
    // A buffer of its own: readers look at texts from the beginning of the buffer.
    return new Uint8Array(answer.slice(start + at, start + at + length));
  }

  async refusals(signal) {
    return (await this.asked({}, signal)).document.refused;
  }
}

/**
 * The store of an array or a group; `above` are the URLs of the groups above a group, and `room` is
 * how many more members the hierarchy may open.
 */
export function storeOf(object, form, above = [], room = { left: MAX_OPEN }) {
  const { engine, id, members, stores } = object.own;
  const ask = (request, signal) => engine.run(id, request, signal);
  if (object.kind === 'array') return new ZarrStore(ask, () => object.stats(), form);
  const open = async (member) => object.openFound(member);
  const rest = { members, open, above: [...above, object.url], room };
  const store = new GroupStore(ask, () => object.stats(), form, rest);
  stores.push(store);
  return store;
}

/**
 * The store of a group: each member is opened when something of it is asked for. `above` are the
 * URLs of the groups that it was opened from, and its own.
 */
class GroupStore extends ZarrStore {
  constructor(ask, stats, form, { members, open, above, room }) {
    super(ask, stats, form);
    Object.assign(this.own, { members, open, above, room, opened: new Map(), nodes: null });
  }

  stats() {
    const total = this.own.stats();
    for (const { member, store } of this.own.opened.values()) {
      if (!store) continue;
      // Of a group, that of its members, too.
      const stats = member.kind === 'group' ? store.stats() : member.stats();
      for (const name of Object.keys(total)) total[name] += stats[name];
    }
    return total;
  }

  close() {
    for (const { member } of this.own.opened.values()) member?.close();
    this.own.room.left += this.own.opened.size;
    this.own.opened.clear();
  }

  /** The names of nodes, and the member that each shows. */
  async nodes(signal) {
    const { own } = this;
    if (!own.nodes) {
      const { document } = await this.asked({}, signal);
      own.nodes = new Map();
      document.members.forEach((name, at) => {
        if (name !== null) own.nodes.set(name, own.members[at]);
      });
      own.refused = document.refused;
    }
    return own.nodes;
  }

  /**
   * The store of the member with this name; null if there is none. Opening goes on where one of
   * those who wait gives up.
   */
  async member(name, signal) {
    const member = (await this.nodes(signal)).get(name);
    if (!member) return null;
    const { opened, open, form, above, room } = this.own;
    if (!opened.has(name)) {
      if (room.left === 0) {
        const why = `more than ${MAX_OPEN} members of this hierarchy would be open`;
        throw new TdbError('unsupported', `${above.at(-1)}: ${why}`, { file: above.at(-1) });
      }
      room.left -= 1;
      const entry = {};
      entry.opening = open(member).then((found) => {
        const isRound = found.kind === 'group' && above.includes(found.url);
        if (opened.get(name) !== entry || isRound || above.length > MAX_DEPTH) {
          found.close();
          if (opened.get(name) !== entry)
            throw new TdbError('closed', `${found.url}: the group was closed`);
          const why = isRound ? 'this group is inside of itself' : 'it is nested too deeply';
          throw new TdbError('unsupported', `${found.url}: ${why}`, { file: found.url });
        }
        const store = storeOf(found, form, above, room);
        return Object.assign(entry, { member: found, store }).store;
      });
      // It may be there at another time.
      entry.opening.catch(() => {
        if (opened.get(name) !== entry) return;
        opened.delete(name);
        room.left += 1;
      });
      opened.set(name, entry);
    }
    const { opening } = opened.get(name);
    if (!signal) return opening;
    const ended = untilAborted(signal);
    try {
      return await Promise.race([opening, ended.promise]);
    } finally {
      ended.stop();
    }
  }

  async found(key, span, signal) {
    if (key === CONSOLIDATED && this.own.form.version !== 3)
      return part(await this.consolidated(signal), span);
    const [name] = key.split('/', 1);
    const store = name === key ? null : await this.member(name, signal);
    return store
      ? store.found(key.slice(name.length + 1), span, signal)
      : super.found(key, span, signal);
  }

  /** The documents of all nodes of version 2. */
  async consolidated(signal) {
    const metadata = await this.documents(signal, new Set([this.own.above.at(-1)]));
    const text = JSON.stringify({ zarr_consolidated_format: 1, metadata });
    return new TextEncoder().encode(text);
  }

  /** The documents of this group and of what is below it; `seen` are the URLs of groups. */
  async documents(signal, seen) {
    const metadata = {};
    const decoded = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
    for (const name of OF_GROUPS) metadata[name] = decoded(await super.found(name, {}, signal));
    for (const [name, { store }] of await this.stores(signal)) {
      if (!store || isAgain(store, seen)) continue;
      const inside =
        store instanceof GroupStore
          ? await store.documents(signal, seen)
          : decoded(await store.found(CONSOLIDATED, {}, signal)).metadata;
      for (const [key, document] of Object.entries(inside)) metadata[`${name}/${key}`] = document;
    }
    return metadata;
  }

  async refusals(signal, seen = new Set([this.own.above.at(-1)])) {
    const stores = await this.stores(signal);
    const refused = [...this.own.refused];
    for (const [name, { store, error }] of stores) {
      const again = store && isAgain(store, seen);
      if (error || again) refused.push({ path: name, reason: again ? AGAIN : error.message });
      const inside = store && !again ? await store.refusals(signal, seen) : [];
      for (const { path, reason } of inside)
        refused.push({ path: path === '' ? name : `${name}/${path}`, reason });
    }
    return refused;
  }

  /** The stores of all members, or why one cannot be opened. */
  async stores(signal) {
    const names = [...(await this.nodes(signal)).keys()];
    const one = async (name) => {
      try {
        return [name, { store: await this.member(name, signal) }];
      } catch (error) {
        if (!(error instanceof TdbError) || error.kind === 'closed') throw error;
        return [name, { error }];
      }
    };
    return Promise.all(names.map(one));
  }
}

/** Why a group that is a member of several is not shown in each. */
const AGAIN = 'it is a group that is shown elsewhere in this hierarchy';

/**
 * Whether a store is that of a group that was seen before. Groups that have each other as members
 * twice would be as many as 2 to the power of their number.
 */
function isAgain(store, seen) {
  if (!(store instanceof GroupStore)) return false;
  const url = store.own.above.at(-1);
  if (seen.has(url)) return true;
  seen.add(url);
  return false;
}

/** A part of a document that was made here. */
function part(bytes, { between, last }) {
  if (last !== undefined) return bytes.slice(Math.max(0, bytes.length - last));
  return between ? bytes.slice(...between) : bytes;
}
