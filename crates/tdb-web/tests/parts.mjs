// The tests of the package's parts in Node, without a server.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { check, equal } from './cases.mjs';

async function failure(run) {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing failed');
}

/** A response whose body comes in pieces of 1 KiB, at most so many; `log` counts what is read. */
function streamed(bytes, log, { status = 200, headers = {}, most = Infinity } = {}) {
  let at = 0;
  const body = new ReadableStream(
    {
      pull(controller) {
        const part = bytes ? bytes.subarray(at, at + 1024) : new Uint8Array(1024);
        if (part.length === 0 || at >= most) return controller.close();
        at += part.length;
        log.read += part.length;
        return controller.enqueue(part);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}

const FILE = Uint8Array.from({ length: 5000 }, (_, at) => at % 251);

/** What requests cost, and a folder whose requests this function answers. */
function folderOf({ Counter, Folder }, fetch, more = {}) {
  const place = { url: 'https://host/array', search: '', concurrency: 8, ...more };
  return [new Folder(place, fetch), new Counter()];
}

const PARTS = {
  async 'texts keep a mark of the byte order at their beginning'({ values }) {
    const utf8 = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61);
    equal(values.decodeText('STRING_UTF8', utf8), '\ufeffa', 'UTF-8');
    equal(values.decodeText('STRING_UTF16', Uint16Array.of(0xfeff, 0x61)), '\ufeffa', 'UTF-16');
    equal(values.decodeText('STRING_UTF32', Uint32Array.of(0xfeff, 0x61)), '\ufeffa', 'UTF-32');
  },

  async 'of parts that come as the whole file, one is loaded, and kept'({ http }) {
    const log = { read: 0, requests: 0 };
    const fetch = async () => {
      log.requests += 1;
      return streamed(FILE, log);
    };
    const [folder, counter] = folderOf(http, fetch);
    const part = async (key, start, end) => {
      const { bytes, size } = await folder.part(key, start, end, 5000, undefined, counter);
      equal([...bytes], [...FILE.subarray(start, end)], `${key} from ${start}`);
      equal(size, 5000, `the size of ${key}`);
    };
    await Promise.all([part('a', 0, 10), part('a', 2000, 2010), part('a', 4990, 5000)]);
    equal([log.read, counter.bytes], [5000, 5000], 'bytes of parts that are read at once');
    await part('a', 100, 200);
    equal(log, { read: 5000, requests: 3 }, 'after a part that was kept');
    // It is known now that the server has no ranges.
    await Promise.all([part('b', 0, 10), part('b', 2000, 2010)]);
    await Promise.all([part('c', 0, 5000), part('c', 2000, 2010)]);
    equal(log, { read: 15000, requests: 5 }, 'with two other files');
  },

  async 'who waits for a file that another one gave up loads it'({ http }) {
    const log = { read: 0 };
    const controller = new AbortController();
    let requests = 0;
    const fetch = async (url, { signal }) => {
      requests += 1;
      if (requests === 1) return streamed(FILE, log);
      if (requests > 2) return streamed(FILE, log);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const [folder, counter] = folderOf(http, fetch);
    await folder.part('a', 0, 10, 5000, undefined, counter);
    const given = folder.part('b', 0, 10, 5000, controller.signal, counter);
    const waiting = folder.part('b', 20, 30, 5000, undefined, counter);
    const aborted = folder.part('b', 20, 30, 5000, controller.signal, counter);
    setTimeout(() => controller.abort(new Error('enough')), 10);
    for (const one of [given, aborted])
      equal((await failure(() => one)).message, 'enough', 'cancelled');
    equal([...(await waiting).bytes], [...FILE.subarray(20, 30)], 'the other one');
    equal(requests, 3, 'requests');
  },

  async 'a file that fails fails once, for all who wait for it'({ http }) {
    const log = { read: 0 };
    const answers = {
      b: async () => new Response('', { status: 404 }),
      c: async () => streamed(null, log),
      d: async () => {
        throw new TypeError('connection refused');
      },
    };
    for (const [key, expected, most] of [
      ['b', 'missing', 1],
      ['c', 'outdated', 1],
      // It was tried again.
      ['d', 'network', 3],
    ]) {
      let requests = 0;
      const fetch = async (url) => {
        requests += 1;
        return url.endsWith('/a') ? streamed(FILE, log) : answers[key]();
      };
      const [folder, counter] = folderOf(http, fetch);
      await folder.part('a', 0, 10, 5000, undefined, counter);
      const parts = Array.from({ length: 5 }, (_, at) =>
        folder.part(key, at, at + 1, 5000, new AbortController().signal, counter).then(
          ({ missing }) => (missing ? 'missing' : 'bytes'),
          ({ kind }) => kind,
        ),
      );
      equal(await Promise.all(parts), new Array(5).fill(expected), key);
      check(requests <= most + 1, `${requests} requests for ${key}`);
    }
  },

  async 'files that were used last are kept, up to 64 MiB'({ http }) {
    const [folder] = folderOf(http, null);
    const [mib, part] = [1 << 20, { subarray: () => part }];
    for (const key of ['a', 'b', 'c']) folder.keep(key, { ...part, length: 30 * mib });
    equal([...folder.kept.keys()], ['b', 'c'], 'kept');
    folder.wholeOf('b');
    folder.keep('d', { ...part, length: 20 * mib });
    folder.keep('e', { ...part, length: 65 * mib });
    equal([...folder.kept.keys()], ['b', 'd'], 'kept after b was used');
  },

  async 'no more is read than was asked for'({ http }) {
    for (const [start, end, answer, kind, pattern, most] of [
      [0, 5000, {}, 'outdated', /more than the listing says.* 5000 bytes/, 6144],
      [10, 20, {}, 'outdated', /more than the listing says/, 6144],
      [10, 20, { headers: { 'Content-Length': '99999999' } }, 'outdated', /more than/, 0],
      [10, 20, { status: 206 }, 'network', /sent more bytes, where 10 bytes from 10 on/, 1024],
      [
        10,
        20,
        { status: 206, headers: { 'Content-Range': 'bytes 0-9/5000' }, most: 1 },
        'network',
        /bytes from 0 on/,
        1024,
      ],
    ]) {
      const log = { read: 0 };
      const [folder, counter] = folderOf(http, async () => streamed(null, log, answer));
      const error = await failure(() => folder.part('a', start, end, 5000, undefined, counter));
      equal(error.kind, kind, error.message);
      check(pattern.test(error.message), error.message);
      check(log.read <= most, `${log.read} bytes were read, more than ${most}`);
    }
  },

  async 'what a page got for a worker is bounded, and stays with the page'({ http, remote }) {
    const cached = FILE.slice();
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(cached.subarray(0, 100));
        controller.close();
      },
    });
    const sent = [];
    const worker = { postMessage: (message, moved) => sent.push([message, moved]) };
    const page = { fetches: new Map(), worker, fetch: async () => new Response(body) };
    await remote.RemoteEngine.prototype.answer.call(page, 1, 'https://host', {}, 5000);
    const [[{ loaded }, moved]] = sent;
    structuredClone(loaded, { transfer: moved });
    equal([loaded.length, cached.length], [100, 5000], 'bytes that moved, and what the page has');
    const answer = { status: 206, headers: new Headers(), loaded: { body: FILE, length: 5000 } };
    const [folder, counter] = folderOf(http, async () => answer);
    const error = await failure(() => folder.part('a', 10, 20, 5000, undefined, counter));
    check(/sent more bytes/.test(error.message), error.message);
  },

  async 'a bucket whose listing does not end is an error'({ http, listing }) {
    const page = (inside) =>
      new Response(`<ListBucketResult>${inside}</ListBucketResult>`, { status: 200 });
    const key = (text) => () => `<Contents><Key>${text}</Key><Size>1</Size></Contents>`;
    const token = (text) => `<NextContinuationToken>${text}</NextContinuationToken>`;
    let asked = 0;
    for (const [next, pattern, most] of [
      [() => '', /there is more, but not where/, 2],
      [() => token('same'), /there is more, but not where/, 3],
      [() => token(asked), /more than 10000 pages/, 10001],
      [key('array/a%zz'), /wrong key: the % in "array\/a%zz"/, 2],
    ]) {
      asked = 0;
      const fetch = async (url) => {
        asked += 1;
        if (!url.includes('list-type')) return new Response('', { status: 404 });
        return page(`<IsTruncated>true</IsTruncated>${next()}`);
      };
      const [folder, counter] = folderOf(http, fetch, { list: 'https://host' });
      const error = await failure(() => listing.listingOf(folder, undefined, counter));
      equal(error.kind, 'listing', error.message);
      check(pattern.test(error.message), error.message);
      check(asked <= most, `${asked} requests`);
    }
  },

  async 'a group that is inside of itself is refused as Zarr, and so is one too deep'({ zarr }) {
    const answer = (document) => {
      const text = new TextEncoder().encode(JSON.stringify(document));
      const bytes = new Uint8Array(8 + text.length);
      new DataView(bytes.buffer).setUint32(0, text.length, true);
      bytes.set(text, 8);
      return { answer: bytes.buffer };
    };
    const engine = { run: async () => answer({ refused: [], members: ['in'] }) };
    let closed = 0;
    const group = (url, inside) => {
      const own = { engine, id: 1, members: [{}], stores: [] };
      const close = () => (closed += 1);
      const made = { kind: 'group', url, own, close, openFound: async () => inside(made) };
      return made;
    };
    const round = zarr.storeOf(
      group('https://host/a', (own) => own),
      {},
    );
    const error = await failure(() => round.get('/in/zarr.json'));
    equal([error.kind, error.file, closed], ['unsupported', 'https://host/a', 1], error.message);
    check(/inside of itself/.test(error.message), error.message);
    const [{ path, reason }] = await round.refused();
    check(path === 'in' && /inside of itself/.test(reason), `${path}: ${reason}`);
    const deeper = (own) => group(`${own.url}/in`, deeper);
    const deep = zarr.storeOf(group('https://host/a', deeper), {});
    const far = await failure(() => deep.get(`/${'in/'.repeat(80)}zarr.json`));
    check(far.kind === 'unsupported' && /nested too deeply/.test(far.message), far.message);
  },

  async 'groups that have each other many times are opened once for each member'({ zarr }) {
    const bytesOf = (text) => new TextEncoder().encode(text);
    const answer = (document, tail = new Uint8Array()) => {
      const text = bytesOf(JSON.stringify(document));
      const bytes = new Uint8Array(8 + text.length + tail.length);
      new DataView(bytes.buffer).setUint32(0, text.length, true);
      bytes.set(text, 8);
      bytes.set(tail, 8 + text.length);
      return { answer: bytes.buffer };
    };
    const empty = bytesOf('{}');
    const run = async (id, { key }) =>
      key ? answer({ bytes: [0, 2] }, empty) : answer({ refused: [], members: ['a', 'b'] });
    let [opened, closed] = [0, 0];
    const two = [{ at: 'a' }, { at: 'b' }];
    const group = (url, inside, members = two) => {
      const own = { engine: { run }, id: 1, members, stores: [] };
      const close = () => (closed += 1);
      const openFound = async ({ at }) => {
        opened += 1;
        return inside(at);
      };
      return { kind: 'group', url, own, close, openFound, stats: () => ({}) };
    };
    // Both members of each are the same next one: 2^40 paths.
    const same = (depth) =>
      group(`https://host/${depth}`, () => (depth < 40 ? same(depth + 1) : same(0)));
    const store = zarr.storeOf(same(0), {});
    const refused = await store.refused();
    check(opened < 200, `${opened} members were opened`);
    check(
      refused.some(({ reason }) => /shown elsewhere in this hierarchy/.test(reason)),
      JSON.stringify(refused.slice(0, 3)),
    );
    const text = new TextDecoder().decode(await store.get('/.zmetadata'));
    const names = Object.keys(JSON.parse(text).metadata).filter((key) => key.endsWith('.zgroup'));
    equal([names.length, names.at(-1).split('/').length], [41, 41], 'groups that are shown');

    // All are different: no more than a number of them is open at a time.
    opened = 0;
    const other = (url, depth) =>
      group(url, (at) => other(`${url}/${at}`, depth + 1), depth < 40 ? two : []);
    const wide = zarr.storeOf(other('https://host/x', 0), {});
    const many = await wide.refused();
    equal(opened, 10000, 'members that were opened');
    check(many.some(({ reason }) => /more than 10000 members/.test(reason)), 'it is not said');
    wide.close();
    check(closed > 0, 'nothing was closed');
    check(Boolean(await wide.get('/a/.zgroup')), 'there is room again');
  },

  async 'a call to a worker is not made if its signal says so'({ remote }) {
    const sent = [];
    globalThis.Worker = class {
      postMessage(message) {
        sent.push(message);
      }
    };
    try {
      const engine = new remote.RemoteEngine();
      const reason = new Error('enough');
      const signal = AbortSignal.abort(reason);
      check((await failure(() => engine.run(1, {}, signal))) === reason, 'another failure');
      equal(sent, [{ hasFetch: false }], 'messages');
      // What was opened for nobody is closed.
      const controller = new AbortController();
      const opening = engine.open({ place: {}, options: {} }, controller.signal);
      const { call } = sent.at(-1);
      controller.abort(reason);
      check((await failure(() => opening)) === reason, 'another failure of opening');
      engine.receive({ call, result: { id: 7 }, totals: null });
      const { method, args } = sent.at(-1);
      equal([method, args], ['close', [7]], 'the last message');
    } finally {
      delete globalThis.Worker;
    }
  },
};

/** Runs them over the package in a folder. */
export async function testParts(folder) {
  const names = ['http', 'listing', 'remote', 'values', 'zarr'];
  const found = await Promise.all(
    names.map((name) => import(pathToFileURL(path.join(folder, `${name}.js`)))),
  );
  const modules = Object.fromEntries(names.map((name, at) => [name, found[at]]));
  const engine = fs.readFileSync(path.join(folder, 'engine.js'), 'utf8');
  for (const name of ['core', 'full']) {
    const literal = `new URL('./tdb-${name}.wasm', import.meta.url)`;
    check(engine.includes(literal), `bundlers do not find tdb-${name}.wasm without ${literal}`);
  }
  for (const [name, run] of Object.entries(PARTS)) {
    await run(modules).catch((error) => {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    });
    console.log(`ok: ${name}`);
  }
}
