// main.tsx: the page begins.
import { render } from 'preact';
import { enter } from './api';
import { App } from './app';
import { live } from './live';
import { routing } from './route';
import { theming } from './theme';

theming();
// A new link may be opened in the same tab: then only the part behind # changes.
addEventListener('hashchange', (event) => {
    if (!location.hash.startsWith('#t=')) return;
    event.stopImmediatePropagation();
    void enter();
});
routing();
live();
const page = document.getElementById('page');
if (page) render(<App />, page);
void enter();
