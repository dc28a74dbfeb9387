// Runs the package in Node, without other packages, and perhaps in Chromium. Started by `cargo
// xtask wasm`:
//
//     node node.mjs ROOT PACKAGE CASES
//
// ROOT is the repository, PACKAGE the folder of the package with its modules, CASES a JSON file:
// `native`, reads with the digests of what tdb returns natively; `large`, a folder with a large
// array, its window, and the bytes of its tiles; `zarrita`, the folder that has zarrita and what it
// imports, or null with `zarrless`, the reason; `chromium` and `playwright`, a program and the folder that has playwright-core, or null
// with `reason`.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { ARGS } from '../viewer/test/browser.mjs';
import { CASES, check, compareAll, equal } from './cases.mjs';
import { testParts } from './parts.mjs';
import { serve } from './server.mjs';
import { ZARR, compareZarr } from './zarr.mjs';

const [root, folder, casesPath] = process.argv.slice(2);
const asked = JSON.parse(fs.readFileSync(casesPath));
const tdb = await import(pathToFileURL(path.join(folder, 'index.js')));
const { Engine } = await import(pathToFileURL(path.join(folder, 'engine.js')));

const fixtures = path.join(root, 'xtask/fixtures');
const server = await serve({
  arrays: path.join(fixtures, 'arrays'),
  expected: path.join(fixtures, 'expected'),
  package: folder,
  tests: path.join(root, 'crates/tdb-web/tests'),
  ...(asked.zarrita ? { zarrita: asked.zarrita } : {}),
  ...(asked.large ? { large: asked.large.folder } : {}),
});
const base = server.origin;

for (const name of ['core', 'full']) {
  const module = new WebAssembly.Module(fs.readFileSync(path.join(folder, `tdb-${name}.wasm`)));
  equal(WebAssembly.Module.imports(module), [], `the module ${name} imports something`);
}

/** The fixtures that are arrays, all of them or every n-th. */
function ids(step) {
  const all = JSON.parse(fs.readFileSync(path.join(fixtures, 'manifest.json')));
  const list = Array.isArray(all) ? all : all.arrays;
  return list
    .filter(({ object }) => !object)
    .map(({ id }) => id)
    .filter((_, index) => index % step === 0);
}

async function nativeReads() {
  for (const { id, start, end, order, key, digest } of asked.native) {
    const engine = new Engine((...args) => fetch(...args));
    const place = { url: `${base}/arrays/${id}`, search: '' };
    const { id: source } = await engine.open({ place, options: { start, end, key } });
    const { answer } = await engine.run(source, { op: 'read', order });
    const found = crypto.createHash('sha256').update(new Uint8Array(answer)).digest('hex');
    equal(found, digest, `${id}, ${order}, ${start} to ${end}: the digest of the cells`);
    engine.close(source);
  }
  console.log(`${asked.native.length} reads as natively`);
}

async function largeWindow() {
  const { ranges, tileBytes, sum } = asked.large;
  const before = server.log.length;
  const array = await tdb.openArray(`${base}/large/array`);
  const cells = await array.read({ ranges });
  const requests = server.log.slice(before);
  const bytes = requests.reduce((total, request) => total + request.bytes, 0);
  equal(
    cells.columns[0].values.reduce((total, value) => total + value, 0),
    sum,
    'the sum of the window',
  );
  console.log(
    `a window of ${cells.length} cells of a large array: ${requests.length} requests, ` +
      `${bytes} bytes, ${tileBytes} of them tiles`,
  );
  check(requests.length <= 6, `${requests.length} requests: ${JSON.stringify(requests)}`);
  check(bytes <= 2 * tileBytes, `${bytes} bytes, of ${tileBytes} in tiles`);
  equal(array.stats().requests, requests.length, 'counted requests');
  equal(array.stats().bytes, bytes, 'counted bytes');
}

async function inNode() {
  for (const [name, run] of Object.entries(CASES)) {
    await run(tdb, base, {});
    console.log(`ok: ${name}`);
  }
  console.log(`Node: ${await compareAll(tdb, base, ids(1))}`);
}

async function zarrInNode() {
  if (!asked.zarrita) {
    console.log(`zarrita is skipped: ${asked.zarrless}`);
    return;
  }
  const index = path.join(asked.zarrita, 'zarrita/dist/src/index.js');
  const zarr = await import(pathToFileURL(index));
  for (const [name, run] of Object.entries(ZARR)) {
    await run(tdb, zarr, base, {});
    console.log(`ok: ${name}`);
  }
  console.log(`Node: ${await compareZarr(tdb, zarr, base, ids(1), 3)}`);
}

async function zarrIn(page) {
  const shown = await page.evaluate(
    async ({ base, list }) => {
      const [tdb, zarr, { ZARR, compareZarr }] = await Promise.all([
        import('/package/index.js'),
        import('zarrita'),
        import('/tests/zarr.mjs'),
      ]);
      for (const [name, run] of Object.entries(ZARR)) {
        for (const worker of [false, true]) {
          await run(tdb, zarr, base, { worker }).catch((error) => {
            throw new Error(`${name}: ${error.message}`);
          });
        }
      }
      return compareZarr(tdb, zarr, base, list);
    },
    { base, list: ids(10) },
  );
  console.log(`Chromium: ${shown}`);
}

async function inChromium() {
  if (!asked.chromium) {
    console.log(`Chromium is skipped: ${asked.reason}`);
    return;
  }
  const { chromium } = await import(pathToFileURL(path.join(asked.playwright, 'index.mjs')));
  const browser = await chromium.launch({ executablePath: asked.chromium, args: ARGS });
  try {
    const page = await browser.newPage();
    const elsewhere = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('http://127.0.0.1:9/'))
        elsewhere.push(request.url());
    });
    await page.goto(`${base}/`);
    for (const worker of [false, true]) {
      const ran = await page.evaluate(
        async ({ base, worker }) => {
          const [tdb, { CASES }] = await Promise.all([
            import('/package/index.js'),
            import('/tests/cases.mjs'),
          ]);
          for (const [name, run] of Object.entries(CASES)) {
            await run(tdb, base, { worker }).catch((error) => {
              throw new Error(`${name}: ${error.message}`);
            });
          }
          return Object.keys(CASES).length;
        },
        { base, worker },
      );
      console.log(`Chromium${worker ? ', in a worker' : ''}: ${ran} cases`);
      const total = await page.evaluate(
        async ({ base, worker, list }) => {
          const [tdb, { compareAll }] = await Promise.all([
            import('/package/index.js'),
            import('/tests/cases.mjs'),
          ]);
          return compareAll(tdb, base, list, { worker });
        },
        { base, worker, list: ids(worker ? 20 : 5) },
      );
      console.log(`Chromium${worker ? ', in a worker' : ''}: ${total}`);
    }
    if (asked.zarrita) await zarrIn(page);
    const own = await page.evaluate(
      async ({ base }) => {
        const tdb = await import('/package/index.js');
        let calls = 0;
        const counted = (...args) => {
          calls += 1;
          return fetch(...args);
        };
        const array = await tdb.openArray(`${base}/arrays/2.30.0/quickstart`, {
          worker: true,
          fetch: counted,
        });
        return [(await array.read()).length, calls === array.stats().requests];
      },
      { base },
    );
    equal(own, [16, true], 'a function of the page that fetches for a worker');
    equal(elsewhere, [], 'requests to other origins');
  } finally {
    await browser.close();
  }
}

await testParts(folder);
await nativeReads();
if (asked.large) await largeWindow();
await inNode();
await zarrInNode();
await inChromium();
server.close();
