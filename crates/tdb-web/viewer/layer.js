// A grid of values over a part of a plane, as a small picture that is stretched to its place.

import { level, levels } from './color.js';

export class Layer {
  /**
   * @param x, y the offsets that the grid covers
   * @param values row by row; NaN is no data; with `columns` and `rows`
   */
  constructor({ x, y, columns, rows, values, note = '' }) {
    Object.assign(this, { x, y, columns, rows, values, note });
    this.colored = null;
  }

  /** The value at a place; undefined outside. */
  value(x, y) {
    const column = Math.floor(((x - this.x[0]) / (this.x[1] - this.x[0])) * this.columns);
    const row = Math.floor(((y - this.y[0]) / (this.y[1] - this.y[0])) * this.rows);
    if (column < 0 || row < 0 || column >= this.columns || row >= this.rows) return undefined;
    return this.values[row * this.columns + column];
  }

  /** Draws it on a plot with colours `{ low, high, ramp, dark, roots, of }`. */
  draw(context, plot, colors) {
    if (this.columns === 0 || this.rows === 0) return;
    const [left, top] = plot.place(this.x[0], this.y[plot.up ? 1 : 0]);
    const [right, bottom] = plot.place(this.x[1], this.y[plot.up ? 0 : 1]);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.bitmap(colors, plot.up), left, top, right - left, bottom - top);
  }

  bitmap(colors, up) {
    const key = JSON.stringify([
      colors.low,
      colors.high,
      colors.ramp,
      colors.dark,
      colors.roots,
      colors.version,
      up,
    ]);
    if (this.colored?.key === key) return this.colored.canvas;
    const canvas = new OffscreenCanvas(this.columns, this.rows);
    const context = canvas.getContext('2d');
    const image = context.createImageData(this.columns, this.rows);
    const pixels = new Uint32Array(image.data.buffer);
    const palette = new Uint32Array((colors.palette ?? levels(colors.ramp, colors.dark)).buffer);
    const bend = colors.roots ? (value) => Math.sqrt(Math.max(0, value)) : (value) => value;
    const [low, high] = [bend(colors.low), bend(colors.high)];
    for (let row = 0; row < this.rows; row += 1) {
      const from = (up ? this.rows - 1 - row : row) * this.columns;
      for (let column = 0; column < this.columns; column += 1) {
        const value = this.values[from + column];
        const at = colors.palette
          ? value >= 0
            ? value % palette.length
            : -1
          : level(bend(value), low, high);
        if (at >= 0) pixels[row * this.columns + column] = palette[at];
      }
    }
    context.putImageData(image, 0, 0);
    this.colored = { key, canvas };
    return canvas;
  }
}

/**
 * The least and the greatest finite value; with `cut`, without the outermost hundredth at both
 * ends.
 */
export function bounds(layers, cut = false) {
  let [low, high] = [Infinity, -Infinity];
  const sample = [];
  for (const { values } of layers) {
    const step = Math.max(1, Math.floor(values.length / 50000));
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
      if (cut && at % step === 0) sample.push(value);
    }
  }
  if (!(low <= high)) return null;
  if (cut && sample.length > 100) {
    sample.sort((a, b) => a - b);
    [low, high] = [
      sample[Math.floor(sample.length * 0.01)],
      sample[Math.floor(sample.length * 0.99)],
    ];
  }
  return [low, high];
}

/**
 * Means of the values that fall on one pixel: at most `columns` × `rows` of them. NaN is left out.
 */
export function shrink(values, columns, rows, mostColumns, mostRows) {
  const [wide, high] = [Math.min(columns, mostColumns), Math.min(rows, mostRows)];
  if (wide === columns && high === rows) return { values, columns, rows };
  const sums = new Float64Array(wide * high);
  const counts = new Uint32Array(wide * high);
  const places = Uint32Array.from({ length: columns }, (_, at) =>
    Math.floor((at * wide) / columns),
  );
  for (let row = 0; row < rows; row += 1) {
    const into = Math.floor((row * high) / rows) * wide;
    for (let column = 0; column < columns; column += 1) {
      const value = values[row * columns + column];
      if (value !== value) continue;
      const at = into + places[column];
      sums[at] += value;
      counts[at] += 1;
    }
  }
  for (let at = 0; at < sums.length; at += 1) sums[at] = counts[at] ? sums[at] / counts[at] : NaN;
  return { values: sums, columns: wide, rows: high };
}
