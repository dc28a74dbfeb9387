// What the viewer computes without a page: node --test units.mjs

import assert from 'node:assert/strict';
import test from 'node:test';

import { Axis } from '../axis.js';
import {
  civil,
  dateText,
  dateTicks,
  daysOf,
  exactText,
  parseDate,
  timeText,
} from '../calendar.js';
import { category, level, levels } from '../color.js';
import { keyBytes, wantsKey } from '../errors.js';
import { boundText, bytes, count, duration, number, roughly, valueText } from '../format.js';
import { densePasses, estimate, FINE_TILES, MOST_BYTES, pieces, stripes } from '../sample.js';
import { Model } from '../model.js';
import { roundStep, steps, wholeSteps } from '../ticks.js';
import { quoted, quotedText, sort, typeText } from '../types.js';

test('days and dates belong to each other', () => {
  for (const days of [-719468, -1, 0, 59, 60, 365, 11016, 19782, 2932896, 10 ** 8]) {
    assert.equal(daysOf(...civil(days)), days);
  }
  assert.deepEqual(civil(19782), [2024, 2, 29]);
});

test('dates of all units are text, and back', () => {
  assert.equal(dateText(19782n, 'DAY'), '2024-02-29');
  assert.equal(dateText(-1n, 'NS'), '1969-12-31 23:59:59.999999999');
  assert.equal(dateText(54n, 'YEAR'), '2024');
  assert.equal(dateText(-1n, 'MONTH'), '1969-12');
  assert.equal(dateText(2000000n, 'YEAR'), '+2001970');
  const moments = [
    ['2024-02-29', 'DAY'],
    ['2024-03-01 12:30', 'MIN'],
    ['2024-03-01 12:30:05.25', 'MS'],
    ['1969-12-31 23:59:59.999999999', 'NS'],
    ['2024', 'YEAR'],
    ['1969-12', 'MONTH'],
  ];
  for (const [text, unit] of moments) assert.equal(dateText(parseDate(text, unit)[0], unit), text);
  assert.deepEqual(parseDate('+2001970', 'YEAR'), [2000000n, 2000000n]);
  assert.equal(exactText(1000n, 'MS'), '1970-01-01 00:00:01.0');
  assert.equal(exactText(1n, 'SEC'), '1970-01-01 00:00:01');
  assert.equal(timeText(-3661n, 'SEC'), '-01:01:01');
});

test('a date is all that is inside of it', () => {
  const second = 1704067200n;
  for (const [text, unit, first, last] of [
    ['2024-01-01', 'SEC', second, second + 86399n],
    ['2024-01-01', 'MS', second * 1000n, (second + 86400n) * 1000n - 1n],
    ['2024-01-01 00:00', 'SEC', second, second + 59n],
    ['2024-01-01 00:00:00', 'MS', second * 1000n, second * 1000n + 999n],
    ['2024-01-01 00:00:00.0', 'MS', second * 1000n, second * 1000n],
    ['2024-02', 'DAY', 19754n, 19782n],
    ['2024', 'DAY', 19723n, 20088n],
    ['1969-12', 'MONTH', -1n, -1n],
    ['1969', 'MONTH', -12n, -1n],
    ['-0001-12', 'MONTH', -23641n, -23641n],
    ['2024-01-01', 'MONTH', 648n, 648n],
    ['2024-01-01T00:00', 'DAY', 19723n, 19723n],
    ['1970-01', 'WEEK', 0n, 4n],
  ])
    assert.deepEqual(parseDate(text, unit), [first, last], `${text} in ${unit}`);
  for (const [text, unit] of [
    ['2024-13', 'DAY'],
    ['2024-02-31', 'DAY'],
    ['2023-02-29', 'SEC'],
    ['2024-00-01', 'DAY'],
    ['2024-01-01 24:00', 'SEC'],
    ['yesterday', 'DAY'],
    // No tick is inside.
    ['2024-01-02', 'MONTH'],
    ['2024-01-01 12:30', 'DAY'],
    ['2024-01-01 00:00:00.5', 'SEC'],
  ])
    assert.equal(parseDate(text, unit), null, `${text} in ${unit}`);
});

/** A model of a dense array of rows and times, whose cells are in a part of it. */
function made(more = {}) {
  const schema = {
    type: 'dense',
    dimensions: [
      { name: 'row', datatype: 'INT32', domain: [0, 99], tile: 10, currentDomain: null },
      { name: 'time', datatype: 'DATETIME_MS', domain: [0n, 10n ** 13n], tile: 10n },
      { name: 's', datatype: 'STRING_ASCII', domain: null, tile: null, currentDomain: null },
    ],
    attributes: [{ name: 'a', datatype: 'INT32', cellValNum: 1 }],
  };
  const cells = [
    [20, 79],
    [0n, 10n ** 12n],
    ['b', 'y'],
  ];
  return new Model({ schema, ...more }, [], cells);
}

