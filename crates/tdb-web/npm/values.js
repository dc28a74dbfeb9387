// Values of TileDB's types as values of JavaScript.

const TEXTS = {
  STRING_ASCII: 1,
  STRING_UTF8: 1,
  CHAR: 1,
  STRING_UTF16: 2,
  STRING_UCS2: 2,
  STRING_UTF32: 4,
  STRING_UCS4: 4,
};

const ARRAYS = {
  INT8: Int8Array,
  UINT8: Uint8Array,
  INT16: Int16Array,
  UINT16: Uint16Array,
  INT32: Int32Array,
  UINT32: Uint32Array,
  INT64: BigInt64Array,
  UINT64: BigUint64Array,
  FLOAT32: Float32Array,
  FLOAT64: Float64Array,
  BOOL: Uint8Array,
};

/** The typed array that holds values of a type. */
export function arrayType(datatype) {
  if (datatype in ARRAYS) return ARRAYS[datatype];
  if (datatype.startsWith('DATETIME_') || datatype.startsWith('TIME_')) return BigInt64Array;
  return { 2: Uint16Array, 4: Uint32Array }[TEXTS[datatype]] ?? Uint8Array;
}

export function isText(datatype) {
  return datatype in TEXTS;
}

export function isDate(datatype) {
  return datatype.startsWith('DATETIME_');
}

/** Whether values are bytes without a meaning that is known here. */
export function isBytes(datatype) {
  return !isText(datatype) && !(datatype in ARRAYS) && arrayType(datatype) === Uint8Array;
}

// U+FEFF at the beginning is a part of a value.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const utf16 = new TextDecoder('utf-16le', { ignoreBOM: true });

/** A text of its code units. */
export function decodeText(datatype, units) {
  if (TEXTS[datatype] === 1) return utf8.decode(units);
  if (TEXTS[datatype] === 2)
    return utf16.decode(new Uint8Array(units.buffer, units.byteOffset, units.byteLength));
  const point = (unit) => (unit > 0x10ffff ? '\ufffd' : String.fromCodePoint(unit));
  return Array.from(units, point).join('');
}

/** One value of its numbers: a text, a number, or the numbers themselves. */
export function valueOf(datatype, numbers, isVariable) {
  if (isText(datatype)) return decodeText(datatype, numbers);
  if (isBytes(datatype) || isVariable || numbers.length !== 1) return numbers;
  return numbers[0];
}

/** A block of an answer, as numbers of a type. */
export function numbersOf(datatype, answer, start, block) {
  const Type = arrayType(datatype);
  return new Type(answer, start + block[0], block[1] / Type.BYTES_PER_ELEMENT);
}

/** A block of an answer, as one value; null for none. */
export function scalar(datatype, answer, start, block) {
  if (block === null || block === undefined) return null;
  return valueOf(datatype, numbersOf(datatype, answer, start, block), false);
}

const TICKS = { HR: 3600n, MIN: 60n, SEC: 1n };
const DIGITS = { MS: 3, US: 6, NS: 9, PS: 12, FS: 15, AS: 18 };
const DAY = 86400n;

function floorDivide(value, by) {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

/** Years of four digits have dates; others are shown as ticks. */
function dayText(days) {
  if (days < -719162n || days > 2932896n) return null;
  return new Date(Number(days) * 86400000).toISOString().slice(0, 10);
}

/** A date as people write it, as precise as its unit. */
export function dateText(datatype, ticks) {
  const unit = datatype.slice('DATETIME_'.length);
  const year = (value) => (value >= 1n && value <= 9999n ? String(value).padStart(4, '0') : null);
  if (unit === 'YEAR') return year(1970n + ticks) ?? String(ticks);
  if (unit === 'MONTH') {
    const month = ticks - floorDivide(ticks, 12n) * 12n + 1n;
    const shown = year(1970n + floorDivide(ticks, 12n));
    return shown === null ? String(ticks) : `${shown}-${String(month).padStart(2, '0')}`;
  }
  if (unit === 'DAY' || unit === 'WEEK')
    return dayText(unit === 'WEEK' ? ticks * 7n : ticks) ?? String(ticks);
  const digits = DIGITS[unit] ?? 0;
  const parts = 10n ** BigInt(digits);
  const seconds = digits > 0 ? floorDivide(ticks, parts) : ticks * TICKS[unit];
  const days = floorDivide(seconds, DAY);
  const day = dayText(days);
  if (day === null) return String(ticks);
  const rest = Number(seconds - days * DAY);
  const two = (value) => String(value).padStart(2, '0');
  const clock = [two(Math.floor(rest / 3600)), two(Math.floor(rest / 60) % 60), two(rest % 60)];
  if (unit === 'HR' || unit === 'MIN') return `${day}T${clock.slice(0, 2).join(':')}`;
  const fraction = digits > 0 ? `.${String(ticks - seconds * parts).padStart(digits, '0')}` : '';
  return `${day}T${clock.join(':')}${fraction}`;
}

/** The first or last tick of a `Date`, which is a millisecond, in the unit of a type of dates. */
export function dateTicks(datatype, date, isLast = false) {
  const unit = datatype.slice('DATETIME_'.length);
  const [year, month] = [BigInt(date.getUTCFullYear()) - 1970n, BigInt(date.getUTCMonth())];
  if (unit === 'YEAR') return year;
  if (unit === 'MONTH') return year * 12n + month;
  const milliseconds = BigInt(date.getTime());
  if (unit === 'WEEK') return floorDivide(milliseconds, 7n * DAY * 1000n);
  if (unit === 'DAY') return floorDivide(milliseconds, DAY * 1000n);
  if (unit in TICKS) return floorDivide(milliseconds, TICKS[unit] * 1000n);
  const each = 10n ** BigInt(DIGITS[unit] - 3);
  return milliseconds * each + (isLast ? each - 1n : 0n);
}

/** Bytes in hexadecimal. */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A value as text for people. */
export function textOf(datatype, value) {
  if (value === null) return null;
  if (typeof value === 'string') return value;
  if (isBytes(datatype)) return hexOf(value);
  const one = (number) => {
    if (isDate(datatype)) return dateText(datatype, number);
    return datatype === 'BOOL' ? String(number !== 0) : String(number);
  };
  return typeof value === 'object' ? Array.from(value, one).join(', ') : one(value);
}
