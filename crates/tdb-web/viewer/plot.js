// A window into a plane: a canvas between two axes, moved and zoomed by mouse, fingers and keys.

import { fresh, h, put, s, say } from './dom.js';

const TEXT = 12;
const LINE = 18;
/** How long a movement must rest before the cells of the new window are read, in milliseconds. */
const REST = 140;

const between = (value, low, high) => Math.min(high, Math.max(low, value));

/** The place of an offset in a window, from 0 to 1. */
export const share = (offset, [from, to]) => (offset - from) / (to - from);

/** The ends of the offsets that an axis allows. */
function ends(axis) {
  const first = axis.discrete ? axis.offset(axis.first) : Number(axis.first);
  const last = axis.discrete ? axis.offset(axis.last) + 1 : Number(axis.last);
  return [Math.min(first, axis.low), Math.max(last, axis.high)];
}

/** A window of some length around a centre, inside what an axis allows. */
function windowOf(axis, centre, length) {
  const [first, last] = ends(axis);
  const least = axis.discrete
    ? 2
    : Math.max((axis.high - axis.low) * 1e-9, Math.abs(centre) * 1e-12);
  const long = between(length, Math.min(least, last - first), last - first);
  const from = between(centre - long / 2, first, last - long);
  return [from, from + long];
}

export class Plot {
  /**
   * @param label what it shows, for those who do not see it
   * @param x, y axes; `window` is `{ x: [from, to], y: [from, to] }` in their offsets
   * @param up whether y grows upwards
   * @param locked whether y neither moves nor zooms
   * @param paint draws the data: `(context, plot)`, one unit a pixel of CSS, the window in
   *   `plot.place`
   * @param at the text about a place: `(x, y)` as offsets; null if there is nothing
   * @param moved is told of a new window when the movement rests
   */
  constructor({ label, x, y, window, up = false, locked = false, ratio = 0.6, paint, at, moved }) {
    Object.assign(this, { x, y, up, locked, ratio, paint, at, moved });
    this.window = window ?? this.whole();
    this.cross = null;
    this.pointers = new Map();
    const help = fresh('help');
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.frame = s('svg', { 'aria-hidden': 'true', class: 'frame' });
    this.field = h(
      'div',
      {
        class: 'field',
        tabindex: 0,
        role: 'application',
        'aria-roledescription': 'picture',
        'aria-label': label,
        'aria-describedby': help,
      },
      this.canvas,
    );
    this.readout = h('p', { class: 'readout' }, '\u00a0');
    const button = (text, name, act) =>
      h(
        'button',
        { type: 'button', class: 'round', title: name, 'aria-label': name, on: { click: act } },
        text,
      );
    this.buttons = h(
      'div',
      { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
      button('+', 'Zoom in (+)', () => this.zoom(0.5)),
      button('\u2212', 'Zoom out (\u2212)', () => this.zoom(2)),
      button('\u2922', 'Show all (0)', () => this.show(this.whole())),
    );
    this.box = h('div', { class: 'plot' }, this.frame, this.field);
    this.foot = h('div', { class: 'foot' }, this.buttons, this.readout);
    this.element = h(
      'figure',
      { class: 'figure' },
      this.box,
      this.foot,
      h(
        'p',
        { class: 'hidden', id: help },
        'Arrow keys move, with Shift farther; plus and minus zoom; 0 shows all.',
      ),
    );
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.box);
  }

  /** All that is worth seeing. */
  whole() {
    return { x: [this.x.low, this.x.high], y: [this.y.low, this.y.high] };
  }

  /** Shows a window and says so when it rests; `quiet` says nothing. */
  show(window, quiet = false) {
    this.window = this.locked ? { ...window, y: this.window.y } : window;
    this.draw();
    clearTimeout(this.timer);
    if (!quiet) this.timer = setTimeout(() => this.moved?.(this.window), REST);
  }

