// The embedding of a SOMA experiment, coloured by a column of its cells or by a gene.

import { Axis } from './axis.js';
import { category } from './color.js';
import { fresh, h, labelled, put, select } from './dom.js';
import { Experiment } from './experiment.js';
import { count, roughly } from './format.js';
import { Latest, total } from './latest.js';
import { namesLegend, rampLegend } from './legend.js';
import { Plot } from './plot.js';
import { buckets, paint, tell } from './scatter.js';
import { change, state } from './state.js';

/** The most categories with a line in the legend. */
const MOST_NAMES = 30;
/** The most genes that are offered while one writes. */
const OFFERED = 30;

const real = (name, values) => {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values)
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (!(low <= high)) [low, high] = [0, 1];
  const rim = (high - low) * 0.04 || 1;
  return new Axis({ name, datatype: 'FLOAT64', tile: null, domain: null, currentDomain: null }, [
    low - rim,
    high + rim,
  ]);
};

export class Embedding {
  constructor(page, group) {
    this.page = page;
    this.experiment = new Experiment(group);
    this.group = group;
    this.opened = [];
    this.latest = new Latest(page, () => this.stats());
    this.picture = h('div');
    this.legend = h('div', { class: 'legends' });
    this.note = h('p', { class: 'hint note' });
    this.panel = h('form', {
      class: 'controls',
      'aria-label': 'What is shown',
      on: { submit: (event) => event.preventDefault() },
    });
    this.element = h(
      'div',
      { class: 'columns' },
      h('div', { class: 'picture' }, this.picture, this.note),
      h('aside', { class: 'side', 'aria-label': 'Choices' }, this.panel, this.legend),
    );
    this.update();
  }

  /** The requests of the group and of all that was opened below it. */
  stats() {
    return total([this.group, ...this.opened].map((node) => node.stats()));
  }

  update(changed) {
    if (changed?.has('theme') && changed.size === 1) {
      this.recolor();
      return;
    }
    if (changed?.has('pick') && changed.size === 1) {
      this.recolor();
      return;
    }
    this.latest.run(async (signal, tell) => {
      const { experiment } = this;
      experiment.ahead('obs', 'ms');
      this.choices ??= await experiment.embeddings();
      if (this.choices.length === 0) {
        put(
          this.picture,
          h('p', { class: 'hint' }, 'No measurement of this experiment has an embedding (obsm).'),
        );
        return;
      }
      const usual =
        this.choices.find(({ name }) => /umap/i.test(name)) ??
        this.choices.find(({ name }) => /tsne/i.test(name)) ??
        this.choices[0];
      const chosen =
        this.choices.find(({ measurement, name }) => `${measurement}/${name}` === state().emb) ??
        usual;
      const { measurement } = chosen;
      experiment.ahead(`ms/${measurement}/X`, `ms/${measurement}/obsm/${chosen.name}`);
      if (state().gene) experiment.ahead(`ms/${measurement}/var`);
      const components = (state().comp ?? '0,1').split(',').map(Number);
      const key = JSON.stringify([chosen, components]);
      if (this.key !== key) {
        this.places = await experiment.places(chosen, components, signal);
        this.key = key;
        this.colors = null;
        this.plotFor(chosen, components);
      }
      this.chosen = chosen;
      await this.build(signal);
      await this.color(signal);
      this.opened = await experiment.costs();
      tell();
      this.recolor();
    });
  }

  plotFor({ name }, components) {
    const { x, y } = this.places;
    this.plot?.end();
    this.plot = new Plot({
      label: `Cells by ${name}`,
      x: real(`${name} ${components[0] + 1}`, x),
      y: real(`${name} ${components[1] + 1}`, y),
      up: true,
      ratio: 0.78,
      paint: (context, plot) =>
        paint(context, plot, { places: this.places, colors: this.colors, dark: this.page.dark() }),
      at: (left, top) => tell(this.plot, this.places, this.colors, left, top),
    });
    put(this.picture, this.plot.element);
  }

