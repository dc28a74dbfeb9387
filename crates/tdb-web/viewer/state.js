// What the page shows, as the part of its address behind `#`: a link holds all of it but keys.

/** What is left out of the address because it is usual. */
const USUAL = { tab: '', ramp: 'viridis' };

const listeners = new Set();
let current = read();

function read() {
  const found = {};
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) found[name] = value;
  return found;
}

function address(state) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value === undefined || value === null || value === '' || USUAL[name] === value) continue;
    search.set(name, value);
  }
  const text = search.toString();
  return `#${text.replaceAll('%2F', '/').replaceAll('%3A', ':').replaceAll('%2C', ',')}`;
}

/** The state now: texts by name. */
export const state = () => current;

/**
 * Changes the state. A step that one may want to go back from is pushed; a movement replaces what
 * is there. Listeners are told which names changed.
 */
export function change(changes, { push = false, replace = false } = {}) {
  const next = replace ? { ...changes } : { ...current, ...changes };
  for (const name of Object.keys(next)) {
    if (next[name] === undefined || next[name] === null || next[name] === '') delete next[name];
    else next[name] = String(next[name]);
  }
  apply(next, () => history[push ? 'pushState' : 'replaceState'](null, '', address(next)));
}

function apply(next, write) {
  const names = new Set([...Object.keys(current), ...Object.keys(next)]);
  const changed = new Set([...names].filter((name) => current[name] !== next[name]));
  if (changed.size === 0) return;
  current = next;
  write?.();
  for (const listener of [...listeners]) listener(changed);
}

/** Calls a listener with the set of changed names; returns what ends it. */
export function watch(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The names of the state that belong to the array that is shown, and go when another is opened. */
export function withoutView(keep = {}) {
  const { theme } = current;
  return { theme, ...keep };
}

addEventListener('popstate', () => apply(read()));
addEventListener('hashchange', () => apply(read()));
