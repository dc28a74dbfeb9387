// Made arrays, by the path of their address.

const field = (name, datatype, more = {}) => ({
  name,
  datatype,
  cellValNum: datatype.startsWith('STRING') ? null : 1,
  nullable: false,
  filters: [{ name: 'byteshuffle' }, { name: 'zstd', level: 5 }],
  enumeration: null,
  fill: 0,
  order: 'unordered',
  ...more,
});
const dimension = (name, datatype, domain, tile) => ({
  name,
  datatype,
  domain,
  tile,
  currentDomain: null,
  filters: [{ name: 'zstd', level: 5 }],
});
const schema = (type, dimensions, attributes) => ({
  type,
  version: 22,
  dimensions,
  attributes,
  labels: [],
  cellOrder: 'row-major',
  tileOrder: 'row-major',
  capacity: 10000,
  allowsDuplicates: false,
  offsetsFilters: [],
  validityFilters: [],
});
const fragment = (time, dense, cells, bytes, nonEmptyDomain) => ({
  name: `__${time}_${time}_5fdfd3142ba463c4c3c6a9aaea6db38${time % 10}_22`,
  timeRange: [time, time],
  dense,
  version: 22,
  cells,
  bytes,
  nonEmptyDomain,
});

/** The same numbers every time. */
function random(seed) {
  let at = seed;
  return () => {
    at = (at * 1664525 + 1013904223) % 4294967296;
    return at / 4294967296;
  };
}
const gauss = (next) => Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());

const DAY = 86400000;
const START = Date.UTC(2024, 0, 5);
const hill = (x, y, cx, cy, wide, high) =>
  high * Math.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * wide * wide));

function raster() {
  const steps = [0, 30, 61, 95].map((days) => START + days * DAY);
  const cell = ({ row, column }, at) => {
    const writes = steps.filter((time) => time <= at).length;
    if (writes === 0 || (writes < 3 && column >= 400)) return { empty: true, height: 0 };
    const waves =
      60 * Math.sin(row / 40 + writes) * Math.cos(column / 55) + 12 * Math.sin((row + column) / 9);
    return {
      height:
        Math.round(
          10 *
            (400 +
              waves +
              hill(column, row, 420, 150, 90, 900) +
              hill(column, row, 180, 260, 50, 500 + 80 * writes)),
        ) / 10,
    };
  };
  return {
    schema: schema(
      'dense',
      [dimension('row', 'INT32', [0, 399], 50), dimension('column', 'INT32', [0, 599], 100)],
      [field('height', 'FLOAT32')],
    ),
    nonEmpty: [
      [0, 399],
      [0, 599],
    ],
    cell,
    fragments: steps.map((time, at) =>
      fragment(time, true, at < 2 ? 160000 : 240000, at < 2 ? 310000 : 470000, [
        [0, 399],
        [0, at < 2 ? 399 : 599],
      ]),
    ),
    metadata: [
      { key: 'unit', datatype: 'STRING_UTF8', value: 'metres' },
      { key: 'source', datatype: 'STRING_UTF8', value: 'made' },
    ],
  };
}

function cube() {
  const days = [19723n, 19783n];
  return {
    schema: schema(
      'dense',
      [
        dimension('day', 'DATETIME_DAY', days, 10n),
        dimension('lat', 'INT32', [0, 89], 30),
        dimension('lon', 'INT32', [0, 179], 60),
      ],
      [field('heat', 'FLOAT32'), field('kind', 'UINT8', { enumeration: 'kinds' })],
    ),
    nonEmpty: [days, [0, 89], [0, 179]],
    enumerations: { kinds: ['sea', 'coast', 'land', 'ice'] },
    cell: ({ day, lat, lon }) => {
      const heat =
        30 -
        Math.abs(lat - 45) / 1.6 +
        6 * Math.sin(Number(day) / 9 + lon / 25) +
        hill(lon, lat, 60, 40, 18, 9);
      return { heat, kind: heat < 3 ? 3 : heat > 31 ? 2 : heat > 27 ? 1 : 0 };
    },
    fragments: [fragment(START, true, 61 * 16200, 1900000, [days, [0, 89], [0, 179]])],
  };
}

function huge() {
  const last = 999999n;
  return {
    schema: schema(
      'dense',
      [
        dimension('row', 'INT64', [0n, last], 1000n),
        dimension('column', 'INT64', [0n, last], 1000n),
      ],
      [field('value', 'FLOAT64')],
    ),
    nonEmpty: [
      [0n, last],
      [0n, last],
    ],
    cell: ({ row, column }) => ({
      value:
        Math.sin(Number(row) / 160000) * Math.cos(Number(column) / 120000) +
        0.1 * Math.sin(Number(row + column) / 300),
    }),
    fragments: [
      fragment(START, true, 1e12, 4.1e12, [
        [0n, last],
        [0n, last],
      ]),
    ],
  };
}

