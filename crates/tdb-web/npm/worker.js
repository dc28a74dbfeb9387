// The script of the Web Worker: an engine whose calls come as messages.
import { Engine } from './engine.js';
import { TdbError } from './errors.js';

const running = new Map();
const streams = new Map();
let lastStream = 0;
const fetches = new Map();
let lastFetch = 0;
let engine = null;

/** Has the page make a request. */
function fetchByPage(url, { signal, ...init }, most) {
  const fetching = (lastFetch += 1);
  return new Promise((resolve, reject) => {
    const ended = () => {
      fetches.delete(fetching);
      postMessage({ cancel: fetching });
      reject(signal.reason);
    };
    signal?.addEventListener('abort', ended, { once: true });
    fetches.set(fetching, ({ failure, status, headers, loaded }) => {
      signal?.removeEventListener('abort', ended);
      if (failure !== undefined) reject(new TypeError(failure));
      else resolve({ status, headers: new Headers(headers), loaded });
    });
    postMessage({ fetch: fetching, url, init, most });
  });
}

const METHODS = {
  open: (signal, asked) => engine.open(asked, signal),
  run: (signal, id, request) => engine.run(id, request, signal),
  begin: (signal, id, request) => {
    const controller = new AbortController();
    streams.set((lastStream += 1), {
      iterator: engine.stream(id, request, controller.signal),
      controller,
    });
    return lastStream;
  },
  next: async (signal, id, stream) => {
    const { iterator, controller } = streams.get(stream);
    signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    const { done, value } = await iterator.next();
    return done ? null : value;
  },
  end: async (signal, id, stream) => {
    const { iterator, controller } = streams.get(stream);
    streams.delete(stream);
    controller.abort();
    await iterator.return();
  },
  close: (signal, id) => engine.close(id),
};

/** What a source has cost, if it is still there. */
function totals(id) {
  return engine.sources.has(id) ? { id, stats: engine.stats(id) } : null;
}

async function answer({ call, method, args }) {
  const controller = new AbortController();
  running.set(call, controller);
  const source = method === 'open' ? null : args[0];
  try {
    const result = await METHODS[method](controller.signal, ...args);
    const moved = result?.answer ? [result.answer] : [];
    postMessage({ call, result, totals: totals(source ?? result.id) }, moved);
  } catch (error) {
    const sent =
      error instanceof TdbError ? error.toParts() : { message: String(error?.message ?? error) };
    postMessage({ call, error: sent, totals: totals(source) });
  } finally {
    running.delete(call);
  }
}

onmessage = ({ data }) => {
  if (data.hasFetch !== undefined) {
    engine = new Engine(data.hasFetch ? fetchByPage : (url, init) => fetch(url, init));
  } else if (data.fetched !== undefined) {
    fetches.get(data.fetched)?.(data);
    fetches.delete(data.fetched);
  } else if (data.cancel !== undefined) {
    running.get(data.cancel)?.abort();
  } else {
    answer(data);
  }
};
