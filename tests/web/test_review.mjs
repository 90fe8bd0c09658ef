// test_review.mjs: the review of a change: its lines, comments that become feedback, and the decision, by mouse, keys and touch.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, equal, ok, open, report, says, screen, to, until } from './kit.mjs';
import { accessible } from './judge.mjs';
import { World } from './world.mjs';

const numbered = (n, word = 'line') =>
    Array.from({ length: n }, (_, i) => `${word} ${i + 1}\n`).join('');

/** The settings of a daemon whose tasks work in worktrees of a repository. */
export function repository(home) {
    const repo = path.join(home, 'repo');
    fs.mkdirSync(path.join(repo, 'src'), { recursive: true });
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const git = (...words) =>
        execFileSync('git', ['-C', repo, '-c', 'user.name=t', '-c', 'user.email=t@t', ...words], {
            env,
            stdio: 'ignore',
        });
    git('init', '-q', '-b', 'main');
    fs.writeFileSync(path.join(repo, 'src/parser.c'), numbered(100));
    fs.writeFileSync(path.join(repo, 'README.md'), 'A parser.\n');
    git('add', '-A');
    git('commit', '-qm', 'begin');
    return `projects: {tree: {path: ${repo}, workspace_mode: worktree, merge: none}}\ntasks.sandbox: none\nhost: {disk_free_gb: 0, memory_free_mb: 0}\n`;
}

const SCRIPT =
    'cat "$SLUICE_FEEDBACK" 2>/dev/null; ' +
    'sed -i "50s/.*/line fifty of parser/;80d" src/parser.c; echo "<b>new</b> file" >src/lexer.c; ' +
    'echo "A parser and a lexer." >README.md; [ -z "$HUGE" ] || seq 1 60000 | sed "s/^/generated /" >src/huge.c';

async function reviewable(world, env = {}) {
    const [id] = await world.add({
        project: 'tree',
        title: 'add a lexer',
        review: true,
        retries: 0,
        env,
        argv: ['sh', '-c', SCRIPT],
    });
    await world.state(id, 'held');
    return id;
}

const file = (page, name) => page.locator(`.review-file[aria-label="${name}"]`);
const rejection = (world, id) =>
    world.until('the rejection is an event', async () => {
        const { items } = await world.api('GET', `/v1/events?task=${id}&limit=100`);
        return items.find((event) => event.kind === 'task.rejected')?.data.reason;
    });

