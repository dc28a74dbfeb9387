// What zarrita reads through `array.zarr()` is what libtiledb recorded. Runs alike in Node and in a
// page; `zarr` is the module of zarrita.
import { check, equal, fails, recorded, windowAt } from './cases.mjs';

/** Arrays that tdb cannot read in row-major order: a coordinate that is no number has no place. */
const REFUSED = ['nan_coordinates'];

/** Why something of a fixture is not shown by tdb: what each reason contains. */
const REASONS = [
  'values, and Zarr has no lists',
  "which separates the names of Zarr's keys",
  'Zarr reserves names that begin with two underscores',
  'would be too long for readers that load it whole',
  "has more positions than Zarr's readers count",
  'there is another node of this name',
];

/** What zarrita does not read of what Zarr can say, by the type in version 2, and why. */
const UNREAD = [
  [/^.[Mm]8/, 'it has no dates and times'],
  [/^.V/, 'it has no bytes of a fixed length'],
  [/^vlen-bytes/, 'it has no bytes of any length'],
];

const LE = { STRING_UTF16: 2, STRING_UCS2: 2, STRING_UTF32: 4, STRING_UCS4: 4 };

function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The bytes of a text in a type of TileDB. */
function bytesOfText(text, datatype) {
  const width = LE[datatype];
  if (!width) return new TextEncoder().encode(text);
  const units =
    width === 2
      ? Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
      : Array.from(text, (letter) => letter.codePointAt(0));
  const Units = width === 2 ? Uint16Array : Uint32Array;
  return new Uint8Array(Units.from(units).buffer);
}

/** One text a cell: what zarrita read, in hexadecimal. */
function cellsOf({ data, shape }, axes, datatype) {
  const count = shape.slice(0, axes).reduce((product, side) => product * side, 1);
  if (Array.isArray(data)) return data.map((text) => hexOf(bytesOfText(text, datatype)));
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const width = count === 0 ? 0 : bytes.length / count;
  return Array.from({ length: count }, (_, at) =>
    hexOf(bytes.subarray(at * width, (at + 1) * width)),
  );
}

/** A coordinate of a dimension of integers or dates, as a whole number. */
function whole({ type }, text) {
  const bytes = Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const value = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return type.startsWith('UINT') ? value : BigInt.asIntN(8 * bytes.length, value);
}

/** What a dense query asks for: distances from the low ends of the domain. */
function placeOf(zarr, expected, query) {
  return expected.schema.dimensions.map((dimension, at) => {
    const range = query.ranges?.[at];
    if (!range) return null;
    const first = whole(dimension, dimension.domain[0]);
    const [low, high] = range.map((end) => Number(whole(dimension, end) - first));
    return zarr.slice(low, high + 1);
  });
}

/** A name of a node in a path that zarrita takes for one of a URL. */
const pathOf = (name) => encodeURIComponent(name);

