// test_looks.mjs: nothing looks grossly different from what a person has looked at. A picture becomes 16 × 16
// shades of grey, each brighter or darker than their mean; that is compared with looks.json.
// UPDATE=1 writes it, and the pictures of docs/img; then look at them.
import fs from 'node:fs';
import path from 'node:path';
import { check, drawn, has, here, ok, open, to } from './kit.mjs';

const FILE = path.join(here, 'looks.json');
const DOCS = path.resolve(here, '../../docs/img');
const PICTURES = ['now', 'now-dark', 'now-phone', 'board', 'task', 'graph'];
const DIFFERENT = 56; // of 256: a fifth; moving data takes about 15

async function shades(page, png) {
    return page.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const context = new OffscreenCanvas(16, 16).getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, 16, 16);
        const { data } = context.getImageData(0, 0, 16, 16);
        const grey = Array.from({ length: 256 }, (_, i) => data[i * 4] * 0.3 + data[i * 4 + 1] * 0.59 + data[i * 4 + 2] * 0.11);
        const mean = grey.reduce((sum, n) => sum + n, 0) / 256;
        return grey.map((n) => (n > mean ? '1' : '0')).join('');
    }, png.toString('base64'));
}

export async function looks(world, night) {
    const known = fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : {};
    const full = await has(world, '/v1/graph');
    const shots = [
        ['now', '#/now', {}, '.rows.gates li'], ['now-dark', '#/now', { dark: true }, '.rows.gates li'], ['now-phone', '#/now', { width: 360, height: 740 }, '.rows.running li'],
        ['board', '#/board', {}, '.card'], ['task', `#/task/${night.parser[0]}`, {}, '.log-line'], ['events', '#/events', {}, '.event'],
        ...(full ? [['graph', '#/graph', {}, '.graph-canvas canvas'], ['graph-dark', '#/graph', { dark: true }, '.graph-canvas canvas'], ['cost', '#/cost', {}, '.uplot canvas'],
            ['share', '#/share', {}, '.uplot canvas'], ['whatif', '#/whatif', {}, '.sums']] : []),
    ];
    for (const [name, hash, options, ready] of shots)
        await check(`it looks as it did: ${name}`, async () => {
            const page = await open(world, '#/now', options);
            await to(page, hash);
            await page.locator(ready).first().waitFor();
            await drawn(page);
            const png = await page.screenshot();
            const seen = await shades(page, png);
            await page.context().close();
            if (process.env.UPDATE) {
                known[name] = BigInt(`0b${seen}`).toString(16).padStart(64, '0');
                if (process.env.UPDATE === 'docs' && PICTURES.includes(name)) fs.writeFileSync(path.join(DOCS, `dashboard-${name}.png`), png);
                fs.writeFileSync(FILE, `${JSON.stringify(known, null, 2)}\n`);
                return;
            }
            ok(known[name], `there is no look of '${name}' yet: look at it, then run this with UPDATE=1`);
            const before = BigInt(`0x${known[name]}`).toString(2).padStart(256, '0');
            const different = [...seen].filter((bit, i) => bit !== before[i]).length;
            ok(different <= DIFFERENT, `${different} of 256 parts differ: look at it, then run this with UPDATE=1`);
        });
}