test('ranges that do not fit are errors, not other ranges', () => {
  const model = made();
  const range = (text, name = 'row') => model.ranges({ [`r.${name}`]: text })[name];
  assert.deepEqual(range('10..50'), [10, 50]);
  assert.deepEqual(range('7'), [7, 7]);
  assert.deepEqual(range('50..300'), [50, 99]);
  assert.deepEqual(range('50..'), [50, 79]);
  assert.deepEqual(range('90..'), [90, 90], 'behind all cells');
  assert.deepEqual(range('..10'), [10, 10], 'before all cells');
  assert.equal(range('..'), undefined);
  assert.deepEqual(range('k%2E..', 's'), ['k.', null]);
  assert.deepEqual(range('1970-01-01', 'time'), [0n, 86399999n]);
  assert.deepEqual(range('1970-01-01..1970-01-02', 'time'), [0n, 2n * 86400000n - 1n]);
  const written = [0n, 1000n].map((value) => model.write('time', value)).join('..');
  assert.deepEqual(range(written, 'time'), [0n, 1000n], 'a window as it stands in the address');
  for (const [text, why] of [
    ['200..300', /200\.\.300 of row: it is outside of the domain, 0 to 99/],
    ['-9..-1', /outside of the domain/],
    ['abc..10', /“abc” is no value of it/],
    ['50..10', /it ends before it begins/],
    ['1..2..3', /is written low\.\.high/],
  ]) {
    assert.throws(() => range(text), { kind: 'query', message: why });
    assert.match(model.wrong({ 'r.row': text }).message, why);
  }
  assert.throws(() => range('2024-02-31', 'time'), /“2024-02-31” is no value of it/);
  assert.throws(() => range('%zz', 's'), /no value of it/);
  assert.equal(model.wrong({ 'r.row': '1..2' }), null);
});