/** The array of a field; a text says why zarrita does not read it. */
async function opened(zarr, store, path, version) {
  if (/[%#?]/.test(path)) return 'it takes names for parts of URLs, and does not find those with %';
  const at = zarr.root(store).resolve(pathOf(path));
  const text = new TextDecoder().decode(await store.get(`/${path}/.zarray`));
  const { dtype, filters } = JSON.parse(text);
  const type = filters ? filters[0].id : dtype;
  const [, why] = UNREAD.find(([pattern]) => pattern.test(type)) ?? [];
  const open = (one) => zarr.open[`v${one}`](at, { kind: 'array' });
  if (why) {
    // Where a later release reads it, the list is wrong.
    const isRead = await open(3).then(
      () => true,
      () => false,
    );
    check(!isRead, `${path}: zarrita reads ${type}`);
    return why;
  }
  // Texts of a fixed length have a type in version 2 alone.
  return /^.[SU]/.test(type) ? open(2) : open(version);
}

/** A field of a query: one text a cell, null for null; or a text that says why it is not read. */
async function field(zarr, store, name, { type }, where, version) {
  const path = name === '' || name === '__attr' ? 'values' : name;
  const array = await opened(zarr, store, path, version);
  if (typeof array === 'string') return array;
  const axes = where.length;
  const selection = [...where, ...Array(array.shape.length - axes).fill(null)];
  // Of an array without cells zarrita reads no part.
  if (array.shape.includes(0)) return [];
  const cells = cellsOf(await zarr.get(array, selection), axes, type);
  const validity = array.attrs.tdb_validity;
  if (validity === undefined) return cells;
  const valid = await opened(zarr, store, validity, version);
  const { data } = await zarr.get(valid, where);
  return cells.map((cell, at) => (data.get(at) ? cell : null));
}

/** Compares one query; what was not read is counted under the reason. */
async function compareQuery(zarr, array, expected, query, version, unread) {
  const what = `${expected.id}, ${query.id}, version ${version}`;
  const isDense = expected.schema.array_type === 'dense';
  // Few cells a chunk, so that columns have several.
  const store = array.zarr({ rows: Math.max(5, Math.ceil(query.cells / 4)) });
  const refused = await store.refused();
  for (const { reason } of refused)
    check(
      REASONS.some((known) => reason.includes(known)),
      `${what}: ${reason}`,
    );
  const paths = refused.map(({ path }) => path);
  const where = isDense ? placeOf(zarr, expected, query) : [null];
  const [found, wanted] = [[], []];
  for (const [name, own] of Object.entries(query.fields)) {
    const path = name === '' || name === '__attr' ? 'values' : name;
    if (paths.includes(path) || paths.includes('')) continue;
    const said = recorded(query.cells, own);
    let cells;
    try {
      cells = await field(zarr, store, name, own, where, version);
    } catch (error) {
      const isNoText = /is not valid STRING/.test(error.message);
      check(isNoText && error.kind === 'unsupported', `${what}, ${name}: ${error.stack}`);
      unread.set('texts that are none', (unread.get('texts that are none') ?? 0) + 1);
      continue;
    }
    if (typeof cells === 'string') {
      unread.set(cells, (unread.get(cells) ?? 0) + 1);
      continue;
    }
    found.push(cells);
    wanted.push(said);
  }
  const rows = (columns) =>
    Array.from({ length: query.cells }, (_, cell) =>
      JSON.stringify(columns.map((values) => values[cell])),
    );
  equal(
    found.map(({ length }) => length),
    found.map(() => query.cells),
    `${what}: cells`,
  );
  const [one, other] = [rows(found), rows(wanted)];
  if (!isDense && query.order !== 'exact') [one, other].forEach((list) => list.sort());
  const differs = one.findIndex((row, at) => row !== other[at]);
  check(differs < 0, `${what}, cell ${differs}: ${one[differs]}, not ${other[differs]}`);
  return found.length * query.cells;
}

/** Every query that Zarr can ask for, of dense arrays, and of every n-th sparse one. */
export async function compareZarr(tdb, zarr, base, ids, every = 1) {
  const total = { arrays: 0, dense: 0, queries: 0, cells: 0 };
  let sparse = 0;
  const [unread, wrong, left] = [new Map(), [], [...ids]];
  const compare = async (id) => {
    const expected = await (await fetch(`${base}/expected/${id}.json`)).json();
    if (REFUSED.includes(id.split('/').at(-1))) return;
    const key = expected.key ? new TextEncoder().encode(expected.key) : undefined;
    const isDense = expected.schema.array_type === 'dense';
    if (!isDense && (sparse += 1) % every > 0) return;
    const arrays = new Map();
    for (const [number, query] of expected.queries.entries()) {
      const isOther = isDense
        ? query.layout !== 'row-major'
        : Boolean(query.ranges) && query.kind === 'subarray';
      if (isOther) continue;
      const times = JSON.stringify(query.timestamps);
      if (!arrays.has(times)) {
        const at = windowAt(query.timestamps);
        const [first] = arrays.values();
        const options = { at, key };
        const array = await (first?.at(at) ?? tdb.openArray(`${base}/arrays/${id}`, options));
        arrays.set(times, array);
      }
      const array = arrays.get(times);
      const cells = await compareQuery(zarr, array, expected, query, 2 + (number % 2), unread);
      total.queries += 1;
      total.cells += cells;
    }
    total.arrays += 1;
    total.dense += isDense ? 1 : 0;
    for (const array of arrays.values()) array.close();
  };
  const next = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop())
      await compare(id).catch((error) => wrong.push(`${id}: ${error.message}`));
  };
  await Promise.all(Array.from({ length: 8 }, next));
  check(wrong.length === 0, wrong.join('\n'));
  const { arrays, dense, queries, cells } = total;
  const reasons = [...unread].map(([why, count]) => `${count} fields: ${why}`).join(', ');
  return (
    `zarrita: ${arrays} arrays (${dense} dense), ${queries} queries, ${cells} cells as libtiledb ` +
    `recorded; not read: ${reasons}`
  );
}

