// The panel beside the views: which field, which ranges, which time, which condition, which
// colours.

import { momentText } from './calendar.js';
import { RAMPS } from './color.js';
import { fresh, h, labelled, put, select } from './dom.js';
import { plural } from './format.js';
import { change, state } from './state.js';
import { quoted, typeText, unitText } from './types.js';

/** How long a slider must rest before its place is read, in milliseconds. */
const REST = 160;

/** A line with the marks that a slider can be at. */
function slider({ label, at, last, text, moved, marks = [] }) {
  const id = fresh('slider');
  const output = h('output', { for: id, class: 'value' }, text(at));
  let timer;
  const input = h('input', {
    type: 'range',
    id,
    min: 0,
    max: last,
    step: 1,
    value: at,
    'aria-valuetext': text(at),
    on: {
      input: (event) => {
        const place = Number(event.target.value);
        put(output, text(place));
        event.target.setAttribute('aria-valuetext', text(place));
        clearTimeout(timer);
        timer = setTimeout(() => moved(place), REST);
      },
    },
  });
  input.value = at;
  const track =
    marks.length > 1
      ? h(
          'div',
          { class: 'marks', 'aria-hidden': 'true' },
          marks.map((part) => {
            const mark = h('span');
            mark.style.left = `calc(8px + ${part} * (100% - 16px))`;
            return mark;
          }),
        )
      : null;
  return h(
    'div',
    { class: 'control' },
    h('div', { class: 'row' }, h('label', { for: id }, label), output),
    input,
    track,
  );
}

/** Gives controls the values that others of the same form have, but not the one that is in use. */
function renew(form, other) {
  const renewed = [...other.elements];
  [...form.elements].forEach((control, at) => {
    const now = renewed[at];
    control.disabled = now.disabled;
    if (control === document.activeElement && control.tagName === 'INPUT') return;
    if (control.value !== now.value) control.value = now.value;
    control.checked = now.checked;
    for (const name of ['aria-valuetext', 'aria-invalid']) {
      if (now.hasAttribute(name)) control.setAttribute(name, now.getAttribute(name));
      else control.removeAttribute(name);
    }
  });
  const texts = [...other.querySelectorAll('output, summary')];
  [...form.querySelectorAll('output, summary')].forEach((element, at) => {
    if (element.textContent !== texts[at].textContent) put(element, texts[at].textContent);
  });
}

export class Controls {
  /** @param history all fragments of the array, whatever the time it is shown at */
  constructor(model, history) {
    this.model = model;
    this.stops = [...new Set(history.map(({ timeRange }) => timeRange[1]))].sort((a, b) => a - b);
    this.tab = '';
    this.element = h('form', {
      class: 'controls',
      'aria-label': 'What is shown',
      on: { submit: (event) => event.preventDefault() },
    });
  }

  /** Shows the state. The panel is built anew only if it has other controls: one may be in use. */
  update() {
    const picture = this.tab === 'picture';
    const form = JSON.stringify([
      this.tab,
      this.model.pair(state()),
      picture && Boolean(this.colored),
    ]);
    const parts = this.parts();
    if (form !== this.form) put(this.element, parts);
    else renew(this.element, h('form', null, parts));
    this.form = form;
  }

  /** The field whose values have colours. */
  get colored() {
    const named = this.model.field(state().field ?? '');
    return named ?? (this.model.sparse ? null : this.model.pictured[0]);
  }

  parts() {
    const { tab } = this;
    const picture = tab === 'picture';
    return [
      tab === 'table'
        ? null
        : h(
            'div',
            { class: 'group' },
            this.fieldControl(picture),
            picture ? this.axesControls() : null,
          ),
      this.time(),
      this.slices(picture),
      this.condition(),
      picture && this.model.pair(state())?.y ? this.colors() : null,
      this.rangesControl(picture),
    ];
  }

  fieldControl(picture) {
    const { model } = this;
    const fields = picture ? model.pictured : [...model.schema.attributes, ...model.dimensions];
    const options = fields.map((field) => [
      field.name,
      `${field.name || '(no name)'} (${typeText(field)})`,
    ]);
    if (picture && model.sparse) options.unshift(['', 'Where cells are']);
    if (options.length === 0) return null;
    return labelled(
      picture ? 'Show' : 'Field',
      select(options, state().field ?? options[0][0], (field) =>
        change({ field, lo: null, hi: null }),
      ),
    );
  }

  axesControls() {
    const able = this.model.dimensions.filter(({ name }) => this.model.axes.has(name));
    if (able.length < 3) return null;
    const pair = this.model.pair(state());
    const options = able.map(({ name }) => [name, name]);
    const swap = (name, other, value) => {
      const now = this.model.pair(state());
      const rest = value === now[other] ? now[name] : now[other];
      // What was a slice is an axis now, and the other way round.
      const ranges = [value, now[name]].map((one) => [`r.${one}`, null]);
      change({ [name]: value, [other]: rest, ...Object.fromEntries(ranges) });
    };
    return h(
      'div',
      { class: 'two' },
      labelled(
        'Across',
        select(options, pair.x, (value) => swap('x', 'y', value)),
      ),
      labelled(
        this.model.up ? 'Up' : 'Down',
        select(options, pair.y, (value) => swap('y', 'x', value)),
      ),
    );
  }

  time() {
    const { stops } = this;
    if (stops.length < 2) return null;
    const last = stops.length - 1;
    const named =
      state().at === undefined ? last : stops.findLastIndex((stop) => stop <= Number(state().at));
    const at = Math.max(0, named);
    const text = (place) => `${momentText(stops[place])}${place === last ? ' (latest)' : ''}`;
    return h(
      'div',
      { class: 'group' },
      slider({
        label: 'Time',
        at,
        last,
        text,
        marks: stops.map((_, place) => place / last),
        moved: (place) => change({ at: place === last ? null : stops[place] }),
      }),
      h(
        'p',
        { class: 'hint' },
        `Written ${plural(stops.length, 'time')}, from ${momentText(stops[0])} on.`,
      ),
    );
  }