function points() {
  const next = random(7);
  const centres = [
    [5.9, 47.2, 0.5],
    [8.5, 47.4, 0.25],
    [7.4, 46.9, 0.3],
    [9, 46.2, 0.6],
    [6.6, 46.5, 0.35],
  ];
  const rows = Array.from({ length: 60000 }, (_, at) => {
    const [lon, lat, wide] = centres[Math.floor(next() ** 1.6 * centres.length)];
    return {
      lon: lon + gauss(next) * wide,
      lat: lat + gauss(next) * wide * 0.6,
      speed: Math.abs(gauss(next)) * 30 + lat,
      time: at % 3 === 0 ? START : START + 12 * DAY,
    };
  });
  const bounds = (name) => [
    rows.reduce((a, row) => Math.min(a, row[name]), Infinity),
    rows.reduce((a, row) => Math.max(a, row[name]), -Infinity),
  ];
  const [lon, lat] = [bounds('lon'), bounds('lat')];
  return {
    schema: schema(
      'sparse',
      [dimension('lon', 'FLOAT64', [-180, 180], 1), dimension('lat', 'FLOAT64', [-90, 90], 1)],
      [field('speed', 'FLOAT32')],
    ),
    nonEmpty: [lon, lat],
    rows,
    fragments: [
      fragment(START, false, 20000, 390000, [
        [lon[0], lon[1] - 0.4],
        [lat[0] + 0.2, lat[1]],
      ]),
      fragment(START + 12 * DAY, false, 40000, 730000, [lon, lat]),
    ],
  };
}

function table() {
  const next = random(3);
  const names = ['Bern', 'Zürich', 'Genève', 'Lugano', "L'Aquila", 'São Paulo', 'Łódź'];
  const day = 19723n;
  const rows = Array.from({ length: 730 }, (_, at) => ({
    station: names[at % names.length],
    day: day + BigInt(Math.floor(at / 2)),
    heat:
      next() < 0.08 ? null : Math.round((14 + 10 * Math.sin(at / 110) + 3 * gauss(next)) * 10) / 10,
    sky: at % 11 === 0 ? null : Math.floor(next() ** 2 * 4),
    note: next() < 0.2 ? 'checked by hand' : next() < 0.1 ? '' : 'automatic',
    seen: (day + BigInt(Math.floor(at / 2))) * 86400n + BigInt(Math.floor(next() * 86400)),
    wet: next() < 0.3 ? 1 : 0,
  })).sort((a, b) => (a.station < b.station ? -1 : a.station > b.station ? 1 : 0));
  return {
    schema: schema(
      'sparse',
      [
        dimension('station', 'STRING_ASCII', null, null),
        dimension('day', 'DATETIME_DAY', [18262n, 22000n], 30n),
      ],
      [
        field('heat', 'FLOAT32', { nullable: true }),
        field('sky', 'UINT8', { nullable: true, enumeration: 'skies' }),
        field('note', 'STRING_UTF8'),
        field('seen', 'DATETIME_SEC'),
        field('wet', 'BOOL'),
      ],
    ),
    nonEmpty: [
      ['Bern', 'Łódź'],
      [day, day + 364n],
    ],
    rows,
    enumerations: { skies: ['clear', 'cloudy', 'rain', 'snow'] },
    fragments: [
      fragment(START, false, 730, 12400, [
        ['Bern', 'Łódź'],
        [day, day + 364n],
      ]),
    ],
    metadata: [{ key: 'licence', datatype: 'STRING_UTF8', value: 'CC0' }],
  };
}

function line() {
  return {
    schema: schema(
      'dense',
      [dimension('time', 'DATETIME_SEC', [1704067200n, 1704067200n + 86399n], 3600n)],
      [field('volts', 'FLOAT64')],
    ),
    nonEmpty: [[1704067200n, 1704067200n + 86399n]],
    cell: ({ time }) => ({
      volts: 230 + 4 * Math.sin(Number(time) / 4000) + 1.5 * Math.sin(Number(time) * 12.9898),
    }),
    fragments: [fragment(START, true, 86400, 410000, [[1704067200n, 1704067200n + 86399n]])],
  };
}

