/** What all failures of this package are, except cancellations. */
export class TdbError extends Error {
  constructor(kind, message, { file = null, offset = null, status = null, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TdbError';
    this.kind = kind;
    this.file = file;
    this.offset = offset;
    this.status = status;
  }

  /** The parts that a message to another thread has. */
  toParts() {
    const { kind, message, file, offset, status } = this;
    return { kind, message, file, offset, status };
  }

  static ofParts({ kind, message, ...parts }) {
    return new TdbError(kind, message, parts);
  }
}

/** Refuses keys that an object of options does not have; with null all are known. */
export function checkKeys(options, known, what) {
  // Lists and maps would have no keys.
  if (options === null || typeof options !== 'object' || Symbol.iterator in options) {
    throw new TdbError('query', `${what}: an object of options is expected`);
  }
  for (const key of known ? Object.keys(options) : []) {
    if (!known.includes(key)) {
      throw new TdbError('query', `${what} has no option "${key}" (it has ${known.join(', ')})`);
    }
  }
}

/** Refuses an option that is given and is not what `isRight` expects. */
export function checkOption(name, value, isRight, expected) {
  if (value === undefined || isRight(value)) return;
  const shown = Array.isArray(value) ? `[${value}]` : String(value);
  throw new TdbError('query', `the option "${name}" is ${shown}, where ${expected} is expected`);
}

/** Refuses what is no signal; fails if it says that nobody waits any more. */
export function signalOf({ signal }) {
  const isSignal = (value) => value === null || typeof value?.aborted === 'boolean';
  checkOption('signal', signal, isSignal, 'an AbortSignal');
  checkSignal(signal);
  return signal ?? undefined;
}

/** Fails if the signal says that nobody waits any more. */
export function checkSignal(signal) {
  if (signal?.aborted) throw signal.reason;
}

/** A promise that fails when the signal says so. */
export function untilAborted(signal) {
  let stop;
  const promise = new Promise((_, reject) => {
    const ended = () => reject(signal.reason);
    signal.addEventListener('abort', ended, { once: true });
    stop = () => signal.removeEventListener('abort', ended);
  });
  return { promise, stop };
}
