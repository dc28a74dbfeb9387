// Dates and times of TileDB: integers that count a unit since 1970. Years reach farther than those
// of `Date`.

import { roundStep } from './ticks.js';

/** How many of each unit are in a second, and how many seconds are in one. */
const PER_SECOND = {
  SEC: 1n,
  MS: 10n ** 3n,
  US: 10n ** 6n,
  NS: 10n ** 9n,
  PS: 10n ** 12n,
  FS: 10n ** 15n,
  AS: 10n ** 18n,
};
const SECONDS = { WEEK: 604800n, DAY: 86400n, HR: 3600n, MIN: 60n };

const floorDiv = (a, b) => (a >= 0n ? a / b : -((b - 1n - a) / b));

/** The day of 1970-01-01 is 0. By the civil calendar, in eras of 400 years. */
export function daysOf(year, month, day) {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719468
  );
}

/** Year, month and day of a day. */
export function civil(days) {
  const shifted = days + 719468;
  const era = Math.floor(shifted / 146097);
  const ofEra = shifted - era * 146097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36524) - Math.floor(ofEra / 146096)) /
      365,
  );
  const ofYear =
    ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const part = Math.floor((5 * ofYear + 2) / 153);
  const month = part < 10 ? part + 3 : part - 9;
  return [
    yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    ofYear - Math.floor((153 * part + 2) / 5) + 1,
  ];
}

const two = (number) => String(number).padStart(2, '0');

function yearText(year) {
  if (year >= 0 && year <= 9999) return String(year).padStart(4, '0');
  return (year < 0 ? '-' : '+') + String(Math.abs(year)).padStart(6, '0');
}

/** A moment as whole seconds, the rest of a second, and how many rests are in a second. */
function split(value, unit) {
  const per = PER_SECOND[unit];
  if (!per) return { seconds: value * (SECONDS[unit] ?? 1n), rest: 0n, digits: 0 };
  const seconds = floorDiv(value, per);
  return { seconds, rest: value - seconds * per, digits: String(per).length - 1 };
}

function restText(rest, digits) {
  if (rest === 0n) return '';
  return `.${String(rest).padStart(digits, '0').replace(/0+$/, '')}`;
}

/**
 * A date as text; `detail` leaves out what is not needed: `year`, `month`, `day`, `minute`,
 * `second`, or all.
 */
export function dateText(value, unit, detail = 'all') {
  const whole = BigInt(value);
  if (unit === 'YEAR') return yearText(1970 + Number(whole));
  if (unit === 'MONTH') {
    const year = Number(floorDiv(whole, 12n));
    const month = Number(whole) - year * 12 + 1;
    return detail === 'year' ? yearText(1970 + year) : `${yearText(1970 + year)}-${two(month)}`;
  }
  const { seconds, rest, digits } = split(whole, unit);
  const days = floorDiv(seconds, 86400n);
  const [year, month, day] = civil(Number(days));
  const date = `${yearText(year)}-${two(month)}-${two(day)}`;
  if (detail === 'year') return yearText(year);
  if (detail === 'month') return `${yearText(year)}-${two(month)}`;
  if (detail === 'day' || unit === 'WEEK' || unit === 'DAY') return date;
  const clock = Number(seconds - days * 86400n);
  const minutes = `${two(Math.floor(clock / 3600))}:${two(Math.floor(clock / 60) % 60)}`;
  if (detail === 'minute') return minutes;
  const secondsText = `${minutes}:${two(clock % 60)}${restText(rest, digits)}`;
  if (detail === 'second') return secondsText;
  return unit === 'HR' || unit === 'MIN' ? `${date} ${minutes}` : `${date} ${secondsText}`;
}

/** A time of day, or a length of time, as text. */
export function timeText(value, unit) {
  const whole = BigInt(value);
  const { seconds, rest, digits } = split(whole < 0n ? -whole : whole, unit);
  const text = `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}`;
  const end =
    unit === 'HR' || unit === 'MIN' ? '' : `:${two(seconds % 60n)}${restText(rest, digits)}`;
  return (whole < 0n ? '-' : '') + text + end;
}

/** Milliseconds since 1970 as text in UTC, as short as they allow. */
export function momentText(milliseconds) {
  const text = dateText(BigInt(Math.trunc(milliseconds)), 'MS');
  return text.endsWith(' 00:00:00') ? text.slice(0, 10) : text;
}

const CLOCK_TEXT = '(\\d\\d?):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d+))?)?';
const DATE = new RegExp(`^([+-]?\\d{4,6})(?:-(\\d\\d?)(?:-(\\d\\d?)(?:[ T]${CLOCK_TEXT})?)?)?$`);

