// The tests that run alike in Node and in a page. They use nothing but the package and `fetch`.

export function check(condition, what) {
  if (!condition) throw new Error(what);
}

export function equal(found, expected, what) {
  const text = (value) =>
    JSON.stringify(value, (_, own) => (typeof own === 'bigint' ? `${own}n` : own));
  check(text(found) === text(expected), `${what}: ${text(found)}, not ${text(expected)}`);
}

export async function fails(run, kind, pattern) {
  try {
    await run();
  } catch (error) {
    check(
      error.name === 'TdbError' && error.kind === kind,
      `${error.name} ${error.kind}, not ${kind}: ${error.message}`,
    );
    check(pattern.test(error.message), `${error.message}, not ${pattern}`);
    return error;
  }
  throw new Error(`nothing failed, where ${pattern} was expected`);
}

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** One text a cell: the value in hexadecimal, or null. */
function column(length, data, offsets, validity) {
  const width = length === 0 ? 0 : data.length / length;
  return Array.from({ length }, (_, cell) => {
    if (validity && validity[cell] === 0) return null;
    const [start, end] = offsets
      ? [offsets[cell], offsets[cell + 1]]
      : [cell * width, (cell + 1) * width];
    return hexOf(data.subarray(start, end));
  });
}

function ours(found) {
  const { values, offsets, validity } = found;
  const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return column(
    found.length,
    data,
    offsets && offsets.map((at) => at * values.BYTES_PER_ELEMENT),
    validity,
  );
}

/** The same of a field in a fixture's JSON, whose offsets lack the last one. */
export function recorded(length, field) {
  const data = bytesOf(field.data);
  const list = field.offsets == null ? null : bytesOf(field.offsets);
  const view = list && new DataView(list.buffer);
  const offsets = list && [
    ...Array.from({ length }, (_, cell) => Number(view.getBigUint64(8 * cell, true))),
    data.length,
  ];
  return column(length, data, offsets, field.validity == null ? null : bytesOf(field.validity));
}

function rows(length, columns) {
  return Array.from({ length }, (_, cell) => JSON.stringify(columns.map((values) => values[cell])));
}

/** A coordinate in hexadecimal, as a value. */
function coordinate({ type }, text) {
  const bytes = Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  if (type.startsWith('STRING')) return bytes;
  const view = new DataView(bytes.buffer);
  if (type === 'FLOAT32') return view.getFloat32(0, true);
  if (type === 'FLOAT64') return view.getFloat64(0, true);
  const [size, isUnsigned] = [bytes.length, type.startsWith('UINT') || type === 'BOOL'];
  const methods = { 1: 'Int8', 2: 'Int16', 4: 'Int32', 8: 'BigInt64' };
  const name = methods[size];
  return view[`get${isUnsigned ? name.replace('Int', 'Uint') : name}`](0, true);
}

/** The bits of a scalar of the package, in hexadecimal. */
function bitsOf(datatype, value) {
  if (typeof value === 'string') return hexOf(new TextEncoder().encode(value));
  const view = new DataView(new ArrayBuffer(8));
  if (datatype === 'FLOAT32') view.setFloat32(0, value, true);
  else if (datatype === 'FLOAT64') view.setFloat64(0, value, true);
  else view.setBigInt64(0, BigInt(value), true);
  const size =
    { FLOAT32: 4 }[datatype] ??
    (typeof value === 'bigint' || datatype === 'FLOAT64'
      ? 8
      : Number(/\d+$/.exec(datatype)?.[0] ?? 64) / 8);
  return hexOf(new Uint8Array(view.buffer, 0, size));
}

export function windowAt([start, end]) {
  return [start ?? 0, end ?? Date.now()];
}

