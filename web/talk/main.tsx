import { render } from 'preact';
import '../shared/base.css';
import './talk.css';
import { App } from './app.tsx';

const root = document.getElementById('page');
if (root) render(<App />, root);
