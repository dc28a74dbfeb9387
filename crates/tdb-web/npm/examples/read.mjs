// node read.mjs URL: what is at a URL, and the first cells of it.
import { open } from '../index.js';

const array = await open(process.argv[2]);
if (array.kind === 'group') {
  console.table(array.members());
} else {
  const { type, dimensions, attributes } = array.schema;
  const names = [...dimensions, ...attributes].map(({ name, datatype }) => `${name}: ${datatype}`);
  console.log(`${type}: ${names.join(', ')}`);
  const cells = await array.read({ limit: 10 });
  console.table(Array.from({ length: cells.length }, (_, cell) => cells.row(cell)));
  console.log(array.stats());
}
array.close();
