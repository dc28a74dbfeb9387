// Elements of the page. Text becomes text nodes, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else if (name === 'value' || name === 'checked' || name === 'indeterminate') {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== undefined && child !== null && child !== false),
  );
  return element;
}

/** An element of HTML with attributes, listeners (`on`) and children; strings become text. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An element of SVG. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Replaces what is in an element. */
export function put(element, ...children) {
  element.replaceChildren(
    ...children
      .flat(Infinity)
      .filter((child) => child !== undefined && child !== null && child !== false),
  );
  return element;
}

let numbered = 0;

/** An `id` that no other element has. */
export function fresh(prefix) {
  numbered += 1;
  return `${prefix}-${numbered}`;
}

/** A control below its label. */
export function labelled(text, control, hint) {
  const id = control.id || fresh('control');
  control.id = id;
  const parts = [h('label', { for: id }, text), control];
  if (hint) {
    const hintId = `${id}-hint`;
    control.setAttribute('aria-describedby', hintId);
    parts.push(h('p', { class: 'hint', id: hintId }, hint));
  }
  return h('div', { class: 'control' }, parts);
}

/** A choice of one out of several, `[value, text]`. */
export function select(options, chosen, change) {
  const items = options.map(([value, text]) => {
    const option = h('option', { value }, text);
    option.selected = value === chosen;
    return option;
  });
  return h('select', { on: { change: (event) => change(event.target.value) } }, items);
}

/** Says something to those who hear the page. */
export function say(text) {
  const region = document.getElementById('said');
  if (region && region.textContent !== text) region.textContent = text;
}
