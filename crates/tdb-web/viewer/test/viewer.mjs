// The viewer in Chromium, driven by mouse and keyboard, over made arrays.
//
//     node viewer.mjs PACKAGES [PICTURES [CASE]]
//
// PACKAGES is a folder whose `node_modules` has playwright-core and axe-core; pictures of each case
// are written into PICTURES. The first difference ends the run. Chromium is /usr/bin/chromium, or
// what CHROMIUM names.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { launch, packages, watched } from './browser.mjs';
import { cases } from './cases.mjs';
import { serve } from './server.mjs';

/** The page without the modules. */
const MOST_BYTES = 150_000;
const SIZES = [
  { name: '1280', width: 1280, height: 860 },
  { name: '390', width: 390, height: 844 },
];

const here = path.dirname(fileURLToPath(import.meta.url));
const viewer = path.join(here, '..');
const [folder, pictures, only] = process.argv.slice(2);
assert.ok(folder, 'usage: node viewer.mjs PACKAGES [PICTURES [CASE]]');
if (pictures) fs.mkdirSync(pictures, { recursive: true });
const require = packages(folder);

/** The files of the page, as index.html and its scripts name each other. */
function files() {
  const found = new Set(['index.html', 'viewer.css', 'icon.svg', 'viewer.js']);
  for (const name of found) {
    if (!name.endsWith('.js')) continue;
    const text = fs.readFileSync(path.join(viewer, name), 'utf8');
    for (const [, other] of text.matchAll(/from '\.\/([\w-]+\.js)'/g)) found.add(other);
  }
  return [...found];
}

const named = files();
const scripts = fs.readdirSync(viewer).filter((name) => name.endsWith('.js'));
assert.deepEqual(
  scripts.filter((name) => !named.includes(name)),
  [],
  'scripts that the page does not use',
);
const size = named
  .map((name) => gzipSync(fs.readFileSync(path.join(viewer, name))).length)
  .reduce((sum, one) => sum + one, 0);
assert.ok(size < MOST_BYTES, `the page has ${size} bytes compressed`);
console.log(`the page: ${named.length} files, ${size} bytes with gzip`);

const server = await serve({ '/tdb-arrays/': path.join(here, 'fake'), '/': viewer });
const { context, close } = await launch(require);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds wrong. It is evaluated: the page's own policy forbids scripts of others. */
async function faultsOf(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

let number = 0;
for (const { name: sizeName, width, height } of SIZES) {
  for (const [name, run] of Object.entries(cases)) {
    if (only && name !== only) continue;
    const { page, faults } = await watched(context, [server.origin]);
    await page.setViewportSize({ width, height });
    const tools = {
      page,
      faults,
      context,
      origin: server.origin,
      /** Opens an array, and waits until nothing is read. */
      async open(hash) {
        await page.goto(`${server.origin}/index.html#${hash}`);
        await tools.still();
      },
      async still() {
        await page.waitForFunction(() => !document.body.classList.contains('working'));
        await page.waitForTimeout(60);
        await page.waitForFunction(() => !document.body.classList.contains('working'));
      },
      hash: async () => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1))),
      async picture(part = '') {
        const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
        assert.ok(wide <= width, `${name}${part}: ${wide} pixels wide at ${width}`);
        if (!pictures) return;
        const file = path.join(pictures, `${name}${part}-${sizeName}.png`);
        await page.screenshot({ path: file, fullPage: width < 600 });
      },
      async accessible() {
        assert.deepEqual(await faultsOf(page), [], `${name} at ${sizeName}`);
      },
    };
    try {
      await run(tools);
      await tools.accessible();
      assert.deepEqual(faults, [], `${name} at ${sizeName}`);
    } catch (error) {
      error.message = `${name} at ${sizeName}: ${error.message}`;
      if (pictures) await page.screenshot({ path: path.join(pictures, 'failed.png') });
      throw error;
    } finally {
      await page.close();
      await context.unrouteAll();
    }
    number += 1;
  }
}
await close();
server.close();
console.log(`${number} cases: well`);
