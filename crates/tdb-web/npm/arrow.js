// Cells as a stream of Arrow IPC. The types are those of the crate tdb-arrow, with offsets of 32
// bits.
import { TdbError } from './errors.js';
import { Builder } from './flatbuffer.js';
import { arrayType, isBytes } from './values.js';

const METADATA_V5 = 4;
const SCHEMA = 1;
const RECORD_BATCH = 3;
const TYPES = {
  Int: 2,
  FloatingPoint: 3,
  Binary: 4,
  Utf8: 5,
  Bool: 6,
  Timestamp: 10,
  List: 12,
  FixedSizeBinary: 15,
  FixedSizeList: 16,
  Duration: 18,
};
const UNITS = { SEC: 0, MS: 1, US: 2, NS: 3 };

/** The type of single values: its name, and the fields of its table. */
function typeOf(datatype) {
  const Type = arrayType(datatype);
  const [, kind, unit] = /^(DATETIME|TIME)_(\w+)$/.exec(datatype) ?? [];
  if (kind && unit in UNITS)
    return [
      kind === 'TIME' ? 'Duration' : 'Timestamp',
      [[2, UNITS[unit]], ...(kind === 'TIME' ? [] : [null])],
    ];
  if (datatype === 'BOOL') return ['Bool', []];
  if (datatype.startsWith('FLOAT')) return ['FloatingPoint', [[2, datatype === 'FLOAT32' ? 1 : 2]]];
  const isSigned = [Int8Array, Int16Array, Int32Array, BigInt64Array].includes(Type);
  return [
    'Int',
    [
      [4, 8 * Type.BYTES_PER_ELEMENT],
      [1, isSigned ? 1 : 0],
    ],
  ];
}

/** How a column is stored: plain, in bytes of a fixed or variable number, or in lists. */
function shapeOf({ datatype, cellValNum }) {
  const isText = datatype === 'STRING_ASCII' || datatype === 'STRING_UTF8';
  if (isText || datatype === 'CHAR' || isBytes(datatype)) {
    if (cellValNum !== null) return { type: ['FixedSizeBinary', [[4, cellValNum]]] };
    return { type: [isText ? 'Utf8' : 'Binary', []], isText };
  }
  const item = typeOf(datatype);
  if (cellValNum === 1) return { type: item };
  return { type: cellValNum === null ? ['List', []] : ['FixedSizeList', [[4, cellValNum]]], item };
}

function fieldOf(builder, { name, isNullable, type, item, datatype }) {
  const children = item ? [fieldOf(builder, { name: 'item', isNullable: false, type: item })] : [];
  const list = builder.references(children);
  const typed = builder.table(type[1]);
  const named = builder.text(name);
  let metadata = null;
  if (datatype) {
    const [key, value] = [builder.text('tdb:datatype'), builder.text(datatype)];
    metadata = { at: builder.references([builder.table([{ at: key }, { at: value }])]) };
  }
  return builder.table([
    { at: named },
    [1, isNullable ? 1 : 0],
    [1, TYPES[type[0]]],
    { at: typed },
    null,
    { at: list },
    metadata,
  ]);
}

/** A message: its metadata, and the buffers of its body. */
function message(builder, kind, header, body) {
  const length = body.reduce((sum, bytes) => sum + padded(bytes.length), 0);
  const root = builder.table([[2, METADATA_V5], [1, kind], { at: header }, [8, length]]);
  const metadata = builder.finish(root);
  const out = new Uint8Array(8 + padded(metadata.length) + length);
  const view = new DataView(out.buffer);
  view.setInt32(0, -1, true);
  view.setInt32(4, padded(metadata.length), true);
  out.set(metadata, 8);
  let at = 8 + padded(metadata.length);
  for (const bytes of body) {
    out.set(bytes, at);
    at += padded(bytes.length);
  }
  return out;
}

function padded(length) {
  return (length + 7) & ~7;
}

function bytesOf(array) {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** One bit a value. */
function bits(bytes) {
  const packed = new Uint8Array((bytes.length + 7) >> 3);
  bytes.forEach((byte, index) => {
    if (byte !== 0) packed[index >> 3] |= 1 << (index & 7);
  });
  return packed;
}

/** The nodes and buffers of a column. */
function stored(column, length) {
  const { type, item, isText } = shapeOf(column);
  const { validity, offsets, values, datatype } = column;
  const nulls = validity ? validity.reduce((sum, byte) => sum + (byte === 0 ? 1 : 0), 0) : 0;
  const nodes = [[length, nulls]];
  const buffers = [nulls > 0 ? bits(validity) : new Uint8Array()];
  if (offsets) buffers.push(bytesOf(offsets));
  if (isText) checkText(column);
  if (item) {
    nodes.push([values.length, 0]);
    buffers.push(new Uint8Array());
  }
  const isBool = (item ?? type)[0] === 'Bool' && datatype === 'BOOL';
  buffers.push(isBool ? bits(values) : bytesOf(values));
  return { nodes, buffers };
}

/** Arrow has no text that is not UTF-8. */
function checkText({ name, values, offsets }) {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const isWhole = (start, end) => {
    try {
      decoder.decode(values.subarray(start, end));
      return true;
    } catch {
      return false;
    }
  };
  // All of it is decoded at once, and each cell must begin with a character.
  const isSplit = offsets.some((at) => (values[at] & 0xc0) === 0x80);
  if (isSplit || !isWhole(0, values.length)) {
    throw new TdbError(
      'query',
      `field "${name}" has texts that are not UTF-8, which Arrow does not allow`,
    );
  }
}

/** The batches as a stream of Arrow IPC. */
export function toArrow(batches, schema) {
  const nullable = new Set(schema.attributes.filter((own) => own.nullable).map((own) => own.name));
  const builder = new Builder();
  const fields = batches[0].columns.map((column) => {
    const { name, datatype } = column;
    return fieldOf(builder, { name, datatype, isNullable: nullable.has(name), ...shapeOf(column) });
  });
  const list = builder.references(fields);
  const messages = [message(builder, SCHEMA, builder.table([[2, 0], { at: list }]), [])];
  for (const batch of batches) {
    const columns = batch.columns.map((column) => stored(column, batch.length));
    const body = columns.flatMap(({ buffers }) => buffers);
    let at = 0;
    const places = body.map(({ length }) => {
      const place = [at, length];
      at += padded(length);
      return place;
    });
    const own = new Builder();
    const placed = own.pairs(places);
    const nodes = own.pairs(columns.flatMap((column) => column.nodes));
    messages.push(
      message(
        own,
        RECORD_BATCH,
        own.table([[8, batch.length], { at: nodes }, { at: placed }]),
        body,
      ),
    );
  }
  const end = new Uint8Array(8);
  end.fill(0xff, 0, 4);
  messages.push(end);
  const out = new Uint8Array(messages.reduce((sum, bytes) => sum + bytes.length, 0));
  let at = 0;
  for (const bytes of messages) {
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}
