// test_lists.mjs: tasks are chosen by mouse, by touch, in a range and all at once; lists are sorted by the daemon; columns and
// filters are the browser's own; the add form does not drop what was typed.
import { check, equal, ok, open, says, screen, tap, to, until } from './kit.mjs';
import { World } from './world.mjs';

export const CONFIG = `
limits: {runs: 1}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
projects: {web: {}, api: {}}
kinds: {plan: {}}
`;
const TASKS = 40;

const shown = (page) =>
    page.evaluate(() =>
        [...document.querySelectorAll('.card.line:not(.gap) .id')].map((one) => one.textContent),
    );

export async function night(world) {
    return world.add(
        ...Array.from({ length: TASKS }, (_, n) => ({
            title: `task ${n + 1} with a title that is as long as titles are`,
            project: n % 2 ? 'web' : 'api',
            priority: 100 - n,
            hold: true,
            argv: ['true'],
        })),
    );
}

export async function lists() {
    const world = await World.start({ config: CONFIG });
    const count = async (state) => (await world.api('GET', '/v1/status')).counts[state] ?? 0;
    try {
        const ids = await night(world);
        await world.api('POST', '/v1/pause');

        await check(
            'tasks are chosen by mouse, and a range with Shift; one action on all is one step that is undone',
            async () => {
                const page = await open(world, '#/board?by=list&state=held');
                const box = (n) =>
                    page.getByRole('checkbox', { name: `choose ${ids[n]}`, exact: true });
                await box(TASKS - 1).click();
                await page.getByText('1 chosen').waitFor();
                ok(await box(TASKS - 1).isChecked(), 'the box is checked');
                await box(TASKS - 5).click({ modifiers: ['Shift'] });
                await page.getByText('5 chosen').waitFor();
                const requests = [];
                page.on('request', (request) => {
                    if (request.method() === 'POST') requests.push(new URL(request.url()).pathname);
                });
                await says(page, '5 tasks: released', () =>
                    page.getByRole('toolbar').getByRole('button', { name: 'Release' }).click(),
                );
                equal(requests.join(' '), '/v1/tasks/release', 'the requests');
                equal(await count('held'), TASKS - 5, 'held tasks');
                await says(page, '5 tasks: as before', () =>
                    page.getByRole('button', { name: 'Undo' }).click(),
                );
                equal(await count('held'), TASKS, 'held tasks, as before');
            },
        );

        await check(
            'all that match are chosen with one click, and the daemon says what fits all of them',
            async () => {
                const page = await open(world, '#/board?by=list&state=held&project=web');
                await page.getByLabel('choose all that match').check();
                await page.getByText(`${TASKS / 2} chosen`).waitFor();
                await says(page, `${TASKS / 2} tasks: released`, () =>
                    page.getByRole('toolbar').getByRole('button', { name: 'Release' }).click(),
                );
                equal(await count('held'), TASKS / 2, 'held tasks');
                await page.keyboard.press('u');
                await until(
                    page,
                    'they are held again',
                    (n) => document.querySelectorAll('.card.line:not(.gap)').length === n,
                    TASKS / 2,
                );
                equal(await count('held'), TASKS, 'held tasks, as before');
            },
        );

        await check('what cannot be undone is asked for once, whatever the number', async () => {
            const [one, two] = await world.add(
                { hold: true, kind: 'plan', argv: ['true'] },
                { hold: true, kind: 'plan', argv: ['true'] },
            );
            const page = await open(world, '#/board?by=list&kind=plan');
            await page.getByLabel('choose all that match').check();
            await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click();
            await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
            await world.state(one, 'canceled');
            await world.state(two, 'canceled');
            equal(await page.getByRole('dialog').count(), 0, 'dialogs');
        });

        await check('the head of the list sorts: up, down, and as before', async () => {
            const page = await open(world, '#/board?by=list&state=held');
            const sort = page.getByRole('button', { name: 'sort by priority' });
            await sort.click();
            await until(
                page,
                'the lowest priority is first',
                (id) => document.querySelector('.card.line .id')?.textContent === id,
                ids[TASKS - 1],
            );
            await sort.click();
            await until(
                page,
                'the highest priority is first',
                (id) => document.querySelector('.card.line .id')?.textContent === id,
                ids[0],
            );
            ok(
                (await page.evaluate(() => location.hash)).includes('sort=priority&dir=down'),
                'it is in the address',
            );
            const [first] = await shown(page);
            await page.reload();
            await until(
                page,
                'it is sorted after a reload',
                (id) => document.querySelector('.card.line .id')?.textContent === id,
                first,
            );
            await sort.click();
            ok(!(await page.evaluate(() => location.hash)).includes('sort='), 'not sorted');
        });

        await check('columns and saved filters stay in the browser', async () => {
            const page = await open(world, '#/board?by=list&state=held&project=web');
            await page.getByText('Columns', { exact: true }).click();
            await page.getByLabel('Kind', { exact: true }).check();
            await page.locator('.list-head .c-kind').waitFor();
            await page.getByRole('button', { name: 'Save filter' }).click();
            await page.getByRole('dialog').getByRole('textbox').fill('held on web');
            await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
            await to(page, '#/board');
            await page.reload();
            await page.getByRole('button', { name: 'held on web', exact: true }).click();
            await page.locator('.list-head .c-kind').waitFor();
            ok((await page.evaluate(() => location.hash)).includes('project=web'), 'its address');
            await page.getByRole('button', { name: 'remove the filter held on web' }).click();
            await page
                .getByRole('button', { name: 'held on web', exact: true })
                .waitFor({ state: 'detached' });
        });

        await check(
            'tasks are chosen by touch on a phone of 360 px, with targets of 44 px',
            async () => {
                const page = await open(world, '#/board?by=list&state=held', {
                    width: 360,
                    height: 740,
                    touch: true,
                });
                const box = page.locator('.card.line .pick').first();
                await box.waitFor();
                const { width, height } = await box.boundingBox();
                ok(width >= 44 && height >= 44, `the target is ${width} x ${height}`);
                await tap(box);
                await page.getByText('1 chosen').waitFor();
                const small = await page.evaluate(() =>
                    [...document.querySelectorAll('.bulk button')]
                        .filter((one) => one.getBoundingClientRect().height < 44)
                        .map((one) => one.textContent),
                );
                equal(small.join(), '', 'buttons that are too small');
                ok(
                    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
                    'nothing scrolls sideways',
                );
            },
        );

        await check('a card on the board shows all of its three lines', async () => {
            const page = await open(world, '#/board');
            await page.locator('.card:not(.gap)').first().waitFor();
            for (const width of [1280, 360]) {
                await screen(page, { width });
                const cut = await page.evaluate(() =>
                    [...document.querySelectorAll('.card:not(.gap)')]
                        .filter((card) =>
                            [...card.children].some(
                                (line) =>
                                    line.getBoundingClientRect().bottom >
                                        card.getBoundingClientRect().bottom ||
                                    (line.matches('.one') &&
                                        line.scrollHeight > line.clientHeight + 1),
                            ),
                        )
                        .map((card) => card.textContent),
                );
                equal(cut.slice(0, 2).join(), '', `cut cards at ${width} px`);
            }
        });

        await check('Escape in the add form asks before what was typed is dropped', async () => {
            const page = await open(world);
            await page.getByRole('button', { name: 'Add task' }).click();
            const dialog = page.getByRole('dialog', { name: 'Add', exact: true });
            await dialog.waitFor();
            await page.keyboard.press('Escape');
            await dialog.waitFor({ state: 'detached' });
            await page.getByRole('button', { name: 'Add task' }).click();
            const field = dialog.getByRole('textbox').first();
            await field.fill('a long prompt');
            const question = page.getByRole('dialog', { name: 'Discard what you typed?' });
            for (let n = 0; n < 3; n++) {
                await page.keyboard.press('Escape');
                await question.waitFor();
                await page.keyboard.press('Escape');
                await question.waitFor({ state: 'detached' });
                equal(await field.inputValue(), 'a long prompt', 'what was typed');
                ok(
                    await field.evaluate((one) => one === document.activeElement),
                    'the focus is back',
                );
            }
            await page.keyboard.press('Escape');
            await question.getByRole('button', { name: 'Discard' }).click();
            await dialog.waitFor({ state: 'detached' });
        });
    } finally {
        world.stop();
    }
}
