// What the datatypes of fields mean to the page.

const UNITS = {
  YEAR: 'year',
  MONTH: 'month',
  WEEK: 'week',
  DAY: 'day',
  HR: 'h',
  MIN: 'min',
  SEC: 's',
  MS: 'ms',
  US: 'µs',
  NS: 'ns',
  PS: 'ps',
  FS: 'fs',
  AS: 'as',
};

const INTEGERS = new Set([
  'INT8',
  'UINT8',
  'INT16',
  'UINT16',
  'INT32',
  'UINT32',
  'INT64',
  'UINT64',
]);
const WIDTHS = {
  INT8: 1,
  UINT8: 1,
  BOOL: 1,
  CHAR: 1,
  BLOB: 1,
  STRING_ASCII: 1,
  STRING_UTF8: 1,
  GEOM_WKB: 1,
  GEOM_WKT: 1,
  ANY: 1,
  INT16: 2,
  UINT16: 2,
  STRING_UTF16: 2,
  STRING_UCS2: 2,
  INT32: 4,
  UINT32: 4,
  FLOAT32: 4,
  STRING_UTF32: 4,
  STRING_UCS4: 4,
};

/** `date` and `time` (with a unit), `integer`, `real`, `boolean`, `text`, `bytes`. */
export function sort(datatype) {
  if (datatype.startsWith('DATETIME_')) return 'date';
  if (datatype.startsWith('TIME_')) return 'time';
  if (INTEGERS.has(datatype)) return 'integer';
  if (datatype === 'FLOAT32' || datatype === 'FLOAT64') return 'real';
  if (datatype === 'BOOL') return 'boolean';
  if (datatype === 'BLOB' || datatype === 'GEOM_WKB' || datatype === 'ANY') return 'bytes';
  return 'text';
}

/** The part behind `_` in `DATETIME_DAY`; null for others. */
export function unit(datatype) {
  return datatype.startsWith('DATETIME_') || datatype.startsWith('TIME_')
    ? datatype.split('_')[1]
    : null;
}

/** The unit as people write it. */
export const unitText = (datatype) => UNITS[unit(datatype)] ?? '';

/** Bytes of one value. */
export const width = (datatype) => WIDTHS[datatype] ?? 8;

/** Whether a field can be a picture: one number in each cell, or one number of an enumeration. */
export function isNumeric(field) {
  const kind = sort(field.datatype);
  return (
    (field.cellValNum ?? (field.domain !== undefined ? 1 : null)) === 1 &&
    kind !== 'text' &&
    kind !== 'bytes'
  );
}

/** A type as people read it: `INT32`, `STRING_UTF8`, `FLOAT32 × 3`. */
export function typeText(field) {
  const many =
    field.cellValNum === undefined || field.cellValNum === 1
      ? ''
      : field.cellValNum === null
        ? ''
        : ` × ${field.cellValNum}`;
  const varied =
    field.cellValNum === null && sort(field.datatype) !== 'text' ? ' × any number' : '';
  return `${field.datatype.toLowerCase()}${many}${varied}`;
}

/** A text as conditions write it. */
export const quotedText = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`;

/** The name of a field as conditions and aggregates write it. */
export const quoted = (name) =>
  /^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
