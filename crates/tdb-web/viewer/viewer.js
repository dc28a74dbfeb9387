// The page: opens what its address names, and shows it.

import { ArrayPage } from './array.js';
import { elsewhere, isBelow } from './below.js';
import { h, put, say } from './dom.js';
import { errorBox, keyForm, wantsKey } from './errors.js';
import { bytes, duration, plural } from './format.js';
import { GroupPage, Tree } from './group.js';
import { isAbort } from './latest.js';
import { change, state, watch, withoutView } from './state.js';

const at = (id) => document.getElementById(id);
const system = matchMedia('(prefers-color-scheme: dark)');

/** What the views may ask of the page. */
const page = {
  /** Whether it is dark. */
  dark: () => (state().theme ? state().theme === 'dark' : system.matches),
  busy(by) {
    working += by;
    document.body.classList.toggle('working', working > 0);
    at('content').setAttribute('aria-busy', String(working > 0));
  },
  /** Shows what the last query cost, and everything since the array was opened. */
  cost({ requests, bytes: size, milliseconds }) {
    const all = opened?.shown?.stats();
    put(
      at('cost'),
      h(
        'span',
        null,
        h('strong', null, 'This view: '),
        `${plural(requests, 'request')}, ${bytes(size)}, ${duration(milliseconds)}`,
      ),
      all
        ? h(
            'span',
            null,
            h('strong', null, 'Since opening: '),
            `${plural(all.requests, 'request')}, ${bytes(all.bytes)}`,
          )
        : null,
    );
  },
  fail: (error) => failed(error),
};

let working = 0;
/**
 * `{ url, root, path, node, shown }`: the address, its node, the names below it, the node there,
 * and its view.
 */
let opened = null;
let opening = null;
/** Keys of encrypted arrays by address. They are not in the address of the page. */
const keys = new Map();
const library = () => import('./tdb-arrays/index.js');

/** The address that is asked for: of the page, or of the folder that the page was put into. */
const asked = () => state().url ?? document.documentElement.dataset.url ?? '';

function absolute(text) {
  const url = new URL(text, location.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`${url.protocol} is no address of a web server: write https://… or a path.`);
  url.hash = '';
  return url.href;
}

async function open() {
  opening?.abort();
  const controller = new AbortController();
  opening = controller;
  const { signal } = controller;
  const text = asked();
  at('url').value = text;
  if (!text) {
    finish();
    welcome();
    return;
  }
  page.busy(1);
  try {
    const url = absolute(text);
    const began = performance.now();
    if (opened?.url !== url) {
      finish();
      put(at('content'), h('p', { class: 'hint' }, 'Opening …'));
      const { open: openAt } = await library();
      const root = await openAt(url, { key: keys.get(url), worker: true, signal });
      if (signal.aborted) {
        root.close();
        return;
      }
      opened = { url, root, nodes: new Map([['', root]]) };
      if (root.kind === 'group') tree(root);
    }
    await walk(signal, began);
  } catch (error) {
    if (!isAbort(error, signal)) failed(error);
  } finally {
    page.busy(-1);
  }
}

/** The array or group at a path of names below what was opened; opened once. */
async function nodeAt(path, signal) {
  if (opened.nodes.has(path)) return opened.nodes.get(path);
  const here = opened;
  const cut = path.lastIndexOf('/');
  const group = await nodeAt(path.slice(0, cut), signal);
  const name = decodeURIComponent(path.slice(cut + 1));
  const member =
    group.kind === 'group'
      ? group.members().find((one) => (one.name ?? one.url) === name)
      : undefined;
  if (!member) throw new Error(`${group.url} has no member ${name}.`);
  if (isElsewhere(member.url)) throw elsewhere(name, member.url);
  const node = await group.open(member, { key: keys.get(here.url), worker: true, signal });
  here.nodes.set(path, node);
  return node;
}

