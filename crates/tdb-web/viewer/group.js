// A group: its members as a tree beside the page, and as a table on it. A SOMA experiment has its
// embedding, too.

import { isBelow } from './below.js';
import { h, put } from './dom.js';
import { plural } from './format.js';
import { metadataTable } from './schema.js';
import { Embedding } from './soma.js';
import { change, state, withoutView } from './state.js';
import { Tabs } from './tabs.js';

const memberName = (member) => member.name ?? member.url;

/** The members of a group below each other; groups open when they are asked to. */
export class Tree {
  /**
   * @param go is told of the path to show, `open(path)` opens it; `isElsewhere(url)` tells what is
   * not followed
   */
  constructor(root, title, { go, open, isElsewhere }) {
    Object.assign(this, { go, open, isElsewhere });
    this.items = new Map();
    const item = this.item(title, '', 'group', root);
    this.element = h(
      'ul',
      {
        role: 'tree',
        'aria-label': 'Members',
        class: 'tree',
        on: { keydown: (event) => this.key(event) },
      },
      item,
    );
    this.unfold(item);
    item.tabIndex = 0;
  }

  item(name, path, type, group) {
    const item = h(
      'li',
      {
        role: 'treeitem',
        tabindex: -1,
        'aria-expanded': type === 'group' ? 'false' : null,
        'aria-selected': 'false',
      },
      h(
        'span',
        {
          class: `member is-${type}`,
          on: {
            click: () => {
              item.focus();
              this.choose(item);
            },
          },
        },
        name,
      ),
    );
    Object.assign(item, { path, kind: type, group });
    this.items.set(path, item);
    return item;
  }

  choose(item) {
    if (item.elsewhere) return;
    if (item.kind === 'group') this.unfold(item);
    this.go(item.path);
  }

  async unfold(item) {
    if (item.kind !== 'group' || item.getAttribute('aria-expanded') === 'true') return;
    item.setAttribute('aria-expanded', 'true');
    if (item.filled) return;
    item.filled = true;
    try {
      item.group ??= await this.open(item.path);
      const list = item.group.members().map((member) => {
        const away = this.isElsewhere(member.url);
        const child = this.item(
          memberName(member),
          `${item.path}/${encodeURIComponent(memberName(member))}`,
          away ? 'away' : member.type,
        );
        child.elsewhere = away;
        if (away) child.setAttribute('aria-disabled', 'true');
        return child;
      });
      if (list.length > 0) item.append(h('ul', { role: 'group' }, list));
    } catch (error) {
      item.append(h('p', { class: 'hint' }, String(error.message)));
    }
  }

  /** Marks what is shown, with all above it open. */
  async mark(path) {
    const parts = path.split('/').slice(1);
    let at = '';
    for (const part of parts) {
      const above = this.items.get(at);
      if (above) await this.unfold(above);
      at += `/${part}`;
    }
    const chosen = this.items.get(path);
    if (chosen) await this.unfold(chosen);
    for (const [key, item] of this.items) {
      item.setAttribute('aria-selected', String(key === path));
      item.tabIndex = key === path ? 0 : -1;
    }
  }

  key(event) {
    const item = event.target.closest('[role=treeitem]');
    const seen = [...this.element.querySelectorAll('[role=treeitem]')].filter(
      (one) => one.offsetParent !== null,
    );
    const at = seen.indexOf(item);
    const focus = (one) => {
      if (!one) return;
      for (const other of seen) other.tabIndex = -1;
      one.tabIndex = 0;
      one.focus();
    };
    const open = item.getAttribute('aria-expanded') === 'true';
    const acts = {
      ArrowDown: () => focus(seen[at + 1]),
      ArrowUp: () => focus(seen[at - 1]),
      Home: () => focus(seen[0]),
      End: () => focus(seen.at(-1)),
      ArrowRight: () => (item.kind === 'group' && !open ? this.unfold(item) : focus(seen[at + 1])),
      ArrowLeft: () =>
        open
          ? item.setAttribute('aria-expanded', 'false')
          : focus(item.parentElement.closest('[role=treeitem]')),
      Enter: () => this.choose(item),
      ' ': () => this.choose(item),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}

export class GroupPage {
  static async of(page, group, here, signal) {
    const metadata = await group.metadata({ signal });
    return new GroupPage(page, group, here, metadata);
  }

  constructor(page, group, here, metadata) {
    Object.assign(this, { page, group, here, metadata });
    const soma = metadata.find(({ key }) => key === 'soma_object_type')?.value;
    this.members = group.members();
    this.view = h('div', { class: 'view' });
    const tabs = [
      soma === 'SOMAExperiment' ? ['embedding', 'Embedding'] : null,
      ['members', 'Members'],
      ['metadata', 'Metadata'],
    ].filter(Boolean);
    this.tabs = new Tabs(tabs, this.view);
    this.element = h(
      'article',
      { class: 'array' },
      h(
        'header',
        { class: 'title' },
        h('h2', null, here.title),
        h(
          'p',
          { class: 'facts-line' },
          [soma ?? 'group', plural(this.members.length, 'member')].map((text) =>
            h('span', { class: 'fact' }, text),
          ),
        ),
      ),
      this.tabs.element,
      this.view,
    );
  }

  begin() {
    this.show();
  }

  stats() {
    return this.current?.stats() ?? this.group.stats();
  }

  show() {
    this.current?.end();
    this.current = null;
    const tab = this.tabs.names.includes(state().tab) ? state().tab : this.tabs.names[0];
    this.tabs.choose(tab);
    if (tab === 'embedding') {
      this.current = new Embedding(this.page, this.group);
      put(this.view, this.current.element);
    } else if (tab === 'metadata') {
      put(this.view, metadataTable(this.metadata));
    } else {
      put(this.view, this.list());
    }
  }

  list() {
    if (this.members.length === 0) return h('p', { class: 'hint' }, 'The group has no members.');
    const base = this.group.url.replace(/\/*$/, '/');
    return h(
      'table',
      { class: 'cells' },
      h('caption', null, plural(this.members.length, 'member')),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          ['Name', 'Kind', 'Place'].map((text) => h('th', { scope: 'col' }, text)),
        ),
      ),
      h(
        'tbody',
        null,
        this.members.map((member) => {
          const name = memberName(member);
          const inside = isBelow(member.url, base);
          const open = () =>
            change(
              withoutView({
                url: state().url,
                in: `${this.here.path}/${encodeURIComponent(name)}`,
              }),
              { push: true, replace: true },
            );
          return h(
            'tr',
            null,
            h(
              'th',
              { scope: 'row' },
              inside
                ? h('button', { type: 'button', class: 'link', on: { click: open } }, name)
                : name,
            ),
            h('td', null, member.type),
            h(
              'td',
              null,
              inside
                ? h('code', null, member.url.slice(base.length))
                : [
                    h('code', null, member.url),
                    h('span', { class: 'hint' }, ' (elsewhere: not followed)'),
                  ],
            ),
          );
        }),
      ),
    );
  }

  update(changed) {
    if (changed.has('tab')) this.show();
    else this.current?.update(changed);
  }

  problem(box) {
    put(this.view, box);
    this.current?.end();
    this.current = { update: () => this.show(), end: () => {} };
  }

  end() {
    this.current?.end();
  }
}
