// Arrays of TileDB read over HTTP, in browsers, workers and Node. The types are in index.d.ts.
import { TdbArray, TdbGroup, objectOf, windowOf } from './array.js';
import { Engine } from './engine.js';
import { TdbError, checkKeys, checkOption, signalOf } from './errors.js';
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
  if (parsed.username !== '' || parsed.password !== '') {
    const hint = 'send them by the option "headers" (Authorization)';
    throw new TdbError('query', `the URL at ${parsed.host} has a user name or password: ${hint}`);
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

/** Headers as an object, which can be sent to a worker. */
function headersOf(headers) {
  try {
    return headers === undefined ? undefined : Object.fromEntries(new Headers(headers));
  } catch (cause) {
    throw new TdbError('query', `the option "headers": ${cause.message}`, { cause });
  }
}

/** The bucket that is named, or false; undefined where none is. */
function bucketOf(list, isAnyPlace) {
  if (list === undefined || list === false) return list;
  const isPlace = (value) => typeof value === 'string' || value instanceof URL;
  checkOption('list', list, isPlace, 'the URL of a bucket, or false');
  const { url, search } = folderOf(list, isAnyPlace);
  if (search !== '')
    throw new TdbError('query', 'the option "list" names a bucket, whose URL has no query');
  return url;
}

function checkModules(modules) {
  if (modules === undefined) return;
  checkKeys(modules, ['core', 'full'], 'the option "modules"');
  const isModule = (value) =>
    [WebAssembly.Module, URL, ArrayBuffer].some((Kind) => value instanceof Kind) ||
    typeof value === 'string' ||
    ArrayBuffer.isView(value);
  for (const [name, value] of Object.entries(modules))
    checkOption(`modules.${name}`, value, isModule, 'a module, its bytes or its URL');
}

export async function open(url, options = {}) {
  checkKeys(options, OPTIONS, 'open');
  const { at, key, fetch, worker = false, list, concurrency, modules } = options;
  const signal = signalOf(options);
  checkOption('fetch', fetch, (value) => typeof value === 'function', 'a function');
  checkOption('worker', worker, (value) => typeof value === 'boolean', 'true or false');
  const isNumber = (value) => Number.isSafeInteger(value) && value > 0;
  checkOption('concurrency', concurrency, isNumber, 'a number of requests');
  checkModules(modules);
  const place = {
    ...folderOf(url, fetch !== undefined),
    headers: headersOf(options.headers),
    list: bucketOf(list, fetch !== undefined),
    concurrency,
  };
  const own = { ...windowOf(at), key: keyOf(key), modules };
  const engine = worker
    ? new RemoteEngine(fetch)
    : new LocalEngine((url, init) => (0, fetch ?? globalThis.fetch)(url, init));
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
