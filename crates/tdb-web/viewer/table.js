// Cells as rows, page by page.

import { fresh, h, put } from './dom.js';
import { count, plural, roughly } from './format.js';
import { Latest } from './latest.js';
import { estimate, pieces } from './sample.js';
import { change, state } from './state.js';
import { sort } from './types.js';

const ROWS = 50;
/** The most attributes that are shown without being asked for. */
const COLUMNS = 12;
/** Texts of more characters go over several lines. */
const WIDE = 36;
/** Up to so many cells are read at once. */
const FEW = 5000;
/** Bytes of a batch: about a page. */
const BATCH_BYTES = 1 << 18;

export class Table {
  constructor(page, model) {
    this.page = page;
    this.model = model;
    this.latest = new Latest(page, () => model.array.stats());
    this.holder = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Cells' });
    this.pager = h('div', { class: 'pager' });
    this.choice = h('div');
    this.element = h('div', { class: 'table-view' }, this.choice, this.holder, this.pager);
    this.update();
  }

  get names() {
    const all = this.model.schema.attributes.map(({ name }) => name);
    const chosen = state()
      .cols?.split(',')
      .map(decodeURIComponent)
      .filter((name) => all.includes(name));
    return chosen?.length > 0 ? chosen : all.slice(0, COLUMNS);
  }

  update() {
    const ranges = this.model.query(state());
    const { where } = state();
    const query = JSON.stringify([
      this.names,
      where,
      Object.entries(ranges).map(([name, range]) => [name, ...range.map(String)]),
    ]);
    const number = Math.max(1, Math.floor(Number(state().page)) || 1);
    if (this.query === query && this.number === number) return;
    if (this.query !== query) this.stream = null;
    [this.query, this.number] = [query, number];
    this.choose();
    this.latest.run(async (signal) => {
      const labels = new Map();
      for (const name of this.names) {
        const { enumeration } = this.model.field(name);
        if (enumeration) labels.set(name, await this.model.enumeration(enumeration, signal));
      }
      const dense = !this.model.sparse && !where;
      const found = dense
        ? await this.densePage(ranges, number, signal)
        : await this.streamPage(ranges, where, number, signal);
      if (!signal.aborted) this.show(found, labels, number);
    });
  }

  get fields() {
    return [...this.model.dimensions.map(({ name }) => name), ...this.names];
  }

  /** Without a condition, the place of each row of a dense array is known. */
  async densePage(ranges, number, signal) {
    const { dimensions, array } = this.model;
    const box = dimensions.map(({ name, domain }) => (ranges[name] ?? domain).map(BigInt));
    const shape = box.map(([low, high]) => Number(high - low) + 1);
    const total = shape.reduce((product, side) => product * side, 1);
    const rows = [];
    for (const part of pieces((number - 1) * ROWS, ROWS, shape)) {
      const sides = dimensions.map(({ name, domain }, at) => {
        const value = (index) => {
          const found = box[at][0] + BigInt(index);
          return typeof domain[0] === 'bigint' ? found : Number(found);
        };
        return [name, [value(part[at][0]), value(part[at][1])]];
      });
      const cells = await array.read({
        fields: this.fields,
        ranges: Object.fromEntries(sides),
        order: 'row-major',
        selection: true,
        signal,
      });
      for (let cell = 0; cell < cells.length; cell += 1) rows.push([cells, cell]);
    }
    return { rows, total, last: Math.max(1, Math.ceil(total / ROWS)) };
  }

  /** The stream of the query goes on where the last page ended; to go back, it begins anew. */
  async streamPage(ranges, where, number, signal) {
    const start = (number - 1) * ROWS;
    if (!this.stream || this.stream.dropped > start) {
      this.stream?.controller.abort();
      const controller = new AbortController();
      const few =
        this.model.sparse && estimate(this.model.fragments, this.model.dimensions, ranges) <= FEW;
      const query = {
        fields: this.fields,
        ranges,
        where: where || undefined,
        order: this.model.sparse ? 'global-order' : 'row-major',
        selection: true,
        signal: controller.signal,
      };
      // One read of all makes fewer requests than batches.
      const batches = few
        ? once(this.model.array.read(query))
        : this.model.array.batches({ ...query, batchBytes: BATCH_BYTES });
      this.stream = {
        controller,
        iterator: batches[Symbol.asyncIterator](),
        rows: [],
        dropped: 0,
        ended: false,
      };
    }
    const { stream } = this;
    signal.addEventListener('abort', () => {
      stream.controller.abort();
      if (this.stream === stream) this.stream = null;
    });
    while (!stream.ended && stream.dropped + stream.rows.length <= start + ROWS) {
      const { done, value: cells } = await stream.iterator.next();
      signal.throwIfAborted();
      if (done) stream.ended = true;
      else
        for (let cell = 0; cell < cells.length; cell += 1)
          if (!cells.selected || cells.selected[cell]) stream.rows.push([cells, cell]);
      // Rows far before the page are let go.
      const spare = start - stream.dropped - 20 * ROWS;
      if (spare > 0) {
        const gone = Math.min(spare, stream.rows.length);
        stream.rows.splice(0, gone);
        stream.dropped += gone;
      }
    }
    const rows = stream.rows.slice(start - stream.dropped, start - stream.dropped + ROWS);
    const known = stream.dropped + stream.rows.length;
    return {
      rows,
      total: stream.ended ? known : null,
      last: stream.ended ? Math.max(1, Math.ceil(known / ROWS)) : null,
    };
  }

