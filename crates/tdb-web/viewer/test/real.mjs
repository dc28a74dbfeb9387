// The viewer in Chromium over stored arrays, with the module that reads them:
//
//     node real.mjs PACKAGES NPM ARRAYS [PICTURES]
//
// PACKAGES is as in viewer.mjs; NPM is the folder of tdb-arrays with its modules; ARRAYS has the
// published fixtures sql_grid, sql_trips, sql_stations, sparse2d_rr, enumeration, encrypted_dense,
// group_nested and filter_checksum_sha256, and may have `made` with the arrays of arrays.py. The
// arrays are on a server of their own, whose answers wait 30 ms.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { launch, packages, watched } from './browser.mjs';
import { serve } from './server.mjs';

const WAIT = 30;
const KEY = '0123456789abcdeF0123456789abcdeF';
/** What nothing may take longer than, in milliseconds, on a machine with other work. */
const MOST_WAIT = 2500;
const MOST_MEMORY = 300e6;

const here = path.dirname(fileURLToPath(import.meta.url));
const [folder, npm, arrays, pictures] = process.argv.slice(2);
assert.ok(arrays, 'usage: node real.mjs PACKAGES NPM ARRAYS [PICTURES]');
if (pictures) fs.mkdirSync(pictures, { recursive: true });

const data = await serve({ '/': path.resolve(arrays) }, { cors: true, wait: WAIT });
const server = await serve({ '/tdb-arrays/': path.resolve(npm), '/': path.join(here, '..') });
const { context, close } = await launch(packages(folder));
const { page, faults } = await watched(context, [server.origin, data.origin]);

async function still() {
  for (let times = 0; times < 2; times += 1) {
    await page.waitForFunction(() => !document.body.classList.contains('working'));
    await page.waitForTimeout(60);
  }
}

const slowest = { name: '', milliseconds: 0 };

async function open(name, more = '') {
  await page.goto('about:blank');
  const began = Date.now();
  await page.goto(`${server.origin}/index.html#url=${data.origin}/${name}${more}`);
  await page.locator('main h2').first().waitFor();
  const milliseconds = Date.now() - began;
  if (milliseconds > slowest.milliseconds) Object.assign(slowest, { name, milliseconds });
  await still();
}

async function picture(name) {
  if (pictures) await page.screenshot({ path: path.join(pictures, `real-${name}.png`) });
}

const text = (selector) => page.locator(selector).first().innerText();
const exists = (name) => fs.existsSync(path.join(arrays, name));

/** What a place of the picture says. */
async function at(x, y) {
  const box = await page.locator('.field').boundingBox();
  await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
  return text('.readout');
}

const tests = {
  async 'a dense array, its nulls, and its past'() {
    await open('sql_grid');
    assert.match(await at(0.99, 0.99), /row 16 · col 9 · heat -?\d/);
    assert.match(await at(0.01, 0.99), /row 16 · col -3 · heat none/);
    await picture('grid');
    await page.getByLabel('Time').focus();
    await page.keyboard.press('Home');
    await page.waitForFunction(() => location.hash.includes('at=10'));
    await still();
    assert.match(await at(0.99, 0.99), /row 16 · col 9 · heat none/);
  },
  async 'a table of strings, dates and nulls'() {
    await open('sql_trips', '&tab=table');
    const shown = await text('.cells');
    assert.match(shown, /oslo/);
    assert.match(shown, /2024-0[12]-\d\d/);
    assert.match(shown, /null/);
    await page.getByRole('button', { name: 'Next' }).click();
    await still();
    assert.match(await text('.cells caption'), /^Cells 51 to 100/);
    await page.getByLabel('Condition').fill("city = 'oslo' and price > 10");
    await page.keyboard.press('Enter');
    await still();
    assert.match(await text('.cells tbody'), /^oslo/);
    await page.getByLabel('Condition').fill('prize > 10');
    await page.keyboard.press('Enter');
    await page.locator('.error').waitFor();
    assert.match(await text('.error'), /prize/);
  },
  async 'points, and the values of an enumeration'() {
    await open('sparse2d_rr');
    assert.match(await text('.note'), /\d+ cells in this window/);
    await open('enumeration', '&tab=values');
    assert.equal(await page.locator('.error').count(), 0);
    assert.match(await text('.view'), /different values/);
    await picture('enumeration');
  },
  async 'statistics, fragments and the schema'() {
    await open('sql_stations', '&tab=values');
    assert.match(await text('.view'), /cells/);
    for (const tab of ['Fragments', 'Schema']) {
      await page.getByRole('tab', { name: tab }).click();
      await still();
      assert.equal(await page.locator('.error').count(), 0, tab);
    }
  },
  async 'a group'() {
    await open('group_nested');
    assert.ok((await page.getByRole('treeitem').count()) > 1);
    assert.equal(await page.locator('.error').count(), 0);
  },
  async 'an encrypted array'() {
    await open('encrypted_dense');
    const key = page.getByLabel('Key', { exact: true });
    await key.fill('x'.repeat(32));
    await page.keyboard.press('Enter');
    await page.getByText('This key does not fit.').waitFor();
    await key.fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.field').waitFor();
    await still();
    assert.match(await at(0.5, 0.5), /\d$/);
    assert.ok(!page.url().includes(KEY));
  },
  async 'a damaged array'() {
    const copy = path.join(arrays, 'damaged_copy');
    fs.rmSync(copy, { recursive: true, force: true });
    fs.cpSync(path.join(arrays, 'filter_checksum_sha256'), copy, { recursive: true });
    const [fragment] = fs.readdirSync(path.join(copy, '__fragments'));
    const file = path.join(copy, '__fragments', fragment, 'a0.tdb');
    const bytes = fs.readFileSync(file);
    bytes[bytes.length - 1] ^= 0xff;
    fs.writeFileSync(file, bytes);
    await open('damaged_copy');
    const shown = await text('.error');
    assert.match(shown, /The array is damaged/);
    assert.ok(shown.includes(`${fragment}/a0.tdb`), shown);
    await picture('damaged');
    fs.rmSync(copy, { recursive: true });
  },
  async 'a manifest that points elsewhere'() {
    const copy = path.join(arrays, 'elsewhere_copy');
    fs.rmSync(copy, { recursive: true, force: true });
    fs.cpSync(path.join(arrays, 'sparse2d_rr'), copy, { recursive: true });
    const file = path.join(copy, 'tdb_manifest.txt');
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    const line = lines.findIndex((one) => one.includes('__fragments/'));
    for (const place of ['https://elsewhere.example/a0.tdb', '../sql_grid/x', '//elsewhere/x']) {
      lines[line] = `4 ${place}`;
      fs.writeFileSync(file, lines.join('\n'));
      await open('elsewhere_copy');
      assert.equal(await page.locator('.error').count(), 1, place);
    }
    fs.rmSync(copy, { recursive: true });
    assert.ok(!data.log.some(([, name]) => name.includes('sql_grid/x')));
  },
};

