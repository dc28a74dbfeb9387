// What is done with each array. A case gets `page` (playwright) and a few tools.

import assert from 'node:assert/strict';

const KEY = '0123456789abcdeF0123456789abcdeF';

/** The colour of a pixel of the picture, at shares of its sides. */
const pixel = (page, x, y) =>
  page.evaluate(
    ([left, top]) => {
      const canvas = document.querySelector('.field canvas');
      const at = [Math.floor(canvas.width * left), Math.floor(canvas.height * top)];
      return [...canvas.getContext('2d').getImageData(...at, 1, 1).data];
    },
    [x, y],
  );

const text = (page, selector) => page.locator(selector).first().innerText();

/** A dense plane: time travel by keys, zoom and pan by keys and mouse, a condition. */
async function raster({ page, open, still, hash, picture, accessible }) {
  await open('url=/data/raster');
  assert.match(await text(page, '.facts-line'), /dense.*240\s000 cells.*4 fragments/s);
  const latest = await pixel(page, 0.75, 0.9);
  assert.equal(latest[3], 255);
  await picture();

  const arrays = () => page.evaluate(() => window.fakeOpen);
  assert.equal(await arrays(), 1);
  await page.getByLabel('Time').focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => location.hash.includes('at='));
  await still();
  await page.keyboard.press('Home');
  await page.waitForFunction((at) => location.hash.includes(at), String(Date.UTC(2024, 0, 5)));
  await still();
  assert.equal((await hash()).at, String(Date.UTC(2024, 0, 5)));
  assert.equal(await arrays(), 2, 'arrays that are open, of three times');
  assert.equal((await pixel(page, 0.75, 0.9))[3], 0, 'nothing was written there at first');
  assert.notDeepEqual(await pixel(page, 0.3, 0.65), latest);
  await picture('-early');
  await page.keyboard.press('End');
  await page.waitForFunction(() => !location.hash.includes('at='));
  await still();
  assert.equal(await arrays(), 1);
  assert.deepEqual(await pixel(page, 0.75, 0.9), latest);

  const field = page.locator('.field');
  await field.focus();
  await page.keyboard.press('+');
  await page.waitForFunction(() => location.hash.includes('r.row'));
  await still();
  const zoomed = await hash();
  assert.equal(zoomed['r.row'], '100..299');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction((old) => !location.hash.includes(old), zoomed['r.column']);
  await still();
  assert.equal((await hash())['r.column'], '180..479');
  assert.match(await text(page, '.readout'), /row 200 · column 330 · height \d/);
  await page.keyboard.press('0');
  await page.waitForFunction(() => !location.hash.includes('r.row'));
  await still();

  const box = await field.boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.375);
  assert.match(await text(page, '.readout'), /row 1\d\d · column 4\d\d · height 1[23]\d\d/);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => location.hash.includes('r.column'));
  await still();
  const before = await hash();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.375, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((old) => !location.hash.includes(old), before['r.column']);
  await still();

  // A link holds all of it.
  const link = page.url();
  await page.goto('about:blank');
  await page.goto(link);
  await still();
  assert.equal(page.url(), link);

  await page.getByLabel('Condition').fill('height > 1000');
  await page.keyboard.press('Enter');
  await still();
  assert.equal((await hash()).where, 'height > 1000');
  await page.getByLabel('Condition').fill('height >');
  await page.keyboard.press('Enter');
  await page.locator('.error').waitFor();
  await accessible();
  await page.getByLabel('Condition').fill('');
  await page.keyboard.press('Enter');
  await still();
  assert.equal(await page.locator('.error').count(), 0, 'a mended condition shows the picture');
  assert.match(await text(page, '#cost'), /request/);
}

