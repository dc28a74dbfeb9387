// A small server: the page, the module (or its fake) beside it, and folders of arrays with ranges.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** Serves folders by the beginning of their paths, each answer after `wait` milliseconds. */
export async function serve(folders, { wait = 0, cors = false } = {}) {
  const log = [];
  const server = http.createServer((request, response) => {
    setTimeout(() => answer(request, response), wait);
  });
  function answer(request, response) {
    const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const found = Object.entries(folders).find(([prefix]) => name.startsWith(prefix));
    const file = found && path.join(found[1], name.slice(found[0].length) || 'index.html');
    const headers = cors
      ? {
          'access-control-allow-origin': '*',
          'access-control-allow-headers': 'range',
          'access-control-expose-headers': 'content-range, content-length, etag',
        }
      : {};
    if (request.method === 'OPTIONS') return response.writeHead(204, headers).end();
    const inside = file && !path.relative(found[1], file).startsWith('..');
    const state = inside && fs.statSync(file, { throwIfNoEntry: false });
    if (!state?.isFile()) {
      log.push([request.method, name, 404]);
      return response.writeHead(404, headers).end();
    }
    Object.assign(headers, {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      'accept-ranges': 'bytes',
      'cache-control': 'no-store',
    });
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    let [from, to, status] = [0, state.size - 1, 200];
    if (range && state.size > 0) {
      from = range[1] === '' ? Math.max(0, state.size - Number(range[2])) : Number(range[1]);
      to =
        range[1] === '' || range[2] === ''
          ? state.size - 1
          : Math.min(state.size - 1, Number(range[2]));
      if (from > to)
        return response
          .writeHead(416, { ...headers, 'content-range': `bytes */${state.size}` })
          .end();
      status = 206;
      headers['content-range'] = `bytes ${from}-${to}/${state.size}`;
    }
    log.push([request.method, name, status]);
    headers['content-length'] = state.size === 0 ? 0 : to - from + 1;
    response.writeHead(status, headers);
    if (request.method === 'HEAD' || state.size === 0) return response.end();
    return fs.createReadStream(file, { start: from, end: to }).pipe(response);
  }
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { origin: `http://127.0.0.1:${server.address().port}`, log, close: () => server.close() };
}