/** A text such as `2024-03-01 12:30:05.25` as a number of units; null if it is none. */
export function parseDate(text, unit) {
  const found = DATE.exec(text.trim());
  if (!found) return null;
  const [, year, month = 1, day = 1, hour = 0, minute = 0, second = 0, rest = ''] = found;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59)
    return null;
  if (unit === 'YEAR') return BigInt(Number(year) - 1970);
  if (unit === 'MONTH') return BigInt((Number(year) - 1970) * 12 + Number(month) - 1);
  const seconds =
    BigInt(daysOf(Number(year), Number(month), Number(day))) * 86400n +
    BigInt(hour * 3600 + minute * 60 + Number(second));
  const per = PER_SECOND[unit];
  if (!per) return floorDiv(seconds, SECONDS[unit]);
  const digits = String(per).length - 1;
  return seconds * per + BigInt(rest.slice(0, digits).padEnd(digits, '0') || 0);
}

const MONTHS = [
  1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 60000, 120000, 600000, 1200000,
];
const CLOCK = [
  1,
  5,
  15,
  30,
  60,
  300,
  900,
  1800,
  3600,
  3 * 3600,
  6 * 3600,
  12 * 3600,
  86400,
  2 * 86400,
  7 * 86400,
];
/** 1970-01-05 was a Monday. */
const MONDAY = 4n;
const DAY = 86400;

/** Steps below a second, in units. */
function* smallSteps(per) {
  for (let ten = 1n; ten < per; ten *= 10n) for (const digit of [1n, 2n, 5n]) yield digit * ten;
}

const seconds1970 = (months) =>
  daysOf(1970 + Math.floor(months / 12), (((months % 12) + 12) % 12) + 1, 1) * DAY;

/**
 * Round dates from `low` to `high`, at most `most`: each with its value and its text; and what all
 * of them have in common, which the name of the axis can say.
 */
export function dateTicks(low, high, unit, most) {
  if (unit === 'YEAR' || unit === 'MONTH') {
    const perYear = unit === 'YEAR' ? 1 : 12;
    return monthTicks(
      Number(low) * (12 / perYear),
      Number(high) * (12 / perYear),
      most,
      (months) => BigInt(months * perYear) / 12n,
      unit,
    );
  }
  const per = PER_SECOND[unit];
  const toSeconds = (value) =>
    per ? Number(value) / Number(per) : Number(value) * Number(SECONDS[unit]);
  const span = toSeconds(high - low);
  if (per && span < most) {
    for (const step of smallSteps(per)) {
      if (Number(high - low) / Number(step) > most) continue;
      return fixedTicks(low, high, step, unit, 'second');
    }
  }
  const least = per ? 1 : Number(SECONDS[unit]);
  const step = CLOCK.find((seconds) => span / seconds <= most && seconds >= least);
  if (step === undefined) {
    const month = (seconds) => {
      const [y, m] = civil(Math.floor(seconds / DAY));
      return (y - 1970) * 12 + m - 1;
    };
    const back = (months) =>
      per
        ? BigInt(seconds1970(months)) * per
        : floorDiv(BigInt(seconds1970(months)), SECONDS[unit]);
    return monthTicks(
      month(toSeconds(low)),
      month(toSeconds(high)) + 1,
      most,
      back,
      unit,
      low,
      high,
    );
  }
  const length = per ? BigInt(step) * per : floorDiv(BigInt(step), SECONDS[unit]);
  const detail = step >= DAY ? 'day' : step >= 60 ? 'minute' : 'second';
  const monday = step === 7 * DAY ? (length * MONDAY) / 7n : 0n;
  return fixedTicks(low, high, length > 0n ? length : 1n, unit, detail, monday);
}

function fixedTicks(low, high, step, unit, detail, from = 0n) {
  const ticks = [];
  const begin = floorDiv(low - from + step - 1n, step) * step + from;
  for (let value = begin; value <= high; value += step) {
    ticks.push({ value, text: dateText(value, unit, detail) });
  }
  const first = dateText(low, unit, 'day');
  const last = dateText(high, unit, 'day');
  return { ticks, context: detail === 'day' ? '' : first === last ? first : `${first} to ${last}` };
}

function monthTicks(from, to, most, back, unit, low, high) {
  const fits = (months) => (to - from) / months <= most && (unit !== 'YEAR' || months % 12 === 0);
  const step = MONTHS.find(fits) ?? 12 * roundStep((to - from) / 12 / most);
  const ticks = [];
  for (let months = Math.ceil(from / step) * step; months <= to; months += step) {
    const value = back(months);
    if (low !== undefined && (value < low || value > high)) continue;
    ticks.push({ value, text: dateText(value, unit, step % 12 === 0 ? 'year' : 'month') });
  }
  return { ticks, context: '' };
}
