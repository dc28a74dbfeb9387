// Errors, and the form that asks for a key.

import { h, labelled } from './dom.js';

const TITLES = {
  'not-found': 'No array or group is there',
  listing: 'The folder cannot be listed',
  network: 'A request failed',
  outdated: 'The published state is older than the array',
  corrupt: 'The array is damaged',
  unsupported: 'This page cannot read it',
  query: 'The query does not fit the array',
  closed: 'The array was closed',
  internal: 'A fault of tdb',
};
const ADVICE = {
  'not-found':
    'Look at the address: it ends with the name of the folder that holds __schema or ' +
    '__tiledb_group.tdb.',
  listing:
    'Run “tdb publish” on the folder, and put the file tdb_manifest.txt that it writes ' +
    'beside the array.',
  network:
    'If the array is on another server than this page, that server must allow it (CORS), and ' +
    'answer requests with ranges.',
  outdated: 'Load the page anew; if that does not help, run “tdb publish” again.',
  corrupt: 'The other files of the array may be well. “tdb verify” lists all that is wrong.',
  internal: 'Please report it, with the address of the array if it is public.',
};

/**
 * Whether an error says that a key is missing or wrong. Only what was found in a file does, and the
 * address of the file may have any words.
 */
export function wantsKey(error) {
  if (error.kind !== 'unsupported' && error.kind !== 'corrupt') return false;
  const said = withoutFile(error);
  return (
    /is encrypted|no key was given|needs a key|wrong key|key is wrong/i.test(said) &&
    !/not encrypted/i.test(said)
  );
}

/** The message without the file in front, which is said apart. */
function withoutFile({ message, file }) {
  const text = String(message ?? 'unknown error');
  return file && text.startsWith(`${file}: `) ? text.slice(file.length + 2) : text;
}

/** An error as people need it: what is wrong, where, and what to do. */
export function errorBox(error) {
  const facts = [];
  if (error.file) facts.push(h('dt', null, 'File'), h('dd', null, h('code', null, error.file)));
  if (error.offset !== null && error.offset !== undefined)
    facts.push(h('dt', null, 'At byte'), h('dd', null, String(error.offset)));
  if (error.status) facts.push(h('dt', null, 'Status'), h('dd', null, String(error.status)));
  const advice = ADVICE[error.kind];
  return h(
    'section',
    { class: 'error', role: 'alert' },
    h('h2', null, TITLES[error.kind] ?? 'It does not work'),
    h('p', { class: 'message' }, withoutFile(error)),
    facts.length > 0 ? h('dl', { class: 'facts' }, facts) : null,
    advice ? h('p', { class: 'hint' }, advice) : null,
  );
}

/** 32 characters, or 64 hexadecimal digits, as the bytes of a key; null for anything else. */
export function keyBytes(text) {
  if (/^[0-9a-f]{64}$/i.test(text))
    return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
  const bytes = new TextEncoder().encode(text);
  return bytes.length === 32 ? bytes : null;
}

/** Asks for a key. It stays in the memory of the page, and is not in its address. */
export function keyForm(error, tried, give) {
  const input = h('input', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    class: 'wide',
    required: true,
  });
  const wrong = h('p', { class: 'wrong', role: 'alert' }, tried ? 'This key does not fit.' : '');
  const show = h('input', {
    type: 'checkbox',
    id: 'show-key',
    on: {
      change: (event) => {
        input.type = event.target.checked ? 'text' : 'password';
      },
    },
  });
  const submit = (event) => {
    event.preventDefault();
    const key = keyBytes(input.value.trim());
    if (key) give(key);
    else {
      wrong.textContent = 'A key is 32 characters, or 64 hexadecimal digits.';
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    }
  };
  return h(
    'form',
    { class: 'key', on: { submit } },
    h('h2', null, 'The array is encrypted'),
    labelled(
      'Key',
      input,
      '32 characters, or 64 hexadecimal digits. It stays in this page, and is not in its address.',
    ),
    h('div', { class: 'check' }, show, h('label', { for: 'show-key' }, 'Show the key')),
    wrong,
    h('button', { type: 'submit' }, 'Open with this key'),
    error.file
      ? h('p', { class: 'hint' }, 'First file that needs it: ', h('code', null, error.file))
      : null,
  );
}
