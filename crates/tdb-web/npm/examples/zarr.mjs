// node zarr.mjs URL: what zarrita reads of an array or group at a URL (`npm install zarrita`).
import * as zarr from 'zarrita';
import { open } from '../index.js';

const found = await open(process.argv[2]);
const store = found.zarr();
// The documents of all arrays of version 2.
const { metadata } = JSON.parse(new TextDecoder().decode(await store.get('/.zmetadata')));
for (const key of Object.keys(metadata).filter((key) => key.endsWith('/.zarray'))) {
  const path = key.slice(0, -'/.zarray'.length);
  try {
    const array = await zarr.open(zarr.root(store).resolve(path), { kind: 'array' });
    const first = array.shape.map((length) => zarr.slice(0, Math.min(length, 3)));
    const { data } = await zarr.get(array, first);
    console.log(`${path}: ${array.dtype}, ${array.shape.join(' x ')}, first`, ...data);
  } catch (error) {
    console.log(`${path}: ${error.message}`);
  }
}
for (const { path, reason } of await store.refused()) console.log(`${path} is not shown: ${reason}`);
console.log(store.stats());
found.close();
