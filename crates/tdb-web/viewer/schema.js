// What an array is: dimensions, attributes, filters, sizes and metadata.

import { h, put } from './dom.js';
import { boundText, bytes, count, number, plural, valueText } from './format.js';
import { Latest } from './latest.js';
import { typeText } from './types.js';

/** Filters with their options: `zstd (level 3), byteshuffle`. */
function filtersText(filters) {
  if (filters.length === 0) return 'none';
  return filters
    .map(({ name, ...options }) => {
      const set = Object.entries(options)
        .filter(([, value]) => value !== null && value !== -1 && typeof value !== 'object')
        .map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`);
      return set.length === 0 ? name : `${name} (${set.join(', ')})`;
    })
    .join(', ');
}

function table(caption, head, rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      { class: 'cells' },
      h('caption', null, caption),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          head.map((text) => h('th', { scope: 'col' }, text)),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map(([first, ...rest]) =>
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, first),
            rest.map((text) => h('td', null, text)),
          ),
        ),
      ),
    ),
  );
}

/** Metadata as a table of texts; long ones are cut. */
export function metadataTable(items) {
  if (items.length === 0) return h('p', { class: 'hint' }, 'There is no metadata.');
  return table(
    'Metadata',
    ['Key', 'Value', 'Type'],
    items.map(({ key, value, datatype }) => {
      const text = valueText(value, datatype);
      return [
        key,
        h('span', { class: 'long' }, text.length > 2000 ? `${text.slice(0, 2000)}…` : text),
        datatype.toLowerCase(),
      ];
    }),
  );
}

export class SchemaView {
  constructor(page, model) {
    this.model = model;
    this.latest = new Latest(page, () => model.array.stats());
    this.metadata = h(
      'section',
      null,
      h('h3', null, 'Metadata'),
      h('p', { class: 'hint' }, 'Reading …'),
    );
    this.lists = h('section');
    this.element = h(
      'div',
      { class: 'schema' },
      this.summary(),
      this.dimensions(),
      this.attributes(),
      this.lists,
      this.metadata,
    );
    this.latest.run(async (signal) => {
      put(
        this.metadata,
        h('h3', null, 'Metadata'),
        metadataTable(await model.array.metadata({ signal })),
      );
      await this.enumerations(signal);
    });
  }

  summary() {
    const { model } = this;
    const { schema } = model;
    const size = model.fragments.reduce((sum, one) => sum + one.bytes, 0);
    const fields = model.sparse ? [...schema.dimensions, ...schema.attributes] : schema.attributes;
    const fixed = fields.every(
      ({ cellValNum, domain }) => cellValNum !== null && (cellValNum !== undefined || domain),
    );
    const plain = model.stored * model.bytesOf(fields.map(({ name }) => name));
    const facts = [
      ['kind', schema.type],
      ['stored cells', count(model.stored)],
      ['stored', bytes(size)],
      size > 0 ? [fixed ? 'without filters' : 'without filters, about', bytes(plain)] : null,
      size > 0 ? ['compression', `${number(Number((plain / size).toPrecision(3)))} : 1`] : null,
      ['order of cells', schema.cellOrder],
      ['order of tiles', schema.tileOrder],
      model.sparse ? ['cells in a tile', count(schema.capacity)] : null,
      model.sparse ? ['duplicates', schema.allowsDuplicates ? 'allowed' : 'not allowed'] : null,
      ['format version', String(schema.version)],
    ];
    return h(
      'dl',
      { class: 'facts cards' },
      facts
        .filter(Boolean)
        .map(([name, text]) => h('div', null, h('dt', null, name), h('dd', null, text))),
    );
  }

  dimensions() {
    const { dimensions, labels } = this.model.schema;
    const rows = dimensions.map((dimension, at) => {
      const text = (bounds) =>
        bounds ? bounds.map((value) => boundText(value, dimension.datatype)).join(' to ') : 'any';
      const domain = dimension.currentDomain
        ? [
            text(dimension.currentDomain),
            h('br'),
            h('span', { class: 'hint' }, `of ${text(dimension.domain)}`),
          ]
        : text(dimension.domain);
      return [
        dimension.name || '(no name)',
        typeText(dimension),
        domain,
        this.model.nonEmpty?.[at] ? text(this.model.nonEmpty[at]) : 'nothing',
        dimension.tile === null ? 'none' : String(dimension.tile),
        filtersText(dimension.filters),
      ];
    });
    return h(
      'section',
      null,
      h('h3', null, plural(dimensions.length, 'dimension')),
      table('Dimensions', ['Name', 'Type', 'Domain', 'Has cells in', 'Tile', 'Filters'], rows),
      labels.length === 0
        ? null
        : h(
            'p',
            { class: 'hint' },
            `Labels: ${labels.map(({ name, dimension }) => `${name} of ${dimension}`).join(', ')}.`,
          ),
    );
  }

  attributes() {
    const { attributes, offsetsFilters, validityFilters } = this.model.schema;
    const rows = attributes.map((field) => [
      field.name || '(no name)',
      typeText(field),
      field.nullable ? 'yes' : 'no',
      field.enumeration ?? '',
      valueText(field.fill, field.datatype),
      filtersText(field.filters),
    ]);
    return h(
      'section',
      null,
      h('h3', null, plural(attributes.length, 'attribute')),
      table('Attributes', ['Name', 'Type', 'Nullable', 'Enumeration', 'Fill', 'Filters'], rows),
      h(
        'p',
        { class: 'hint' },
        `Offsets of cells of variable length: ${filtersText(offsetsFilters)}. `,
        `Validity: ${filtersText(validityFilters)}.`,
      ),
    );
  }

  async enumerations(signal) {
    const names = [
      ...new Set(
        this.model.schema.attributes.map(({ enumeration }) => enumeration).filter(Boolean),
      ),
    ];
    const found = [];
    for (const name of names) {
      const values = await this.model.enumeration(name, signal);
      found.push(
        h(
          'details',
          null,
          h('summary', null, `${name}: ${plural(values.length, 'value')}`),
          h(
            'p',
            { class: 'long' },
            values.slice(0, 200).join(', '),
            values.length > 200 ? ', …' : '',
          ),
        ),
      );
    }
    if (found.length > 0) put(this.lists, h('h3', null, 'Enumerations'), found);
  }

  update() {}

  end() {
    this.latest.stop();
  }
}
