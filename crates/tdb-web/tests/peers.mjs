// What the package costs beside readers of Parquet, on the same cells. By hand, in Chromium:
//
//     node peers.mjs TARGET PEERS DATA [ROWS]
//
// TARGET is the target folder after `cargo xtask wasm`. PEERS is a folder in which
//
//     npm install hyparquet@1.33.0 hyparquet-compressors@1.1.2 parquet-wasm@0.8.0 \
//         @duckdb/duckdb-wasm@1.28.0
//
// was run (later releases of duckdb-wasm load their reader of Parquet from a server of DuckDB).
// DATA is an empty folder; the table is made in it by DuckDB, and with the command `tdb`, which has
// to be in the PATH. A server of this program sends it, each answer 20 ms late.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import zlib from 'node:zlib';

import { ARGS } from '../viewer/test/browser.mjs';

const [target, peers, data, rows = '2000000'] = process.argv.slice(2);
const WAIT = 20;
const RUNS = 5;
const MODULES = path.join(path.resolve(peers), 'node_modules');
const DUCKDB = '@duckdb/duckdb-wasm/dist';
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };

/** Makes the table: as Parquet with zstd, and as an array with zstd. */
async function made() {
  const parquet = path.join(path.resolve(data), 'table.parquet');
  if (fs.existsSync(parquet)) return;
  const require = createRequire(path.join(MODULES, 'none.js'));
  const duckdb = require('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs');
  const file = (name) => path.join(MODULES, DUCKDB, name);
  const bundles = {
    mvp: { mainModule: file('duckdb-mvp.wasm'), mainWorker: '' },
    eh: { mainModule: file('duckdb-eh.wasm'), mainWorker: '' },
  };
  const db = await duckdb.createDuckDB(bundles, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
  await db.instantiate();
  const connection = db.connect();
  const noise = (seed, count) => `(hash(i + ${seed}) % ${count})`;
  const select = `SELECT i::BIGINT AS id,
    'station-' || ${noise(1, 97)}::INTEGER::VARCHAR AS station,
    round(15 + 12 * sin(i / 5000.0) + ${noise(0, 1000)} / 100.0, 2)::FLOAT AS heat,
    (40 + ${noise(2, 60)})::SMALLINT AS humidity
    FROM range(${Number(rows)}) t(i)`;
  connection.query(`COPY (${select}) TO '${parquet}' (FORMAT parquet, COMPRESSION zstd)`);
  const csv = `${parquet}.csv`;
  connection.query(`COPY (SELECT * FROM '${parquet}') TO '${csv}' (HEADER)`);
  const array = path.join(path.resolve(data), 'table');
  const types = 'id=INT64,heat=FLOAT32,humidity=INT16';
  execFileSync('tdb', ['import', '--dense', '--types', types, array, csv]);
  execFileSync('tdb', ['publish', array]);
  fs.rmSync(csv);
}

/** Sends the table late, and the rest at once. */
async function serve() {
  const log = [];
  const roots = { data, package: path.join(target, 'npm/tdb-arrays'), peers: MODULES };
  const answer = (request, response) => {
    const { pathname } = new URL(request.url, 'http://host');
    const [, root, ...rest] = decodeURIComponent(pathname).split('/');
    const file = root in roots && path.join(roots[root], ...rest);
    if (pathname === '/') {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      return response.end(PAGE);
    }
    if (!file || !fs.existsSync(file) || !fs.statSync(file).isFile()) {
      response.writeHead(404);
      return response.end();
    }
    const { size } = fs.statSync(file);
    const headers = {
      'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      'Accept-Ranges': 'bytes',
      'Cache-Control': root === 'data' ? 'no-store' : 'max-age=3600',
    };
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    let [start, end] = [0, size];
    if (range && range[1] === '') start = Math.max(0, size - Number(range[2]));
    else if (range) {
      start = Number(range[1]);
      if (range[2] !== '') end = Math.min(size, Number(range[2]) + 1);
    }
    if (range) headers['Content-Range'] = `bytes ${start}-${end - 1}/${size}`;
    const body = Buffer.alloc(request.method === 'HEAD' ? 0 : end - start);
    const handle = fs.openSync(file, 'r');
    fs.readSync(handle, body, 0, body.length, start);
    fs.closeSync(handle);
    if (root === 'data') log.push(body.length);
    response.writeHead(range ? 206 : 200, { ...headers, 'Content-Length': end - start });
    return response.end(body);
  };
  const server = http.createServer((request, response) =>
    setTimeout(() => answer(request, response), request.url.startsWith('/data/') ? WAIT : 0),
  );
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, log, close: () => server.close() };
}

