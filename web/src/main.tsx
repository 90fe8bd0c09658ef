// main.tsx: the page begins.
import { effect } from '@preact/signals';
import { render } from 'preact';
import { access, enter } from './api';
import { App } from './app';
import { badging } from './badge';
import { live, status } from './live';
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
badging();
// First what has to be waited for, then what is drawn meanwhile.
void enter().then(() => {
    if (access.value === 'open' && route.value.view === 'now') askEarly();
});
// The frame is drawn alone only where its content is late: else there is one drawing instead of two, and the questions to
// the daemon do not wait for the first of them.
const FRAME_MS = 150;
const page = document.getElementById('page');
let isDrawn = false;
function draw(): void {
    if (isDrawn || !page) return;
    isDrawn = true;
    render(<App />, page);
}
setTimeout(draw, route.value.view === 'now' ? FRAME_MS : 0);
effect(() => {
    if (status.value || access.value === 'locked') queueMicrotask(draw);
});