/** What is not about the cells of fixtures. */
export const ZARR = {
  async 'keys, and parts of keys'(tdb, zarr, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/quickstart`, options);
    const store = array.zarr();
    const numbers = (bytes) => bytes && [...new Int32Array(bytes.buffer)];
    equal(numbers(await store.get('/a/c/0/0')), [1, 2, 5, 6], 'a chunk');
    equal(numbers(await store.get('a/0.1')), [3, 4, 7, 8], 'a chunk of version 2');
    const part = (range) => store.getRange('/a/c/0/0', range);
    equal(numbers(await part({ offset: 4, length: 8 })), [2, 5], 'a part');
    equal(numbers(await part({ offset: 12, length: 80 })), [6], 'a part beyond the end');
    equal(numbers(await part({ suffixLength: 8 })), [5, 6], 'the end');
    for (const none of ['/a/c/9/9', '/b/zarr.json', '/a/c/0', '/', '', '/a/../a/zarr.json'])
      equal(await store.get(none), undefined, none);
    equal(await store.getRange('/none', { suffixLength: 1 }), undefined, 'a part of nothing');
    for (const version of [2, 3]) {
      const one = array.zarr({ version });
      const there = await Promise.all(['/a/.zarray', '/a/zarr.json'].map((key) => one.get(key)));
      equal(there.map(Boolean), [version === 2, version === 3], `documents of version ${version}`);
    }
    for (const [run, pattern] of [
      [() => array.zarr({ version: 4 }), /"version" is 4/],
      [() => array.zarr({ rows: 0 }), /"rows" is 0/],
      [() => array.zarr({ formats: 2 }), /no option "formats" \(it has version, rows\)/],
      [() => store.get('/a/zarr.json', { priority: 1 }), /no option "priority"/],
      [() => store.get(5), /"key" is 5/],
      [() => store.get(), /missing/],
      [() => part({ offset: 4 }), /\{ offset, length \} or \{ suffixLength \}/],
      [() => part({ offset: -4, length: 1 }), /whole numbers/],
      [() => part({ suffixLength: 4, offset: 1 }), /whole numbers/],
      [() => part({ from: 4 }), /no option "from"/],
    ])
      await fails(async () => run(), 'query', pattern);
    check(store.stats().requests === array.stats().requests, 'the requests of the store');
    array.close();
    await fails(() => store.get('/a/zarr.json'), 'closed', /closed/);
  },

  async 'a chunk costs the requests of a window'(tdb, zarr, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/quickstart`, options);
    const store = array.zarr();
    const before = array.stats();
    const group = await zarr.open.v3(store, { kind: 'group' });
    const found = await zarr.open.v3(group.resolve('a'), { kind: 'array' });
    equal(array.stats().requests, before.requests, 'requests for documents');
    const { data, shape } = await zarr.get(found, [zarr.slice(0, 2), zarr.slice(0, 2)]);
    equal([[...data], shape], [[1, 2, 5, 6], [2, 2]], 'cells');
    check(array.stats().requests - before.requests <= 1, 'requests for a chunk');
    array.close();
  },

  async 'an array as Zarr at a time, with a key, and by the large module'(tdb, zarr, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/fragments_sparse`, options);
    const lengths = [];
    for (const one of [await array.at(10), await array.at([20, new Date(1e12)]), array]) {
      const [{ name }] = array.schema.attributes;
      const at = zarr.root(one.zarr()).resolve(name);
      lengths.push((await zarr.open(at, { kind: 'array' })).shape);
    }
    equal(lengths.slice(0, 2), [[9], [8]], 'cells at two times');
    array.close();
    const key = new TextEncoder().encode('0123456789abcdeF0123456789abcdeF');
    for (const [name, more] of [
      ['encrypted_sparse', { key }],
      ['filter_chain_dd_bzip2', {}],
    ]) {
      const one = await tdb.openArray(`${base}/arrays/2.30.0/${name}`, { ...options, ...more });
      const at = zarr.root(one.zarr()).resolve(one.schema.attributes[0].name);
      const { data } = await zarr.get(await zarr.open(at, { kind: 'array' }));
      check(data.length > 0, name);
      one.close();
    }
  },

  async 'a group as Zarr has its members, which are opened when they are asked for'(
    tdb,
    zarr,
    base,
    options,
  ) {
    const group = await tdb.openGroup(`${base}/arrays/2.30.0/group_nested`, options);
    const store = group.zarr();
    const before = group.stats().requests;
    equal((await zarr.open(store)).kind, 'group', 'the root');
    equal(store.stats().requests, before, 'requests for the root');
    const decoded = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
    const { metadata } = decoded(await store.get('/.zmetadata'));
    check(store.stats().requests > before, 'requests for the members');
    const arrays = Object.keys(metadata).filter((key) => key.endsWith('/.zarray'));
    check(arrays.length > 0, `no array in ${Object.keys(metadata)}`);
    for (const key of arrays) {
      const path = key.slice(0, -'/.zarray'.length);
      const parents = path.split('/').map((_, at, all) => all.slice(0, at).join('/'));
      for (const parent of parents) {
        const document = parent === '' ? '.zgroup' : `${parent}/.zgroup`;
        equal(metadata[document], { zarr_format: 2 }, document);
      }
      const array = await zarr.open(zarr.root(store).resolve(path), { kind: 'array' });
      equal(array.shape, metadata[key].shape, `${path}: the shape`);
      await zarr.get(array);
    }
    const [end] = [await store.getRange('/.zmetadata', { suffixLength: 1 })];
    equal(new TextDecoder().decode(end), '}', 'the end of a document');
    equal(await store.get('/nobody/zarr.json'), undefined, 'no such member');
    const refused = await store.refused();
    check(Array.isArray(refused), 'what is refused');
    group.close();
    await fails(() => store.get('/zarr.json'), 'closed', /closed/);
  },

  async 'a store is cancelled, and fails, as reads do'(tdb, zarr, base, options) {
    const reason = new Error('enough');
    const array = await tdb.openArray(`${base}/slow/2.30.0/quickstart`, options);
    const store = array.zarr();
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 50);
    const { signal } = controller;
    const begun = performance.now();
    const error = await store.get('/a/c/0/0', { signal }).catch((failure) => failure);
    check(error === reason, `${error}, not the reason`);
    check(performance.now() - begun < 900, 'a cancelled key took long');
    for (const call of [() => store.get('/zarr.json', { signal }), () => store.refused({ signal })])
      check((await call().catch((failure) => failure)) === reason, 'it was aborted before');
    equal((await store.get('/a/c/0/0')).length, 16, 'bytes after it');
    array.close();
    const damaged = await tdb.openArray(`${base}/damaged/2.30.0/quickstart`, options);
    const corrupt = await fails(() => damaged.zarr().get('/a/c/0/0'), 'corrupt', /a0\.tdb/);
    check(corrupt.file.endsWith('/a0.tdb') && typeof corrupt.offset === 'number', corrupt.file);
    damaged.close();
  },
};
