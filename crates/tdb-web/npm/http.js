// Requests for the files of one folder: ranges in parallel, counted, repeated where a server was
// busy.
import { TdbError, checkSignal } from './errors.js';

const MANIFEST = 'tdb_manifest.txt';
const MANIFEST_BEGINNING = 'tdb manifest ';
/**
 * Most attempts of a request, and the pause after the first; later ones are four times as long as
 * the one before.
 */
const MAX_ATTEMPTS = 3;
const FIRST_PAUSE = 200;
/** Bytes of files that are kept because a server sent them whole where a part was asked for. */
const MAX_KEPT = 64 << 20;

export class Counter {
  requests = 0;
  bytes = 0;
  rounds = 0;
  milliseconds = 0;

  add(other) {
    this.requests += other.requests;
    this.bytes += other.bytes;
    this.rounds += other.rounds;
    this.milliseconds += other.milliseconds;
  }

  toStats() {
    const { requests, bytes, rounds, milliseconds } = this;
    return { requests, bytes, rounds, milliseconds: Math.round(milliseconds * 10) / 10 };
  }
}

export class Folder {
  /**
   * `search` is the query of the URL, such as a signature; it is sent with every request, and
   * shown in no message.
   */
  constructor({ url, search, headers = {}, list, concurrency = 8 }, fetch) {
    Object.assign(this, { url, search, headers, list, fetch });
    this.free = Math.max(1, concurrency);
    this.queue = [];
    this.kept = new Map();
    this.keptBytes = 0;
  }

  /** Where a file is, for requests. */
  place(key) {
    return `${this.url}/${key.split('/').map(encodeURIComponent).join('/')}${this.search}`;
  }

  /** One response; of a failure that may pass, the last one. */
  async request(place, shown, init, signal, counter) {
    await this.permit(signal);
    try {
      for (let attempt = 1, pause = FIRST_PAUSE; ; attempt += 1, pause *= 4) {
        checkSignal(signal);
        counter.requests += 1;
        let found;
        try {
          const headers = { ...this.headers, ...init.headers };
          const response = await (0, this.fetch)(place, { ...init, headers, signal });
          const body = new Uint8Array(await response.arrayBuffer());
          counter.bytes += body.length;
          found = { status: response.status, headers: response.headers, body };
          if (response.status < 500 && response.status !== 429) return found;
        } catch (cause) {
          checkSignal(signal);
          if (attempt === MAX_ATTEMPTS) {
            const hint = 'is the server there, and does it allow requests from this page (CORS)?';
            const why = `${shown}: the request failed (${cause?.message ?? cause}): ${hint}`;
            throw new TdbError('network', why, { file: shown, cause });
          }
        }
        if (attempt === MAX_ATTEMPTS) return found;
        await slept(pause, signal);
      }
    } finally {
      this.free += 1;
      this.queue.shift()?.();
    }
  }

  async permit(signal) {
    while (this.free === 0) {
      await new Promise((resolve) => this.queue.push(resolve));
      if (signal?.aborted) {
        // The place goes to the next one.
        this.queue.shift()?.();
        throw signal.reason;
      }
    }
    this.free -= 1;
  }

  /**
   * A part of a file, and the size that the server says the file has: `{ bytes, size }`, or `{
   * missing }`.
   */
  async part(key, start, end, size, signal, counter) {
    const shown = `${this.url}/${key}`;
    const kept = this.kept.get(key);
    if (kept) return { bytes: kept.subarray(start, end), size: kept.length };
    const whole = start === 0 && end === size;
    // Browsers make requests for one file one after another where they may keep the answers.
    const init = whole
      ? {}
      : { headers: { Range: `bytes=${start}-${end - 1}` }, cache: 'no-store' };
    const { status, headers, body } = await this.request(
      this.place(key),
      shown,
      init,
      signal,
      counter,
    );
    if (status === 404 || status === 410) return { missing: true };
    if (status === 200) {
      if (!whole) this.keep(key, body);
      return { bytes: whole ? body : body.subarray(start, end), size: body.length };
    }
    const [, first, total] =
      /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(headers.get('Content-Range') ?? '') ?? [];
    if (status === 416 && total !== undefined)
      return { bytes: body.subarray(0, 0), size: Number(total) };
    if (status !== 206)
      throw new TdbError('network', `${shown}: HTTP ${status}`, { file: shown, status });
    if (first !== undefined && Number(first) !== start) {
      const what = `${shown}: the server sent bytes from ${first} on, not from ${start}`;
      throw new TdbError('network', what, { file: shown, status });
    }
    return { bytes: body, size: total === undefined ? null : Number(total) };
  }

