// Reads the array in a folder with an installed package, over HTTP, and prints the number and the sum of its cells.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";

const [, , name, folder] = process.argv;
const server = createServer(async (request, response) => {
  try {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const bytes = await readFile(join(folder, path));
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
    if (range === null) {
      response.writeHead(200, { "content-length": bytes.length, "accept-ranges": "bytes" });
      response.end(request.method === "HEAD" ? undefined : bytes);
      return;
    }
    const start = range[1] === "" ? Math.max(0, bytes.length - Number(range[2])) : Number(range[1]);
    const end = range[1] === "" || range[2] === "" ? bytes.length : Math.min(bytes.length, Number(range[2]) + 1);
    response.writeHead(206, { "content-length": end - start, "content-range": `bytes ${start}-${end - 1}/${bytes.length}` });
    response.end(request.method === "HEAD" ? undefined : bytes.subarray(start, end));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const { open } = await import(name);
const array = await open(`http://127.0.0.1:${server.address().port}/`);
const cells = await array.read({ fields: ["a"] });
const values = Array.from(cells.column("a").values);
console.log(`${values.length} cells, ${values.reduce((sum, value) => sum + value, 0)}`);
array.close();
server.close();