function hostile() {
  const bad = [
    '<img src=x onerror="window.hacked=1">',
    '<script>window.hacked=1</script>',
    '"><svg onload=window.hacked=1>',
    "'; DROP TABLE cells; --",
    'javascript:window.hacked=1',
  ];
  const rows = bad
    .map((text, at) => ({ '<b>key</b>': text, 'a"b\'c': text.repeat(2), kind: at, time: START }))
    .sort((a, b) => (a['<b>key</b>'] < b['<b>key</b>'] ? -1 : 1));
  return {
    schema: schema(
      'sparse',
      [dimension('<b>key</b>', 'STRING_ASCII', null, null)],
      [field('a"b\'c', 'STRING_UTF8'), field('kind', 'INT32', { enumeration: '<i>e</i>' })],
    ),
    nonEmpty: [[rows[0]['<b>key</b>'], rows.at(-1)['<b>key</b>']]],
    rows,
    enumerations: { '<i>e</i>': bad },
    fragments: [
      fragment(START, false, 5, 900, [[rows[0]['<b>key</b>'], rows.at(-1)['<b>key</b>']]]),
    ],
    metadata: bad.map((value, at) => ({ key: `${at}<u>`, datatype: 'STRING_UTF8', value })),
  };
}

const kinds = [
  'B cells',
  'CD14+ monocytes',
  'CD4 T cells',
  'CD8 T cells',
  'Dendritic cells',
  'FCGR3A+ monocytes',
  'Megakaryocytes',
  'NK cells',
];
const genes = ['MS4A1', 'CD14', 'IL7R', 'CD8A', 'FCER1A', 'FCGR3A', 'PPBP', 'GNLY', 'LYZ', 'NKG7'];
let made = null;
function experiment() {
  if (made) return made;
  const next = random(11);
  const cells = Array.from({ length: 2700 }, (_, at) => {
    const kind = Math.floor(next() ** 1.4 * 8);
    const turn = (kind / 8) * 2 * Math.PI;
    return {
      id: BigInt(at),
      kind,
      x: 8 * Math.cos(turn) + gauss(next) * 1.1 + kind,
      y: 7 * Math.sin(turn) + gauss(next) * 1.2,
      counts: Math.floor(1500 + 700 * Math.abs(gauss(next))),
    };
  });
  const umap = cells.flatMap(({ id, x, y }) => [
    { soma_dim_0: id, soma_dim_1: 0n, soma_data: x },
    { soma_dim_0: id, soma_dim_1: 1n, soma_data: y },
  ]);
  const x = cells
    .flatMap(({ id, kind }) =>
      genes.map((_, gene) => ({
        soma_dim_0: id,
        soma_dim_1: BigInt(gene),
        soma_data: gene % 8 === kind ? 2 + next() * 3 : next() < 0.15 ? next() * 2 : null,
      })),
    )
    .filter((row) => row.soma_data !== null);
  const id = (name, last) => dimension(name, 'INT64', [0n, last], 2048n);
  const one = (dims, attributes, rows, nonEmpty, more) => ({
    schema: schema('sparse', dims, attributes),
    rows,
    nonEmpty,
    fragments: [fragment(START, false, rows.length, rows.length * 9, nonEmpty)],
    ...more,
  });
  made = {
    obs: one(
      [id('soma_joinid', 2699n)],
      [
        field('cell_type', 'INT8', { enumeration: 'cell_type' }),
        field('n_counts', 'INT32'),
        field('barcode', 'STRING_UTF8'),
      ],
      cells.map((cell) => ({
        soma_joinid: cell.id,
        cell_type: cell.kind,
        n_counts: cell.counts,
        barcode: `AAACAT-${cell.id}`,
      })),
      [[0n, 2699n]],
      { enumerations: { cell_type: kinds } },
    ),
    umap: one(
      [id('soma_dim_0', 2699n), id('soma_dim_1', 1n)],
      [field('soma_data', 'FLOAT64')],
      umap,
      [
        [0n, 2699n],
        [0n, 1n],
      ],
    ),
    var: one(
      [id('soma_joinid', 9n)],
      [field('gene_name', 'STRING_UTF8')],
      genes.map((name, at) => ({ soma_joinid: BigInt(at), gene_name: name })),
      [[0n, 9n]],
    ),
    x: one([id('soma_dim_0', 2699n), id('soma_dim_1', 9n)], [field('soma_data', 'FLOAT32')], x, [
      [0n, 2699n],
      [0n, 9n],
    ]),
  };
  return made;
}
const object = (type, members) => ({
  members,
  metadata: [
    { key: 'soma_object_type', datatype: 'STRING_UTF8', value: type },
    { key: 'soma_encoding_version', datatype: 'STRING_UTF8', value: '1.1.0' },
  ],
});