  show({ rows, total, last }, labels, number) {
    const { dimensions } = this.model;
    const dims = new Set(dimensions.map(({ name }) => name));
    const head = this.fields.map((name) => {
      const field = this.model.field(name);
      return h(
        'th',
        { scope: 'col', class: isRight(field) ? 'right' : null },
        name || '(no name)',
        h(
          'span',
          { class: 'type' },
          field.enumeration ? 'enumeration' : field.datatype.toLowerCase(),
        ),
      );
    });
    const body = rows.map(([cells, cell]) =>
      h(
        'tr',
        null,
        this.fields.map((name) => {
          const field = this.model.field(name);
          const column = cells.column(name);
          const written = dims.has(name) || !cells.selected || cells.selected[cell] === 1;
          const text = written ? cellText(column, cell, labels.get(name)) : null;
          const shown =
            text === null
              ? h('span', { class: 'null' }, written ? 'null' : 'not written')
              : text === ''
                ? h('span', { class: 'null' }, 'empty')
                : text.length > 400
                  ? `${text.slice(0, 400)}…`
                  : text;
          return h(
            dims.has(name) && name === dimensions[0].name ? 'th' : 'td',
            {
              scope: dims.has(name) && name === dimensions[0].name ? 'row' : null,
              class: isRight(field) ? 'right' : (text?.length ?? 0) > WIDE ? 'wide-cell' : 'line',
              title: text && text.length > 400 ? text.slice(0, 2000) : null,
            },
            shown,
          );
        }),
      ),
    );
    const first = (number - 1) * ROWS + 1;
    const end = count(first + rows.length - 1);
    const all = total === null ? '' : ` of ${total < 1e9 ? count(total) : roughly(total)}`;
    const caption = rows.length === 0 ? 'No cells.' : `Cells ${count(first)} to ${end}${all}`;
    put(
      this.holder,
      h(
        'table',
        { class: 'cells' },
        h('caption', { 'aria-live': 'polite' }, caption),
        h('thead', null, h('tr', null, head)),
        h('tbody', null, body),
      ),
    );
    this.holder.scrollTop = 0;
    this.turn(number, last, rows.length === 0);
  }

  turn(number, last, none) {
    const go = (to) => change({ page: to === 1 ? null : to });
    const button = (text, to, able) =>
      h(
        'button',
        { type: 'button', class: 'quiet', disabled: !able, on: { click: () => go(to) } },
        text,
      );
    const id = fresh('page');
    const input = h('input', {
      id,
      type: 'text',
      inputmode: 'numeric',
      value: String(number),
      class: 'short',
    });
    input.addEventListener('change', () => {
      const to = Math.floor(Number(input.value.replace(/\s/g, '')));
      if (to >= 1) go(last ? Math.min(to, last) : to);
      else input.value = String(number);
    });
    const focused = [...this.pager.querySelectorAll('button')].indexOf(document.activeElement);
    put(
      this.pager,
      button('First', 1, number > 1),
      button('Previous', number - 1, number > 1),
      h(
        'span',
        { class: 'row' },
        h('label', { for: id }, 'Page'),
        input,
        last ? `of ${last < 1e9 ? count(last) : roughly(last)}` : null,
      ),
      button('Next', number + 1, !none && (last === null || number < last)),
    );
    if (focused >= 0) this.pager.querySelectorAll('button')[focused]?.focus();
  }

  /** Which attributes are columns, if there are many. */
  choose() {
    const all = this.model.schema.attributes;
    if (all.length < 2) return;
    const chosen = new Set(this.names);
    const boxes = all.map(({ name }) => {
      const box = h('input', { type: 'checkbox', id: fresh('column') });
      box.checked = chosen.has(name);
      box.addEventListener('change', () => {
        chosen[box.checked ? 'add' : 'delete'](name);
        const next = all.map((one) => one.name).filter((one) => chosen.has(one));
        change({ cols: next.map(encodeURIComponent).join(','), page: null });
      });
      return h('div', { class: 'check' }, box, h('label', { for: box.id }, name || '(no name)'));
    });
    if (this.choice.firstChild) {
      this.choice.querySelector('summary').textContent =
        `Columns (${chosen.size} of ${plural(all.length, 'attribute')})`;
      return;
    }
    put(
      this.choice,
      h(
        'details',
        { class: 'columns-choice' },
        h('summary', null, `Columns (${chosen.size} of ${plural(all.length, 'attribute')})`),
        h('div', { class: 'checks' }, boxes),
      ),
    );
  }

  end() {
    this.latest.stop();
    this.stream?.controller.abort();
  }
}

async function* once(promise) {
  yield await promise;
}

const isRight = (field) =>
  !field.enumeration &&
  ['integer', 'real'].includes(sort(field.datatype)) &&
  field.cellValNum !== null;

/** A cell as text: the value of an enumeration in place of its number. */
export function cellText(column, cell, labels) {
  if (column.isNull(cell)) return null;
  if (!labels)
    return column.datatype === 'BOOL' && column.cellValNum === 1
      ? String(Boolean(column.get(cell)))
      : column.text(cell);
  const value = column.get(cell);
  return typeof value === 'string'
    ? value
    : (labels[Number(value)] ?? `number ${value}, which the enumeration does not have`);
}
