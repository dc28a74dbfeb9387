// A SOMA experiment as the page reads it: measurements, embeddings, columns of cells, expression of
// genes.

import { Axis } from './axis.js';
import { elsewhere, isBelow } from './below.js';
import { boxRanges } from './cells.js';
import { quoted, quotedText } from './types.js';

/** The most cells of an embedding that are read without being asked. */
export const MOST_OBS = 250000;
/** The most genes whose names are offered. */
const MOST_GENES = 100000;
const NAMES = [
  'gene_name',
  'feature_name',
  'gene_symbol',
  'gene_symbols',
  'var_id',
  'gene',
  'name',
];

const isText = ({ datatype }) => datatype.startsWith('STRING') || datatype === 'CHAR';

export class Experiment {
  constructor(group) {
    this.group = group;
    this.nodes = new Map();
    this.named = new Map();
    /** Paths of members that are elsewhere, and not followed. */
    this.away = new Set();
  }

  /** The member at a path of names; opened once. */
  node(path) {
    if (!this.nodes.has(path)) {
      const cut = path.lastIndexOf('/');
      const above = cut < 0 ? Promise.resolve(this.group) : this.node(path.slice(0, cut));
      const name = path.slice(cut + 1);
      const opened = above.then((group) => {
        const member = group.members().find((one) => one.name === name);
        if (!member) throw new Error(`${group.url} has no member ${name}.`);
        if (!this.follows(member)) throw elsewhere(name, member.url);
        return group.open(member, { worker: true });
      });
      opened.catch(() => this.nodes.delete(path));
      this.nodes.set(path, opened);
    }
    return this.nodes.get(path);
  }

  /** Opens what will be asked for at once, not one after another. */
  ahead(...paths) {
    for (const path of paths) this.node(path).catch(() => {});
  }

  /** Whether a member is below the experiment. */
  follows({ url }) {
    return isBelow(url, this.group.url);
  }

  /** The names of the members that are followed. */
  async names(path) {
    const members = (await this.node(path)).members().filter(({ name }) => name);
    for (const member of members)
      if (!this.follows(member)) this.away.add(`${path}/${member.name}`);
    return members.filter((member) => this.follows(member)).map(({ name }) => name);
  }

  async has(path) {
    const cut = path.lastIndexOf('/');
    return (await this.names(path.slice(0, cut))).includes(path.slice(cut + 1));
  }

  /** The requests of everything that was opened here. */
  async costs() {
    return (await Promise.allSettled(this.nodes.values()))
      .filter(({ value }) => value)
      .map(({ value }) => value);
  }

  /** Measurements that have embeddings, with the names of these. */
  async embeddings() {
    const found = [];
    for (const measurement of await this.names('ms')) {
      if (await this.has(`ms/${measurement}/obsm`)) {
        for (const name of await this.names(`ms/${measurement}/obsm`))
          found.push({ measurement, name });
      }
    }
    return found;
  }

  /** Two components of an embedding: `{ ids, x, y, index, sampled, ranges, cells }`. */
  async places({ measurement, name }, components, signal) {
    const array = await this.node(`ms/${measurement}/obsm/${name}`);
    const [rows, columns] = array.schema.dimensions;
    const bounds = await array.nonEmptyDomain();
    if (!bounds)
      return {
        ids: [],
        x: [],
        y: [],
        index: new Map(),
        cells: 0,
        sampled: false,
        ranges: null,
        width: 0,
      };
    const [low, high] = bounds[0];
    const cells = Number(high - low) + 1;
    const sampled = cells > MOST_OBS;
    const axis = new Axis(rows, bounds[0]);
    const ranges = sampled ? boxRanges(axis, [0, cells], 64, MOST_OBS / cells).ranges : [low, high];
    const column = (number) => (typeof columns.domain[0] === 'bigint' ? BigInt(number) : number);
    const width = Number(bounds[1][1] - bounds[1][0]) + 1;
    const index = new Map();
    const ids = [];
    const parts = [[], []];
    const attribute = array.schema.attributes[0].name;
    for (const [at, component] of components.entries()) {
      const found = await array.read({
        fields: [rows.name, attribute],
        ranges: { [rows.name]: ranges, [columns.name]: [column(component), column(component)] },
        order: array.schema.type === 'sparse' ? 'unordered' : 'row-major',
        signal,
      });
      const keys = found.column(rows.name).values;
      const values = found.column(attribute).values;
      for (let cell = 0; cell < found.length; cell += 1) {
        const key = Number(keys[cell]);
        let place = index.get(key);
        if (place === undefined) {
          place = ids.length;
          index.set(key, place);
          ids.push(key);
        }
        parts[at][place] = Number(values[cell]);
      }
    }
    const [x, y] = parts.map((part) => Float64Array.from(ids, (_, at) => part[at] ?? NaN));
    return { ids, x, y, index, cells, sampled, ranges, width };
  }

  /** The attributes of the table of cells. */
  async columns() {
    const { schema } = await this.node('obs');
    return schema.attributes.filter(
      ({ cellValNum, datatype }) => cellValNum === 1 || isText({ datatype }),
    );
  }