  /** A slider for each dimension of a dense array that the picture does not have. */
  slices(picture) {
    if (!picture || this.model.sparse) return null;
    const pair = this.model.pair(state());
    const others = this.model.dimensions.filter(
      ({ name }) => this.model.axes.has(name) && name !== pair.x && name !== pair.y,
    );
    if (others.length === 0) return null;
    const first = (name) => {
      // A range that is wrong is said in place of the picture.
      const range = this.model.wrong(state()) ? null : this.model.range(name, state());
      return (range ?? this.model.bounds(name))[0];
    };
    return h(
      'div',
      { class: 'group' },
      others.map(({ name }) => {
        const axis = this.model.axes.get(name);
        const value = (place) => axis.value(axis.low + place);
        return slider({
          label: name,
          at: Math.round(axis.offset(first(name)) - axis.low),
          last: Math.max(0, axis.length - 1),
          text: (place) => axis.text(value(place)),
          moved: (place) => change({ [`r.${name}`]: this.model.write(name, value(place)) }),
        });
      }),
    );
  }

  condition() {
    const input = h('input', {
      type: 'text',
      value: state().where ?? '',
      spellcheck: 'false',
      autocomplete: 'off',
      placeholder: this.example(),
    });
    input.addEventListener('change', () => change({ where: input.value.trim(), page: null }));
    return h('div', { class: 'group' }, labelled('Condition', input));
  }

  example() {
    const field = this.model.schema.attributes.find((one) => one.name);
    return field
      ? `${quoted(field.name)} ${this.model.pictured.includes(field) ? '> 0' : "= 'text'"}`
      : '';
  }

  colors() {
    if (!this.colored) return null;
    const bound = (name, label) => {
      const input = h('input', {
        type: 'text',
        inputmode: 'decimal',
        value: state()[name] ?? '',
        placeholder: 'auto',
      });
      input.addEventListener('change', () =>
        change({ [name]: Number.isFinite(Number(input.value)) ? input.value.trim() : null }),
      );
      return labelled(label, input);
    };
    const box = h('input', {
      type: 'checkbox',
      id: fresh('cut'),
      on: { change: (event) => change({ cut: event.target.checked ? '1' : null }) },
    });
    box.checked = state().cut === '1';
    return h(
      'details',
      {
        class: 'group',
        open: Boolean(state().lo || state().hi || state().cut || state().ramp) || null,
      },
      h('summary', null, 'Colours'),
      labelled(
        'Ramp',
        select(
          Object.entries(RAMPS).map(([name, { text }]) => [name, text]),
          state().ramp ?? 'viridis',
          (ramp) => change({ ramp }),
        ),
      ),
      h('div', { class: 'two' }, bound('lo', 'From'), bound('hi', 'To')),
      h('div', { class: 'check' }, box, h('label', { for: box.id }, 'Leave out the outermost 1 %')),
    );
  }

  rangesControl(picture) {
    const { model } = this;
    const set = model.dimensions.filter(({ name }) => state()[`r.${name}`]).length;
    const boxes = model.dimensions.map((dimension) => {
      const { name } = dimension;
      const axis = model.axes.get(name);
      const [bounds, ends] = [model.bounds(name), model.ends(name, state())];
      const inputs = ends.slice(0, 2).map((text, end) => {
        const bound = bounds?.[end] ?? '';
        const value = text === '' ? '' : model.parse(name, text, end === 1);
        return h('input', {
          type: 'text',
          value: axis ? text : (value ?? text),
          placeholder: axis && bounds ? axis.text(bound) : bound,
          spellcheck: 'false',
          autocomplete: 'off',
          'aria-label': `${name}, ${end === 0 ? 'from' : 'to'}`,
          'aria-invalid': value === null ? 'true' : null,
        });
      });
      const apply = () => {
        const texts = inputs.map((input) => input.value.trim());
        const read = texts.map((plain, end) =>
          plain === '' ? '' : axis ? axis.parse(plain, end === 1) : plain,
        );
        inputs.forEach((input, end) =>
          input.setAttribute('aria-invalid', String(read[end] === null)),
        );
        if (read.includes(null)) return;
        // Dates stay as they are written: a day is all of the day.
        const written = read.map((value, end) =>
          axis?.kind === 'date' || value === '' ? texts[end] : model.write(name, value),
        );
        const turned = !read.includes('') && read[0] > read[1];
        const [low, high] = turned ? written.toReversed() : written;
        change({ [`r.${name}`]: low || high ? `${low}..${high}` : null, page: null });
      };
      inputs.forEach((input) => input.addEventListener('change', apply));
      const unit = model.axes.get(name)?.kind === 'date' ? '' : unitText(dimension.datatype);
      return h(
        'div',
        { class: 'control', role: 'group', 'aria-label': name },
        h('span', { class: 'like-label' }, unit ? `${name} (${unit})` : name),
        h('div', { class: 'two' }, inputs),
      );
    });
    const all = () =>
      change({
        ...Object.fromEntries(model.dimensions.map(({ name }) => [`r.${name}`, null])),
        page: null,
      });
    return h(
      'details',
      { class: 'group', open: !picture || null },
      h('summary', null, set ? `Ranges (${set} set)` : 'Ranges'),
      boxes,
      h(
        'button',
        { type: 'button', class: 'quiet', disabled: set === 0, on: { click: all } },
        'Show all',
      ),
    );
  }
}
