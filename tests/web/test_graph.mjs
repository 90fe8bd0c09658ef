// test_graph.mjs: the graph stays where it is, is laid out by connected parts, folds groups, finds, and moves with 5,000 tasks.
import { check, chosen, close, drawn, equal, ok, open, pinch, report, to, until } from './kit.mjs';
import { World } from './world.mjs';

const NODES = 5000;
const CANVAS = '.graph-canvas canvas';

const camera = (page) => page.locator(CANVAS).getAttribute('data-camera');

/** The picture on the canvas, as text. */
const pixels = (page) => page.locator(CANVAS).evaluate((el) => el.toDataURL());

async function settled(page) {
    await drawn(page);
    await page.locator(`${CANVAS}[data-sharp=true]`).waitFor();
}

/** Opens the graph and waits until it is drawn with that number of tasks. */
async function graph(page, tasks, query = '') {
    await to(page, `#/graph${query}`);
    await page.locator('.filters', { hasText: `${tasks.toLocaleString('en-US')} task` }).waitFor();
    await settled(page);
}

const task = (title, more) => ({ title, argv: ['true'], hold: true, project: 'web', ...more });

/** A chain of three in a group, two that belong to nothing, and a pair. */
async function small(world) {
    const [first] = await world.add(task('one', { project: 'api' }));
    await world.add(
        task('two', { project: 'api', depends_on: [first] }),
        task('alone'),
        task('single'),
    );
    await world.api('POST', '/v1/tasks', {
        group: 'parser',
        tasks: [
            task('tokens', { name: 'tokens' }),
            task('descent', { name: 'descent', depends_on: ['tokens'] }),
            task('switch', { name: 'switch', depends_on: ['descent'] }),
        ],
    });
    return first;
}

