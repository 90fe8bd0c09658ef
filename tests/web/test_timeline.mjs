// test_timeline.mjs: the timeline has a row for each task or project, zooms and pans by wheel, drag and keys, and follows now.
import { check, chosen, close, drawn, equal, ok, open, pinch, to } from './kit.mjs';
import { patience } from './patience.mjs';

const CANVAS = '.timeline-rows canvas';

async function timeline(page, query = '') {
    await to(page, `#/timeline${query}`);
    await page.locator(`${CANVAS}[data-window]`).waitFor();
    await drawn(page);
}

const range = async (page) => JSON.parse(await page.locator(CANVAS).getAttribute('data-window'));
const length = ([from, to]) => to - from;

/** Waits until the part of the time that is shown is one that fits. */
async function shows(page, what, fits) {
    const deadline = Date.now() + patience;
    for (;;) {
        const now = await range(page);
        if (fits(now)) return now;
        if (Date.now() > deadline) throw new Error(`${what}: ${JSON.stringify(now)}`);
        await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
    }
}

async function middle(page) {
    const { x, y, width, height } = await page.locator(CANVAS).boundingBox();
    return { x: x + width * 0.6, y: y + height / 2 };
}

async function zooms(page) {
    await timeline(page);
    const before = await range(page);
    const at = await middle(page);
    await page.mouse.move(at.x, at.y);
    await page.mouse.wheel(0, -400);
    const near = await shows(page, 'the wheel zooms', (now) => length(now) < 0.7 * length(before));
    await page.keyboard.press('-');
    await shows(page, 'a key zooms', (now) => length(now) > 1.1 * length(near));
    await page.getByRole('button', { name: 'zoom in' }).click();
    await page.keyboard.press('0');
    await shows(
        page,
        '0 shows everything',
        (now) => Math.abs(length(now) / length(before) - 1) < 0.3,
    );
}

async function pans(page) {
    await timeline(page);
    await page.getByRole('button', { name: '15 min' }).click();
    const before = await shows(
        page,
        '15 minutes',
        (now) => Math.abs(length(now) - 1.3 * 900e3) < 5e3,
    );
    const at = await middle(page);
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.mouse.move(at.x + 200, at.y, { steps: 4 });
    await page.mouse.up();
    const earlier = await shows(page, 'a drag pans', (now) => now[0] < before[0] - 60e3);
    ok(Math.abs(length(earlier) - length(before)) < 1000, 'a drag keeps the scale');
    await page.keyboard.press('ArrowRight');
    await shows(page, 'a key pans', (now) => now[0] > earlier[0] + 60e3);
    for (let n = 0; n < 8; n++) await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'now', exact: true }).click();
    await shows(
        page,
        'now is in sight again',
        ([from, to]) => from < Date.now() && Date.now() < to,
    );
}

/** The height of all rows. */
const rows = (page) =>
    page.locator('.timeline-rows > div').evaluate((el) => el.getBoundingClientRect().height);

async function modes(world, page) {
    await timeline(page);
    await page.getByRole('button', { name: 'fit' }).click();
    const packed = await rows(page);
    await page.getByRole('button', { name: 'by task' }).click();
    await timeline(page, '?rows=task');
    const { items } = await world.api('GET', '/v1/forecast?limit=1000');
    await page.getByRole('button', { name: 'fit' }).click();
    const deadline = Date.now() + patience;
    while ((await rows(page)) <= packed) {
        if (Date.now() > deadline)
            throw new Error('there are no more rows than with packed projects');
        await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
    }
    ok(items.filter((one) => !one.live).length > 5, 'runs are expected');
    const ahead = await rows(page);
    await page.getByLabel('expected').uncheck();
    await drawn(page);
    await page.getByRole('button', { name: 'fit' }).click();
    while ((await rows(page)) >= ahead) {
        if (Date.now() > deadline) throw new Error('expected tasks have rows without the forecast');
        await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
    }
}

async function pinches(world) {
    const phone = await open(world, '#/timeline', { width: 360, height: 780, touch: true });
    await timeline(phone, '?rows=');
    const before = length(await range(phone));
    await pinch(phone, CANVAS, 60, 180);
    await shows(phone, 'two fingers zoom', (now) => length(now) < before / 2);
}

async function follows(page) {
    await timeline(page, '?rows=');
    await page.getByRole('button', { name: '15 min' }).click();
    const before = await shows(
        page,
        '15 minutes',
        (now) => Math.abs(length(now) - 1.3 * 900e3) < 5e3,
    );
    const later = await shows(page, 'it moves with now', (now) => now[1] >= before[1] + 2000);
    equal(
        Math.round(length(later) / 1000),
        Math.round(length(before) / 1000),
        'seconds that it shows',
    );
}

export async function timelines(world) {
    const names = {
        zooms: 'the timeline zooms by wheel, buttons and keys',
        pans: 'the timeline pans by drag and keys, and goes back to now',
        modes: 'the timeline has a row for each task, or the runs of a project in few rows, with what is expected',
        follows: 'the timeline moves with now',
        pinches: 'two fingers zoom the timeline',
    };
    if (!Object.values(names).some(chosen)) return;
    const page = await open(world, '#/timeline');
    await check(names.zooms, () => zooms(page));
    await check(names.pans, () => pans(page));
    await check(names.modes, () => modes(world, page));
    await check(names.follows, () => follows(page));
    await check(names.pinches, () => pinches(world));
    await close(page);
}