  /**
   * A column of the cells that an embedding has: `{ values, labels }`; texts become numbers of
   * labels.
   */
  async column(name, places, signal) {
    const array = await this.node('obs');
    const field = array.schema.attributes.find((one) => one.name === name);
    if (!field) throw new Error(`The table of cells has no column ${name}.`);
    const dimension = array.schema.dimensions.find((one) => one.name === 'soma_joinid')?.name;
    const asked = dimension ?? 'soma_joinid';
    const ranges = dimension ? { [dimension]: places.ranges } : undefined;
    const values = new Float64Array(places.ids.length).fill(NaN);
    if (values.length === 0) return { values, labels: null, field };
    let labels = field.enumeration
      ? (await array.enumeration(field.enumeration, { signal })).values.map(String)
      : null;
    const numbered = !labels && (isText(field) || field.datatype === 'BOOL') ? new Map() : null;
    for await (const cells of array.batches({
      fields: [asked, name],
      ranges,
      order: 'unordered',
      signal,
    })) {
      const [keys, column] = [cells.column(asked), cells.column(name)];
      for (let cell = 0; cell < cells.length; cell += 1) {
        const place = places.index.get(Number(keys.values[cell]));
        if (place === undefined || column.isNull(cell)) continue;
        if (numbered) {
          const text =
            field.datatype === 'BOOL'
              ? String(Boolean(column.get(cell)))
              : (column.text(cell) ?? '');
          if (!numbered.has(text)) numbered.set(text, numbered.size);
          values[place] = numbered.get(text);
        } else {
          values[place] = Number(column.values[cell]);
        }
      }
    }
    if (numbered) labels = [...numbered.keys()];
    return { values, labels, field };
  }

  /** The table of genes, with the fields that have their ids and their names. */
  async genesOf(measurement) {
    const array = await this.node(`ms/${measurement}/var`);
    const { dimensions, attributes } = array.schema;
    const texts = attributes.filter(isText);
    const named =
      NAMES.map((name) => texts.find((one) => one.name === name)).find(Boolean) ?? texts[0];
    const all = [...dimensions, ...attributes];
    const id = all.find(({ name }) => name === 'soma_joinid') ?? dimensions[0];
    return { array, id: id.name, named: (named ?? id).name, isNamed: Boolean(named) };
  }

  /** The names of genes, with their ids: `Map` of a name to an id. Of very many, only some. */
  async genes(measurement, signal) {
    if (this.named.has(measurement)) return this.named.get(measurement);
    const { array, id, named } = await this.genesOf(measurement);
    const cells = await array.read({
      fields: [...new Set([id, named])],
      order: 'unordered',
      limit: MOST_GENES,
      signal,
    });
    const [ids, names] = [cells.column(id).values, cells.column(named)];
    const found = new Map();
    for (let cell = 0; cell < cells.length; cell += 1)
      found.set(names.text(cell) ?? '', Number(ids[cell]));
    this.named.set(measurement, found);
    return found;
  }

  /** The id of a gene; undefined if there is none of this name. */
  async gene(measurement, name, signal) {
    const known = this.named.get(measurement)?.get(name);
    if (known !== undefined) return known;
    const { array, id, named, isNamed } = await this.genesOf(measurement);
    if (!isNamed && !/^\d+$/.test(name)) return undefined;
    const cells = await array.read({
      fields: [id],
      where: `${quoted(named)} = ${isNamed ? quotedText(name) : name}`,
      order: 'unordered',
      limit: 1,
      signal,
    });
    return cells.length > 0 ? Number(cells.column(id).values[0]) : undefined;
  }

  /** The matrices of a measurement. */
  async layers(measurement) {
    return (await this.has(`ms/${measurement}/X`)) ? this.names(`ms/${measurement}/X`) : [];
  }

  /** The expression of a gene in the cells that an embedding has; 0 where nothing is stored. */
  async expression(measurement, layer, id, places, signal) {
    const array = await this.node(`ms/${measurement}/X/${layer}`);
    const [rows, columns] = array.schema.dimensions;
    const [{ name: attribute }] = array.schema.attributes;
    const gene = typeof columns.domain[0] === 'bigint' ? BigInt(id) : id;
    const values = new Float64Array(places.ids.length);
    if (values.length === 0) return { values, labels: null, field: null };
    for await (const cells of array.batches({
      fields: [rows.name, attribute],
      ranges: { [rows.name]: places.ranges, [columns.name]: [gene, gene] },
      order: array.schema.type === 'sparse' ? 'unordered' : 'row-major',
      signal,
    })) {
      const [keys, found] = [cells.column(rows.name).values, cells.column(attribute).values];
      for (let cell = 0; cell < cells.length; cell += 1) {
        const place = places.index.get(Number(keys[cell]));
        if (place !== undefined) values[place] = Number(found[cell]);
      }
    }
    return { values, labels: null, field: null };
  }

  close() {
    for (const node of this.nodes.values())
      node.then(
        (opened) => opened.close(),
        () => {},
      );
  }
}