/** Frames per second while the graph is dragged to and fro, and how often it was drawn again. */
const drag = (page) =>
    page.locator(CANVAS).evaluate(async (el) => {
        const box = el.getBoundingClientRect();
        el.setPointerCapture = () => {};
        let [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        const send = (type) =>
            el.dispatchEvent(new PointerEvent(type, { pointerId: 7, clientX: x, clientY: y }));
        send('pointerdown');
        const before = Number(el.dataset.drawings);
        const began = performance.now();
        let frames = 0;
        while (performance.now() - began < 2000) {
            await new Promise(requestAnimationFrame);
            x += frames % 120 < 60 ? 9 : -9;
            y += frames % 80 < 40 ? 5 : -5;
            send('pointermove');
            frames++;
        }
        send('pointerup');
        return {
            frames,
            perSecond: (frames * 1000) / (performance.now() - began),
            drawings: Number(el.dataset.drawings) - before,
        };
    });

async function thousands(world) {
    for (let group = 0; group < 50; group++)
        await world.api('POST', '/v1/tasks', {
            group: `batch-${group}`,
            tasks: Array.from({ length: NODES / 50 }, (_, n) =>
                task(`step ${n} of batch ${group}`, {
                    name: `n${n}`,
                    depends_on: n % 25 ? [`n${n - 1 - (n % 3 && n % 25 > 3 ? 2 : 0)}`] : [],
                }),
            ),
        });
}

export async function graphs() {
    const names = {
        stays: 'the graph stays where it is when tasks come, and when their states change',
        fold: 'a group of the graph folds into one node, and unfolds',
        find: 'find moves the graph to a hit and steps through the hits',
        fit: 'the graph is fitted only by its button',
        pinch: 'two fingers zoom the graph',
        many: `a graph of ${NODES} tasks moves with the pointer`,
    };
    if (!Object.values(names).some(chosen)) return;
    const world = await World.start();
    try {
        const first = await small(world);
        const page = await open(world, '#/graph');
        await check(names.stays, async () => {
            await graph(page, 7);
            await page.getByRole('button', { name: 'zoom in' }).click();
            await settled(page);
            const before = await camera(page);
            const was = await pixels(page);
            const [id] = await world.add(task('a later one', { project: 'docs' }));
            await page.locator('.filters', { hasText: '8 tasks' }).waitFor();
            await settled(page);
            equal(await camera(page), before, 'the camera after a task was added');
            await world.api('POST', '/v1/tasks/cancel', { tasks: [id] });
            await world.state(id, 'canceled');
            await world.api('POST', '/v1/tasks/delete', { tasks: [id] });
            await page.locator('.filters', { hasText: '7 tasks' }).waitFor();
            await until(
                page,
                'the same picture as before',
                (wanted) => document.querySelector('.graph-canvas canvas').toDataURL() === wanted,
                was,
            );
            await world.add(task('three', { project: 'api', depends_on: [first] }));
            await page.locator('.filters', { hasText: '8 tasks' }).waitFor();
            await world.api('POST', '/v1/tasks/release', { tasks: [first] });
            await world.state(first, 'done');
            await settled(page);
            equal(JSON.parse(await camera(page)).scale, JSON.parse(before).scale, 'the scale');
        });
        await check(names.fold, async () => {
            await graph(page, 8, '?state=all');
            const nodes = (n) =>
                until(
                    page,
                    `${n} nodes`,
                    (wanted) =>
                        document
                            .querySelector('.graph-canvas canvas')
                            ?.getAttribute('aria-label')
                            .startsWith(`graph of ${wanted} nodes`),
                    n,
                );
            await nodes(8);
            await page.getByLabel('fold', { exact: true }).selectOption('groups');
            await nodes(6);
            await page.getByLabel('find in the graph').fill('descent');
            await page.locator('.find', { hasText: '1 of 1' }).waitFor();
            const { x, y, width, height } = await page.locator(CANVAS).boundingBox();
            await page.mouse.click(x + width / 2, y + height / 2);
            await page.locator('.legend', { hasText: '3 tasks' }).waitFor();
            await page.getByRole('button', { name: 'unfold' }).click();
            await nodes(8);
            await page.getByLabel('fold', { exact: true }).selectOption('none');
        });
        await check(names.find, async () => {
            await graph(page, 8, '?state=all');
            const field = page.getByLabel('find in the graph');
            await field.fill('e');
            const hits = page.locator('.find [role=status]');
            await hits.filter({ hasText: /^1 of \d/ }).waitFor();
            await settled(page);
            const first = await camera(page);
            await field.press('Enter');
            await hits.filter({ hasText: /^2 of \d/ }).waitFor();
            await until(
                page,
                'the view moves to the second hit',
                (was) => document.querySelector('.graph-canvas canvas').dataset.camera !== was,
                first,
            );
            await field.press('Shift+Enter');
            await hits.filter({ hasText: /^1 of \d/ }).waitFor();
            await until(
                page,
                'the view moves back to the first',
                (was) => document.querySelector('.graph-canvas canvas').dataset.camera === was,
                first,
            );
            await field.fill('nothing has this');
            await hits.filter({ hasText: 'no match' }).waitFor();
            await field.fill('');
        });
        await check(names.fit, async () => {
            await graph(page, 8, '?state=all');
            await page.locator('main').focus();
            await page.keyboard.press('ArrowRight');
            await settled(page);
            const moved = await camera(page);
            await page.getByRole('button', { name: 'fit' }).click();
            await until(
                page,
                'it is fitted',
                (was) => document.querySelector('.graph-canvas canvas').dataset.camera !== was,
                moved,
            );
        });
        await check(names.pinch, async () => {
            const phone = await open(world, '#/graph', { width: 360, height: 780, touch: true });
            await settled(phone);
            const scale = async () => JSON.parse(await camera(phone)).scale;
            const before = await scale();
            await pinch(phone, CANVAS, 60, 180);
            await settled(phone);
            const near = await scale();
            ok(near > 2 * before, `the graph is closer: ${before} to ${near}`);
            await pinch(phone, CANVAS, 180, 60);
            await settled(phone);
            ok((await scale()) < near / 2, 'the graph is farther away');
        });
        await check(names.many, async () => {
            await thousands(world);
            const began = Date.now();
            const large = await open(world, '#/graph');
            await graph(large, NODES);
            report(`the graph of ${NODES} tasks, laid out and drawn`, `${Date.now() - began} ms`);
            for (const what of ['far away', 'close by']) {
                const { frames, perSecond, drawings } = await drag(large);
                report(
                    `the graph of ${NODES} tasks is dragged, ${what}`,
                    `${perSecond.toFixed(0)} frames per second`,
                );
                // On any machine: most frames move a kept picture.
                ok(drawings * 5 < frames, `${drawings} drawings in ${frames} frames`);
                for (let n = 0; n < 9; n++)
                    await large.getByRole('button', { name: 'zoom in' }).click();
                await settled(large);
            }
            await close(large);
        });
        await close(page);
    } finally {
        world.stop();
    }
}
