// Runs the module in Node, without packages. Started by `cargo xtask wasm`:
//
//     node read.mjs MODULE CASES
//
// CASES is a JSON file that xtask writes: a list of arrays, each with its folder, its key, and the reads to run, with the
// path of the expected bytes of each, which tdb returned natively. A read may also refer to a query of the fixture's JSON,
// whose fields libtiledb returned. The first difference ends the run.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const ORDERS = { 'row-major': 0, 'col-major': 1, 'global-order': 2, unordered: 3 };
const VARIABLE = 0xffffffff;

const [modulePath, casesPath] = process.argv.slice(2);
const module = new WebAssembly.Module(fs.readFileSync(modulePath));
assert.deepEqual(WebAssembly.Module.imports(module), [], 'the module imports something');
const { memory, ...tdb } = new WebAssembly.Instance(module, {}).exports;

/** Puts the parts one after the other where the module reads its input. */
function give(...parts) {
  const all = Buffer.concat(parts);
  const address = tdb.tdb_input(all.length) >>> 0;
  assert.notEqual(address, 0, `the module has no memory for ${all.length} bytes`);
  new Uint8Array(memory.buffer, address, all.length).set(all);
}

/** A copy of what the last request left. */
function output() {
  return Buffer.from(new Uint8Array(memory.buffer, tdb.tdb_output() >>> 0, tdb.tdb_output_len() >>> 0));
}

function succeeds(status) {
  if (status !== 0) throw new Error(output().toString());
}

/** Gives the module every file below a folder. Their number. */
function giveFolder(folder, prefix = '') {
  let files = 0;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const inside = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      files += giveFolder(inside, `${prefix}${entry.name}/`);
    } else {
      const key = Buffer.from(prefix + entry.name);
      give(key, fs.readFileSync(inside));
      succeeds(tdb.tdb_file(key.length));
      files += 1;
    }
  }
  return files;
}

/** What the front page of tdb-wasm-reader says about cells. */
function decode(bytes) {
  let at = 0;
  const take = (length) => bytes.subarray(at, (at += length));
  const u32 = () => take(4).readUInt32LE();
  const u64 = () => Number(take(8).readBigUInt64LE());
  const cells = u64();
  const shape = Array.from({ length: u32() }, u64);
  const fields = new Map();
  for (let left = u32(); left > 0; left -= 1) {
    const name = take(u32()).toString();
    const datatype = take(1)[0];
    const values = u32();
    const nullable = take(1)[0] === 1;
    const data = take(u64());
    const offsets = values === VARIABLE ? Array.from({ length: cells + 1 }, u64) : null;
    const validity = nullable ? take(cells) : null;
    fields.set(name, { datatype, values, data, offsets, validity });
  }
  assert.equal(at, bytes.length, 'bytes are left behind the last field');
  return { cells, shape, fields };
}

/** One text a cell: the value in hexadecimal, or null. */
function column(cells, data, offsets, validity) {
  const width = cells === 0 ? 0 : data.length / cells;
  return Array.from({ length: cells }, (_, cell) => {
    if (validity && validity[cell] === 0) return null;
    const [start, end] = offsets ? [offsets[cell], offsets[cell + 1]] : [cell * width, (cell + 1) * width];
    return data.subarray(start, end).toString('hex');
  });
}

/** The same of a field in a fixture's JSON, whose offsets lack the last one. */
function recorded(cells, field) {
  const bytes = (text) => Buffer.from(text, 'base64');
  const data = bytes(field.data);
  const list = field.offsets == null ? null : bytes(field.offsets);
  const offsets = list && Array.from({ length: cells }, (_, cell) => Number(list.readBigUInt64LE(8 * cell)));
  offsets?.push(data.length);
  return column(cells, data, offsets, field.validity == null ? null : bytes(field.validity));
}

/** Whether cells that libtiledb recorded without their order, or with ties, are these. */
function compareRecorded(found, query, what) {
  assert.equal(found.cells, query.cells, `${what}: number of cells`);
  const names = Object.keys(query.fields);
  assert.deepEqual([...found.fields.keys()], names, `${what}: fields`);
  const rows = (of) => {
    const columns = names.map(of);
    return Array.from({ length: found.cells }, (_, cell) => JSON.stringify(columns.map((values) => values[cell])));
  };
  const ours = rows((name) => {
    const { data, offsets, validity } = found.fields.get(name);
    return column(found.cells, data, offsets, validity);
  });
  const theirs = rows((name) => recorded(query.cells, query.fields[name]));
  // If the order is exact, cells are compared by position, otherwise as a set.
  if (query.order !== 'exact') [ours, theirs].forEach((list) => list.sort());
  assert.deepEqual(ours, theirs, `${what}: cells`);
}

let reads = 0;
let compared = 0;
const arrays = JSON.parse(fs.readFileSync(casesPath));
for (const array of arrays) {
  tdb.tdb_clear();
  const files = giveFolder(array.folder);
  if (array.key !== null) {
    give(Buffer.from(array.key));
    succeeds(tdb.tdb_key());
  }
  const queries = JSON.parse(fs.readFileSync(array.recorded)).queries;
  let cells = 0;
  for (const { start, end, order, expected, query } of array.reads) {
    const what = `${array.id}, ${order}, ${start} to ${end}`;
    succeeds(tdb.tdb_read(BigInt(start), BigInt(end), ORDERS[order]));
    const found = output();
    assert.ok(found.equals(fs.readFileSync(expected)), `${what}: other bytes than natively`);
    const decoded = decode(found);
    if (query !== null) {
      compareRecorded(decoded, queries.find(({ id }) => id === query), what);
      compared += 1;
    }
    cells += decoded.cells;
    reads += 1;
  }
  console.log(`${array.id}: ${files} files, ${array.reads.length} reads, ${cells} cells`);
}

// A failure returns a message, and the module can still be used.
tdb.tdb_clear();
assert.equal(tdb.tdb_read(0n, 0n, 0), 1);
assert.match(output().toString(), /not a TileDB array/);
assert.equal(tdb.tdb_file(1), 1);
assert.match(output().toString(), /a key of 1 bytes/);
console.log(`no imports; ${arrays.length} arrays, ${reads} reads as natively, ${compared} of them as libtiledb recorded`);
