// Which cells of a window are read, so that any window of any array costs little: all of a small
// one, every n-th cell of a large one.

import { sort, width } from './types.js';

/** The most cells of one picture. */
export const MOST_CELLS = 2e6;
/** The most bytes, about, that one picture fetches without being asked. */
export const MOST_BYTES = 48e6;
/** The same for the first, coarse picture. */
const COARSE_BYTES = 4e6;
/** The most tiles of the first, coarse picture, and of the second. */
export const COARSE_TILES = 36;
export const FINE_TILES = 400;
/** Below so many bytes and tiles the first picture is already the fine one. */
const SMALL_BYTES = 1e6;
const SMALL_TILES = 100;

/** Bytes of a cell of some fields, before filters; texts are guessed. */
export function cellBytes(fields) {
  return (
    fields.reduce(
      (sum, field) =>
        sum + width(field.datatype) * (field.cellValNum === null ? 12 : (field.cellValNum ?? 1)),
      0,
    ) || 1
  );
}

/**
 * How large stored bytes are, as a share of what they were: from the fragments of the array,
 * between 0.01 and 1.
 */
export function storedShare(schema, fragments) {
  const fields =
    schema.type === 'sparse' ? [...schema.attributes, ...schema.dimensions] : schema.attributes;
  const cells = fragments.reduce((sum, one) => sum + one.cells, 0);
  const stored = fragments.reduce((sum, one) => sum + one.bytes, 0);
  return Math.min(1, Math.max(0.01, stored / Math.max(1, cells * cellBytes(fields))));
}

/** Tiles that a range of offsets meets. */
const tilesOf = (length, tile) =>
  Math.max(1, Math.ceil(length / tile) + (length % tile === 0 ? 0 : 1));

/**
 * A plan for one axis: `step` between the cells that are read.
 * @param cells in the window, `tile` cells along a tile, `most` tiles, `pixels` along the picture
 */
function along(cells, tile, most, pixels, thin) {
  const tiles = Math.min(cells, tilesOf(cells, tile));
  if (tiles <= most) return { tiles, step: thin ? Math.max(1, Math.floor(cells / pixels)) : 1 };
  const step = Math.ceil(cells / most);
  return { tiles: Math.min(tiles, Math.ceil(cells / step)), step };
}

/**
 * How a window of a dense array is read, coarse first: a list of `{ x, y, tiles, bytes, exact }`,
 * where x and y are the steps. Each is finer than the one before.
 * @param cells `[x, y]` in the window, `tile` `[x, y]` along a tile, `pixels` `[x, y]`
 * @param tileBytes stored bytes of the chosen field in one tile
 * @param finer how many times as many tiles and bytes may be read
 */
export function densePasses({ cells, tile, pixels, tileBytes, finer = 1 }) {
  const plan = (mostTiles) => {
    const square = Math.max(1, Math.floor(Math.sqrt(mostTiles)));
    const tiles = [0, 1].map((axis) => tilesOf(cells[axis], tile[axis]));
    let [across, down] = [Math.min(tiles[0], square), Math.min(tiles[1], square)];
    if (tiles[0] < square) down = Math.min(tiles[1], Math.floor(mostTiles / tiles[0]));
    if (tiles[1] < square) across = Math.min(tiles[0], Math.floor(mostTiles / tiles[1]));
    const thin = cells[0] * cells[1] > MOST_CELLS;
    const [x, y] = [
      along(cells[0], tile[0], across, pixels[0], thin),
      along(cells[1], tile[1], down, pixels[1], thin),
    ];
    const met = x.tiles * y.tiles;
    return {
      x: x.step,
      y: y.step,
      tiles: met,
      bytes: met * tileBytes,
      exact: x.step === 1 && y.step === 1,
      fine: x.step <= Math.ceil(cells[0] / pixels[0]) && y.step <= Math.ceil(cells[1] / pixels[1]),
    };
  };
  const fitting = Math.max(1, Math.floor((MOST_BYTES * finer) / tileBytes));
  const fine = plan(Math.min(FINE_TILES * finer, Math.max(fitting, 4)));
  if (fine.bytes <= SMALL_BYTES && fine.tiles <= SMALL_TILES) return [fine];
  const coarse = plan(Math.min(COARSE_TILES, Math.max(1, Math.floor(COARSE_BYTES / tileBytes))));
  return coarse.x === fine.x && coarse.y === fine.y ? [fine] : [coarse, fine];
}

/**
 * Cells of a sparse array in a window, about: those of each fragment by the share of its domain
 * that is inside.
 */
export function estimate(fragments, dimensions, window) {
  return fragments.reduce((sum, { cells, nonEmptyDomain }) => {
    if (!nonEmptyDomain) return sum + cells;
    const shares = dimensions.map((dimension, at) => {
      const range = window[dimension.name];
      const bounds = nonEmptyDomain[at];
      if (!range || typeof bounds[0] === 'string') return 1;
      const unit = sort(dimension.datatype) === 'real' ? 0 : 1;
      const [low, high] = bounds.map(Number);
      const [from, to] = [Math.max(low, Number(range[0])), Math.min(high, Number(range[1]))];
      if (from > to) return 0;
      return Math.min(1, (to - from + unit) / (high - low + unit || 1) || 1);
    });
    return sum + cells * shares.reduce((product, one) => product * one, 1);
  }, 0);
}

/** Equal stripes of an interval of offsets that cover a share of it. */
export function stripes([from, to], number, covered) {
  const step = (to - from) / number;
  return Array.from({ length: number }, (_, at) => {
    const middle = from + step * (at + 0.5);
    return [middle - (step * covered) / 2, middle + (step * covered) / 2];
  });
}

/**
 * The boxes that hold the cells from `start` on, `count` of them, of a box in row-major order:
 * `[low, high]` a side.
 */
export function pieces(start, count, shape) {
  if (count <= 0) return [];
  if (shape.length === 0) return [[]];
  const [sides, ...inner] = shape;
  const below = inner.reduce((product, one) => product * one, 1);
  const found = [];
  let [at, left] = [start, Math.min(count, sides * below - start)];
  while (left > 0) {
    const index = Math.floor(at / below);
    const into = at - index * below;
    if (into === 0 && left >= below) {
      const whole = Math.floor(left / below);
      found.push([[index, index + whole - 1], ...inner.map((side) => [0, side - 1])]);
      at += whole * below;
      left -= whole * below;
      continue;
    }
    const part = Math.min(left, below - into);
    for (const box of pieces(into, part, inner)) found.push([[index, index], ...box]);
    at += part;
    left -= part;
  }
  return found;
}
