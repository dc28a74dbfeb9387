// Which files a folder has: from its manifest, or from a bucket that lists.
import { TdbError } from './errors.js';

const MANIFEST = 'tdb_manifest.txt';
const MANIFEST_BEGINNING = 'tdb manifest ';
/** Most bytes of a manifest, or of one page of a bucket. */
const MAX_LISTING = 256 << 20;
/** Most pages and objects of a bucket that lists. Usual pages have 1000 objects. */
const MAX_PAGES = 10_000;
const MAX_OBJECTS = 1_000_000;

/** Which files a `Folder` has: `{ manifest }`, its bytes, or `{ files }`, keys and sizes. */
export async function listingOf(folder, signal, counter) {
  const shown = `${folder.url}/${MANIFEST}`;
  // It changes, and a page may have been open for long.
  const init = { cache: 'no-cache', most: MAX_LISTING };
  const { status, body } = await folder.request(
    folder.place(MANIFEST),
    shown,
    init,
    signal,
    counter,
  );
  counter.rounds += 1;
  if (status === 200 && !body) throw tooLong(shown, status);
  const begins = new TextDecoder('latin1').decode(body?.subarray(0, MANIFEST_BEGINNING.length));
  if (status === 200 && begins === MANIFEST_BEGINNING) return { manifest: body };
  // Some servers have a page for every name, and some call what is missing forbidden.
  if (![200, 403, 404, 410].includes(status))
    throw new TdbError('network', `${shown}: HTTP ${status}`, { file: shown, status });
  const bucket = bucketOf(folder);
  if (bucket) return { files: await listed(folder, bucket, signal, counter) };
  const hint = 'publish the array (tdb publish), or name the bucket that lists (option "list")';
  const known = 'the server is not known to list its files';
  const what = `${folder.url}: there is no ${MANIFEST}, and ${known}: ${hint}`;
  throw new TdbError('listing', what, { file: shown, status });
}

/** The bucket that lists, and the beginning of the keys; null if none is known. */
function bucketOf({ url, list }) {
  const failed = (why) => new TdbError('query', `${url}: ${why}`, { file: url });
  if (list === false) return null;
  if (list !== undefined) {
    if (!url.startsWith(`${list}/`))
      throw new TdbError('listing', `${url} is not in the bucket ${list}`, { file: url });
    return { bucket: list, prefix: decoded(url.slice(list.length + 1), failed) };
  }
  const { host, origin, pathname } = new URL(url);
  const known = /(^|\.)(s3([.-][a-z0-9-]+)?\.amazonaws\.com|storage\.googleapis\.com)$/.exec(host);
  if (!known) return null;
  const parts = pathname.slice(1).split('/');
  const [first, ...rest] = parts.map((part) => decoded(part, failed));
  return known[1] === ''
    ? { bucket: `${origin}/${encodeURIComponent(first)}`, prefix: rest.join('/') }
    : { bucket: origin, prefix: [first, ...rest].join('/') };
}

/** The objects of a folder in a bucket, page by page. */
async function listed(folder, { bucket, prefix }, signal, counter) {
  const failed = (fault, status, hint = '') => {
    const what = `${folder.url}: there is no ${MANIFEST}, and ${fault}: publish the array`;
    return new TdbError('listing', `${what} (tdb publish)${hint}`, { file: bucket, status });
  };
  const files = [];
  const start = prefix === '' ? '' : `${prefix}/`;
  const tokens = new Set();
  for (let token = null; ;) {
    const query = new URLSearchParams({
      'list-type': '2',
      'encoding-type': 'url',
      prefix: start,
    });
    if (token !== null) query.set('continuation-token', token);
    const place = `${bucket}/?${query}${folder.search.replace('?', '&')}`;
    const init = { cache: 'no-cache', most: MAX_LISTING };
    const { status, body } = await folder.request(place, bucket, init, signal, counter);
    counter.rounds += 1;
    if (status === 200 && !body) throw tooLong(bucket, status);
    const text = new TextDecoder().decode(body ?? undefined);
    if (status !== 200 || !text.includes('<ListBucketResult')) {
      const fault = `${bucket} does not list its objects (HTTP ${status})`;
      throw failed(fault, status, ', or allow listing');
    }
    for (const [, entry] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
      const written = content(entry, 'Key').replaceAll('+', ' ');
      const key = decoded(written, (why) =>
        failed(`the listing of ${bucket} has a wrong key: ${why}`, status),
      ).slice(start.length);
      if (key.endsWith('/')) files.push([key.slice(0, -1), null]);
      else if (key !== '') files.push([key, Number(content(entry, 'Size'))]);
    }
    if (content(text, 'IsTruncated') !== 'true') return files;
    token = content(text, 'NextContinuationToken');
    if (token === '' || tokens.has(token))
      throw failed(`the listing of ${bucket} says that there is more, but not where`, status);
    tokens.add(token);
    if (tokens.size >= MAX_PAGES || files.length > MAX_OBJECTS) {
      const limit = `more than ${MAX_PAGES} pages or ${MAX_OBJECTS} objects`;
      throw failed(`the listing of ${bucket} has ${limit}`, status);
    }
  }
}

/** A part of a URL without escapes, as keys in buckets are; `failed(why)` makes the error. */
function decoded(part, failed) {
  try {
    return decodeURIComponent(part);
  } catch {
    throw failed(`the % in "${part}" begins no escape of UTF-8 (a % of a name is written %25)`);
  }
}

function tooLong(shown, status) {
  const what = `${shown}: the listing has more than ${MAX_LISTING >> 20} MiB`;
  return new TdbError('listing', what, { file: shown, status });
}

/** The content of the first element of this name. */
function content(text, name) {
  const [, found = ''] = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(text) ?? [];
  const named = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return found.replace(/&(lt|gt|quot|apos|amp|#\d+|#x[0-9a-f]+);/gi, (_, entity) => {
    if (entity[0] !== '#') return named[entity.toLowerCase()];
    return String.fromCodePoint(
      entity[1] === 'x' ? parseInt(entity.slice(2), 16) : Number(entity.slice(1)),
    );
  });
}
