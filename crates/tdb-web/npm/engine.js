// The host of the WebAssembly modules: an instance for each array, which says what to fetch, and
// gets it. In a worker it is the same.
import { TdbError, checkSignal, untilAborted } from './errors.js';
import { Counter, Folder } from './http.js';
import { listingOf } from './listing.js';

const DONE = 0;
const FAILED = 1;
const WAITS = 2;

/**
 * The codecs of the small module are enough for most arrays; the other one has all. Bundlers find
 * the files by expressions that are written out; some leave no URL of the script to begin with.
 */
const FILES = {
  core: () => new URL('./tdb-core.wasm', import.meta.url),
  full: () => new URL('./tdb-full.wasm', import.meta.url),
};

const compiled = new Map();

/** A module, compiled once. */
function compile(name, source) {
  const place = source ?? FILES[name]();
  if (place instanceof WebAssembly.Module) return Promise.resolve(place);
  if (typeof place !== 'string' && !(place instanceof URL)) return WebAssembly.compile(place);
  const url = String(place);
  if (!compiled.has(url)) {
    const compiling = load(url).catch((cause) => {
      compiled.delete(url);
      throw new TdbError(
        'network',
        `${url}: the module cannot be loaded (${cause?.message ?? cause})`,
        { file: url, cause },
      );
    });
    compiled.set(url, compiling);
  }
  return compiled.get(url);
}

async function load(url) {
  if (url.startsWith('file:')) {
    const files = 'node:fs/promises';
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ files);
    return WebAssembly.compile(await readFile(new URL(url)));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  // Compiling while it arrives needs the right type, which not every server says.
  const type = response.headers.get('Content-Type') ?? '';
  if (type.startsWith('application/wasm') && WebAssembly.compileStreaming)
    return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** The document of an answer, and where its blocks begin. */
export function parts(answer) {
  const length = new DataView(answer).getUint32(0, true);
  return {
    document: JSON.parse(new TextDecoder().decode(new Uint8Array(answer, 8, length))),
    start: 8 + length,
  };
}

/** One array in one instance of a module. */
class Instance {
  constructor(module, url) {
    const { memory, ...tdb } = new WebAssembly.Instance(module, {}).exports;
    Object.assign(this, { memory, tdb, url, isBroken: false });
  }

  /** A module that trapped is not used again. */
  guarded(call) {
    if (this.isBroken) throw this.broken();
    try {
      return call(this.tdb);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.isBroken = true;
      throw this.broken(error);
    }
  }

  broken(cause) {
    const why = cause ? `(${cause.message}) ` : '';
    const reason = 'for want of memory, or through a fault of tdb: ask for less';
    const what = `${this.url}: the module ended ${why}${reason}`;
    return new TdbError('internal', what, { cause });
  }

  /** Puts the parts one after another where the module reads its input. */
  input(...parts) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const address = this.tdb.tdb_input(length) >>> 0;
    if (address === 0)
      throw new TdbError('query', `the module has no memory for ${length} bytes: ask for less`);
    let at = address;
    for (const part of parts) {
      new Uint8Array(this.memory.buffer, at, part.length).set(part);
      at += part.length;
    }
  }

  begin(request, bytes = new Uint8Array()) {
    const document = new TextEncoder().encode(JSON.stringify(request));
    return this.guarded((tdb) => {
      this.input(document, bytes);
      return tdb.tdb_begin(document.length);
    });
  }

  /** Goes on with a task: how far it is, and a copy of what that says. */
  poll(task) {
    return this.guarded((tdb) => {
      const progress = tdb.tdb_poll(task);
      const start = tdb.tdb_output() >>> 0;
      return [progress, this.memory.buffer.slice(start, start + (tdb.tdb_output_len() >>> 0))];
    });
  }

  give(id, { bytes = new Uint8Array(), size = null, missing = false }) {
    this.guarded((tdb) => {
      this.input(bytes);
      if (missing) tdb.tdb_fail(id, 1);
      else tdb.tdb_give(id, size === null ? -1n : BigInt(size));
    });
  }

  fail(id, message) {
    this.guarded((tdb) => {
      this.input(new TextEncoder().encode(message));
      tdb.tdb_fail(id, 0);
    });
  }

  end(task) {
    if (!this.isBroken) this.guarded((tdb) => tdb.tdb_end(task));
  }
}

/** An array or a group that was opened. */
class Source {
  constructor(folder, options) {
    Object.assign(this, { folder, options });
    // Encryption is in the large module.
    this.name = options.key ? 'full' : 'core';
    this.total = new Counter();
    this.isClosed = false;
  }

  /**
   * Opens in the module that can read the array. What the first one fetched is given to the
   * second.
   */
  async open(signal) {
    const [counter, begun, fetched] = [new Counter(), performance.now(), new Map()];
    try {
      this.listing ??= await listingOf(this.folder, signal, counter);
      for (;;) {
        const { name } = this;
        const answer = await this.openWith(name, fetched, signal, counter).catch((error) => {
          if (name === 'core' && error.kind === 'unsupported') return null;
          throw error;
        });
        if (answer !== null) return answer;
        this.name = 'full';
      }
    } finally {
      counter.milliseconds = performance.now() - begun;
      this.total.add(counter);
    }
  }

  /** The answer, or null if the module lacks a codec. */
  async openWith(name, fetched, signal, counter) {
    const instance = new Instance(
      await compile(name, this.options.modules?.[name]),
      this.folder.url,
    );
    const { start, end, key } = this.options;
    const { manifest, files } = this.listing;
    const request = { op: 'open', url: this.folder.url, start, end, key, files };
    const answer = await this.answer(instance, request, manifest, fetched, signal, counter);
    const { handle, missing = [] } = parts(answer).document;
    if (name === 'core' && missing.length > 0) return null;
    this.opened = { instance, handle, name };
    return answer;
  }