if (exists('made')) {
  Object.assign(tests, {
    async 'a large raster'() {
      await open('made/raster');
      await picture('raster');
      assert.match(await at(0.7, 0.375), /height 13\d\d/);
      await page.locator('.field').focus();
      for (let times = 0; times < 4; times += 1) await page.keyboard.press('+');
      await page.waitForFunction(() => location.hash.includes('r.row'));
      await still();
      assert.match(await text('.readout'), /row 600 · column 900 · height \d/);
    },
    async 'ten to the twelve cells'() {
      const session = await context.newCDPSession(page);
      await open('made/huge');
      assert.match(await text('.facts-line'), /1 trillion cells/);
      assert.match(await text('.note'), /Outlines: where cells are written/);
      await picture('huge');
      await page.getByRole('tab', { name: 'Fragments' }).click();
      await page.getByRole('button', { name: /Show fragment 5/ }).click();
      await still();
      assert.match(await at(0.5, 0.5), /row 5002\d\d · column 4002\d\d · value -?[\d.]+/);
      await picture('huge-near');
      await page.getByRole('tab', { name: 'Table' }).click();
      await still();
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      assert.ok(usedSize < MOST_MEMORY, `${usedSize} bytes`);
    },
    async 'many points'() {
      await open('made/points');
      assert.match(await text('.note'), /300\s000 cells/);
      await picture('points');
    },
    async 'strings that are markup'() {
      await open('made/hostile', '&tab=table');
      assert.match(await text('.cells'), /<script>window\.hacked=1<\/script>/);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
    },
  });
}
if (exists('made/soma')) {
  tests['a SOMA experiment'] = async () => {
    await open('made/soma');
    assert.match(await text('.legends'), /cell_type[\s\S]*NK cells/);
    await picture('soma');
    await page.getByLabel('Colour by gene').fill('LYZ');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.includes('gene=LYZ'));
    await still();
    assert.match(await text('.legends'), /LYZ/);
    await picture('soma-gene');
  };
}

// The first opening loads and compiles the module.
await open('sql_grid');
slowest.milliseconds = 0;
for (const [name, run] of Object.entries(tests)) {
  try {
    await run();
    const others = faults.filter((fault) => !/status of 404/.test(fault));
    assert.deepEqual(others, [], name);
    faults.length = 0;
  } catch (error) {
    if (pictures) await page.screenshot({ path: path.join(pictures, 'failed.png') });
    error.message = `${name}: ${error.message}`;
    throw error;
  }
}
assert.ok(slowest.milliseconds < MOST_WAIT, JSON.stringify(slowest));
await close();
server.close();
data.close();
console.log(
  `${Object.keys(tests).length} arrays: well; slowest to open ${JSON.stringify(slowest)}`,
);
