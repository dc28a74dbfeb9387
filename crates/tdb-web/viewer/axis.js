// A dimension as a line of offsets: numbers as coordinates of pictures can be, around an origin, so
// that dates and integers of 64 bits keep their last digit.

import { dateTicks, exactText, parseDate } from './calendar.js';
import { count, valueText } from './format.js';
import { steps, wholeSteps } from './ticks.js';
import { sort, unit, unitText } from './types.js';

/**
 * An axis. Cell `n` of integers and dates is at the offsets from n to n + 1; real coordinates are
 * their offsets.
 */
export class Axis {
  /**
   * @param dimension of the schema
   * @param bounds the interval of values that is worth seeing: the non-empty domain, or the domain
   */
  constructor(dimension, bounds) {
    this.name = dimension.name;
    this.datatype = dimension.datatype;
    this.kind = sort(dimension.datatype);
    this.discrete = this.kind !== 'real';
    this.tile = dimension.tile;
    this.whole = dimension.whole ?? false;
    this.big = typeof bounds[0] === 'bigint';
    this.origin = bounds[0];
    this.low = 0;
    this.high = this.discrete ? Number(BigInt(bounds[1]) - BigInt(bounds[0])) + 1 : 0;
    if (!this.discrete) {
      this.origin = 0;
      [this.low, this.high] = [Number(bounds[0]), Number(bounds[1])];
      if (this.low === this.high) [this.low, this.high] = [this.low - 0.5, this.high + 0.5];
    }
    const domain = dimension.currentDomain ?? dimension.domain;
    this.first = domain ? domain[0] : bounds[0];
    this.last = domain ? domain[1] : bounds[1];
  }

  get length() {
    return this.high - this.low;
  }

  /** Makes it longer at both ends by a share of itself. */
  widen(share) {
    const rim = this.length * share;
    this.low -= rim;
    this.high += rim;
  }

  /** The offset of a value: where its cell begins. */
  offset(value) {
    return this.discrete ? Number(BigInt(value) - BigInt(this.origin)) : Number(value);
  }

  /** The value whose cell is at an offset, within the domain. */
  value(offset) {
    if (!this.discrete) return Math.min(this.last, Math.max(this.first, offset));
    const found = BigInt(this.origin) + BigInt(Math.floor(offset));
    const first = BigInt(this.first);
    const last = BigInt(this.last);
    const inside = found < first ? first : found > last ? last : found;
    return this.big ? inside : Number(inside);
  }

  text(value) {
    return valueText(value, this.datatype);
  }

  /** A value as text that is parsed as this value again. */
  exactText(value) {
    return this.kind === 'date' ? exactText(value, unit(this.datatype)) : String(value);
  }

  /** A text of a user as a value: a low end of a range, or a high one; null if it is none. */
  parse(text, isHigh = false) {
    const plain = text
      .trim()
      .replace('\u2212', '-')
      .replace(/[\u202f_ ](?=\d{3})/g, '');
    if (this.kind === 'date') {
      const found = parseDate(text, unit(this.datatype));
      if (found) return found[isHigh ? 1 : 0];
    }
    if (this.discrete)
      return /^[+-]?\d+$/.test(plain) ? (this.big ? BigInt(plain) : Number(plain)) : null;
    const real = Number(plain);
    return plain !== '' && Number.isFinite(real) ? real : null;
  }

  /** Name and unit. */
  title(context = '') {
    const measure = this.kind === 'date' ? '' : unitText(this.datatype);
    const more = [measure, context].filter(Boolean).join(', ');
    return more ? `${this.name} (${more})` : this.name;
  }

  /**
   * Round places between two offsets: `at` (the middle of a cell), `text`; and what they have in
   * common.
   */
  ticks(from, to, most) {
    if (!this.discrete) {
      return {
        ticks: steps(from, to, most)
          .filter(({ value }) => !this.whole || Number.isInteger(value))
          .map(({ value, text }) => ({ at: value, text: this.whole ? count(value) : text })),
        context: '',
      };
    }
    const low = BigInt(this.value(from));
    const high = BigInt(this.value(Math.ceil(to) - 1));
    const place = ({ value, text }) => ({ at: this.offset(value) + 0.5, text });
    if (this.kind === 'date') {
      const found = dateTicks(low, high, unit(this.datatype), most);
      return { ticks: found.ticks.map(place), context: found.context };
    }
    return { ticks: wholeSteps(low, high, most).map(place), context: '' };
  }
}