/** Ranges of a link that the array does not have are said, and can be mended. */
async function ranges({ page, open, still, hash, picture, accessible }) {
  for (const [wrong, said] of [
    ['500..600', /500\.\.600 of row: it is outside of the domain, 0 to 399/],
    ['abc..10', /“abc” is no value/],
    ['50..10', /it ends before it begins/],
  ]) {
    for (const tab of ['', '&tab=table', '&tab=values']) {
      await open(`url=/data/raster&r.row=${wrong}${tab}`);
      assert.match(await text(page, '.error'), said);
      assert.match(await text(page, '.error'), /does not fit the array/);
    }
  }
  await accessible();
  await page.getByRole('tab', { name: 'Fragments' }).click();
  await still();
  assert.equal(await page.locator('.error').count(), 0);
  await page.getByRole('tab', { name: 'Table' }).click();
  await still();
  assert.match(await text(page, '.error'), /it ends before it begins/);
  await picture();
  await page.getByLabel('row, from').fill('5');
  await page.keyboard.press('Tab');
  await still();
  assert.equal((await hash())['r.row'], '5..10');
  assert.equal(await page.locator('.error').count(), 0);
  assert.match(await text(page, '.cells caption'), /of 3\s600/);
  await open('url=/data/raster&r.row=abc..10&tab=table');
  assert.equal(await page.getByLabel('row, from').inputValue(), 'abc');
  assert.equal(await page.getByLabel('row, from').getAttribute('aria-invalid'), 'true');
  // A slice that is wrong, beside its slider.
  await open('url=/data/cube&r.day=2030-01-01');
  assert.match(await text(page, '.error'), /outside of the domain, 2024-01-01 to 2024-03-01/);
  await page.getByRole('slider', { name: 'day' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => location.hash.includes('2024-01-02'));
  await still();
  assert.equal(await page.locator('.error').count(), 0);
  // A day is the day.
  await open('url=/data/line&tab=table&r.time=2024-01-01 12:30');
  assert.match(await text(page, '.cells caption'), /Cells 1 to 50 of 60/);
  await page.getByLabel('time, from').fill('2024-01-01 12');
  await page.keyboard.press('Tab');
  assert.equal(await page.getByLabel('time, from').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('time, from').fill('2024-01-01');
  await page.keyboard.press('Tab');
  await still();
  assert.equal((await hash())['r.time'], '2024-01-01..2024-01-01 12:30');
  assert.match(await text(page, '.cells caption'), /of 45\s060/);
}

/** The other views of an array, in the dark. */
async function views({ page, open, still, hash, picture, accessible }) {
  await open('url=/data/raster&theme=dark');
  for (const [tab, shown] of [
    ['Table', /Cells 1 to 50 of 240\s000/],
    ['Values', /median/],
    ['Fragments', /In time/],
    ['Schema', /byteshuffle, zstd \(level 5\)/],
  ]) {
    await page.getByRole('tab', { name: tab }).click();
    await still();
    assert.match(await text(page, '.view'), shown);
    await picture(`-${tab.toLowerCase()}`);
    await accessible();
  }
  assert.match(await text(page, '.view'), /compression\s+2\.\d+ : 1/);
  assert.match(await text(page, '.view'), /source\s+made/);
  await page.getByRole('tab', { name: 'Schema' }).focus();
  await page.keyboard.press('ArrowLeft');
  await still();
  assert.equal((await hash()).tab, 'fragments');
  await page.getByRole('button', { name: 'Show as of fragment 2' }).click();
  await still();
  assert.equal((await hash()).at, String(Date.UTC(2024, 1, 4)));
  await page.goBack();
  await still();
  assert.equal((await hash()).tab, 'schema');
}

/** Three dimensions: a slider for the third, categories, another pair of axes. */
async function cube({ page, open, still, hash, picture }) {
  await open('url=/data/cube&field=kind');
  assert.match(await text(page, '.legends'), /sea[\s\S]*ice/);
  await page.getByRole('slider', { name: 'day' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => location.hash.includes('r.day'));
  await still();
  assert.equal((await hash())['r.day'], '2024-01-02');
  await picture();
  await page.getByRole('combobox', { name: 'Down' }).selectOption('day');
  await still();
  await page.getByRole('combobox', { name: 'Show' }).selectOption('heat');
  await still();
  assert.match(await page.locator('.frame').first().textContent(), /2024-0/);
  await picture('-days');
}

/** Sparse points: density, then dots where there are few. */
async function points({ page, open, still, picture, hash }) {
  await open('url=/data/points');
  assert.match(await text(page, '.note'), /60\s000 cells/);
  await picture();
  await page.getByRole('combobox', { name: 'Show' }).selectOption('speed');
  await still();
  assert.match(await text(page, '.legends'), /mean of speed/);
  await page.locator('.field').focus();
  for (let times = 0; times < 4; times += 1) await page.keyboard.press('+');
  await page.waitForFunction(() => location.hash.includes('r.lon'));
  await still();
  const cells = Number((await text(page, '.note')).match(/[\d\s]+/)[0].replace(/\s/g, ''));
  assert.ok(cells > 0 && cells < 5000, `${cells} cells`);
  await picture('-near');
  assert.ok((await hash())['r.lat']);
}

/** Strings, dates, nulls, enumerations: page by page, with a range and a condition. */
async function table({ page, open, still, hash, picture }) {
  await open('url=/data/table&tab=table');
  const shown = await text(page, '.cells');
  for (const part of ['2024-01-01', 'null', 'empty', 'cloudy', 'true']) {
    assert.ok(shown.includes(part), part);
  }
  await picture();
  await page.getByRole('button', { name: 'Next' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.includes('page=2'));
  await still();
  assert.match(await text(page, '.cells caption'), /Cells 51 to 100/);
  await page.getByLabel('station, from').fill('Lugano');
  await page.getByLabel('station, to').fill('Lugano');
  await page.keyboard.press('Tab');
  await still();
  assert.equal((await hash())['r.station'], 'Lugano..Lugano');
  assert.match(await text(page, '.cells tbody'), /^Lugano/);
  await page.getByLabel('day, from').fill('2024-13-40');
  await page.keyboard.press('Tab');
  assert.equal(await page.getByLabel('day, from').getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Condition').fill('heat > 24');
  await page.keyboard.press('Enter');
  await still();
  const found = await page.locator('.cells tbody tr').count();
  assert.ok(found > 0 && found < 50, `${found} rows`);
  await page.getByText('Columns (5 of 5 attributes)').click();
  await page.getByLabel('note', { exact: true }).click();
  await still();
  assert.equal((await hash()).cols, 'heat,sky,seen,wet');
  await page.getByRole('tab', { name: 'Values' }).click();
  await page.getByRole('combobox', { name: 'Field' }).selectOption('sky');
  await still();
  assert.match(await text(page, '.bars'), /clear/);
  await picture('-values');
  await page.getByRole('tab', { name: 'Picture' }).click();
  await still();
}

/** One dimension of times. */
async function line({ page, open, picture, still }) {
  await open('url=/data/line');
  assert.match(await page.locator('.frame').first().textContent(), /time \(2024-01-01\)/);
  await picture();
  await page.locator('.field').focus();
  for (let times = 0; times < 3; times += 1) await page.keyboard.press('+');
  await page.waitForFunction(() => location.hash.includes('r.time'));
  await still();
  assert.match(await text(page, '.readout'), /time 2024-01-01 \d\d:\d\d:\d\d · volts 2\d\d/);
}

/** An experiment: its embedding by a column, by a picked kind, and by a gene. */
async function soma({ page, open, still, hash, picture }) {
  await open('url=/data/soma');
  assert.match(await text(page, '.legends'), /cell_type[\s\S]*B cells/);
  assert.match(await text(page, '.note'), /2\s700 cells/);
  await picture();
  await page.getByRole('button', { name: /NK cells/ }).focus();
  await page.keyboard.press('Enter');
  await still();
  assert.equal((await hash()).pick, 'NK cells');
  await picture('-picked');
  await page.getByLabel('Colour by gene').fill('MS4A1');
  await page.keyboard.press('Enter');
  await still();
  assert.deepEqual((await hash()).gene, 'MS4A1');
  assert.match(await text(page, '.legends'), /MS4A1/);
  await picture('-gene');
  await page.getByLabel('Colour by gene').fill('nothing');
  await page.keyboard.press('Enter');
  await still();
  assert.match(await text(page, '.note'), /There is no gene nothing/);
  await page.getByRole('combobox', { name: 'Colour by column' }).selectOption('n_counts');
  await still();
  assert.match(await text(page, '.legends'), /n_counts/);
}

/** Experiments with parts elsewhere, without cells, and with more genes than names are offered. */
async function experiments({ page, open, still, picture, faults }) {
  await open('url=/data/borrowed');
  assert.match(await text(page, '.note'), /2\s700 cells/);
  const away = /Elsewhere, and not followed: ms\/RNA\/var, ms\/RNA\/X/;
  assert.match(await text(page, '.note'), away);
  await picture();
  await open('url=/data/borrowed&gene=MS4A1');
  assert.match(await text(page, '.error'), /member (var|X) is elsewhere, at https:\/\/elsewhere/);
  await open('url=/data/foreign');
  assert.match(await text(page, '.error'), /The member obs is elsewhere, at https:\/\/elsewhere/);
  await page.getByRole('tab', { name: 'Members' }).click();
  await still();
  assert.match(await text(page, '.view'), /elsewhere: not followed/);
  assert.deepEqual(faults, [], 'nothing elsewhere is asked');
  for (const more of ['', '&gene=MS4A1', '&by=n_counts', '&by=barcode']) {
    await open(`url=/data/cleared${more}`);
    assert.equal(await page.locator('.error').count(), 0, more);
    assert.match(await text(page, '.note'), /^0 cells/);
  }
  await open('url=/data/genes&gene=NKG7');
  assert.match(await text(page, '.legends'), /NKG7/);
  await page.getByLabel('Colour by gene').fill('ENSG7');
  await page.keyboard.press('Enter');
  await still();
  assert.match(await text(page, '.legends'), /ENSG7/);
  await page.getByLabel('Colour by gene').fill("it's none");
  await page.keyboard.press('Enter');
  await still();
  assert.match(await text(page, '.note'), /There is no gene it's none/);
}

/** A group as a tree, by keys; a member elsewhere is not followed. */
async function group({ page, open, still, hash, picture }) {
  await open('url=/data/group');
  assert.match(await text(page, '.view'), /elsewhere: not followed/);
  await page.getByRole('treeitem', { name: 'group' }).first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await still();
  assert.equal((await hash()).in, '/raster');
  await page.getByRole('treeitem', { name: 'raster' }).focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  await page.getByRole('treeitem', { name: 'table' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await still();
  assert.equal((await hash()).in, '/more/table');
  await picture();
  await open('url=/data/group&in=/away');
  assert.match(await text(page, '.error'), /is elsewhere, at https:\/\/elsewhere\.example\/array/);
  await page.goBack();
  await still();
  // The signature of the address is that of the members.
  await open('url=/data/signed?sig=1');
  assert.equal(await page.getByText('elsewhere: not followed').count(), 1);
  await page.getByRole('treeitem', { name: 'raster' }).click();
  await page.locator('.field').waitFor();
  await still();
  assert.equal((await hash()).in, '/raster');
  assert.equal(await page.locator('.error').count(), 0);
  await open('url=/data/signed');
  assert.match(await text(page, '.error'), /HTTP 403/);
}

/** A key: a wrong one, and the right one, which is not in the address. */
async function encrypted({ page, open, still, picture, accessible }) {
  await open('url=/data/encrypted');
  await picture();
  await accessible();
  const key = page.getByLabel('Key', { exact: true });
  await key.fill('short');
  await page.keyboard.press('Enter');
  assert.match(await text(page, '.key .wrong'), /32 characters/);
  await key.fill('x'.repeat(32));
  await page.keyboard.press('Enter');
  await page.getByText('This key does not fit.').waitFor();
  await key.fill(KEY);
  await page.keyboard.press('Enter');
  await page.locator('.field').waitFor();
  await still();
  assert.ok(!page.url().includes(KEY));
  assert.equal((await pixel(page, 0.75, 0.9))[3], 255);
}

/** An error names the file and the byte; the other views still work. */
async function damaged({ page, open, still, picture }) {
  await open('url=/data/damaged');
  const shown = await text(page, '.error');
  assert.match(shown, /damaged/);
  assert.match(shown, /__fragments\/__10_10_4ebe_22\/a0\.tdb/);
  assert.match(shown, /4096/);
  await picture();
  await page.getByRole('tab', { name: 'Schema' }).click();
  await still();
  assert.equal(await page.locator('.error').count(), 0);
  await open('url=/data/nothing');
  assert.match(await text(page, '.error'), /No array or group is there/);
  await open('url=ftp://host/array');
  assert.match(await text(page, '.error'), /no address of a web server/);
}

/** 10¹² cells: nothing waits for more than a second, and memory stays small. */
async function huge({ page, origin, still, picture, context }) {
  await page.addInitScript(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        window.longest = Math.max(window.longest, duration);
      }
    }).observe({ type: 'longtask', buffered: true });
  });
  const slowest = { name: '', milliseconds: 0 };
  const timed = async (name, work) => {
    const began = Date.now();
    await work();
    const milliseconds = Date.now() - began;
    if (milliseconds > slowest.milliseconds) Object.assign(slowest, { name, milliseconds });
    await still();
  };
  await timed('opening', async () => {
    await page.goto(`${origin}/index.html#url=/data/huge`);
    await page.waitForFunction(() => {
      const canvas = document.querySelector('.field canvas');
      return canvas?.width > 0 && canvas.getContext('2d').getImageData(9, 9, 1, 1).data[3] > 0;
    });
  });
  assert.match(await text(page, '.facts-line'), /1 trillion cells/);
  assert.match(await text(page, '.note'), /1 of every/);
  await page.locator('.field').focus();
  for (let times = 0; times < 9; times += 1) {
    await timed('zoom', async () => {
      const before = page.url();
      await page.keyboard.press('+');
      await page.waitForFunction((old) => location.href !== old, before);
      await page.waitForTimeout(100);
    });
  }
  assert.match(await text(page, '.facts-line'), /trillion/);
  await picture();
  await timed('table', () => page.getByRole('tab', { name: 'Table' }).click());
  await page.getByLabel('Page').fill('3');
  await timed('page', () => page.keyboard.press('Enter'));
  await timed('values', () => page.getByRole('tab', { name: 'Values' }).click());
  await timed('schema', () => page.getByRole('tab', { name: 'Schema' }).click());
  assert.ok(slowest.milliseconds < 1500, JSON.stringify(slowest));
  const longest = await page.evaluate(() => window.longest);
  assert.ok(longest < 1000, `the page did not answer for ${longest} ms`);
  const session = await context.newCDPSession(page);
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  assert.ok(usedSize < 300e6, `${usedSize} bytes`);
  console.log(`10^12 cells: slowest ${JSON.stringify(slowest)}, longest task ${longest} ms`);
}

/** Strings that are scripts and markup stay text, everywhere. */
async function hostile({ page, open, still, picture, faults }) {
  await open('url=/data/hostile&tab=table');
  assert.match(await text(page, '.cells'), /<img src=x onerror=/);
  await picture();
  for (const tab of ['Values', 'Fragments', 'Schema']) {
    await page.getByRole('tab', { name: tab }).click();
    await still();
  }
  const markup = 'main img, main script, main b, main i, main u, main svg[onload]';
  assert.equal(await page.locator(markup).count(), 0);
  await open('url=/data/<img src=x onerror=window.hacked=1>');
  assert.match(await text(page, '.error'), /No array or group/);
  await open('url=javascript:window.hacked=1');
  assert.match(await text(page, '.error'), /no address of a web server/);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const blocked = await page.evaluate(async () => {
    const script = document.createElement('script');
    script.textContent = 'window.hacked = 2';
    document.body.append(script);
    return window.hacked;
  });
  assert.equal(blocked, undefined, 'the policy forbids scripts in the page');
  assert.match(String(faults.splice(0)), /^Executing inline script violates/);
}

/** The page without an array; a skip link; the switch of colours. */
async function start({ page, open, still, hash, picture, accessible }) {
  await open('');
  await picture();
  await accessible();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'skip');
  await page.getByRole('button', { name: 'Dark colours' }).click();
  assert.equal((await hash()).theme, 'dark');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.getByRole('button', { name: 'Light colours' }).click();
  assert.notEqual(await paper(), dark);
  await page.getByLabel('Address of an array or a group').fill('/data/points');
  await page.keyboard.press('Enter');
  await page.locator('.field').waitFor();
  await still();
  assert.equal((await hash()).url, '/data/points');
}

/** An array into which nothing has been written. */
async function empty({ page, open, still, picture }) {
  await open('url=/data/empty');
  assert.match(await text(page, '.note'), /No cells are written here/);
  await picture();
  for (const tab of ['Table', 'Values', 'Fragments', 'Schema']) {
    await page.getByRole('tab', { name: tab }).click();
    await still();
    assert.equal(await page.locator('.error').count(), 0, tab);
  }
}

/** At 200 % nothing is wider than the window. */
async function large({ page, open, picture }) {
  const { width, height } = page.viewportSize();
  await open('url=/data/raster');
  if (width > 600) await page.setViewportSize({ width: width / 2, height: height / 2 });
  await page.waitForTimeout(150);
  const wide = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
  assert.ok(wide[0] <= wide[1], `${wide[0]} of ${wide[1]} pixels`);
  await picture();
}

/** Of many movements only the last is read to its end. */
async function outdated({ page, open, still }) {
  await open('url=/data/slow');
  const asked = () => page.evaluate(() => window.fakeReads ?? { begun: 0, ended: 0 });
  const before = await asked();
  await page.getByRole('slider', { name: 'day' }).focus();
  for (let times = 0; times < 8; times += 1) {
    await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(175);
  }
  await still();
  const after = await asked();
  const [begun, ended] = [after.begun - before.begun, after.ended - before.ended];
  assert.ok(begun >= 2 && ended < begun, `${ended} of ${begun} reads ended`);
}

export const cases = {
  start,
  raster,
  ranges,
  views,
  cube,
  points,
  table,
  line,
  soma,
  experiments,
  group,
  encrypted,
  damaged,
  huge,
  hostile,
  empty,
  large,
  outdated,
};