const IMPORTS = {
  'apache-arrow': '/peers/apache-arrow/Arrow.dom.mjs',
  flatbuffers: '/peers/flatbuffers/mjs/flatbuffers.js',
  fzstd: '/peers/fzstd/esm/index.mjs',
  hyparquet: '/peers/hyparquet/src/index.js',
  'hyparquet-compressors': '/peers/hyparquet-compressors/src/index.js',
  hysnappy: '/peers/hysnappy/js/index.js',
  tslib: '/peers/tslib/tslib.es6.mjs',
};
const MAP = `<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;
const PAGE = `<!doctype html><meta charset="utf-8"><title>peers</title>${MAP}`;

/**
 * In the page: loads a reader, and says how long a question takes. Each time it is asked of another
 * URL, so that nothing is kept. Answers are two numbers: of cells, and a sum.
 */
async function ask({ reader, question, rows, runs, origin }) {
  const [low, high] = [Math.floor(rows / 2), Math.floor(rows / 2) + Math.floor(rows / 100)];
  const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
  const counted = (values) => values.reduce((count, value) => count + (value > 30 ? 1 : 0), 0);
  const parquet = (run) => `${origin}/data/table.parquet?run=${run}`;
  const lengthOf = (parts) => parts.reduce((sum, part) => sum + part.length, 0);
  const over = (parts, value) => parts.reduce((sum, part) => sum + value(part), 0);
  /** The answer over what reads columns: the parts of each, whole or of some rows. */
  const overColumns = (columns) => async (run) => {
    if (question === 'rows') {
      const { heat, station } = await columns(run, ['heat', 'station'], low, high);
      return [lengthOf(station), over(heat, sumOf)];
    }
    const { heat } = await columns(run, ['heat'], 0, rows);
    return question === 'column' ? [lengthOf(heat), over(heat, sumOf)] : [over(heat, counted), 0];
  };
  const READERS = {
    async tdb() {
      const tdb = await import('/package/index.js');
      return async (run) => {
        const array = await tdb.openArray(`${origin}/data/table?run=${run}`);
        let answer;
        if (question === 'count') {
          const found = await array.aggregate({ aggregates: ['count'], where: 'heat > 30' });
          answer = [Number(found.count), 0];
        } else {
          const ranges = question === 'rows' ? { row: [low, high - 1] } : {};
          const fields = question === 'rows' ? ['heat', 'station'] : ['heat'];
          const cells = await array.read({ fields, ranges });
          if (question === 'rows') cells.column('station').toArray();
          answer = [cells.length, sumOf(cells.column('heat').values)];
        }
        array.close();
        return answer;
      };
    },
    async hyparquet() {
      const [{ asyncBufferFromUrl, parquetRead }, { compressors }] = await Promise.all([
        import('hyparquet'),
        import('hyparquet-compressors'),
      ]);
      return overColumns(async (run, names, rowStart, rowEnd) => {
        const file = await asyncBufferFromUrl({ url: parquet(run) });
        const found = Object.fromEntries(names.map((name) => [name, []]));
        // Chunks are whole row groups or pages: of rows, what is asked for of them.
        const onChunk = ({ columnName, columnData, rowStart: first }) => {
          const [from, to] = [Math.max(0, rowStart - first), rowEnd - first];
          found[columnName].push(columnData.slice(from, Math.max(from, to)));
        };
        const asked = { file, compressors, columns: names, rowStart, rowEnd, onChunk };
        await parquetRead(asked);
        return found;
      });
    },
    async 'parquet-wasm'() {
      const [wasm, { tableFromIPC }] = await Promise.all([
        import('/peers/parquet-wasm/esm/parquet_wasm.js'),
        import('apache-arrow'),
      ]);
      await wasm.default();
      return overColumns(async (run, columns, rowStart, rowEnd) => {
        const file = await wasm.ParquetFile.fromUrl(parquet(run));
        const part =
          rowEnd - rowStart === rows ? {} : { offset: rowStart, limit: rowEnd - rowStart };
        const read = await file.read({ columns, batchSize: 131072, ...part });
        const table = tableFromIPC(read.intoIPCStream());
        const column = (name) => [table.getChild(name).toArray()];
        return Object.fromEntries(columns.map((name) => [name, column(name)]));
      });
    },
    async 'duckdb-wasm'() {
      const folder = `${origin}/peers/@duckdb/duckdb-wasm/dist`;
      const duckdb = await import(`${folder}/duckdb-browser.mjs`);
      const worker = new Worker(`${folder}/duckdb-browser-eh.worker.js`);
      const db = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), worker);
      await db.instantiate(`${folder}/duckdb-eh.wasm`);
      const connection = await db.connect();
      return async (run) => {
        const from = `FROM '${parquet(run)}'`;
        if (question === 'count') {
          const table = await connection.query(
            `SELECT count(*)::DOUBLE AS n ${from} WHERE heat > 30`,
          );
          return [table.getChild('n').get(0), 0];
        }
        const isRows = question === 'rows';
        const where = isRows ? `WHERE id >= ${low} AND id < ${high}` : '';
        const fields = isRows ? 'heat, station' : 'heat';
        const table = await connection.query(`SELECT ${fields} ${from} ${where}`);
        if (isRows) table.getChild('station').toArray();
        return [table.numRows, sumOf(table.getChild('heat').toArray())];
      };
    },
  };
  const begun = performance.now();
  const answer = await READERS[reader]();
  const loaded = performance.now() - begun;
  const [times, answers] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    const started = performance.now();
    answers.push(await answer(`${question}-${run}`));
    times.push(performance.now() - started);
  }
  return { loaded, times, answers };
}

const median = (values) => [...values].sort((one, other) => one - other)[values.length >> 1];
const kb = (bytes) => `${Math.round(bytes / 1000).toLocaleString('en')} kB`;

/** Bytes of files with gzip. */
function packed(...files) {
  return files.reduce((sum, file) => sum + zlib.gzipSync(fs.readFileSync(file)).length, 0);
}

/** The files of a folder with this ending. */
function inside(folder, ending) {
  const found = fs.readdirSync(folder, { recursive: true });
  return found.filter((name) => name.endsWith(ending)).map((name) => path.join(folder, name));
}

function sizes() {
  const own = path.join(target, 'npm/tdb-arrays');
  const [wasm, duckdb] = ['parquet-wasm/esm', DUCKDB].map((name) => path.join(MODULES, name));
  const hyparquet = ['hyparquet/src', 'hyparquet-compressors/src', 'fzstd/esm', 'hysnappy/js'];
  return {
    tdb: packed(path.join(own, 'tdb-core.wasm'), ...inside(own, '.js')),
    hyparquet: packed(...hyparquet.flatMap((name) => inside(path.join(MODULES, name), 'js'))),
    'parquet-wasm': packed(
      path.join(wasm, 'parquet_wasm_bg.wasm'),
      path.join(wasm, 'parquet_wasm.js'),
    ),
    'duckdb-wasm': packed(
      ...['duckdb-eh.wasm', 'duckdb-browser.mjs', 'duckdb-browser-eh.worker.js'].map((name) =>
        path.join(duckdb, name),
      ),
    ),
  };
}

await made();
const server = await serve();
const playwright = path.join(path.resolve(target), 'npm/playwright/node_modules/playwright-core');
const { chromium } = await import(pathToFileURL(path.join(playwright, 'index.mjs')));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS });
try {
  const size = (name) => fs.statSync(path.join(data, name)).size;
  const array = inside(path.join(data, 'table'), '.tdb').map((name) => fs.statSync(name).size);
  const bytes = array.reduce((sum, one) => sum + one, 0);
  console.log(`${rows} rows: Parquet ${kb(size('table.parquet'))}, array ${kb(bytes)}`);
  const all = sizes();
  const expected = {};
  for (const reader of Object.keys(all)) {
    const line = [reader, `${kb(all[reader])} with gzip`];
    for (const question of ['column', 'rows', 'count']) {
      const page = await browser.newPage();
      await page.goto(`${server.origin}/`);
      const before = server.log.length;
      const asked = { reader, question, rows: Number(rows), runs: RUNS, origin: server.origin };
      const { loaded, times, answers } = await page.evaluate(ask, asked);
      await page.close();
      const made = server.log.slice(before);
      const moved = made.reduce((sum, one) => sum + one, 0);
      expected[question] ??= answers[0];
      for (const [count, sum] of answers) {
        const [other, whole] = expected[question];
        if (count !== other || Math.abs(sum - whole) > 1e-6 * Math.abs(whole))
          throw new Error(`${reader}, ${question}: ${[count, sum]}, not ${[other, whole]}`);
      }
      if (question === 'column') line.push(`loaded in ${Math.round(loaded)} ms`);
      line.push(
        `${question}: ${Math.round(median(times))} ms, ${made.length / RUNS} requests, ` +
          `${kb(moved / RUNS)}`,
      );
    }
    console.log(line.join(' | '));
  }
} finally {
  await browser.close();
  server.close();
}
