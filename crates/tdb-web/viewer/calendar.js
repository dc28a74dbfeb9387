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

const ATTOS = PER_SECOND.AS;
const DAY_ATTOS = SECONDS.DAY * ATTOS;

/** The first tick of a unit that is not before a moment, in attoseconds since 1970. */
function tickFrom(moment, unit) {
  const up = (value, by) => -floorDiv(-value, by);
  if (unit !== 'YEAR' && unit !== 'MONTH')
    return up(moment, PER_SECOND[unit] ? ATTOS / PER_SECOND[unit] : SECONDS[unit] * ATTOS);
  const days = floorDiv(moment, DAY_ATTOS);
  const [year, month, day] = civil(Number(days));
  const isInside = day > 1 || moment !== days * DAY_ATTOS;
  const months = BigInt((year - 1970) * 12 + month - 1) + (isInside ? 1n : 0n);
  return unit === 'MONTH' ? months : up(months, 12n);
}

const CLOCK_TEXT = '(\\d\\d?):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{1,18}))?)?';
const YEAR = '[+-]\\d{4,12}|\\d{4}';
const DATE = new RegExp(`^(${YEAR})(?:-(\\d\\d?)(?:-(\\d\\d?)(?:[ T]${CLOCK_TEXT})?)?)?$`);

/**
 * What a text such as `2024-03` or `2024-03-01 12:30:05.25` names, as the first and the last unit
 * in it: of a month all days, of a second all of its parts, with a fraction an instant. Null if it
 * is no date, or no unit is in it.
 */
export function parseDate(text, unit) {
  const found = DATE.exec(text.trim());
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found
    .slice(1, 7)
    .map((part) => (part === undefined ? undefined : Number(part)));
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return null;
  const days = daysOf(year, month ?? 1, day ?? 1);
  if (day !== undefined && civil(days)[2] !== day) return null;
  const clock = BigInt((hour ?? 0) * 3600 + (minute ?? 0) * 60 + (second ?? 0));
  const rest = found[7];
  const begin = BigInt(days) * DAY_ATTOS + clock * ATTOS + BigInt((rest ?? '').padEnd(18, '0'));
  if (rest !== undefined) {
    const first = tickFrom(begin, unit);
    return tickFrom(begin + 1n, unit) > first ? [first, first] : null;
  }
  let end = begin + ATTOS;
  if (day === undefined) {
    const months = year * 12 + (month ?? 12);
    end = BigInt(daysOf(Math.floor(months / 12), (((months % 12) + 12) % 12) + 1, 1)) * DAY_ATTOS;
  } else if (hour === undefined) end = begin + DAY_ATTOS;
  else if (second === undefined) end = begin + 60n * ATTOS;
  const [first, last] = [tickFrom(begin, unit), tickFrom(end, unit) - 1n];
  return first <= last ? [first, last] : null;
}

/** A date as text that names no other unit: whole seconds of smaller ones end in `.0`. */
export function exactText(value, unit) {
  const text = dateText(value, unit);
  return PER_SECOND[unit] > 1n && !text.includes('.') ? `${text}.0` : text;
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