  keep(key, body) {
    if (this.keptBytes + body.length > MAX_KEPT) {
      this.kept.clear();
      this.keptBytes = 0;
    }
    if (body.length <= MAX_KEPT) {
      this.kept.set(key, body);
      this.keptBytes += body.length;
    }
  }

  /** Which files there are: `{ manifest }`, its bytes, or `{ files }`, keys and sizes. */
  async listing(signal, counter) {
    const shown = `${this.url}/${MANIFEST}`;
    // It changes, and a page may have been open for long.
    const init = { cache: 'no-cache' };
    const { status, body } = await this.request(this.place(MANIFEST), shown, init, signal, counter);
    counter.rounds += 1;
    const begins = new TextDecoder('latin1').decode(body.subarray(0, MANIFEST_BEGINNING.length));
    if (status === 200 && begins === MANIFEST_BEGINNING) return { manifest: body };
    // Some servers have a page for every name, and some call what is missing forbidden.
    if (![200, 403, 404, 410].includes(status)) {
      throw new TdbError('network', `${shown}: HTTP ${status}`, { file: shown, status });
    }
    const bucket = this.bucket();
    if (bucket) return { files: await this.listed(bucket, signal, counter) };
    const hint = 'publish the array (tdb publish), or name the bucket that lists (option "list")';
    const known = 'the server is not known to list its files';
    const what = `${this.url}: there is no ${MANIFEST}, and ${known}: ${hint}`;
    throw new TdbError('listing', what, { file: shown, status });
  }

  /** The bucket that lists, and the beginning of the keys. */
  bucket() {
    if (this.list === false) return null;
    if (this.list !== undefined) {
      const bucket = String(this.list).replace(/\/$/, '');
      if (!this.url.startsWith(`${bucket}/`)) {
        throw new TdbError('listing', `${this.url} is not in the bucket ${bucket}`, {
          file: this.url,
        });
      }
      return { bucket, prefix: decodeURIComponent(this.url.slice(bucket.length + 1)) };
    }
    const { host, origin, pathname } = new URL(this.url);
    const [first, ...rest] = pathname.slice(1).split('/').map(decodeURIComponent);
    if (/^(s3([.-][a-z0-9-]+)?\.amazonaws\.com|storage\.googleapis\.com)$/.test(host)) {
      return { bucket: `${origin}/${encodeURIComponent(first)}`, prefix: rest.join('/') };
    }
    if (/\.s3([.-][a-z0-9-]+)?\.amazonaws\.com$|\.storage\.googleapis\.com$/.test(host)) {
      return { bucket: origin, prefix: [first, ...rest].join('/') };
    }
    return null;
  }

  /** The objects of a folder in a bucket, page by page. */
  async listed({ bucket, prefix }, signal, counter) {
    const files = [];
    const start = prefix === '' ? '' : `${prefix}/`;
    for (let token = null; ;) {
      const query = new URLSearchParams({
        'list-type': '2',
        'encoding-type': 'url',
        prefix: start,
      });
      if (token !== null) query.set('continuation-token', token);
      const place = `${bucket}/?${query}${this.search.replace('?', '&')}`;
      const { status, body } = await this.request(
        place,
        bucket,
        { cache: 'no-cache' },
        signal,
        counter,
      );
      counter.rounds += 1;
      const text = new TextDecoder().decode(body);
      if (status !== 200 || !text.includes('<ListBucketResult')) {
        const hint = 'publish the array (tdb publish), or allow listing';
        const fault = `${bucket} does not list its objects (HTTP ${status})`;
        const what = `${this.url}: there is no ${MANIFEST}, and ${fault}: ${hint}`;
        throw new TdbError('listing', what, { file: bucket, status });
      }
      for (const [, entry] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = decodeURIComponent(content(entry, 'Key').replaceAll('+', ' ')).slice(
          start.length,
        );
        if (key.endsWith('/')) files.push([key.slice(0, -1), null]);
        else if (key !== '') files.push([key, Number(content(entry, 'Size'))]);
      }
      if (content(text, 'IsTruncated') !== 'true') return files;
      token = content(text, 'NextContinuationToken');
    }
  }
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

function slept(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', ended);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', ended, { once: true });
  });
}
