// Requests for the files of one folder: ranges in parallel, counted, repeated where a server was
// busy.
import { TdbError, checkSignal } from './errors.js';

/**
 * Most attempts of a request, and the pause after the first; later ones are four times as long as
 * the one before.
 */
const MAX_ATTEMPTS = 3;
const FIRST_PAUSE = 200;
/** Bytes of files that are kept because a server sent them whole where a part was asked for. */
const MAX_KEPT = 64 << 20;
/** Most bytes of an answer that is only looked at for its status. */
const MAX_UNREAD = 64 << 10;

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
    this.free = concurrency;
    this.queue = [];
    /** Whole files, the one that was used last at the end. */
    this.kept = new Map();
    this.keptBytes = 0;
    /** Files that are being loaded whole: promises of what `request` says, or of null. */
    this.loading = new Map();
    this.isWithoutRanges = false;
  }

  /** Where a file is, for requests. */
  place(key) {
    return `${this.url}/${key.split('/').map(encodeURIComponent).join('/')}${this.search}`;
  }

  /**
   * One response; of a failure that may pass, the last one. `read(response, most)` gets the body,
   * of which `most` bytes are expected, or says null in place of it.
   */
  async request(place, shown, { most, read = bodyOf, ...init }, signal, counter) {
    await this.permit(signal);
    try {
      for (let attempt = 1, pause = FIRST_PAUSE; ; attempt += 1, pause *= 4) {
        checkSignal(signal);
        counter.requests += 1;
        let found;
        try {
          const headers = { ...this.headers, ...init.headers };
          const response = await (0, this.fetch)(place, { ...init, headers, signal }, most);
          const { status } = response;
          const isWanted = status === 200 || status === 206;
          const got = await (isWanted ? read(response, most) : bodyOf(response, MAX_UNREAD));
          counter.bytes += got.length;
          found = { status, headers: response.headers, ...got };
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
   * missing }`. `size` is what the listing says.
   */
  async part(key, start, end, size, signal, counter) {
    for (;;) {
      const whole = this.wholeOf(key);
      if (whole) return { bytes: whole.subarray(start, end), size: whole.length };
      const loaded = await settled(this.loading.get(key), signal);
      if (loaded) return this.partOf(loaded, key, start, end, size);
      // Another request may have begun to load the file in the meantime.
      if (this.loading.has(key)) continue;
      const part = await this.asked(key, start, end, size, signal, counter);
      if (part) return part;
    }
  }

  /** The answer to a request for a part; null if another request loads the whole file. */
  async asked(key, start, end, size, signal, counter) {
    const shown = `${this.url}/${key}`;
    const isWhole = start === 0 && end === size;
    let finish = null;
    const load = () => {
      const loading = new Promise((resolve) => (finish = resolve));
      // Perhaps nobody waits for it.
      loading.catch(() => {});
      this.loading.set(key, loading);
    };
    if (this.isWithoutRanges) load();
    // Of several parts of a file that all come as the whole file, one is read to its end.
    const read = async (response) => {
      if (response.status === 206) {
        this.isWithoutRanges = false;
        return bodyOf(response, end - start);
      }
      if (!isWhole) this.isWithoutRanges = true;
      if (!isWhole && !finish) {
        if (this.loading.has(key) || this.kept.has(key)) {
          await cancelled(response);
          return { body: null, length: response.loaded?.length ?? 0, isElsewhere: true };
        }
        load();
      }
      return bodyOf(response, size);
    };
    // Browsers make requests for one file one after another where they may keep the answers.
    const range = { headers: { Range: `bytes=${start}-${end - 1}` }, cache: 'no-store' };
    const init = { ...(isWhole ? {} : range), most: size, read };
    // What is true of the file is so for all who wait, but not what is of this part, or given up.
    const finished = (shared) => {
      if (!finish) return;
      this.loading.delete(key);
      finish(shared);
    };
    let found;
    try {
      found = await this.request(this.place(key), shown, init, signal, counter);
    } catch (error) {
      finished(signal?.aborted ? null : Promise.reject(error));
      throw error;
    }
    if (finish && found.status === 200 && found.body) this.keep(key, found.body);
    finished(found.status === 206 || found.status === 416 ? null : found);
    return this.partOf(found, key, start, end, size);
  }

  /** What an answer says; null if another request loads the file. */
  partOf({ status, headers, body, isElsewhere }, key, start, end, size) {
    const shown = `${this.url}/${key}`;
    if (status === 404 || status === 410) return { missing: true };
    if (status === 200) {
      if (body) return { bytes: body.subarray(start, end), size: body.length };
      if (isElsewhere) return null;
      const what =
        'the server sends more than the listing says, which is of another state of the array: ' +
        `the file had ${size} bytes; read it again later, or publish the array again`;
      throw new TdbError('outdated', `${shown}: ${what}`, { file: shown, status });
    }
    const [, first, total] =
      /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(headers.get('Content-Range') ?? '') ?? [];
    if (status === 416 && total !== undefined)
      return { bytes: new Uint8Array(), size: Number(total) };
    if (status !== 206)
      throw new TdbError('network', `${shown}: HTTP ${status}`, { file: shown, status });
    const isOther = first !== undefined && Number(first) !== start;
    if (isOther || !body) {
      const what = isOther ? `bytes from ${first} on` : 'more bytes';
      const asked = `${end - start} bytes from ${start} on were asked for`;
      throw new TdbError('network', `${shown}: the server sent ${what}, where ${asked}`, {
        file: shown,
        status,
      });
    }
    return { bytes: body, size: total === undefined ? null : Number(total) };
  }

  /** A file that is kept. */
  wholeOf(key) {
    const body = this.kept.get(key);
    if (body) {
      this.kept.delete(key);
      this.kept.set(key, body);
    }
    return body;
  }

  /** Keeps a file, in place of those that were not used for longest. */
  keep(key, body) {
    if (body.length > MAX_KEPT) return;
    for (const [oldest, { length }] of this.kept) {
      if (this.keptBytes + body.length <= MAX_KEPT) break;
      this.kept.delete(oldest);
      this.keptBytes -= length;
    }
    this.kept.set(key, body);
    this.keptBytes += body.length;
  }
}

/** Lets go of a body that nobody reads. */
const cancelled = (response) => response.body?.cancel?.().catch(() => {});

/**
 * The body of a response, if it has at most so many bytes: `{ body, length }`, where `body` is null
 * if it has more, and `length` is how many were loaded.
 */
export async function bodyOf(response, most) {
  const declared = Number(response.headers.get('Content-Length') ?? 0);
  // What is declared is of the coded bytes, which are a bit more if they cannot be compressed.
  if (declared > most + most / 16 + MAX_UNREAD) {
    await cancelled(response);
    return { body: null, length: 0 };
  }
  // A page that fetches for a worker has read it.
  if (response.loaded) {
    const { body, length } = response.loaded;
    return { body: length > most ? null : body, length };
  }
  if (!response.body?.getReader) {
    const body = new Uint8Array(await response.arrayBuffer());
    return { body: body.length > most ? null : body, length: body.length };
  }
  const reader = response.body.getReader();
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      return { body: null, length };
    }
    chunks.push(value);
  }
  // A copy also of a single one: the buffer may belong to who made the response.
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return { body, length };
}

/** What a promise becomes, unless the signal says that nobody waits any more. */
function settled(promise, signal) {
  checkSignal(signal);
  if (!promise || !signal) return promise;
  return new Promise((resolve, reject) => {
    const ended = () => reject(signal.reason);
    signal.addEventListener('abort', ended, { once: true });
    const settle = (how) => (value) => {
      signal.removeEventListener('abort', ended);
      how(value);
    };
    promise.then(settle(resolve), settle(reject));
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