  /** The only answer of a request. */
  async answer(instance, request, bytes, fetched, signal, counter) {
    const task = instance.begin(request, bytes);
    try {
      return await this.next(instance, task, fetched, signal, counter);
    } finally {
      instance.end(task);
    }
  }

  /** The next answer of a task; null if there are no more. */
  async next(instance, task, fetched, signal, counter) {
    const failed = { status: null };
    for (;;) {
      checkSignal(signal);
      if (this.isClosed) throw this.closed();
      const [progress, output] = instance.poll(task);
      if (progress === DONE) return output;
      if (progress === FAILED) {
        const { kind, message, file, offset } = parts(output).document;
        throw new TdbError(kind, message, {
          file,
          offset,
          status: kind === 'network' ? failed.status : null,
        });
      }
      if (progress !== WAITS) return null;
      const wanted = parts(output).document;
      // Between two batches other work may run.
      if (wanted.length === 0) await new Promise((resolve) => setTimeout(resolve));
      else await this.give(instance, wanted, fetched, failed, signal, counter);
    }
  }

  /** Fetches what a task wants. */
  async give(instance, wanted, fetched, failed, signal, counter) {
    let isWaiting = false;
    const one = async ([id, key, start, end, size]) => {
      const name = `${start}-${end} ${key}`;
      let part = fetched?.get(name);
      if (!part) {
        isWaiting = true;
        try {
          part = await this.folder.part(key, start, end, size, signal, counter);
        } catch (error) {
          checkSignal(signal);
          if (error.kind !== 'network') throw error;
          failed.status = error.status;
          instance.fail(id, error.message);
          return;
        }
        fetched?.set(name, part);
      }
      instance.give(id, part);
    };
    const ended = signal && untilAborted(signal);
    try {
      await Promise.race([Promise.all(wanted.map(one)), ...(ended ? [ended.promise] : [])]);
    } finally {
      ended?.stop();
      if (isWaiting) counter.rounds += 1;
    }
  }

  closed() {
    return new TdbError('closed', `${this.folder.url} was closed`);
  }

  /** Where requests are answered. An array whose module ended is opened anew. */
  async ready(signal) {
    if (this.isClosed) throw this.closed();
    if (this.opened.instance.isBroken) await this.open(signal);
    return this.opened;
  }

  /** Whether the request should be made again, in the other module: this one lacks something. */
  async isSwitched(error, name, signal) {
    if (error.kind !== 'unsupported' || name !== 'core') return false;
    if (this.opened.name === 'core') {
      this.name = 'full';
      await this.open(signal);
    }
    return true;
  }

  async run(request, signal) {
    const [counter, begun] = [new Counter(), performance.now()];
    const timed = () => {
      counter.milliseconds = performance.now() - begun;
    };
    try {
      for (;;) {
        const { instance, handle, name } = await this.ready(signal);
        try {
          const asked = { ...request, array: handle };
          const answer = await this.answer(instance, asked, undefined, null, signal, counter);
          timed();
          return { answer, stats: counter.toStats() };
        } catch (error) {
          if (!(await this.isSwitched(error, name, signal))) throw error;
        }
      }
    } finally {
      timed();
      this.total.add(counter);
    }
  }

  /** The answers of a request that has several. */
  async *stream(request, signal) {
    let { instance, handle, name } = await this.ready(signal);
    let task = instance.begin({ ...request, array: handle });
    let isFirst = true;
    try {
      for (;;) {
        const [counter, begun] = [new Counter(), performance.now()];
        let answer;
        try {
          answer = await this.next(instance, task, null, signal, counter);
        } catch (error) {
          if (!isFirst || !(await this.isSwitched(error, name, signal))) throw error;
          instance.end(task);
          ({ instance, handle, name } = this.opened);
          task = instance.begin({ ...request, array: handle });
          continue;
        } finally {
          counter.milliseconds = performance.now() - begun;
          this.total.add(counter);
        }
        if (answer === null) return;
        isFirst = false;
        yield { answer, stats: counter.toStats() };
      }
    } finally {
      instance.end(task);
    }
  }

  close() {
    this.isClosed = true;
    this.opened = null;
  }
}

/** What opens arrays and answers requests in this thread. */
export class Engine {
  constructor(fetch) {
    this.fetch = fetch;
    this.sources = new Map();
    this.last = 0;
  }

  /**
   * Opens what is at a place: `{ id, answer }`. With `like`, where another source is, whose
   * listing is used.
   */
  async open({ place, options, like }, signal) {
    const before = like === undefined ? null : this.source(like);
    const source = new Source(before?.folder ?? new Folder(place, this.fetch), {
      ...before?.options,
      ...options,
    });
    if (before) Object.assign(source, { listing: before.listing, name: before.name });
    const answer = await source.open(signal);
    this.last += 1;
    this.sources.set(this.last, source);
    return { id: this.last, answer };
  }

  source(id) {
    const source = this.sources.get(id);
    if (!source) throw new TdbError('closed', 'the array was closed');
    return source;
  }

  run(id, request, signal) {
    return this.source(id).run(request, signal);
  }

  stream(id, request, signal) {
    return this.source(id).stream(request, signal);
  }

  stats(id) {
    return this.source(id).total.toStats();
  }

  close(id) {
    this.sources.get(id)?.close();
    this.sources.delete(id);
  }
}
