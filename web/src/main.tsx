// main.tsx: the page begins.
import { render } from 'preact';
import { access, enter } from './api';
import { App } from './app';
import { live } from './live';
import { route, routing } from './route';
import { theming } from './theme';
import { askEarly } from './views/now';

theming();
// A new link may be opened in the same tab: then only the part behind # changes.
addEventListener('hashchange', (event) => {
    if (!location.hash.startsWith('#t=')) return;
    event.stopImmediatePropagation();
    void enter();
});
routing();
live();
// First what has to be waited for, then what is drawn meanwhile.
void enter().then(() => {
    if (access.value === 'open' && route.value.view === 'now') askEarly();
});
const page = document.getElementById('page');
if (page) render(<App />, page);
