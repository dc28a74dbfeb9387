// An array: its name and shape, the panel, and one of its views.

import { momentText } from './calendar.js';
import { Controls } from './controls.js';
import { h, put } from './dom.js';
import { boundText, bytes, plural, roughly } from './format.js';
import { Fragments } from './fragments.js';
import { isAbort, total } from './latest.js';
import { Line } from './line.js';
import { Model } from './model.js';
import { Plane } from './plane.js';
import { SchemaView } from './schema.js';
import { state } from './state.js';
import { Table } from './table.js';
import { Tabs } from './tabs.js';
import { Values } from './values.js';

/** The views that show the chosen ranges. */
const RANGED = ['picture', 'table', 'values'];

/** How many values a domain of integers has. */
const domainCells = ({ domain: [low, high] }) => Number(high) - Number(low) + 1;

export class ArrayPage {
  static async of(page, array, here, signal) {
    const latest = await Model.of(array, signal);
    const made = new ArrayPage(page, latest, here);
    await made.travel(signal);
    return made;
  }

  constructor(page, latest, here) {
    this.page = page;
    this.history = latest;
    this.model = latest;
    /** What arrays at other times have cost, which were closed. */
    this.past = total([]);
    const { schema } = latest;
    this.controls = new Controls(latest, latest.fragments);
    this.facts = h('p', { class: 'facts-line' });
    this.view = h('div', { class: 'view' });
    this.aside = h('aside', { class: 'side', 'aria-label': 'Choices' }, this.controls.element);
    this.tabs = new Tabs(this.able(), this.view);
    this.element = h(
      'article',
      { class: 'array' },
      h('header', { class: 'title' }, h('h2', null, here.title), this.facts),
      this.tabs.element,
      h('div', { class: 'columns' }, this.view, this.aside),
    );
    this.kind = schema.type;
  }

  /** The views that the array can have. */
  able() {
    const { model } = this;
    const picture = model.pair(state()) && (model.sparse || model.pictured.length > 0);
    return [
      picture ? ['picture', 'Picture'] : null,
      ['table', 'Table'],
      ['values', 'Values'],
      ['fragments', 'Fragments'],
      ['schema', 'Schema'],
    ].filter(Boolean);
  }

  get tab() {
    const names = this.tabs.names;
    return names.includes(state().tab) ? state().tab : names[0];
  }

  begin() {
    this.show();
  }

  /** What all reading cost, at every time. */
  stats() {
    const nodes = this.model === this.history ? [this.history] : [this.history, this.model];
    return total([this.past, ...nodes.map(({ array }) => array.stats())]);
  }

  /** Opens the array at the chosen time. */
  async travel(signal) {
    const { at } = state();
    if (this.time === at) return;
    const { history, model: before } = this;
    let model = history;
    if (at !== undefined) {
      const then = await history.array.at([0, Number(at)], { signal });
      try {
        model = await Model.of(then, signal);
      } catch (error) {
        then.close();
        throw error;
      }
      // The same axes at all times, so that pictures can be compared.
      model.axes = history.axes;
      model.nonEmpty = history.nonEmpty;
    }
    this.model = model;
    this.time = at;
    this.controls.model = model;
    if (before === history) return;
    // What it cost still counts; nothing of it is shown any more.
    this.current?.end();
    this.past = total([this.past, before.array.stats()]);
    before.array.close();
  }

  async update(changed) {
    if (changed.has('at')) {
      this.traveling?.abort();
      const controller = new AbortController();
      this.traveling = controller;
      this.page.busy(1);
      try {
        await this.travel(controller.signal);
      } catch (error) {
        if (!isAbort(error, controller.signal)) this.page.fail(error);
        return;
      } finally {
        this.page.busy(-1);
      }
      this.show();
    } else if (changed.has('tab')) {
      this.show();
    } else {
      const wrong = this.wrong();
      if (wrong) this.page.fail(wrong);
      else this.current?.update(changed);
    }
    this.controls.update();
  }

  /** What is wrong with the chosen ranges, if they are shown. */
  wrong() {
    return RANGED.includes(this.tab) ? this.model.wrong(state()) : null;
  }

  show() {
    this.current?.end();
    this.current = null;
    const { model, page } = this;
    const { tab } = this;
    this.tabs.choose(tab);
    put(this.facts, this.about());
    const make = {
      picture: () => (model.pair(state()).y ? new Plane(page, model) : new Line(page, model)),
      table: () => new Table(page, model),
      values: () => new Values(page, model),
      fragments: () => new Fragments(page, model, this.history),
      schema: () => new SchemaView(page, model),
    }[tab];
    const wrong = this.wrong();
    if (wrong) {
      this.page.fail(wrong);
    } else {
      this.current = make();
      put(this.view, this.current.element);
    }
    this.aside.hidden = tab === 'schema' || tab === 'fragments';
    this.controls.tab = tab;
    this.controls.update();
  }

  /** The array in one line. */
  about() {
    const { model } = this;
    const { schema } = model;
    const size = model.fragments.reduce((sum, one) => sum + one.bytes, 0);
    const shape = schema.dimensions.map(({ name, domain, datatype }, at) => {
      const bounds = model.nonEmpty?.[at] ?? domain;
      return bounds
        ? `${name} ${boundText(bounds[0], datatype)} to ${boundText(bounds[1], datatype)}`
        : name;
    });
    const cells = model.sparse
      ? plural(model.stored, 'stored cell')
      : `${roughly(schema.dimensions.reduce((all, one) => all * domainCells(one), 1))} cells`;
    const time = state().at ? `as of ${momentText(Number(state().at))}` : null;
    return [
      schema.type,
      cells,
      bytes(size),
      plural(model.fragments.length, 'fragment'),
      ...shape,
      time,
    ]
      .filter(Boolean)
      .map((text) => h('span', { class: 'fact' }, text));
  }

  /** Shows an error in place of the view, with the panel beside it: a condition may be mended. */
  problem(box) {
    put(this.view, box);
    const failed = this.current;
    failed?.end();
    this.current = { update: () => this.show(), end: () => {} };
  }

  end() {
    this.traveling?.abort();
    this.current?.end();
    if (this.model !== this.history) this.model.array.close();
  }
}
