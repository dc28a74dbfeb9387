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

/** Refuses keys that an object of options does not have. */
export function checkKeys(options, known, what) {
  if (options === null || typeof options !== 'object') {
    throw new TdbError('query', `${what}: an object of options is expected`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw new TdbError('query', `${what} has no option "${key}" (it has ${known.join(', ')})`);
    }
  }
}

/** Fails if the signal says that nobody waits any more. */
export function checkSignal(signal) {
  if (signal?.aborted) throw signal.reason;
}