  /** The panel: which embedding, coloured by what. */
  async build(signal) {
    const { experiment, chosen } = this;
    const [columns, layers] = [
      await experiment.columns(),
      await experiment.layers(chosen.measurement),
    ];
    this.columns = columns.map(({ name }) => name);
    const by = state().gene ? '' : this.column;
    const key = JSON.stringify([chosen, by, state().gene, state().layer, state().comp]);
    if (this.built === key) return;
    this.built = key;
    const embeddings = this.choices.map(({ measurement, name }) => [
      `${measurement}/${name}`,
      `${name} (${measurement})`,
    ]);
    const list = h('datalist', { id: fresh('genes') });
    const input = h('input', {
      type: 'text',
      value: state().gene ?? '',
      list: list.id,
      autocomplete: 'off',
      spellcheck: 'false',
      placeholder: 'name of a gene',
    });
    const offer = async () => {
      const genes = await experiment.genes(chosen.measurement, signal.aborted ? undefined : signal);
      const text = input.value.toLowerCase();
      const fitting = [];
      for (const name of genes.keys()) {
        if (name.toLowerCase().startsWith(text)) fitting.push(name);
        if (fitting.length >= OFFERED) break;
      }
      put(
        list,
        fitting.map((name) => h('option', { value: name })),
      );
    };
    input.addEventListener('focus', () => offer().catch(() => {}));
    input.addEventListener('input', () => offer().catch(() => {}));
    input.addEventListener('change', () => change({ gene: input.value.trim(), pick: null }));
    const most = Math.min(this.places.width, 50);
    const numbers = Array.from({ length: most }, (_, at) => [String(at), String(at + 1)]);
    const [first, second] = (state().comp ?? '0,1').split(',');
    const focused = [...this.panel.elements].indexOf(document.activeElement);
    put(
      this.panel,
      h(
        'div',
        { class: 'group' },
        labelled(
          'Embedding',
          select(embeddings, `${chosen.measurement}/${chosen.name}`, (emb) =>
            change({ emb, comp: null }),
          ),
        ),
        most > 2
          ? h(
              'div',
              { class: 'two' },
              labelled(
                'Across',
                select(numbers, first, (value) => change({ comp: `${value},${second}` })),
              ),
              labelled(
                'Up',
                select(numbers, second, (value) => change({ comp: `${first},${value}` })),
              ),
            )
          : null,
      ),
      h(
        'div',
        { class: 'group' },
        labelled(
          'Colour by column',
          select(
            [
              ['', state().gene ? '(a gene)' : '(none)'],
              ...this.columns.map((name) => [name, name]),
            ],
            by,
            (column) => change({ by: column || '-', gene: null, pick: null }),
          ),
        ),
        layers.length > 0 ? [labelled('Colour by gene', input), list] : null,
        layers.length > 1 && state().gene
          ? labelled(
              'Matrix',
              select(
                layers.map((name) => [name, name]),
                this.layer(layers),
                (layer) => change({ layer }),
              ),
            )
          : null,
      ),
    );
    this.layers = layers;
    if (focused >= 0) this.panel.elements[focused]?.focus();
  }

  layer(layers) {
    return layers.includes(state().layer)
      ? state().layer
      : layers.includes('data')
        ? 'data'
        : layers[0];
  }

  /** The column that colours cells: the chosen one, or one that tells kinds of cells. */
  get column() {
    if (state().by === '-') return '';
    if (this.columns.includes(state().by)) return state().by;
    return (
      this.columns.find((name) => /cell.?type|louvain|leiden|cluster/i.test(name)) ??
      this.columns.find((name) => !/_?id$|index|barcode/i.test(name)) ??
      ''
    );
  }

  async color(signal) {
    const { experiment, chosen, places } = this;
    const key = JSON.stringify([
      this.key,
      state().gene,
      state().gene ? this.layer(this.layers) : this.column,
    ]);
    if (this.colors?.key === key) return;
    this.wrong = '';
    let found = null;
    if (state().gene) {
      const id = await experiment.gene(chosen.measurement, state().gene, signal);
      if (id === undefined) this.wrong = `There is no gene ${state().gene}.`;
      else
        found = {
          ...(await experiment.expression(
            chosen.measurement,
            this.layer(this.layers),
            id,
            places,
            signal,
          )),
          title: state().gene,
        };
    } else if (this.column) {
      found = { ...(await experiment.column(this.column, places, signal)), title: this.column };
    }
    signal.throwIfAborted();
    this.colors = { ...found, key };
    Object.assign(this.colors, buckets(this.colors, this.places.ids.length));
  }

  recolor() {
    if (!this.colors || !this.plot) return;
    const { labels, title, low, high, buckets: found } = this.colors;
    const dark = this.page.dark();
    if (labels) {
      const most = found.filter(([at]) => at >= 0).sort((a, b) => b[1].length - a[1].length);
      this.picks = most.slice(0, MOST_NAMES).map(([at]) => at);
      const picked =
        state().pick === undefined ? null : this.picks.indexOf(labels.indexOf(state().pick));
      put(
        this.legend,
        namesLegend({
          title,
          names: most
            .slice(0, MOST_NAMES)
            .map(([at, cells]) => [
              labels[at] ?? String(at),
              category(at, dark),
              count(cells.length),
            ]),
          picked: picked === -1 ? null : picked,
          more: most.length - MOST_NAMES,
          pick: (at) => change({ pick: at === null ? null : labels[this.picks[at]] }),
        }),
      );
    } else {
      put(
        this.legend,
        title ? rampLegend({ title, low, high, ramp: state().ramp ?? 'viridis', dark }) : null,
      );
    }
    const { cells, sampled, ids } = this.places;
    const { away } = this.experiment;
    put(
      this.note,
      this.wrong ? h('span', { class: 'wrong' }, this.wrong) : null,
      this.wrong ? ' ' : null,
      sampled
        ? `${roughly(ids.length)} of ${roughly(cells)} cells.`
        : `${count(ids.length)} cells.`,
      away.size > 0 ? ` Elsewhere, and not followed: ${[...away].join(', ')}.` : null,
    );
    this.plot.repaint();
  }

  end() {
    this.latest.stop();
    this.plot?.end();
    this.experiment.close();
  }
}
