// A web server for the tests: the fixtures with manifests, ranges and faults; the package; a page.
//
//     /arrays/…           files of the fixtures; a `tdb_manifest.txt` is made where it is asked for
//     /plain/…            the same, but ranges are ignored
//     /busy/…             the same, but every first request of a file fails
//     /bare/…             the same, without manifests
//     /bucket/…           the same without manifests, but it lists as S3 does
//     /damaged/…          the same, but every byte of data files is another
//     /slow/…             the same, but each answer takes a second
//     /large/…            the large array
//     /expected/… /package/… /tests/… /zarrita/…
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = {
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
  '.html': 'text/html',
  '.json': 'application/json',
};
/** Where browsers find what zarrita imports; its codecs are not needed. */
const IMPORTS = {
  zarrita: '/zarrita/zarrita/dist/src/index.js',
  '@zarrita/storage': '/zarrita/@zarrita/storage/dist/src/index.js',
  '@zarrita/storage/fetch': '/zarrita/@zarrita/storage/dist/src/fetch.js',
};
const MAP = `<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`;
const PAGE = `<!doctype html><meta charset="utf-8"><title>tdb-arrays</title>${MAP}`;

function filesBelow(folder, prefix = '') {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const inside = path.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(inside, `${prefix}${entry.name}/`);
    return [[prefix + entry.name, fs.statSync(inside).size]];
  });
}

function manifestOf(folder) {
  const files = filesBelow(folder).sort(([one], [other]) =>
    Buffer.compare(Buffer.from(one), Buffer.from(other)),
  );
  const escaped = (key) =>
    key.replace(/[%\u0000-\u001f\u007f-\u009f]/g, (letter) => {
      return [...Buffer.from(letter)]
        .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
        .join('');
    });
  const entries = files.map(([key, size]) => `${size} ${escaped(key)}\n`);
  const lines = Buffer.from(`tdb manifest 1\ntime 1\n${entries.join('')}`);
  let sum = 0xcbf29ce484222325n;
  for (const byte of lines) sum = ((sum ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return Buffer.concat([
    lines,
    Buffer.from(`end ${files.length} ${sum.toString(16).padStart(16, '0')}\n`),
  ]);
}

/** Two objects a page, so that there are several. */
function bucketPage(folder, query) {
  const prefix = query.get('prefix');
  const keys = filesBelow(path.join(folder, prefix)).map(([key, size]) => [prefix + key, size]);
  const from = Number(query.get('continuation-token') ?? 0);
  const more = from + 2 < keys.length;
  const entries = keys.slice(from, from + 2);
  const contents = entries.map(
    ([key, size]) =>
      `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${size}</Size></Contents>`,
  );
  const token = more ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : '';
  const inside = `<IsTruncated>${more}</IsTruncated>${token}${contents.join('')}`;
  return `<?xml version="1.0"?><ListBucketResult>${inside}</ListBucketResult>`;
}

/**
 * Starts it; `folders` has `arrays`, `expected`, `package`, `tests`, `zarrita` and perhaps `large`.
 */
export async function serve(folders) {
  const log = [];
  const seen = new Set();
  const roots = { ...folders };
  for (const name of ['plain', 'busy', 'bare', 'bucket', 'damaged', 'slow'])
    roots[name] = folders.arrays;
  const answer = (request, response) => {
    const url = new URL(request.url, 'http://host');
    const [, root, ...rest] = decodeURIComponent(url.pathname).split('/');
    const send = (status, headers, body = '') => {
      const all = {
        'Access-Control-Allow-Origin': '*',
        'Access-Control-Expose-Headers': 'Content-Range',
        ...headers,
      };
      log.push({
        path: url.pathname,
        range: request.headers.range ?? null,
        status,
        bytes: body.length,
      });
      response.writeHead(status, { 'Content-Length': body.length, ...all });
      response.end(body);
    };
    if (url.pathname === '/') return send(200, { 'Content-Type': 'text/html' }, PAGE);
    if (request.method === 'OPTIONS') return send(204, { 'Access-Control-Allow-Headers': '*' });
    if (!(root in roots) || rest.includes('..')) return send(404, {});
    if (root === 'bucket' && url.searchParams.has('list-type'))
      return send(200, {}, bucketPage(roots[root], url.searchParams));
    const file = path.join(roots[root], ...rest);
    if (
      path.basename(file) === 'tdb_manifest.txt' &&
      !['bare', 'bucket'].includes(root) &&
      fs.existsSync(path.dirname(file))
    ) {
      return send(200, {}, manifestOf(path.dirname(file)));
    }
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return send(404, {});
    if (root === 'busy' && !seen.has(file)) {
      seen.add(file);
      return send(503, {});
    }
    const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
    const size = fs.statSync(file).size;
    const [, from, to] =
      /^bytes=(\d+)-(\d+)$/.exec((root !== 'plain' && request.headers.range) || '') ?? [];
    const [start, end] =
      from === undefined ? [0, size] : [Number(from), Math.min(Number(to) + 1, size)];
    const body = Buffer.alloc(end - start);
    const handle = fs.openSync(file, 'r');
    fs.readSync(handle, body, 0, body.length, start);
    fs.closeSync(handle);
    if (root === 'damaged' && /\/[ad]\d+\.tdb$/.test(file))
      body.forEach((byte, at) => {
        body[at] = byte ^ 0xff;
      });
    if (from === undefined) return send(200, { 'Content-Type': type }, body);
    return send(
      206,
      { 'Content-Type': type, 'Content-Range': `bytes ${start}-${end - 1}/${size}` },
      body,
    );
  };
  const server = http.createServer((request, response) => {
    if (request.url.startsWith('/slow/')) setTimeout(() => answer(request, response), 1000);
    else answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, log, close: () => server.close() };
}
