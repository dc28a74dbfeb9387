// What `tdb view` shows in Chromium, with the headers of its own server:
//
//     node view.mjs PACKAGES ADDRESS...
//
// PACKAGES is as in viewer.mjs; the addresses are those that `tdb view` printed for the fixtures of
// real.mjs, in any order.

import assert from 'node:assert/strict';

import { launch, packages, watched } from './browser.mjs';

const KEY = '0123456789abcdeF0123456789abcdeF';

const [folder, ...addresses] = process.argv.slice(2);
assert.ok(addresses.length > 0, 'usage: node view.mjs PACKAGES ADDRESS...');
const { context, close } = await launch(packages(folder));
const { page, faults } = await watched(
  context,
  addresses.map((address) => new URL(address).origin),
);

async function still() {
  for (let times = 0; times < 2; times += 1) {
    await page.waitForFunction(() => !document.body.classList.contains('working'));
    await page.waitForTimeout(60);
  }
}

const seen = {};
for (const address of addresses) {
  await page.goto('about:blank');
  const answer = await page.goto(address);
  assert.match(answer.headers()['content-security-policy'], /connect-src 'self'/);
  await page.locator('main h2').first().waitFor();
  await still();
  const name = await page.locator('main h2').first().innerText();
  const wantsKey = page.getByLabel('Key', { exact: true });
  if ((await wantsKey.count()) > 0) {
    await wantsKey.fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.field').waitFor();
    await still();
  }
  assert.equal(await page.locator('.error').count(), 0, address);
  const title = await page.title();
  seen[title] = { name, text: await page.locator('main').innerText() };
  assert.deepEqual(
    faults.filter((fault) => !/status of 404/.test(fault)),
    [],
    title,
  );
}
assert.equal(Object.keys(seen).length, addresses.length, Object.keys(seen).join());
assert.ok(seen['sql_grid: tdb'], Object.keys(seen).join());

// A page of this server reads nothing of another: neither its script nor its policy lets it.
await page.goto(addresses[0]);
const other = `${new URL(addresses.at(-1)).origin}/`;
const asked = await page.evaluate(
  (url) =>
    fetch(url).then(
      () => 'answered',
      () => 'refused',
    ),
  other,
);
assert.equal(asked, 'refused');
await close();
console.log(`tdb view: ${addresses.length} arrays and groups: well`);