/** Every recorded query of an array that can be asked for. The number of queries and cells. */
export async function compareArray(tdb, base, id, options = {}) {
  const expected = await (await fetch(`${base}/expected/${id}.json`)).json();
  const key = expected.key ? new TextEncoder().encode(expected.key) : undefined;
  const arrays = new Map();
  const at = async (times) => {
    const name = JSON.stringify(times);
    if (!arrays.has(name)) {
      const [first] = arrays.values();
      const window = windowAt(times);
      arrays.set(
        name,
        first
          ? await first.at(window)
          : await tdb.openArray(`${base}/arrays/${id}`, { at: window, key, ...options }),
      );
    }
    return arrays.get(name);
  };
  let [queries, cells] = [0, 0];
  for (const query of expected.queries) {
    const what = `${id}, ${query.id}`;
    const array = await at(query.timestamps);
    const { dimensions } = expected.schema;
    const ranges = {};
    (query.ranges ?? []).forEach((range, index) => {
      if (range)
        ranges[dimensions[index].name] = range.map((end) => coordinate(dimensions[index], end));
    });
    const fields = Object.keys(query.fields);
    const found = await array.read({ fields, ranges, order: query.layout });
    equal(found.length, query.cells, `${what}: cells`);
    const one = rows(found.length, found.columns.map(ours));
    const other = rows(
      query.cells,
      fields.map((name) => recorded(query.cells, query.fields[name])),
    );
    // If the order is exact, cells are compared by position, otherwise as a set.
    if (query.order !== 'exact') [one, other].forEach((list) => list.sort());
    const differs = one.findIndex((row, index) => row !== other[index]);
    check(differs < 0, `${what}, cell ${differs}: ${one[differs]}, not ${other[differs]}`);
    queries += 1;
    cells += found.length;
  }
  // Other releases were not asked for more.
  if (expected.reader === 'libtiledb 2.30.0')
    await compareDescription(await at([null, null]), expected);
  for (const array of arrays.values()) array.close();
  return { queries, cells };
}

async function compareDescription(array, expected) {
  const what = `${expected.id}: `;
  const { schema } = array;
  equal(schema.type, expected.schema.array_type, `${what}type`);
  equal(
    schema.dimensions.map(({ name, datatype }) => [name, datatype]),
    expected.schema.dimensions.map(({ name, type }) => [name, type]),
    `${what}dimensions`,
  );
  equal(
    schema.attributes.map(({ name, datatype, nullable }) => [name, datatype, nullable]),
    expected.schema.attributes.map(({ name, type, nullable }) => [name, type, nullable]),
    `${what}attributes`,
  );
  const domain = await array.nonEmptyDomain();
  const bits =
    domain &&
    domain.map((ends, index) => ends.map((end) => bitsOf(schema.dimensions[index].datatype, end)));
  // libtiledb's has NaN where some coordinate is; tdb says where the others are.
  // Texts that are not UTF-8 cannot be compared by their bytes.
  const isOther = (end) => Number.isNaN(end) || String(end).includes('\ufffd');
  if (!domain?.flat().some(isOther))
    equal(bits, expected.non_empty_domain, `${what}non-empty domain`);
  const fragments = await array.fragments();
  equal(
    fragments.map(({ name, dense }) => [name, dense]),
    expected.fragments.map(({ name, dense }) => [name, dense]),
    `${what}fragments`,
  );
  const metadata = await array.metadata();
  const named = (items, type) => items.map((item) => [item.key, item[type]]);
  equal(named(metadata, 'datatype'), named(expected.metadata, 'type'), `${what}metadata`);
  for (const { name, type, data } of expected.schema.enumerations ?? []) {
    const { datatype, values } = await array.enumeration(name);
    equal(datatype, type, `${what}enumeration`);
    if (type.startsWith('STRING'))
      equal(values.join(''), new TextDecoder().decode(bytesOf(data)), `${what}enumeration`);
  }
}

/** Many arrays, some of them at once. */
export async function compareAll(tdb, base, ids, options = {}) {
  const total = { arrays: 0, queries: 0, cells: 0 };
  const left = [...ids];
  const next = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const { queries, cells } = await compareArray(tdb, base, id, options);
      total.arrays += 1;
      total.queries += queries;
      total.cells += cells;
    }
  };
  await Promise.all(Array.from({ length: 8 }, next));
  const { arrays, queries, cells } = total;
  return `${arrays} arrays, ${queries} queries, ${cells} cells as libtiledb recorded`;
}