test('who waits for an enumeration does not depend on others', async () => {
  const calls = [];
  const model = made({
    enumeration: (name, { signal } = {}) =>
      new Promise((resolve, reject) => {
        calls.push({ resolve: () => resolve({ values: ['x', 1] }), reject });
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  const controller = new AbortController();
  const first = model.enumeration('e', controller.signal);
  const second = model.enumeration('e', new AbortController().signal);
  controller.abort(new Error('enough'));
  await assert.rejects(first, /enough/);
  await assert.rejects(model.enumeration('e', controller.signal), /enough/);
  calls[0].resolve();
  assert.deepEqual(await second, ['x', '1']);
  assert.equal(calls.length, 1);
  const failing = model.enumeration('f');
  calls[1].reject(new Error('away'));
  await assert.rejects(failing, /away/);
  const again = model.enumeration('f');
  calls[2].resolve();
  assert.deepEqual(await again, ['x', '1']);
});

test('ticks of dates are round and inside', () => {
  const texts = (low, high, unit, most) =>
    dateTicks(low, high, unit, most).ticks.map(({ text }) => text);
  assert.deepEqual(texts(19723n, 19783n, 'DAY', 5), ['2024-01', '2024-02', '2024-03']);
  const day = 1704067200n;
  const clock = ['00:00', '06:00', '12:00', '18:00'];
  assert.deepEqual(texts(day, day + 86399n, 'SEC', 5), clock);
  assert.equal(dateTicks(day, day + 86399n, 'SEC', 5).context, '2024-01-01');
  const small = texts(day * 10n ** 9n, day * 10n ** 9n + 1000n, 'NS', 4);
  assert.ok(small.length >= 2 && small[1].endsWith('.0000005'), String(small));
  assert.deepEqual(texts(0n, 100n, 'YEAR', 5), ['1970', '1990', '2010', '2030', '2050', '2070']);
  for (const [low, high, unit] of [
    [0n, 10n ** 18n, 'NS'],
    [-(10n ** 6n), 10n ** 6n, 'DAY'],
    [5n, 5n, 'MS'],
    [0n, 3n, 'MONTH'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'YEAR'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'MONTH'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'DAY'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'WEEK'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'SEC'],
    [-(2n ** 63n), 2n ** 63n - 1n, 'AS'],
  ]) {
    for (const { value } of dateTicks(low, high, unit, 6).ticks) {
      assert.ok(low <= value && value <= high, `${unit} ${value}`);
    }
    assert.ok(dateTicks(low, high, unit, 6).ticks.length <= 8, unit);
  }
});

test('ticks of numbers are those of tdb show', () => {
  const texts = (low, high, most) => steps(low, high, most).map(({ text }) => text);
  assert.deepEqual(texts(0, 1, 5), ['0', '0.2', '0.4', '0.6', '0.8', '1.0']);
  assert.deepEqual(texts(-7, 93, 5), ['0', '20', '40', '60', '80']);
  assert.deepEqual(texts(0, 2e9, 2), ['0', '1e9', '2e9']);
  assert.deepEqual([0.3, 1, 21].map(roundStep), [0.5, 1, 50]);
  assert.deepEqual(steps(NaN, 1, 4), []);
  const whole = (low, high, most) => wholeSteps(low, high, most).map(({ value }) => value);
  assert.deepEqual(whole(-3n, 3n, 3), [-2n, 0n, 2n]);
  assert.deepEqual(whole(1n, 4n, 4), [1n, 2n, 3n, 4n]);
  assert.ok(whole(-(2n ** 63n), 2n ** 63n - 1n, 6).length <= 7);
});

test('an axis keeps the last digit of large integers', () => {
  const low = 2n ** 62n;
  const dimension = { name: 't', datatype: 'INT64', domain: [-(2n ** 63n), 2n ** 63n - 1n] };
  const axis = new Axis({ ...dimension, tile: 10n }, [low, low + 99n]);
  assert.equal(axis.length, 100);
  assert.equal(axis.value(axis.offset(low + 7n)), low + 7n);
  assert.equal(axis.parse(String(low + 7n)), low + 7n);
  assert.equal(axis.parse('7.5'), null);
  assert.equal(axis.value(-1e30), -(2n ** 63n));
});

test('an axis of dates reads and writes dates', () => {
  const axis = new Axis({ name: 'day', datatype: 'DATETIME_DAY', domain: [0n, 99999n], tile: 1n }, [
    19723n,
    19783n,
  ]);
  assert.equal(axis.text(axis.value(0)), '2024-01-01');
  assert.equal(axis.parse('2024-01-02'), 19724n);
  assert.equal(axis.parse('2024-02'), 19754n);
  assert.equal(axis.parse('2024-02', true), 19782n);
  assert.equal(axis.parse('19724'), 19724n);
  assert.equal(axis.title(), 'day');
});

test('numbers, sizes and counts are short', () => {
  const short = [0.1 + 0.2, 123.456, -2.5e-7, 1.7976931348623157e308].map(number);
  assert.deepEqual(short, ['0.3', '123.5', '-2.5e-7', '1.798e308']);
  assert.deepEqual([999, 1500, 2e6].map(bytes), ['999\u00a0B', '1.5\u00a0kB', '2\u00a0MB']);
  assert.equal(count(1234567), '1\u202f234\u202f567');
  assert.equal(roughly(1e12), '1 trillion');
  assert.equal(duration(1500), '1.5\u00a0s');
  assert.equal(boundText(3.940322307358307, 'FLOAT64'), '3.94');
  assert.equal(valueText(Math.fround(0.1), 'FLOAT32'), '0.1');
  assert.equal(valueText(new Uint8Array([1, 255]), 'BLOB'), '01ff');
  assert.equal(valueText(null, 'INT8'), 'null');
});

test('ramps go from one end to the other in steps of lightness', () => {
  const light = (bytes_, at) => bytes_[4 * at] + 2 * bytes_[4 * at + 1] + bytes_[4 * at + 2];
  for (const name of ['viridis', 'embers', 'grey']) {
    const shades = Array.from({ length: 16 }, (_, at) => light(levels(name), at * 17));
    assert.deepEqual(
      shades,
      shades.toSorted((a, b) => a - b),
      name,
    );
  }
  assert.equal(level(NaN, 0, 1), -1);
  assert.deepEqual(
    [-1, 0, 0.5, 1, 2].map((value) => level(value, 0, 1)),
    [0, 0, 128, 255, 255],
  );
  assert.equal(new Set(Array.from({ length: 24 }, (_, at) => category(at))).size, 24);
});

test('a window of any size reads a bounded number of tiles and cells', () => {
  for (const side of [10, 1000, 1e6, 1e9]) {
    for (const tile of [10, 1000]) {
      const tileBytes = tile * tile * 8;
      const passes = densePasses({
        cells: [side, side],
        tile: [tile, tile],
        pixels: [800, 500],
        tileBytes,
      });
      const last = passes.at(-1);
      assert.ok(last.tiles <= FINE_TILES && last.bytes <= Math.max(MOST_BYTES, 4 * tileBytes));
      assert.ok((side / last.x) * (side / last.y) <= 2.1e6, `${side} ${tile}`);
    }
  }
  const small = densePasses({ cells: [40, 40], tile: [10, 10], pixels: [99, 99], tileBytes: 800 });
  assert.deepEqual(
    small.map(({ exact, tiles }) => [exact, tiles]),
    [[true, 16]],
  );
  const large = densePasses({
    cells: [4e4, 4e4],
    tile: [100, 100],
    pixels: [9, 9],
    tileBytes: 1e4,
  });
  assert.equal(large.length, 2);
  assert.ok(large[0].tiles < large[1].tiles);
});

test('the cells in a window are estimated from fragments', () => {
  const dimensions = [
    { name: 'x', datatype: 'INT32' },
    { name: 's', datatype: 'STRING_ASCII' },
  ];
  const fragments = [
    {
      cells: 100,
      nonEmptyDomain: [
        [0, 9],
        ['a', 'z'],
      ],
    },
  ];
  assert.equal(estimate(fragments, dimensions, { x: [0, 4] }), 50);
  assert.equal(estimate(fragments, dimensions, { x: [20, 30] }), 0);
  assert.equal(estimate(fragments, dimensions, {}), 100);
  assert.deepEqual(stripes([0, 10], 2, 0.5), [
    [1.25, 3.75],
    [6.25, 8.75],
  ]);
});

test('pages are boxes that hold each cell once', () => {
  const shape = [3, 4, 5];
  for (let start = 0; start < 60; start += 7) {
    const found = [];
    for (const [a, b, c] of pieces(start, 11, shape)) {
      for (let i = a[0]; i <= a[1]; i += 1) {
        for (let j = b[0]; j <= b[1]; j += 1) {
          for (let k = c[0]; k <= c[1]; k += 1) found.push((i * 4 + j) * 5 + k);
        }
      }
    }
    const expected = Array.from({ length: Math.min(11, 60 - start) }, (_, at) => start + at);
    assert.deepEqual(found, expected);
  }
  assert.deepEqual(pieces(1e12 - 3, 50, [1e6, 1e6]), [
    [
      [999999, 999999],
      [999997, 999999],
    ],
  ]);
});

test('keys are 32 characters or 64 digits', () => {
  assert.equal(keyBytes('0123456789abcdeF0123456789abcdeF').length, 32);
  assert.deepEqual([...keyBytes('ff'.repeat(32))], new Array(32).fill(255));
  assert.equal(keyBytes('short'), null);
});

test('a key is asked for where the file says so, not its address', () => {
  const file = 'https://host/encrypted/a0.tdb';
  const of = (kind, said) => ({ kind, file, message: `${file}: ${said}` });
  const missing = 'the tile is encrypted (AES-256-GCM), and no key was given';
  const wrong = "filter 'aes-256-gcm' cannot decrypt part 0: the key is wrong";
  assert.ok(wantsKey(of('unsupported', missing)));
  assert.ok(wantsKey(of('unsupported', 'needs a key: the data is encrypted (AES-256-GCM)')));
  assert.ok(wantsKey(of('corrupt', wrong)));
  assert.ok(!wantsKey(of('corrupt', 'a key was given, but the tile is not encrypted')));
  assert.ok(!wantsKey(of('corrupt', 'checksum (md5) differs')));
  assert.ok(!wantsKey({ ...of('network', 'HTTP 500'), status: 500 }));
  assert.ok(!wantsKey({ kind: 'query', message: 'the array has no field "is encrypted"' }));
  assert.ok(!wantsKey({ kind: 'listing', message: 'https://is encrypted/a: not listed' }));
});

test('datatypes have a sort, and names are quoted where they must be', () => {
  const names = ['INT64', 'FLOAT32', 'DATETIME_NS', 'TIME_HR', 'BOOL', 'BLOB', 'STRING_UTF8'];
  const sorts = ['integer', 'real', 'date', 'time', 'boolean', 'bytes', 'text'];
  assert.deepEqual(names.map(sort), sorts);
  assert.equal(typeText({ datatype: 'FLOAT32', cellValNum: 3 }), 'float32 × 3');
  assert.equal(quoted('a"b'), '"a""b"');
  assert.equal(quotedText("L'Aquila \\"), "'L\\'Aquila \\\\'");
});