export async function reviews() {
    let started;
    const home = async () => (started ??= await World.start({ config: repository }));
    await check(
        'review: the change comes first, with its files and both line numbers',
        async () => {
            const world = await home();
            const id = await reviewable(world);
            const page = await open(world, `#/task/${id}`);
            await page.locator('.review-file .diff-line').first().waitFor();
            const order = await page.evaluate(() =>
                [...document.querySelectorAll('.review, section[aria-label=Log]')].map(
                    (el) => el.className.split(' ')[0],
                ),
            );
            equal(order[0], 'review', 'what comes first');
            equal(
                (await page.locator('.review-tree button').allInnerTexts())
                    .map((one) => one.replace(/\s+/g, ' ').trim())
                    .join(' | '),
                'README.md +1 −1 | lexer.c +1 −0 | parser.c +1 −2',
                'the files with their counts',
            );
            const cells = (words) =>
                file(page, 'src/parser.c')
                    .locator('.diff-line', { hasText: words })
                    .first()
                    .evaluate((row) =>
                        [...row.querySelectorAll('.diff-n span')]
                            .map((n) => n.textContent)
                            .join('/'),
                    );
            equal(await cells('line fifty'), '/50', 'numbers of an added line');
            equal(await cells('line 80'), '80/', 'numbers of a removed line');
            equal(await cells('line 81'), '81/80', 'numbers of a line that stays');
            const marked = file(page, 'src/parser.c').locator('.diff-added .diff-word');
            equal(await marked.innerText(), 'fifty of parser', 'the words that differ');
            ok(
                (await file(page, 'src/lexer.c').innerText()).includes('<b>new</b> file'),
                'a line is text',
            );
            equal(
                await page.getByText('line 60', { exact: true }).count(),
                0,
                'lines far from a change',
            );
            await file(page, 'src/parser.c').getByRole('button', { name: 'more around' }).click();
            await file(page, 'src/parser.c').getByText('line 60', { exact: true }).waitFor();
            await file(page, 'src/parser.c').getByRole('button', { name: 'all lines' }).click();
            await file(page, 'src/parser.c').getByText('line 1', { exact: true }).waitFor();
            const fold = file(page, 'README.md').locator('.diff-file');
            await fold.click();
            equal(
                await file(page, 'README.md').locator('.diff-line').count(),
                0,
                'lines of a folded file',
            );
            for (const dark of [false, true])
                for (const size of [{}, { width: 360, height: 740 }]) {
                    await screen(page, { ...size, dark });
                    await accessible(page);
                }
        },
    );

    await check(
        'review: comments on lines are the feedback of a rejection, and outlive a reload',
        async () => {
            const world = await home();
            const id = await reviewable(world);
            const page = await open(world, `#/task/${id}`);
            const on = (name, words) =>
                file(page, name)
                    .locator('.diff-line', { hasText: words })
                    .first()
                    .locator('button');
            await on('src/parser.c', 'line fifty').click();
            await page.keyboard.type('Why a word?');
            await page.getByRole('button', { name: 'Done' }).click();
            await on('src/parser.c', 'line 80').click();
            await page.keyboard.type('Still needed.');
            await page.keyboard.press('Control+Enter');
            await page.getByLabel('On the change as a whole').fill('Nearly there.');
            await page.reload();
            await page.locator('.review-comment', { hasText: 'Why a word?' }).waitFor();
            await accessible(page);
            await page.getByRole('button', { name: 'Reject with 2 comments' }).click();
            const wanted =
                'Nearly there.\n\nsrc/parser.c:50\n> line fifty of parser\nWhy a word?\n\n' +
                'src/parser.c:80 (a line that was removed)\n> line 80\nStill needed.';
            equal(
                await page.getByRole('dialog').getByRole('textbox').inputValue(),
                wanted,
                'the feedback, before it is sent',
            );
            await accessible(page, 'dialog');
            await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
            equal(await rejection(world, id), wanted, 'the feedback');
            await world.until('the next iteration', async () => {
                const task = await world.api('GET', `/v1/tasks/${id}`);
                return task.iteration === 2 && task.state === 'held';
            });
            await page.locator('.log', { hasText: 'Still needed.' }).waitFor();
            equal(await page.locator('.review-comment').count(), 0, 'comments that are left');
        },
    );

    await check('review: it is done by keys alone', async () => {
        const world = await home();
        const id = await reviewable(world);
        const page = await open(world, `#/task/${id}`);
        await page.locator('.review-file .diff-line').first().waitFor();
        const here = () => page.locator('.diff-line.here');
        await page.keyboard.press(']');
        await here().waitFor();
        ok((await here().innerText()).includes('A parser.'), 'the first change of the first file');
        await page.keyboard.press(']');
        await until(page, 'the next file', () =>
            document.querySelector('.diff-line.here')?.textContent.includes('new'),
        );
        await page.keyboard.press('J');
        await page.keyboard.press('j');
        await until(page, 'the line after the first change of the file after that', () =>
            document.querySelector('.diff-line.here')?.textContent.includes('line fifty'),
        );
        await page.keyboard.press('c');
        await page.locator('.review-comment textarea:focus').waitFor();
        await page.keyboard.type('Not a word, please.');
        await page.keyboard.press('Control+Enter');
        await page.keyboard.press('T');
        const dialog = page.getByRole('dialog');
        equal(await dialog.locator('code').innerText(), `sluice take ${id}`, 'the command');
        await dialog.getByRole('button', { name: 'Copy' }).waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        await page.keyboard.press('R');
        await dialog.getByRole('textbox').waitFor();
        await page.keyboard.press('Control+Enter');
        equal(
            await rejection(world, id),
            'src/parser.c:50\n> line fifty of parser\nNot a word, please.',
            'the feedback',
        );
        const other = await reviewable(world);
        await to(page, `#/task/${other}`);
        await page.locator('.review-file .diff-line').first().waitFor();
        await says(page, 'approved', () => page.keyboard.press('A'));
        await world.state(other, 'done');
    });

    await check('review: a phone comments and rejects by touch', async () => {
        const world = await home();
        const id = await reviewable(world);
        const page = await open(world, `#/task/${id}`, { width: 360, height: 740 });
        const number = file(page, 'README.md').locator('.diff-line.diff-added button');
        await number.click();
        await page.locator('.review-comment textarea').fill('One sentence.');
        await page.getByRole('button', { name: 'Done' }).click();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        equal(wide, 0, 'the page is wider than the screen by');
        await page.getByRole('button', { name: 'Reject with 1 comment' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
        ok((await rejection(world, id)).includes('README.md:1\n'), 'the feedback');
    });

    await check('review: a change of 60,000 lines is read in parts', async () => {
        const world = await home();
        const id = await reviewable(world, { HUGE: '1' });
        const page = await open(world, `#/task/${id}`);
        const began = Date.now();
        await page.locator('.review-file .diff-line').first().waitFor();
        report('a change of 60,000 lines is shown', `${Date.now() - began} ms`);
        const huge = file(page, 'src/huge.c');
        equal(await huge.locator('.diff-line').count(), 0, 'lines of a large file, at first');
        await huge.locator('.diff-file').click();
        const load = huge.getByRole('button', { name: 'Load this file' });
        await load.or(huge.locator('.diff-line').first()).waitFor();
        if (await load.count()) await load.click();
        await huge.getByText('generated 1', { exact: true }).waitFor();
        const lines = await page.locator('.diff-line').count();
        ok(lines < 2000, `${lines} lines exist`);
        await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight / 2));
        await until(page, 'lines in the middle', () =>
            [...document.querySelectorAll('.diff-line')].some((row) =>
                /generated [1-9][0-9]{4}$/.test(row.textContent),
            ),
        );
        ok((await page.locator('.diff-line').count()) < 2000, 'the others are gone again');
        world.stop();
    });
}
