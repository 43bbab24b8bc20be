/**
 * Libraries that not every process needs, loaded when they are first asked for and not when it starts: `undici` is a
 * hundred files, and a gateway without web tools, chat model or carrier account calls nobody over HTTP.
 *
 * @module
 */

import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

export const undici = (): typeof import('undici') => load('undici');

export const htmlparser2 = (): typeof import('htmlparser2') => load('htmlparser2');

export const prism = (): typeof import('prism-media') => load('prism-media');
