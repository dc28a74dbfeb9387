// An engine in a Web Worker. Answers come in buffers that change their owner, so nothing is copied.
import { TdbError, checkSignal } from './errors.js';
import { bodyOf } from './http.js';

const NOTHING = { requests: 0, bytes: 0, rounds: 0, milliseconds: 0 };

export class RemoteEngine {
  constructor(fetch) {
    if (typeof Worker === 'undefined') {
      throw new TdbError(
        'unsupported',
        'there are no Web Workers here: open the array without the option "worker"',
      );
    }
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.calls = new Map();
    this.last = 0;
    this.totals = new Map();
    this.ids = new Set();
    this.fetch = fetch;
    this.fetches = new Map();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => {
      const error = new TdbError(
        'internal',
        `the worker failed: ${event.message ?? 'its script cannot be loaded'}`,
      );
      for (const { reject } of this.calls.values()) reject(error);
      this.calls.clear();
    };
    this.worker.postMessage({ hasFetch: fetch !== undefined });
  }

  receive({ call, result, error, totals, fetch: fetching, url, init, most, cancel }) {
    if (fetching !== undefined) {
      this.answer(fetching, url, init, most);
      return;
    }
    if (cancel !== undefined) {
      this.fetches.get(cancel)?.abort();
      return;
    }
    if (totals) this.totals.set(totals.id, totals.stats);
    const waiting = this.calls.get(call);
    this.calls.delete(call);
    if (error) waiting?.reject(error.kind ? TdbError.ofParts(error) : new Error(error.message));
    else if (waiting) waiting.resolve(result);
    // An opening that was cancelled may have ended before it heard of that.
    else if (result?.id !== undefined) this.call('close', [result.id]).catch(() => {});
  }

  /** Makes a request with the page's own function. */
  async answer(fetching, url, init, most) {
    const controller = new AbortController();
    this.fetches.set(fetching, controller);
    try {
      const response = await this.fetch(url, { ...init, signal: controller.signal });
      const loaded = await bodyOf(response, most);
      const { status, headers } = response;
      this.worker.postMessage(
        { fetched: fetching, status, headers: [...headers], loaded },
        loaded.body ? [loaded.body.buffer] : [],
      );
    } catch (error) {
      this.worker.postMessage({ fetched: fetching, failure: String(error?.message ?? error) });
    } finally {
      this.fetches.delete(fetching);
    }
  }

  async call(method, args, signal) {
    checkSignal(signal);
    if (this.isEnded) throw new TdbError('closed', 'the array was closed');
    const call = (this.last += 1);
    return new Promise((resolve, reject) => {
      const ended = () => {
        this.calls.delete(call);
        this.worker.postMessage({ cancel: call });
        reject(signal.reason);
      };
      const settled = (settle) => (value) => {
        signal?.removeEventListener('abort', ended);
        settle(value);
      };
      this.calls.set(call, { resolve: settled(resolve), reject: settled(reject) });
      signal?.addEventListener('abort', ended, { once: true });
      this.worker.postMessage({ call, method, args });
    });
  }

  open({ options, ...rest }, signal) {
    const { modules, ...own } = options;
    // URLs cannot be sent, but their texts can.
    const sent =
      modules &&
      Object.fromEntries(
        Object.entries(modules).map(([name, own]) => [name, own instanceof URL ? own.href : own]),
      );
    return this.call(
      'open',
      [{ ...rest, options: { ...own, ...(sent ? { modules: sent } : {}) } }],
      signal,
    );
  }

  opened(id) {
    this.ids.add(id);
  }

  run(id, request, signal) {
    return this.call('run', [id, request], signal);
  }

  async *stream(id, request, signal) {
    const stream = await this.call('begin', [id, request], signal);
    try {
      for (;;) {
        const found = await this.call('next', [id, stream], signal);
        if (found === null) return;
        yield found;
      }
    } finally {
      if (!this.isEnded) this.call('end', [id, stream]).catch(() => {});
    }
  }

  stats(id) {
    return this.totals.get(id) ?? NOTHING;
  }

  close(id) {
    if (!this.ids.delete(id)) return;
    this.call('close', [id]).catch(() => {});
    if (this.ids.size === 0) this.ended();
  }

  /** Ends the worker, and what it is doing. */
  ended() {
    this.isEnded = true;
    this.worker.terminate();
    for (const { reject } of this.calls.values())
      reject(new TdbError('closed', 'the array was closed'));
    this.calls.clear();
  }
}
