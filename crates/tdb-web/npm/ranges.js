// What a query reads of a dimension, as the modules take it.
import { TdbError, checkKeys } from './errors.js';
import { dateTicks, hexOf, isDate } from './values.js';

/** Most coordinates of a range with a step. */
const MAX_POINTS = 1_000_000;

/** What is read of a dimension, as ranges whose ends are texts. */
export function rangesOf(name, selection, datatype) {
  const wrong = (why) => new TdbError('query', `the range of "${name}": ${why}`);
  const coordinate = (value, isHigh) => {
    if (value instanceof Date) {
      if (!datatype) throw wrong('the array has no such dimension or label');
      if (!isDate(datatype)) throw wrong(`${datatype} has no dates`);
      if (Number.isNaN(value.getTime())) throw wrong('an invalid Date is no coordinate');
      return String(dateTicks(datatype, value, isHigh));
    }
    if (value instanceof Uint8Array) return { bytes: hexOf(value) };
    if (!['number', 'bigint', 'string'].includes(typeof value))
      throw wrong(`${String(value)} is no coordinate`);
    return String(value);
  };
  const end = (value, at) =>
    value === null || value === Infinity || value === -Infinity
      ? null
      : coordinate(value, at === 1);
  const one = (item) => {
    if (!Array.isArray(item)) return [coordinate(item, false), coordinate(item, true)];
    if (item.length !== 2) throw wrong('a range has two ends');
    return item.map(end);
  };
  if (Array.isArray(selection)) {
    const isRange = selection.length === 2 && !selection.some(Array.isArray);
    return isRange ? [one(selection)] : selection.map(one);
  }
  const isOne =
    selection === null ||
    typeof selection !== 'object' ||
    selection instanceof Date ||
    selection instanceof Uint8Array;
  return isOne ? [one(selection)] : stepped(selection, name, wrong);
}

/** Every step-th coordinate of a range, one range each; those that meet are one range. */
function stepped(selection, name, wrong) {
  checkKeys(selection, ['from', 'to', 'step'], `the range of "${name}"`);
  const [from, to, step] = ['from', 'to', 'step'].map((key) => {
    const value = selection[key];
    if (typeof value !== 'bigint' && !Number.isSafeInteger(value))
      throw wrong(`"${key}" is ${String(value)}, where an integer is expected`);
    return BigInt(value);
  });
  if (step <= 0n) throw wrong('the step is not above 0');
  if (from > to) throw wrong(`it is empty: ${from} is after ${to}`);
  if (step === 1n) return [[String(from), String(to)]];
  const count = (to - from) / step + 1n;
  if (count > MAX_POINTS)
    throw wrong(`${count} coordinates are more than ${MAX_POINTS}: take a larger step`);
  return Array.from({ length: Number(count) }, (_, at) => {
    const point = String(from + BigInt(at) * step);
    return [point, point];
  });
}