/** What is not about the cells of fixtures. */
export const CASES = {
  async 'windows, conditions, orders and limits'(tdb, base, options) {
    const array = await tdb.open(`${base}/arrays/2.30.0/quickstart/`, options);
    equal(
      [array.kind, array.schema.type, array.schema.dimensions[0].domain],
      ['array', 'dense', [1, 4]],
      'schema',
    );
    const window = await array.read({ fields: ['a'], ranges: { rows: [2, 3], cols: 1 } });
    equal(
      [window.shape, [...window.column('a').values]],
      [
        [2, 1],
        [5, 9],
      ],
      'a window',
    );
    const points = await array.read({
      fields: ['a'],
      ranges: {
        rows: [
          [4, 4],
          [1, 1],
        ],
        cols: { from: 1, to: 4, step: 2 },
      },
    });
    equal([...points.column('a').values], [13, 15, 1, 3], 'points');
    const some = await array.read({ fields: ['a'], where: 'a > 14', selection: true });
    equal(
      [...some.selected].reduce((sum, one) => sum + one),
      2,
      'selected',
    );
    const first = await array.read({ limit: 5 });
    equal(
      [first.length, first.shape, [...first.column('a').values]],
      [5, null, [1, 2, 3, 4, 5]],
      'a limit',
    );
    equal((await array.read({ limit: 0 })).length, 0, 'no cell');
    equal((await array.read({ order: 'col-major' })).column('a').get(1), 5, 'an order');
    equal(
      await array.aggregate({ aggregates: ['count', 'sum(a)', 'mean(a)'] }),
      { count: 16n, 'sum(a)': 136n, 'mean(a)': 8.5 },
      'aggregates',
    );
    check(array.stats().requests >= 4 && array.stats().bytes > 0, 'stats');
    check(window.stats.requests <= 1 && window.stats.rounds <= 1, 'the requests of a window');
    array.close();
    await fails(() => array.read(), 'closed', /closed/);
  },

  async 'strings, nulls, enumerations and groups of equal values'(tdb, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/nullable_types`, options);
    const cells = await array.read();
    for (const column of cells.columns) {
      equal(column.toArray().length, cells.length, column.name);
      column
        .toArray()
        .forEach((value, cell) =>
          check((value === null) === column.isNull(cell), `${column.name}: null`),
        );
    }
    const points = await tdb.openArray(`${base}/arrays/2.30.0/sparse2d_rr`, options);
    const grouped = await points.aggregate({
      aggregates: ['count', 'sum(a)'],
      groupBy: ['x'],
      ranges: { x: [1, 9] },
    });
    const names = grouped.columns.map(({ name }) => name);
    equal(names, ['x', 'count', 'sum(a)'], 'columns of groups');
    equal(
      Array.from({ length: grouped.length }, (_, cell) => Object.values(grouped.row(cell))).sort(
        ([one], [other]) => one - other,
      ),
      [
        [1, 1n, 2147483647n],
        [2, 1n, -38n],
        [4, 1n, -14n],
        [5, 1n, -2099405423n],
        [6, 2n, 2147483659n],
        [7, 1n, 19n],
        [9, 1n, 10n],
      ],
      'groups',
    );
    array.close();
    points.close();
  },

  async 'batches are the cells of a read, and a loop can be left'(tdb, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/rtree_3_levels`, options);
    const whole = await array.read({ order: 'row-major' });
    const [parts, rowsOf] = [
      [],
      (cells) => Array.from({ length: cells.length }, (_, cell) => Object.values(cells.row(cell))),
    ];
    let batches = 0;
    for await (const cells of array.batches({ order: 'row-major', batchBytes: 16384 })) {
      parts.push(...rowsOf(cells));
      batches += 1;
    }
    check(batches > 1, 'there is one batch only');
    equal(parts, rowsOf(whole), 'batches');
    for await (const cells of array.batches({ batchBytes: 16384 })) {
      check(cells.length > 0, 'an empty batch');
      break;
    }
    equal((await array.read({ order: 'row-major', limit: 3 })).length, 3, 'a limit');
    array.close();
  },

  async 'time travel'(tdb, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/fragments_sparse`, {
      ...options,
      at: 10,
    });
    equal((await array.read()).length, 9, 'until 10');
    equal((await array.fragments()).length, 1, 'fragments');
    const requests = array.stats().requests;
    const later = await array.at([20, new Date(1e12)]);
    equal((await later.read()).length, 8, 'from 20 on');
    equal((await array.read()).length, 9, 'until 10, again');
    check(requests >= 3, 'requests');
  },

  async 'the large module is loaded where an array needs it'(tdb, base, options) {
    for (const [name, key] of [
      ['filter_chain_dd_bzip2'],
      ['filter_webp'],
      ['encrypted_sparse', '0123456789abcdeF0123456789abcdeF'],
    ]) {
      const array = await tdb.openArray(`${base}/arrays/2.30.0/${name}`, {
        ...options,
        key: key && new TextEncoder().encode(key),
      });
      check((await array.read()).length > 0, name);
      array.close();
    }
    await fails(
      () => tdb.open(`${base}/arrays/2.30.0/encrypted_sparse`, options),
      'unsupported',
      /key/,
    );
    await fails(
      () =>
        tdb.open(`${base}/arrays/2.30.0/encrypted_sparse`, { ...options, key: new Uint8Array(3) }),
      'query',
      /32 bytes/,
    );
  },

  async 'groups and their members'(tdb, base, options) {
    const group = await tdb.open(`${base}/arrays/2.30.0/group_flat`, options);
    equal(group.kind, 'group', 'kind');
    const members = group.members();
    check(members.length > 0 && Array.isArray(await group.metadata()), 'members');
    for (const member of members.filter(
      ({ type, url }) => type === 'array' && url.startsWith(base),
    )) {
      equal((await group.open(member)).kind, 'array', member.url);
    }
    await fails(() => group.open('nobody'), 'query', /no member "nobody"/);
    await fails(
      () => tdb.openArray(`${base}/arrays/2.30.0/group_flat`, options),
      'not-found',
      /a group, not an array/,
    );
  },

  async 'servers that ignore ranges, are busy, or list as buckets do'(tdb, base, options) {
    for (const root of ['plain', 'busy', 'bucket']) {
      const list = root === 'bucket' ? `${base}/bucket` : undefined;
      const array = await tdb.openArray(`${base}/${root}/2.30.0/fragments_dense`, {
        ...options,
        list,
      });
      check((await array.read()).length > 0, root);
      array.close();
    }
  },

  async 'failures are typed, and name the file'(tdb, base, options) {
    await fails(
      () => tdb.open(`${base}/bare/2.30.0/quickstart`, options),
      'listing',
      /tdb publish/,
    );
    await fails(() => tdb.open(`${base}/nothing/here`, options), 'listing', /tdb publish/);
    await fails(
      () => tdb.open(`${base}/arrays/2.30.0`, options),
      'not-found',
      /not a TileDB array/,
    );
    await fails(() => tdb.open('ftp://host/array', options), 'unsupported', /http/);
    await fails(
      () => tdb.open(`${base}/arrays/2.30.0/quickstart`, { ...options, speed: 9 }),
      'query',
      /no option "speed"/,
    );
    const gone = await fails(
      () => tdb.open('http://127.0.0.1:9/array', options),
      'network',
      /the request failed/,
    );
    check(gone.file.startsWith('http://127.0.0.1:9/'), gone.file);
    const array = await tdb.openArray(`${base}/damaged/2.30.0/quickstart`, options);
    const damaged = await fails(() => array.read(), 'corrupt', /a0\.tdb/);
    check(
      damaged.file.endsWith('/a0.tdb') && typeof damaged.offset === 'number',
      `${damaged.file}, ${damaged.offset}`,
    );
    await fails(() => array.read({ fields: ['b'] }), 'query', /no field "b"/);
    await fails(() => array.read({ ranges: { rows: ['x', 1] } }), 'query', /not an integer/);
    await fails(() => array.read({ where: 'a >' }), 'query', /condition/);
    await fails(() => array.read({ rows: 1 }), 'query', /no option "rows"/);
    await fails(() => array.arrow({ selection: true }), 'query', /no option "selection"/);
    await fails(() => array.read([]), 'query', /an object of options/);
    await fails(() => array.read({ ranges: new Map([['rows', 1]]) }), 'query', /an object/);
    for (const [option, pattern] of [
      [{ where: NaN }, /"where" is NaN, where a text is expected/],
      [{ fields: new Set(['a']) }, /"fields"/],
      [{ order: 1 }, /"order" is 1/],
      [{ signal: {} }, /"signal".* an AbortSignal/],
      ...[NaN, 'x', null, 2.5, -1].map((limit) => [{ limit }, /"limit".* a number of cells/]),
    ]) {
      await fails(() => array.read(option), 'query', pattern);
      await fails(() => array.batches(option).next(), 'query', pattern);
      await fails(() => array.arrow(option), 'query', pattern);
    }
    await fails(() => array.batches({ batchBytes: NaN }).next(), 'query', /"batchBytes" is NaN/);
    const aggregates = ['count'];
    await fails(() => array.aggregate({ aggregates: 'count' }), 'query', /a list of aggregates/);
    await fails(() => array.aggregate({ aggregates, maxGroups: 5 }), 'query', /needs "groupBy"/);
    await fails(() => array.aggregate({ aggregates, groupBy: [] }), 'query', /"groupBy" is \[\]/);
    await fails(() => array.at([1, 2, 3]), 'query', /two of them, not 3/);
    await fails(() => array.enumeration('e'), 'query', /no enumeration "e"/);
  },

  async 'options of opening work, or are refused by name'(tdb, base, options) {
    const url = `${base}/arrays/2.30.0/quickstart`;
    const open = (more) => tdb.open(url, { ...options, ...more });
    for (const [more, pattern] of [
      [{ concurrency: 1.5 }, /"concurrency" is 1.5/],
      [{ concurrency: 0 }, /"concurrency" is 0/],
      [{ modules: { large: url } }, /no option "large" \(it has core, full\)/],
      [{ modules: { core: 5 } }, /"modules.core" is 5/],
      [{ headers: 'Accept: */*' }, /"headers"/],
      [{ headers: { 'a b': 'c' } }, /"headers"/],
      [{ fetch: 'fetch' }, /"fetch" is fetch/],
      [{ worker: 1 }, /"worker" is 1/],
      [{ list: 'https://host/bucket?key=1' }, /"list"/],
      [{ list: true }, /"list" is true/],
    ])
      await fails(() => open(more), 'query', pattern);
    const secret = url.replace('//', '//user:hidden@');
    for (const run of [() => tdb.open(secret, options), () => open({ list: secret })]) {
      const { message } = await fails(run, 'query', /user name or password.*"headers"/);
      check(!message.includes('hidden'), message);
    }
    for (const headers of [new Headers({ 'X-Own': '1' }), new Map([['X-Own', '1']])]) {
      const seen = [];
      const fetching = (place, init) => {
        seen.push(new Headers(init.headers).get('X-Own'));
        return fetch(place, { ...init, headers: { Range: init.headers.Range ?? 'bytes=0-' } });
      };
      const array = await open({ headers, fetch: fetching });
      equal([...new Set(seen)], ['1'], 'headers');
      array.close();
    }
    const nothing = async () => new Response('', { status: 404 });
    await fails(
      () => tdb.open('https://bucket.s3.amazonaws.com/a%zz', { ...options, fetch: nothing }),
      'query',
      /the % in "a%zz" begins no escape/,
    );
  },

  async 'ranges are dates, points and steps'(tdb, base, options) {
    const times = await tdb.openArray(`${base}/arrays/2.30.0/sparse_dim_datetime_ns`, options);
    const [first] = (await times.read({ fields: ['x'], limit: 1 })).column('x').values;
    check(first % 1000000n > 0n, `${first} is a whole millisecond`);
    const date = new Date(Number(first / 1000000n));
    for (const x of [date, [date, date], [null, date]]) {
      const found = await times.read({ fields: ['x'], ranges: { x } });
      equal([...found.column('x').values], [first], 'the nanoseconds of a millisecond');
    }
    await fails(() => times.read({ ranges: { x: new Date(NaN) } }), 'query', /invalid Date/);
    await fails(() => times.read({ ranges: { t: date } }), 'query', /no such dimension/);
    times.close();
    const array = await tdb.openArray(`${base}/arrays/2.30.0/quickstart`, options);
    const rows = async (selection) => [
      ...(await array.read({ ranges: { rows: selection, cols: 1 } })).column('a').values,
    ];
    equal(await rows({ from: 2, to: 4n, step: 1 }), [5, 9, 13], 'a step of one');
    equal(await rows({ from: 1, to: 4, step: 2 }), [1, 9], 'a step of two');
    for (const [selection, pattern] of [
      [{ from: 1 }, /"to" is undefined/],
      [{ from: 1, to: 2.5, step: 1 }, /"to" is 2.5/],
      [{ from: 4, to: 1, step: 1 }, /empty: 4 is after 1/],
      [{ from: 1, to: 4, step: 0 }, /step is not above 0/],
      [{ from: 0, to: 2n ** 62n, step: 2 }, /more than 1000000/],
    ])
      await fails(() => array.read({ ranges: { rows: selection } }), 'query', pattern);
    array.close();
  },

  async 'members of a group are opened below it, whatever their names are'(tdb) {
    const opened = [];
    const context = {
      url: 'https://host/group',
      search: '?sig=1',
      options: { headers: { Own: '1' } },
      open: (url, { headers }) => opened.push([url, headers?.Own]),
    };
    const member = ([name, uri, relative]) => ({ name, type: 'array', uri, relative });
    const members = [
      ['hash', 'in/a#1', true],
      ['escape', '%2e%2e/dn', true],
      ['question', 'a?b', true],
      ['up', 'in/../../dn', true],
      ['absolute', 'https://host/group/in/a', false],
      ['hidden up', 'https://host/group/%2e%2e/dn', false],
      ['away', 'https://other/a', false],
      ['file', 'file:///group/a', false],
    ].map(member);
    const document = { kind: 'group', timeRange: ['0', '0'], members, metadata: [] };
    const group = new tdb.TdbGroup({ opened() {} }, 1, context, document, new ArrayBuffer(8), 8);
    for (const name of ['hash', 'escape', 'question', 'absolute', 'hidden up', 'away'])
      await group.open(name);
    equal(
      opened,
      [
        ['https://host/group/in/a%231?sig=1', '1'],
        ['https://host/group/%252e%252e/dn?sig=1', '1'],
        ['https://host/group/a%3Fb?sig=1', '1'],
        ['https://host/group/in/a?sig=1', '1'],
        ['https://host/dn', null],
        ['https://other/a', null],
      ],
      'opened',
    );
    await fails(() => group.open('up'), 'corrupt', /outside of its group/);
    await fails(() => group.open('file'), 'unsupported', /not read by HTTP/);
  },

  async 'what is cancelled ends at once, and others go on'(tdb, base, options) {
    const reason = new Error('enough');
    const cancelled = async (run) => {
      const controller = new AbortController();
      const begun = performance.now();
      setTimeout(() => controller.abort(reason), 50);
      const error = await run(controller.signal).then(
        () => null,
        (failure) => failure,
      );
      check(error === reason, `${error}, not the reason`);
      check(performance.now() - begun < 900, `it took ${performance.now() - begun} ms`);
    };
    await cancelled((signal) => tdb.open(`${base}/slow/2.30.0/quickstart`, { ...options, signal }));
    const array = await tdb.openArray(`${base}/slow/2.30.0/quickstart`, options);
    await cancelled((signal) => array.read({ signal }));
    await cancelled(async (signal) => {
      for await (const cells of array.batches({ signal })) check(cells.length > 0, 'cells');
    });
    equal((await array.read()).length, 16, 'cells after it');
    const signal = AbortSignal.abort(reason);
    for (const call of ['read', 'metadata', 'fragments', 'nonEmptyDomain', 'arrow'])
      check((await array[call]({ signal }).catch((error) => error)) === reason, `${call}, aborted`);
    array.close();
    // Between two batches nothing is under way that could end.
    const many = await tdb.openArray(`${base}/arrays/2.30.0/rtree_3_levels`, options);
    const controller = new AbortController();
    let batches = 0;
    const loop = async () => {
      for await (const cells of many.batches({ batchBytes: 16384, signal: controller.signal })) {
        batches += cells.length > 0 ? 1 : 0;
        controller.abort(reason);
      }
    };
    check((await loop().catch((error) => error)) === reason, 'the loop goes on');
    equal(batches, 1, 'batches');
    many.close();
  },

  async 'a stream of Arrow has its schema, its batches and its end'(tdb, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/nullable_types`, options);
    const stream = await array.arrow();
    const view = new DataView(stream.buffer);
    const messages = [];
    // Each message: its size, a table with its kind and the length of its body.
    for (let at = 0; ;) {
      equal(view.getInt32(at, true), -1, `the mark at ${at}`);
      const size = view.getInt32(at + 4, true);
      if (size === 0) break;
      const table = at + 8 + view.getInt32(at + 8, true);
      const fields = table - view.getInt32(table, true);
      const field = (number) => table + view.getInt16(fields + 4 + 2 * number, true);
      messages.push([view.getInt16(field(0), true), view.getInt8(field(1))]);
      at += 8 + size + Number(view.getBigInt64(field(3), true));
    }
    equal(
      messages,
      [
        [4, 1],
        [4, 3],
      ],
      'messages',
    );
    equal(stream.length % 8, 0, 'the length');
    const text = new TextDecoder('latin1').decode(stream);
    for (const { name } of array.schema.attributes) check(text.includes(name), name);
    for (const none of [{ limit: 0 }, { limit: 0, batchBytes: 65536 }]) {
      const schema = new TextDecoder('latin1').decode(await array.arrow(none));
      for (const { name } of array.schema.attributes) check(schema.includes(name), name);
    }
    array.close();
  },

  async 'many queries at once on one array'(tdb, base, options) {
    const array = await tdb.openArray(`${base}/arrays/2.30.0/quickstart`, options);
    const reads = Array.from({ length: 20 }, (_, index) =>
      array.read({ fields: ['a'], ranges: { rows: 1 + (index % 4) } }),
    );
    (await Promise.all(reads)).forEach((cells, index) =>
      equal(cells.column('a').get(0), 1 + 4 * (index % 4), 'a row'),
    );
    array.close();
  },
};
