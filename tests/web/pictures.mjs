// pictures.mjs: takes the screenshots in docs/img. scripts/test-web --pictures, for `make docs`. dashboard-timeline.png needs
// many minutes of history, and is taken manually.
import path from 'node:path';
import { browse, done, here, open, screen } from './kit.mjs';
import { DARK, PHONE, show, views, WIDE } from './test_looks.mjs';
import { World } from './world.mjs';

const FOLDER = path.resolve(here, '../../docs/img');
const PICTURES = [
    ['now', 'now', WIDE],
    ['board', 'board', WIDE],
    ['task', 'task', { ...WIDE, height: 610 }],
    ['graph', 'graph', WIDE],
    ['question', 'question', WIDE],
    ['schedule', 'schedule', WIDE],
    ['now-dark', 'now', DARK],
    ['now-phone', 'now', PHONE],
];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
await browse();
const world = await World.start();
const all = views(await world.night());
const page = await open(world);
for (const [name, view, size] of PICTURES) {
    await screen(page, size);
    await show(page, all[view]);
    await page.screenshot({ path: path.join(FOLDER, `dashboard-${name}.png`) });
}
await done();
process.exit(0);
