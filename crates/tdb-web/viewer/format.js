// Numbers, sizes and values as text.

import { dateText, timeText } from './calendar.js';
import { sort, unit } from './types.js';

const trimmed = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

/**
 * A number with about four digits, as `tdb show` writes it: `0.1234`, `12.3`, `1234567`, `1.2e20`.
 */
export function number(value) {
  if (typeof value === 'bigint') return String(value);
  if (value === 0) return '0';
  if (!Number.isFinite(value)) return String(value);
  const power = Math.floor(Math.log10(Math.abs(value)));
  if (power < -5 || power >= 15) {
    const [digits, exponent] = value.toExponential(3).split('e');
    return `${trimmed(digits)}e${exponent.replace('+', '')}`;
  }
  if (Number.isInteger(value)) return String(value);
  return trimmed(value.toFixed(Math.max(power < 6 ? 1 : 0, 3 - power)));
}

/** A count with thin spaces between thousands. */
export function count(value) {
  return String(typeof value === 'bigint' ? value : Math.round(value)).replace(
    /\B(?=(\d{3})+(?!\d))/g,
    '\u202f',
  );
}

/** A large count in words: `1.2 million`, `10¹²` has none of its own. */
export function roughly(value) {
  const real = Number(value);
  if (real < 1e6) return count(real);
  for (const [least, word] of [
    [1e18, null],
    [1e12, 'trillion'],
    [1e9, 'billion'],
    [1e6, 'million'],
  ]) {
    if (real >= least)
      return word ? `${number(Number((real / least).toPrecision(3)))} ${word}` : number(real);
  }
  return count(real);
}

/** A size in bytes: `1.2 MB`. */
export function bytes(value) {
  const sizes = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let at = 0;
  let size = Number(value);
  while (size >= 999.5 && at < sizes.length - 1) {
    size /= 1000;
    at += 1;
  }
  const text = at === 0 || size >= 99.5 ? Math.round(size) : trimmed(size.toFixed(1));
  return `${text}\u00a0${sizes[at]}`;
}

/** A time in milliseconds: `0.3 s`. */
export function duration(milliseconds) {
  return milliseconds < 1000
    ? `${Math.round(milliseconds)}\u00a0ms`
    : `${trimmed((milliseconds / 1000).toFixed(1))}\u00a0s`;
}

/** `1 cell`, `2 cells`. */
export const plural = (value, word) => `${count(value)} ${word}${Number(value) === 1 ? '' : 's'}`;

/** A bound as text: real numbers with about six digits. */
export const boundText = (value, datatype) =>
  value === ''
    ? '(empty)'
    : sort(datatype) === 'real'
      ? number(Number(value.toPrecision(6)))
      : valueText(value, datatype);

/** A value of a datatype as text; `null` for null. */
export function valueText(value, datatype) {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return value;
  if (ArrayBuffer.isView(value)) {
    if (sort(datatype) === 'bytes') {
      const hex = Array.from(value.subarray(0, 24), (byte) =>
        byte.toString(16).padStart(2, '0'),
      ).join('');
      return value.length > 24 ? `${hex}…` : hex;
    }
    const few = Array.from(value.subarray(0, 12), (part) => valueText(part, datatype));
    return `[${few.join(', ')}${value.length > 12 ? ', …' : ''}]`;
  }
  switch (sort(datatype)) {
    case 'date':
      return dateText(value, unit(datatype));
    case 'time':
      return timeText(value, unit(datatype));
    case 'boolean':
      return value ? 'true' : 'false';
    case 'real':
      return datatype === 'FLOAT32' ? number32(value) : String(value);
    default:
      return String(value);
  }
}

/** The shortest text that is this number in 32 bits. */
function number32(value) {
  for (let digits = 6; digits <= 9; digits += 1) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}
