// A row of tabs: arrow keys move between them.

import { fresh, h } from './dom.js';
import { change } from './state.js';

export class Tabs {
  /**
   * @param tabs `[name, text]`, of which the state's `tab` is chosen; `panel` holds what is shown
   */
  constructor(tabs, panel) {
    this.names = tabs.map(([name]) => name);
    const prefix = fresh('tab');
    panel.id = `${prefix}-panel`;
    panel.setAttribute('role', 'tabpanel');
    this.panel = panel;
    this.buttons = tabs.map(([name, text]) =>
      h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `${prefix}-${name}`,
          'aria-controls': panel.id,
          on: { click: () => this.go(name) },
        },
        text,
      ),
    );
    this.element = h(
      'div',
      {
        class: 'tabs',
        role: 'tablist',
        'aria-label': 'Views',
        on: { keydown: (event) => this.key(event) },
      },
      this.buttons,
    );
  }

  go(name) {
    change({ tab: name === this.names[0] ? null : name }, { push: true });
  }

  choose(name) {
    this.buttons.forEach((button, at) => {
      const chosen = this.names[at] === name;
      button.setAttribute('aria-selected', String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) this.panel.setAttribute('aria-labelledby', button.id);
    });
  }

  key(event) {
    const from = this.buttons.indexOf(document.activeElement);
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: this.names.length - 1 }[
      event.key
    ];
    if (to === undefined || from < 0) return;
    event.preventDefault();
    const at = (to + this.names.length) % this.names.length;
    this.buttons[at].focus();
    this.go(this.names[at]);
  }
}