const ARRAYS = {
  '/data/raster': raster,
  '/data/cube': cube,
  '/data/empty': () => ({
    ...raster(),
    nonEmpty: null,
    fragments: [],
    cell: () => ({ empty: true, height: 0 }),
  }),
  '/data/slow': () => ({ ...cube(), slow: 6 }),
  '/data/huge': huge,
  '/data/points': points,
  '/data/table': table,
  '/data/line': line,
  '/data/hostile': hostile,
  '/data/encrypted': () => ({ ...raster(), key: '0123456789abcdeF0123456789abcdeF' }),
  '/data/damaged': () => ({
    ...raster(),
    damaged: {
      message:
        '__fragments/__10_10_4ebe_22/a0.tdb: tile 3 at offset 4096: checksum (md5) differs: ' +
        'the bytes are not those that were written',
      file: '__fragments/__10_10_4ebe_22/a0.tdb',
      offset: 4096,
    },
  }),
  '/data/group': () => ({
    members: [
      ['raster', 'array'],
      ['points', 'array'],
      ['more', 'group'],
      ['away', 'array', 'https://elsewhere.example/array'],
    ],
    metadata: [{ key: 'title', datatype: 'STRING_UTF8', value: 'Made arrays' }],
  }),
  '/data/signed': () => ({
    members: [
      ['raster', 'array'],
      ['away', 'array', 'https://elsewhere.example/array'],
    ],
    signature: '?sig=1',
  }),
  '/data/signed/raster': () => ({ ...raster(), signature: '?sig=1' }),
  '/data/group/raster': raster,
  '/data/group/points': points,
  '/data/group/more': () => ({ members: [['table', 'array']] }),
  '/data/group/more/table': table,
  '/data/soma': () =>
    object('SOMAExperiment', [
      ['obs', 'array'],
      ['ms', 'group'],
    ]),
  '/data/soma/obs': () => experiment().obs,
  '/data/soma/ms': () => object('SOMACollection', [['RNA', 'group']]),
  '/data/soma/ms/RNA': () =>
    object('SOMAMeasurement', [
      ['var', 'array'],
      ['X', 'group'],
      ['obsm', 'group'],
    ]),
  '/data/soma/ms/RNA/var': () => experiment().var,
  '/data/soma/ms/RNA/X': () => object('SOMACollection', [['data', 'array']]),
  '/data/soma/ms/RNA/X/data': () => experiment().x,
  '/data/soma/ms/RNA/obsm': () => object('SOMACollection', [['X_umap', 'array']]),
  '/data/soma/ms/RNA/obsm/X_umap': () => experiment().umap,
};

/** The same experiment with other members: those of `changes`, by their paths. */
function variant(path, changes) {
  for (const [name, made] of Object.entries(ARRAYS))
    if (name.startsWith('/data/soma/') || name === '/data/soma')
      ARRAYS[path + name.slice('/data/soma'.length)] = made;
  for (const [name, made] of Object.entries(changes)) ARRAYS[`${path}/${name}`] = made;
}

const ELSEWHERE = 'https://elsewhere.example/soma';
variant('/data/borrowed', {
  'ms/RNA': () =>
    object('SOMAMeasurement', [
      ['var', 'array', `${ELSEWHERE}/var`],
      ['X', 'group', `${ELSEWHERE}/X`],
      ['obsm', 'group'],
    ]),
});
variant('/data/foreign', {});
ARRAYS['/data/foreign'] = () =>
  object('SOMAExperiment', [
    ['obs', 'array', `${ELSEWHERE}/obs`],
    ['ms', 'group'],
  ]);
// Without cells; and with more genes than names are offered, of which the known ones are the last.
variant('/data/cleared', {
  'ms/RNA/obsm/X_umap': () => ({ ...experiment().umap, rows: [], nonEmpty: null, fragments: [] }),
});
variant('/data/genes', {
  'ms/RNA/var': () => {
    const made = experiment().var;
    const more = Array.from({ length: 100000 }, (_, at) => ({
      soma_joinid: BigInt(at + 10),
      gene_name: `ENSG${at}`,
    }));
    const ids = dimension('soma_joinid', 'INT64', [0n, 100009n], 2048n);
    return {
      ...made,
      schema: schema('sparse', [ids], made.schema.attributes),
      rows: [...more, ...made.rows],
    };
  },
});

export const find = async (path) => ARRAYS[path]?.();