/** Shows what is at the names of `in`. */
async function walk(signal, began) {
  const names = (state().in ?? '').split('/').filter(Boolean).map(decodeURIComponent);
  const path = names.map((name) => `/${encodeURIComponent(name)}`).join('');
  const node = await nodeAt(path, signal);
  signal.throwIfAborted();
  opened.shown?.end();
  opened.shown = null;
  opened.node = node;
  opened.tree?.mark(path);
  document.title = `${title(names)}: tdb`;
  const here = { title: title(names), path };
  const shown =
    node.kind === 'group'
      ? await GroupPage.of(page, node, here, signal)
      : await ArrayPage.of(page, node, here, signal);
  if (signal.aborted) {
    shown.end();
    throw signal.reason;
  }
  opened.shown = shown;
  put(at('content'), shown.element);
  shown.begin();
  page.cost({ ...node.stats(), milliseconds: performance.now() - began });
  say(`${title(names)} is open`);
}

/** The name of what is open: of a page that is beside one array, the name that it was given. */
const title = (names) =>
  names.at(-1) ??
  (state().url ? undefined : document.documentElement.dataset.name) ??
  decodeURIComponent(new URL(opened.url).pathname).split('/').filter(Boolean).at(-1) ??
  opened.url;

/** Whether an address is not below what was opened, whose own has no signature in `root`. */
const isElsewhere = (url) => !isBelow(url, opened.root.url);

function tree(root) {
  const go = (path) =>
    change(withoutView({ url: state().url, in: path }), { push: true, replace: true });
  opened.tree = new Tree(root, title([]), { go, isElsewhere, open: (path) => nodeAt(path) });
  put(at('tree'), opened.tree.element);
  at('tree').hidden = false;
}

function finish() {
  opened?.shown?.end();
  for (const node of opened?.nodes.values() ?? []) node.close();
  opened = null;
  at('tree').hidden = true;
  put(at('cost'));
}

function failed(error) {
  const box = wantsKey(error)
    ? keyForm(error, keys.has(absolute(asked())), (key) => {
        keys.set(absolute(asked()), key);
        finish();
        open();
      })
    : errorBox(error);
  const content = at('content');
  if (opened?.shown?.problem) opened.shown.problem(box);
  else put(content, box);
  say(`Error: ${error.message}`);
}

function welcome() {
  document.title = 'tdb: arrays';
  put(
    at('content'),
    h(
      'section',
      { class: 'welcome' },
      h('h2', null, 'Look at a TileDB array'),
      h(
        'p',
        null,
        'Write the address of an array or a group above. Its folder needs a manifest, which the ',
        'command ',
        h('code', null, 'tdb publish'),
        ' writes, or lies in a bucket that lists its objects.',
      ),
      h(
        'p',
        null,
        'The page reads the array itself, part by part, and asks no other server. The address of ',
        'the page holds all that you choose, so that a link shows the same.',
      ),
    ),
  );
}

function applyTheme() {
  const { theme } = state();
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  at('theme').textContent = page.dark() ? 'Light' : 'Dark';
  at('theme').setAttribute('aria-label', page.dark() ? 'Light colours' : 'Dark colours');
}

at('address').addEventListener('submit', (event) => {
  event.preventDefault();
  const url = at('url').value.trim();
  if (url === asked() && opened) return;
  change(withoutView({ url }), { push: true, replace: true });
  if (url && !opened) open();
});
at('skip').addEventListener('click', (event) => {
  event.preventDefault();
  at('content').focus();
});
at('theme').addEventListener('click', () => change({ theme: page.dark() ? 'light' : 'dark' }));
system.addEventListener('change', () => {
  applyTheme();
  opened?.shown?.update?.(new Set(['theme']));
});
watch((changed) => {
  if (changed.has('theme')) applyTheme();
  if (changed.has('url') || changed.has('in')) open();
  else opened?.shown?.update?.(changed);
});
applyTheme();
open();
