// Writes FlatBuffers, the form of the metadata in streams of Arrow: from the end to the beginning,
// because what is referred to stands behind what refers to it.

export class Builder {
  constructor() {
    this.bytes = new Uint8Array(1024);
    /**
     * Bytes that are written; they are at the end. A position is the number of bytes from there to
     * the end.
     */
    this.length = 0;
    this.alignment = 1;
  }

  /** Makes place for `size` bytes, after which `more` will stand at a multiple of `alignment`. */
  place(size, alignment, more = 0) {
    this.alignment = Math.max(this.alignment, alignment);
    const padding = -(this.length + size + more) & (alignment - 1);
    const needed = this.length + size + padding;
    if (needed > this.bytes.length) {
      const grown = new Uint8Array(2 * needed);
      grown.set(this.bytes, grown.length - this.bytes.length);
      this.bytes = grown;
    }
    this.length = needed;
    return this.bytes.length - needed;
  }

  view() {
    return new DataView(this.bytes.buffer);
  }

  number(size, value) {
    const at = this.place(size, size);
    if (size === 8) this.view().setBigInt64(at, BigInt(value), true);
    else if (size === 4) this.view().setInt32(at, value, true);
    else if (size === 2) this.view().setInt16(at, value, true);
    else this.bytes[at] = value;
    return this.length;
  }

  /** A reference to what is at a position. */
  reference(position) {
    this.place(0, 4);
    return this.number(4, this.length + 4 - position);
  }

  text(text) {
    const encoded = new TextEncoder().encode(text);
    // It ends with a zero, and its length stands aligned before it.
    this.place(0, 4, encoded.length + 1);
    const at = this.place(encoded.length + 1, 1);
    this.bytes.set(encoded, at);
    this.bytes[at + encoded.length] = 0;
    return this.number(4, encoded.length);
  }

  /** A list of references. */
  references(positions) {
    this.place(0, 4, 4 * positions.length);
    [...positions].reverse().forEach((position) => this.reference(position));
    return this.number(4, positions.length);
  }

  /** A list of pairs of numbers of 64 bits. */
  pairs(pairs) {
    this.place(0, 8, 16 * pairs.length);
    [...pairs].reverse().forEach(([first, second]) => {
      this.number(8, second);
      this.number(8, first);
    });
    return this.number(4, pairs.length);
  }

  /**
   * A table of fields: `[size, value]`, `{ at: position }`, or null for none, in the order of
   * their numbers.
   */
  table(fields) {
    const end = this.length;
    const positions = fields.map((field) => {
      if (field === null) return 0;
      return Array.isArray(field) ? this.number(...field) : this.reference(field.at);
    });
    const start = this.number(4, 0);
    for (const position of [...positions].reverse())
      this.number(2, position === 0 ? 0 : start - position);
    this.number(2, start - end);
    this.number(2, 4 + 2 * fields.length);
    this.view().setInt32(this.bytes.length - start, this.length - start, true);
    return start;
  }

  /** The bytes, whose first reference is that to a table; a multiple of 8. */
  finish(position) {
    this.place(0, Math.max(this.alignment, 8), 4);
    this.reference(position);
    return this.bytes.slice(this.bytes.length - this.length);
  }
}
