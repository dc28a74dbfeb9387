// Chromium for the tests, which watch all of its requests and errors.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

/** The arguments of Chromium: as root, without a screen, and without requests of its own. */
export const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Packages of npm come from the folder where `node_modules` is. */
export const packages = (folder) => createRequire(path.join(path.resolve(folder), 'package.json'));

/** A context of Chromium with a profile of its own. */
export async function launch(require, options = {}) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'tdb-viewer-'));
  const { chromium } = require('playwright-core');
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ARGS,
    headless: true,
    viewport: { width: 1280, height: 860 },
    deviceScaleFactor: 1,
    reducedMotion: 'reduce',
    ...options,
  });
  return {
    context,
    async close() {
      await context.close();
      fs.rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** A page whose requests must go to these origins, and which must report no error. */
export async function watched(context, origins) {
  const page = await context.newPage();
  const faults = [];
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (
      origins.some((origin) => url.startsWith(`${origin}/`)) ||
      url.startsWith('data:') ||
      url.startsWith('blob:')
    )
      return route.continue();
    faults.push(`a request elsewhere: ${url}`);
    return route.abort();
  });
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error.stack ?? error)));
  return { page, faults };
}
