// test_walk.mjs: once through the dashboard, as a person uses it: the part of these tests that `make test` also runs in
// Firefox. It finds things by roles and texts, not by how a view is built.
import { execFileSync } from 'node:child_process';
import { check, chosen, close, drawn, equal, ok, open, report, to } from './kit.mjs';
import { patience } from './patience.mjs';
import { World } from './world.mjs';

const CONFIG = 'tasks.sandbox: none\nhost: {disk_free_gb: 0, memory_free_mb: 0}\n';
const VIEWS = [
    'now',
    'board',
    'graph',
    'timeline',
    'schedules',
    'share',
    'cost',
    'whatif',
    'events',
];

const button = (where, name) => where.getByRole('button', { name, exact: true }).first();

export async function walk() {
    if (!chosen('walk: ')) return;
    const world = await World.start({ config: CONFIG });
    const link = /http:\/\/\S+#t=\S+/.exec(world.sluice('dash', '--print'))[0];
    const page = await open({ url: '' }, link, { fresh: true });
    const home = new URL(link).origin + '/';
    const connected = () => page.locator('.connected.live').waitFor();

    await check(
        'walk: the link of `sluice dash` opens the page; a new tab needs no other link',
        async () => {
            await connected();
            const other = await page.context().newPage();
            other.setDefaultTimeout(patience);
            await other.goto(`${home}#/board`);
            await other.locator('.connected.live').waitFor();
            await other.close();
        },
    );

    await check('walk: what is added elsewhere appears at once', async () => {
        await to(page, '#/board');
        await drawn(page);
        const began = Date.now();
        await world.add({ title: 'added elsewhere', argv: ['true'], hold: true });
        await page.getByText('added elsewhere').first().waitFor();
        report('walk: a task added elsewhere is on the board', `${Date.now() - began} ms`);
    });

    await check('walk: the log of a live run goes on by itself', async () => {
        const fifo = `${world.home}/fifo`;
        execFileSync('mkfifo', [fifo]);
        const [id] = await world.add({
            title: 'prints',
            argv: [
                'sh',
                '-c',
                'printf "line-%s\n" one; read x <"$0"; printf "line-%s\n" two',
                fifo,
            ],
        });
        await world.state(id, 'running');
        await to(page, `#/task/${id}`);
        await page.getByText('line-one').first().waitFor();
        execFileSync('sh', ['-c', `echo >'${fifo}'`], { timeout: patience });
        await page.getByText('line-two').first().waitFor();
    });

    await check('walk: what waits for review is approved', async () => {
        const [id] = await world.add({ title: 'to be approved', argv: ['true'], review: true });
        await world.state(id, 'held');
        await to(page, `#/task/${id}`);
        await button(page.locator('main'), 'Approve').click();
        await world.state(id, 'done');
        await page.locator('main .state', { hasText: 'done' }).first().waitFor();
    });

    await check('walk: a task is added from the page, and its output is shown', async () => {
        await page.keyboard.press('a');
        const dialog = page.getByRole('dialog');
        await button(dialog, 'Command').click();
        await dialog
            .getByRole('textbox', { name: 'Command, given to sh -c' })
            .fill('printf "%s-%s\\n" from page');
        await button(dialog, 'Add').click();
        await page.getByText('from-page').first().waitFor();
    });

    await check('walk: every view opens', async () => {
        for (const view of VIEWS) {
            await to(page, `#/${view}`);
            await drawn(page);
            ok((await page.locator('main').innerText()).length > 0, `${view} shows something`);
        }
    });

    await check('walk: the page outlives its daemon, without a reload', async () => {
        await page.evaluate(() => {
            window.mine = 'not reloaded';
        });
        await to(page, '#/board');
        await drawn(page);
        world.kill();
        await page.locator('.connected.live').waitFor({ state: 'detached' });
        world.up();
        await connected();
        await world.add({ title: 'after the restart', argv: ['true'], hold: true });
        await page.getByText('after the restart').first().waitFor();
        equal(await page.evaluate(() => window.mine), 'not reloaded', 'the page');
    });

    await close(page);
    world.stop();
}
