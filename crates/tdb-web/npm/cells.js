// Cells as columns of typed arrays.
import { parts } from './engine.js';
import { TdbError } from './errors.js';
import { isBytes, isText, numbersOf, textOf, valueOf } from './values.js';

/** The cells of one field. */
export class Column {
  constructor(
    { name, datatype, cellValNum, enumeration = null },
    length,
    values,
    offsets,
    validity,
  ) {
    Object.assign(this, {
      name,
      datatype,
      cellValNum,
      enumeration,
      length,
      values,
      offsets,
      validity,
    });
  }

  isNull(cell) {
    return this.validity !== null && this.validity[cell] === 0;
  }

  get(cell) {
    if (!(cell >= 0 && cell < this.length)) {
      throw new TdbError(
        'query',
        `field "${this.name}" has ${this.length} cells, and none with the number ${cell}`,
      );
    }
    if (this.isNull(cell)) return null;
    const { datatype, cellValNum, values, offsets } = this;
    if (cellValNum === 1 && !isText(datatype) && !isBytes(datatype)) return values[cell];
    const start = offsets ? offsets[cell] : cell * cellValNum;
    const end = offsets ? offsets[cell + 1] : start + cellValNum;
    return valueOf(datatype, values.subarray(start, end), offsets !== null);
  }

  text(cell) {
    return textOf(this.datatype, this.get(cell));
  }

  toArray() {
    return Array.from({ length: this.length }, (_, cell) => this.get(cell));
  }
}

/** A column of an answer. */
export function columnOf(described, length, answer, start) {
  const block = (Type, [at, bytes]) => new Type(answer, start + at, bytes / Type.BYTES_PER_ELEMENT);
  const values = numbersOf(described.datatype, answer, start, described.values);
  const offsets = described.offsets ? block(Uint32Array, described.offsets) : null;
  const validity = described.validity ? block(Uint8Array, described.validity) : null;
  return new Column(described, length, values, offsets, validity);
}

export class Cells {
  constructor({ length, shape, order, columns, selected, stats }) {
    Object.assign(this, { length, shape, order, columns, selected, stats });
  }

  static of({ answer, stats }) {
    const { document, start } = parts(answer);
    const { length, shape, order, selected } = document;
    const columns = document.columns.map((column) => columnOf(column, length, answer, start));
    const bytes = selected ? new Uint8Array(answer, start + selected[0], selected[1]) : null;
    return new Cells({ length, shape, order, columns, selected: bytes, stats });
  }

  column(name) {
    const column = this.columns.find((own) => own.name === name);
    if (!column) throw new TdbError('query', `the result has no field "${name}"`);
    return column;
  }

  row(cell) {
    return Object.fromEntries(this.columns.map((column) => [column.name, column.get(cell)]));
  }
}

/** The first cells of batches, as one result. */
export function joined(batches, limit, stats) {
  const [first] = batches;
  const total = batches.reduce((sum, batch) => sum + batch.length, 0);
  if (batches.length === 1 && total <= limit) return new Cells({ ...first, stats });
  const length = Math.min(limit, total);
  const takes = [];
  for (let left = length, at = 0; at < batches.length; left -= takes[at], at += 1) {
    takes.push(Math.min(left, batches[at].length));
  }
  const bytes = (of) => {
    const all = new Uint8Array(length);
    let at = 0;
    batches.forEach((batch, index) => {
      all.set(of(batch).subarray(0, takes[index]), at);
      at += takes[index];
    });
    return all;
  };
  const columns = first.columns.map((model, number) => {
    const own = batches.map((batch) => batch.columns[number]);
    const ends = own.map((column, index) =>
      column.offsets ? column.offsets[takes[index]] : takes[index] * column.cellValNum,
    );
    const values = new model.values.constructor(ends.reduce((sum, end) => sum + end, 0));
    const offsets = model.offsets ? new Uint32Array(length + 1) : null;
    let [at, cell] = [0, 0];
    own.forEach((column, index) => {
      values.set(column.values.subarray(0, ends[index]), at);
      for (let taken = 0; offsets && taken <= takes[index]; taken += 1)
        offsets[cell + taken] = at + column.offsets[taken];
      at += ends[index];
      cell += takes[index];
    });
    const validity = model.validity ? bytes((batch) => batch.columns[number].validity) : null;
    return new Column(model, length, values, offsets, validity);
  });
  const selected = first.selected ? bytes((batch) => batch.selected) : null;
  return new Cells({ length, shape: null, order: first.order, columns, selected, stats });
}