  /** Zooms around an offset; around the centre where none is named. */
  zoom(factor, around) {
    const part = (axis, [from, to], at = (from + to) / 2) => {
      const centre = at + ((from + to) / 2 - at) * factor;
      return windowOf(axis, centre, (to - from) * factor);
    };
    this.show({
      x: part(this.x, this.window.x, around?.x),
      y: this.locked ? this.window.y : part(this.y, this.window.y, around?.y),
    });
  }

  /** Moves by shares of the window. */
  pan(right, down) {
    const part = (axis, [from, to], by) =>
      windowOf(axis, (from + to) / 2 + (to - from) * by, to - from);
    this.show({
      x: part(this.x, this.window.x, right),
      y: part(this.y, this.window.y, this.up ? -down : down),
    });
  }

  /** The pixel of an offset. */
  place(x, y) {
    const downwards = share(y, this.window.y);
    return [
      share(x, this.window.x) * this.width,
      (this.up ? 1 - downwards : downwards) * this.height,
    ];
  }

  /**
   * The pixels of a box of offsets, `[left, top, width, height]`: at least `least` on a side, and
   * inside the field if the box meets its edge.
   */
  pixels(x, y, least) {
    const [[left, one], [right, other]] = [this.place(x[0], y[0]), this.place(x[1], y[1])];
    const side = (from, to, room) => {
      const long = Math.max(least, to - from);
      const begin = (from + to - long) / 2;
      if (long > least || to < 0 || from > room) return [begin, long];
      return [between(begin, 1, room - long - 1), long];
    };
    const [begin, wide] = side(left, right, this.width);
    const [top, high] = side(Math.min(one, other), Math.max(one, other), this.height);
    return [begin, top, wide, high];
  }

  /** The offsets of a pixel of the field. */
  offsets(left, top) {
    const along = ([from, to], part) => from + (to - from) * part;
    return {
      x: along(this.window.x, left / this.width),
      y: along(this.window.y, this.up ? 1 - top / this.height : top / this.height),
    };
  }

