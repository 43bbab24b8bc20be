import { render } from 'preact';
import { TIMELINE_STYLE } from '../../src/observe/timeline-style.ts';
import '../shared/base.css';
import './operate.css';
import { App } from './app.tsx';

// The same rules as in `call.html`: a sheet made by a script is no inline style.
const sheet = new CSSStyleSheet();
sheet.replaceSync(TIMELINE_STYLE);
document.adoptedStyleSheets = [sheet];

const root = document.getElementById('page');
if (root) render(<App />, root);
