// Work of which only the latest counts: what is outdated is cancelled.

/** Whether an error only says that its work was cancelled. */
export const isAbort = (error, signal) => signal?.aborted || error?.name === 'AbortError';

export class Latest {
  /** @param page `busy(on)`, `cost(stats)`, `fail(error)`; `stats()` of what is read from */
  constructor(page, stats) {
    this.page = page;
    this.stats = stats;
    this.controller = null;
  }

  /** Runs `work(signal)` in place of what runs now. */
  async run(work) {
    this.stop();
    const controller = new AbortController();
    this.controller = controller;
    const before = this.stats();
    const began = performance.now();
    const tell = () => {
      const now = this.stats();
      this.page.cost({
        requests: now.requests - before.requests,
        bytes: now.bytes - before.bytes,
        milliseconds: performance.now() - began,
      });
    };
    this.page.busy(1);
    try {
      await work(controller.signal, tell);
      if (!controller.signal.aborted) tell();
    } catch (error) {
      if (!isAbort(error, controller.signal)) this.page.fail(error);
    } finally {
      this.page.busy(-1);
      if (this.controller === controller) this.controller = null;
    }
  }

  stop() {
    this.controller?.abort();
    this.controller = null;
  }
}

/** What a promise becomes, unless the signal ends the waiting; the work goes on for others. */
export function waited(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const ended = () => reject(signal.reason);
    signal.addEventListener('abort', ended, { once: true });
    const settled = (settle) => (value) => {
      signal.removeEventListener('abort', ended);
      settle(value);
    };
    promise.then(settled(resolve), settled(reject));
  });
}

/** Requests and bytes of several arrays and groups. */
export const total = (all) =>
  all.reduce(
    (sum, one) => ({ requests: sum.requests + one.requests, bytes: sum.bytes + one.bytes }),
    { requests: 0, bytes: 0 },
  );

/** Lets the page draw and take keys in between. */
export const pause = () =>
  new Promise((resolve) => {
    setTimeout(resolve);
  });
