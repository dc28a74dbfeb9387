// Arrays of TileDB read over HTTP, in browsers, workers and Node. The types are in index.d.ts.
import { TdbArray, TdbGroup, objectOf, windowOf } from './array.js';
import { Engine } from './engine.js';
import { TdbError, checkKeys, checkSignal } from './errors.js';
import { RemoteEngine } from './remote.js';
import { hexOf } from './values.js';

export { TdbArray, TdbError, TdbGroup };

const OPTIONS = [
  'at',
  'key',
  'fetch',
  'headers',
  'signal',
  'worker',
  'list',
  'concurrency',
  'modules',
];
const KEY_BYTES = 32;

/** The engine in this thread, where no worker is asked for. */
class LocalEngine extends Engine {
  opened() {}
}

/** Where the folder is, without the slash at its end, and the query of its URL. */
function folderOf(url, isAnyPlace) {
  let parsed;
  try {
    parsed = new URL(url, globalThis.location?.href);
  } catch {
    throw new TdbError('query', `${String(url)} is not a URL`);
  }
  if (!isAnyPlace && !['http:', 'https:'].includes(parsed.protocol)) {
    throw new TdbError(
      'unsupported',
      `${parsed.protocol}// is not read: arrays are read by http and https`,
    );
  }
  const { search } = parsed;
  parsed.search = '';
  parsed.hash = '';
  parsed.username = '';
  parsed.password = '';
  return { url: parsed.href.replace(/\/+$/, ''), search };
}

function keyOf(key) {
  if (key === undefined) return null;
  if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES) {
    throw new TdbError(
      'query',
      `the key of an encrypted array is a Uint8Array of ${KEY_BYTES} bytes`,
    );
  }
  return hexOf(key);
}

export async function open(url, options = {}) {
  checkKeys(options, OPTIONS, 'open');
  const { at, key, fetch, headers, signal, worker = false, list, concurrency, modules } = options;
  checkSignal(signal);
  const place = {
    ...folderOf(url, fetch !== undefined),
    headers,
    list: list === false ? false : list && String(list),
    concurrency,
  };
  const own = { ...windowOf(at), key: keyOf(key), modules };
  const engine = worker
    ? new RemoteEngine(fetch)
    : new LocalEngine(fetch ?? ((...args) => globalThis.fetch(...args)));
  // Members of a group are opened as the group was.
  const again = { ...options, at: at ?? Number(own.end), signal: undefined };
  const context = { url: place.url, search: place.search, options: again, open };
  try {
    return objectOf(engine, await engine.open({ place, options: own }, signal), context);
  } catch (error) {
    engine.ended?.();
    throw error;
  }
}

async function openKind(kind, url, options) {
  const found = await open(url, options);
  if (found.kind === kind) return found;
  found.close();
  throw new TdbError(
    'not-found',
    `${found.url}: this is ${kind === 'array' ? 'a group, not an array' : 'an array, not a group'}`,
    {
      file: found.url,
    },
  );
}

export function openArray(url, options = {}) {
  return openKind('array', url, options);
}

export function openGroup(url, options = {}) {
  return openKind('group', url, options);
}