  /** Draws axes and data for the room that there is. */
  draw() {
    const room = this.box.clientWidth;
    if (room === 0) return;
    const high = Math.round(
      between(
        room * this.ratio,
        220,
        Math.max(260, Math.min(innerHeight * 0.72, innerHeight - 330)),
      ),
    );
    const yTicks = this.y.ticks(...this.window.y, Math.max(2, Math.floor((high - 60) / 46)));
    const longest = Math.max(2, ...yTicks.ticks.map((tick) => tick.text.length));
    const left = Math.min(room * 0.34, 14 + LINE + longest * TEXT * 0.58);
    const [top, right, bottom] = [10, 14, 8 + 2 * LINE];
    this.width = Math.max(80, room - left - right);
    this.height = high - top - bottom;
    this.box.style.height = `${high}px`;
    Object.assign(this.field.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${this.width}px`,
      height: `${this.height}px`,
    });
    this.axes({ left, top, room, high, yTicks });
    this.repaint();
    if (this.cross) this.tell(this.cross);
  }

  /** Draws the data only. */
  repaint() {
    if (!this.width) return;
    const scale = devicePixelRatio || 1;
    const [wide, high] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (this.canvas.width !== wide || this.canvas.height !== high)
      Object.assign(this.canvas, { width: wide, height: high });
    const context = this.canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.paint(context, this);
    if (this.cross) this.crosshair(context);
  }

  end() {
    this.observer.disconnect();
    clearTimeout(this.timer);
  }

  axes({ left, top, room, high, yTicks }) {
    const most = Math.max(2, Math.floor(this.width / 96));
    const xTicks = this.x.ticks(...this.window.x, most);
    const shapes = [
      s('rect', {
        x: left - 0.5,
        y: top - 0.5,
        width: this.width + 1,
        height: this.height + 1,
        class: 'edge',
      }),
    ];
    const bottom = top + this.height;
    let free = -Infinity;
    for (const { at, text } of xTicks.ticks) {
      const half = (text.length * TEXT * 0.58) / 2;
      const place = left + this.place(at, 0)[0];
      if (place < left - 1 || place > left + this.width + 1) continue;
      shapes.push(s('line', { x1: place, x2: place, y1: bottom, y2: bottom + 5, class: 'tick' }));
      const middle = Math.min(place, room - half - 1);
      if (middle - half < free + 8) continue;
      free = middle + half;
      shapes.push(s('text', { x: middle, y: bottom + LINE, class: 'label middle' }, text));
    }
    for (const { at, text } of yTicks.ticks) {
      const place = top + this.place(0, at)[1];
      if (place < top - 1 || place > bottom + 1) continue;
      shapes.push(
        s('line', { x1: left - 5, x2: left, y1: place, y2: place, class: 'tick' }),
        s('text', { x: left - 9, y: place, class: 'label end' }, text),
      );
    }
    const middle = top + this.height / 2;
    shapes.push(
      s(
        'text',
        { x: left + this.width / 2, y: high - 4, class: 'label middle title' },
        this.x.title(xTicks.context),
      ),
      s(
        'text',
        { x: 12, y: middle, class: 'label middle title', transform: `rotate(-90 12 ${middle})` },
        this.y.title(yTicks.context),
      ),
    );
    this.frame.setAttribute('viewBox', `0 0 ${room} ${high}`);
    this.frame.setAttribute('width', room);
    this.frame.setAttribute('height', high);
    put(this.frame, shapes);
  }

  crosshair(context) {
    const [left, top] = this.place(this.cross.x, this.cross.y);
    context.save();
    for (const [color, width] of [
      ['#fff', 3.5],
      ['#111', 1.25],
    ]) {
      Object.assign(context, { strokeStyle: color, lineWidth: width });
      context.beginPath();
      for (const [dx, dy] of [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ]) {
        context.moveTo(left + 4 * dx, top + 4 * dy);
        context.lineTo(left + 12 * dx, top + 12 * dy);
      }
      context.stroke();
    }
    context.restore();
  }

  /** Writes what is at a place below the picture. */
  tell(place, aloud = false) {
    const text = this.at?.(place.x, place.y);
    this.readout.textContent = text || '\u00a0';
    if (aloud && text) say(text);
  }

  listen() {
    const { field } = this;
    const inside = (event) => {
      const box = field.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    field.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      field.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, inside(event));
    });
    field.addEventListener('pointermove', (event) => {
      const now = inside(event);
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        this.cross = null;
        this.tell(this.offsets(...now));
        return;
      }
      this.pointers.set(event.pointerId, now);
      if (this.pointers.size === 1)
        this.pan((before[0] - now[0]) / this.width, (before[1] - now[1]) / this.height);
      else this.pinch(event.pointerId, before, now);
    });
    for (const name of ['pointerup', 'pointercancel'])
      field.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    field.addEventListener('pointerleave', () => {
      if (!this.cross) this.readout.textContent = '\u00a0';
    });
    field.addEventListener('dblclick', (event) =>
      this.zoom(event.shiftKey ? 2 : 0.5, this.offsets(...inside(event))),
    );
    field.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        this.zoom(
          1.0015 ** (event.deltaMode === 1 ? event.deltaY * 30 : event.deltaY),
          this.offsets(...inside(event)),
        );
      },
      { passive: false },
    );
    field.addEventListener('keydown', (event) => this.key(event));
    field.addEventListener('blur', () => {
      this.cross = null;
      this.repaint();
    });
  }

  pinch(id, before, now) {
    const other = [...this.pointers].find(([key]) => key !== id)?.[1];
    if (!other) return;
    const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
    this.zoom(
      apart(before) / apart(now),
      this.offsets((now[0] + other[0]) / 2, (now[1] + other[1]) / 2),
    );
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 0.5 : 0.1;
    const acts = {
      ArrowLeft: () => this.pan(-far, 0),
      ArrowRight: () => this.pan(far, 0),
      ArrowUp: () => this.pan(0, -far),
      ArrowDown: () => this.pan(0, far),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      _: () => this.zoom(2),
      0: () => this.show(this.whole()),
      Home: () => this.show(this.whole()),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    const middle = ([from, to]) => (from + to) / 2;
    this.cross = { x: middle(this.window.x), y: middle(this.window.y) };
    this.repaint();
    this.tell(this.cross, true);
  }
}
