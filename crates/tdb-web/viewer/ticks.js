// Round places along an axis.

/** The least round number (1, 2 or 5, and zeros) that is not less than a positive one. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const digit = [1, 2, 5].find((one) => one * power >= least * (1 - 1e-12));
  return (digit ?? 10) * power;
}

/** Round numbers from `low` to `high`, at most about `most`, with as many decimals as they need. */
export function steps(low, high, most) {
  if (!Number.isFinite(low) || !Number.isFinite(high) || low > high) return [];
  if (low === high) return [{ value: low, text: tickText(low, 1) }];
  const step = roundStep(((high / 2 - low / 2) / Math.max(1, most)) * 2);
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  for (let at = first; at <= last && found.length <= 2 * most; at += 1) {
    // Not `at * step`: a step such as 0.1 is not exact, and its inverse is.
    const value = step < 1 ? at / Math.round(1 / step) : at * step;
    found.push({ value, text: tickText(value, step, Math.max(Math.abs(low), Math.abs(high))) });
  }
  return found;
}

function tickText(value, step, largest = Math.abs(value)) {
  if (value === 0) return '0';
  if (largest >= 1e7 || largest < 1e-4) {
    const wanted = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step));
    const [digits, power] = value.toExponential(Math.max(0, Math.min(15, wanted))).split('e');
    const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
    return `${short}e${power.replace('+', '')}`.replaceAll('-', '\u2212');
  }
  return value
    .toFixed(Math.max(0, Math.min(15, -Math.floor(Math.log10(step) + 1e-9))))
    .replace('-', '\u2212');
}

/** Round whole numbers between two `bigint`s. */
export function wholeSteps(low, high, most) {
  const span = high - low;
  let step = 1n;
  const digits = [1n, 2n, 5n];
  for (let at = 0; span / step > BigInt(Math.max(1, most)); at += 1)
    step = digits[at % 3] * 10n ** BigInt(Math.floor(at / 3));
  const first = low >= 0n ? (low + step - 1n) / step : -(-low / step);
  const found = [];
  for (let value = first * step; value <= high; value += step)
    found.push({ value, text: wholeText(value, step) });
  return found;
}

function wholeText(value, step) {
  const text = String(value < 0n ? -value : value);
  const sign = value < 0n ? '\u2212' : '';
  if (text.length <= 7) return sign + text;
  const zeros = String(step).length - 1;
  const digits = text.length - 1;
  if (zeros === 0 || digits - zeros > 5)
    return sign + text.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  const fraction = text.slice(1, 1 + digits - zeros).replace(/0+$/, '');
  return `${sign}${text[0]}${fraction ? `.${fraction}` : ''}e${digits}`;
}
