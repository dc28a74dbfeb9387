// Vitessce shows the embedding and the expression of an experiment through `tdb serve --anndata`:
// the colours of twenty cells in its picture are those of what tiledbsoma reads.
//
//     node vitessce.mjs FOLDER TDB PACKAGES PYTHON
//
// By hand: FOLDER has npm's vitessce 3.5.6, react 18, react-dom 18 and esbuild 0.25 (931 MB; where
// GitHub is not reached, with "overrides": {"ikonate": "1.1.1"} in package.json); TDB is the
// command, PACKAGES as in ../../viewer/test/viewer.mjs, and PYTHON has tdb, anndata and tiledbsoma.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { ARGS, packages } from '../../viewer/test/browser.mjs';
import { serve } from '../../viewer/test/server.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const [folder, tdb, playwright, python] = process.argv.slice(2);
assert.ok(python, 'usage: node vitessce.mjs FOLDER TDB PACKAGES PYTHON');
const CELLS = 20;
/** Pixels in which a cell is alone: twice the radius of a point, and some more. */
const ALONE = 9;

const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tdb-vitessce-'));
execFileSync(python, [path.join(here, 'cells.py'), work], { stdio: 'inherit' });
const read = JSON.parse(fs.readFileSync(path.join(work, 'cells.json')));
fs.copyFileSync(path.join(here, 'page.js'), path.join(folder, 'page.js'));
const bundle = ['page.js', '--bundle', '--format=esm', '--splitting', `--outdir=${work}/site`];
const node = '--define:process.env.NODE_ENV="production"';
execFileSync('npx', ['esbuild', ...bundle, node, '--log-level=warning'], { cwd: folder });
const html = '<!doctype html><div id="root"></div><script type="module" src="page.js"></script>';
fs.writeFileSync(path.join(work, 'site/index.html'), html);
const site = await serve({ '/': path.join(work, 'site') });

const words = ['serve', path.join(work, 'cells.soma'), '--anndata', read.measurement];
const server = spawn(tdb, [...words, '--allow-origin', site.origin]);
let url;
for await (const line of createInterface(server.stdout)) {
  url = /^zarr:\s+(\S+?)\/?$/.exec(line)?.[1];
  if (url) break;
}
assert.ok(url, 'tdb serve printed no address');

const { chromium } = packages(playwright)('playwright-core');
const software = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const args = [...ARGS.filter((one) => one !== '--disable-gpu'), ...software];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
await page.goto(`${site.origin}/?url=${encodeURIComponent(url)}`);
await page.getByText(`${read.types.length} cells`, { exact: true }).waitFor();

/** The values of the scatterplot's coordination. */
const state = () =>
  page.evaluate(() =>
    Object.fromEntries(
      Object.entries(window.now).map(([type, scopes]) => [type, Object.values(scopes)]),
    ),
  );
const only = (all, type) => all[type].find((value) => value !== null && value !== undefined);

/** Colours at places of the scatterplot's picture. */
async function colours(places) {
  const picture = (await page.screenshot()).toString('base64');
  return page.evaluate(
    async ([data, at]) => {
      const answer = await fetch(`data:image/png;base64,${data}`);
      const image = await createImageBitmap(await answer.blob());
      const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
      canvas.drawImage(image, 0, 0);
      const pixel = (x, y) => canvas.getImageData(Math.round(x), Math.round(y), 1, 1).data;
      return at.map(([x, y]) => [...pixel(x, y)].slice(0, 3));
    },
    [picture, places],
  );
}

await page.waitForFunction(() =>
  Object.values(window.now?.embeddingZoom ?? {}).some(Number.isFinite),
);
await page.waitForTimeout(5000);
const now = await state();
const box = await page.locator('#deckgl-wrapper, canvas').first().boundingBox();
const scale = 2 ** only(now, 'embeddingZoom');
const centre = [only(now, 'embeddingTargetX'), only(now, 'embeddingTargetY')];
// Vitessce turns the second axis round.
const places = read.points.map(([x, y]) => [
  box.x + box.width / 2 + (x - centre[0]) * scale,
  box.y + box.height / 2 + (-y - centre[1]) * scale,
]);
const inside = ([x, y]) =>
  x > box.x + 130 && x < box.x + box.width - 9 && y > box.y + 60 && y < box.y + box.height - 9;
const alone = places.flatMap((place, cell) => {
  const near = (other, at) =>
    at !== cell && Math.hypot(other[0] - place[0], other[1] - place[1]) < ALONE;
  return inside(place) && !places.some(near) ? [cell] : [];
});
const step = Math.max(1, Math.floor(alone.length / CELLS));
const chosen = alone.filter((_, at) => at % step === 0).slice(0, CELLS);
assert.equal(chosen.length, CELLS, `${alone.length} cells are alone`);

const sets = new Map(only(now, 'obsSetColor').map(({ path: name, color }) => [name.at(-1), color]));
const shown = await colours(chosen.map((cell) => places[cell]));
// Vitessce darkens all points alike.
const [first] = chosen;
const shade = Math.max(...shown[0]) / Math.max(...sets.get(read.types[first]));
chosen.forEach((cell, at) => {
  const own = sets.get(read.types[cell]).map((part) => Math.floor(part * shade));
  assert.deepEqual(shown[at], own, `cell ${cell}`);
});

await page.getByText(read.gene, { exact: true }).first().click();
await page.waitForTimeout(5000);
const expressed = await colours(chosen.map((cell) => places[cell]));
const byValue = new Map();
chosen.forEach((cell, at) => {
  const [value, colour] = [read.values[cell], expressed[at].join()];
  assert.equal(byValue.get(value) ?? colour, colour, `cell ${cell}: ${value}`);
  byValue.set(value, colour);
});
assert.equal(new Set(byValue.values()).size, byValue.size, 'two values have one colour');
assert.ok(byValue.size > 3);
await page.screenshot({ path: path.join(work, 'picture.png') });
const types = new Set(chosen.map((cell) => read.types[cell])).size;
console.log(`${CELLS} cells have the colours of ${types} types, and of ${byValue.size} values`);
console.log(`the picture: ${path.join(work, 'picture.png')}`);
await browser.close();
server.kill();
site.close();
