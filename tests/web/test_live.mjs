// test_live.mjs: the page follows the daemon without a reload, performs actions, and shows why one failed.
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { check, close, equal, ok, open, report, says, text, to, until } from './kit.mjs';
import { patience } from './patience.mjs';

export async function live(world, night) {
    const page = await open(world, '#/board');
    await page.evaluate(() => {
        window.mine = 'not reloaded';
    });

    await check('a task that is added elsewhere appears at once', async () => {
        await page.locator('section.column[aria-label=Ready] .card').first().waitFor();
        const began = Date.now();
        const [id] = await world.add({
            project: 'web',
            title: 'appears by itself',
            argv: ['true'],
            hold: true,
        });
        await page.locator('section.column[aria-label=Held] .card', { hasText: id }).waitFor();
        report('a task added elsewhere is on the board', `${Date.now() - began} ms`);
        await world.api('POST', '/v1/tasks/cancel', { tasks: [id] });
        await page
            .locator('section.column[aria-label=Held] .card', { hasText: id })
            .waitFor({ state: 'detached' });
    });

    await check('the log of a live run goes on by itself', async () => {
        execFileSync('mkfifo', [`${world.home}/fifo`]);
        const [id] = await world.add({
            title: 'prints',
            priority: 1,
            argv: ['sh', '-c', 'echo one; read line <"$0"; echo two', `${world.home}/fifo`],
        });
        await world.state(id, 'running');
        await to(page, `#/task/${id}`);
        await page.locator('.log-line', { hasText: 'one' }).waitFor();
        execFileSync('sh', ['-c', `echo >${world.home}/fifo`], { timeout: patience });
        await page.locator('.log-line', { hasText: 'two' }).waitFor();
        await page.locator('.state', { hasText: 'done' }).waitFor();
    });

    await check('hold, release and promote work and are shown', async () => {
        const { items } = await world.api('GET', '/v1/tasks?state=ready&order=queue&limit=50');
        // A task whose account is closed starts later, wherever it is in the queue.
        const { id } = items.filter(({ gate }) => gate !== 'limiter').pop();
        await to(page, `#/task/${id}`);
        await page.getByRole('button', { name: 'Hold' }).click();
        await page.locator('.state', { hasText: 'held manually' }).waitFor();
        equal((await world.api('GET', `/v1/tasks/${id}`)).state, 'held', 'the task');
        await page.getByRole('button', { name: 'Release' }).click();
        await page.locator('.state', { hasText: 'ready' }).waitFor();
        await says(page, 'moved to the front', () =>
            page.getByRole('button', { name: 'To the front' }).click(),
        );
        const project = id.replace(/-[0-9]+$/, ''); // another project may be first by its share
        equal(
            (await world.api('GET', `/v1/tasks?state=ready&order=queue&limit=1&project=${project}`))
                .items[0].id,
            id,
            'the first in the queue',
        );
    });

    await check('cancel asks first, and no means no', async () => {
        const [id] = await world.add({
            title: 'to be canceled',
            project: 'docs',
            argv: ['true'],
            hold: true,
        });
        await to(page, `#/task/${id}`);
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('button', { name: 'No, leave it' }).click();
        equal((await world.api('GET', `/v1/tasks/${id}`)).state, 'held', 'the task');
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
        await page.locator('.state', { hasText: 'canceled' }).waitFor();
    });

    await check(
        'what waits for review is rejected with a reason, which the next iteration reads',
        async () => {
            await to(page, `#/task/${night.review}`);
            await page.getByRole('button', { name: 'Reject' }).click();
            await page.getByRole('dialog').getByRole('textbox').fill('too long by half');
            await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
            await world.until('the rejection is an event', async () =>
                (await world.api('GET', `/v1/events?task=${night.review}&limit=50`)).items.some(
                    (event) =>
                        event.kind === 'task.rejected' && event.data.reason === 'too long by half',
                ),
            );
        },
    );

    await check('what its agent was denied is allowed, after the rule was shown', async () => {
        const events = [
            {
                type: 'system',
                subtype: 'init',
                session_id: '01a1e56c-0000-7000-8000-000000000001',
                model: 'stub',
            },
            {
                type: 'result',
                subtype: 'success',
                is_error: false,
                result: 'I may not.',
                session_id: '01a1e56c-0000-7000-8000-000000000001',
                permission_denials: [
                    { tool_name: 'Bash', tool_use_id: 't', tool_input: { command: 'git push' } },
                ],
            },
        ];
        const bin = path.join(world.home, 'denied');
        await mkdir(bin);
        await writeFile(
            path.join(bin, 'claude'),
            `#!/bin/sh\n${events.map((event) => `echo '${JSON.stringify(event)}'\n`).join('')}`,
            { mode: 0o755 },
        );
        const [id] = await world.add({
            title: 'to be allowed',
            project: 'docs',
            agent: 'strict',
            prompt: 'Push it.',
            env: { PATH: `${bin}:/usr/bin:/bin` },
        });
        await world.state(id, 'held');
        const rule = (await world.api('GET', `/v1/tasks/${id}`)).denied.allow;
        await to(page, `#/task/${id}`);
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.getByRole('button', { name: 'No, leave it' }).click();
        equal((await world.api('GET', `/v1/tasks/${id}`)).state, 'held', 'the task');
        await page.getByRole('button', { name: 'Allow' }).click();
        const dialog = page.getByRole('dialog');
        ok((await dialog.innerText()).includes(rule), `the dialog names ${rule}`);
        await says(page, 'allowed, and queued again', () =>
            dialog.getByRole('button', { name: 'Allow' }).click(),
        );
        await world.until(
            'a second run',
            async () => (await world.api('GET', `/v1/tasks/${id}`)).attempt >= 2,
        );
    });

    await check(
        'a task is added from the page; a refusal is a sentence and keeps what was written',
        async () => {
            await page.keyboard.press('a');
            const dialog = page.getByRole('dialog');
            await dialog.getByRole('button', { name: 'Command' }).click();
            await dialog
                .getByRole('textbox', { name: 'Command, given to sh -c' })
                .fill('echo from the page');
            await dialog.getByLabel('After (ids)').fill('web-99999');
            await dialog.getByRole('button', { name: 'Add', exact: true }).click();
            await dialog.getByRole('alert').waitFor();
            ok(
                (await dialog.getByRole('alert').innerText()).includes('web-99999'),
                'the sentence names it',
            );
            equal(
                await dialog.getByRole('textbox', { name: 'Command, given to sh -c' }).inputValue(),
                'echo from the page',
                'what was written',
            );
            await dialog.getByLabel('After (ids)').fill('');
            await dialog.getByRole('button', { name: 'Add', exact: true }).click();
            await page.locator('.log-line', { hasText: 'from the page' }).waitFor();
        },
    );

    await check('a batch is added whole: one task in each line', async () => {
        await page.keyboard.press('a');
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'One per line' }).click();
        await dialog
            .getByRole('textbox', { name: 'Each line becomes a task' })
            .fill('first of three\nsecond of three\nthird of three');
        await dialog.getByLabel('Agent').selectOption('claude');
        await dialog.getByLabel('hold').check();
        await says(page, '3 tasks added', () =>
            dialog.getByRole('button', { name: 'Add', exact: true }).click(),
        );
        const held = await world.api('GET', '/v1/tasks?state=held&limit=50');
        equal(
            held.items.filter((task) => /of three$/.test(task.title)).length,
            3,
            'tasks that were added',
        );
        await world.api('POST', '/v1/tasks/cancel', {
            tasks: held.items.filter((task) => /of three$/.test(task.title)).map((task) => task.id),
        });
    });

    await check('everything can be done with keys', async () => {
        await to(page, '#/now');
        // The second key counts for a moment only, however slow this machine is.
        await page.evaluate(() => {
            const at = Date.now();
            window.now = Date.now;
            Date.now = () => at;
        });
        await page.keyboard.press('g');
        await page.keyboard.press('b');
        await page.evaluate(() => {
            Date.now = window.now;
        });
        await page.locator('section.column[aria-label=Ready] .card').first().waitFor();
        await page.keyboard.press('l');
        await page.keyboard.press('j');
        await page.keyboard.press('j');
        await page.keyboard.press('k');
        const id = await text(page, '.card.here .id');
        await page.keyboard.press('x');
        await page.getByText('1 chosen').waitFor();
        await page.keyboard.press('Enter');
        await page.locator('.crumb', { hasText: id }).waitFor();
        await page.keyboard.press('Escape');
        await page.locator('section.column').first().waitFor();
        await page.keyboard.press('/');
        await until(
            page,
            'the search has the focus',
            () => document.activeElement?.getAttribute('type') === 'search',
        );
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
        await to(page, '#/now');
        await page.locator('.rows.running li').first().waitFor();
        await page.locator('.brand').focus();
        for (const name of ['Now', 'Board']) {
            await page.keyboard.press('Tab');
            const seen = await page.evaluate(() => [
                document.activeElement.textContent,
                getComputedStyle(document.activeElement).outlineStyle,
            ]);
            ok(
                seen[0].startsWith(name) && seen[1] === 'solid',
                `the focus is to be seen on ${name}: ${seen}`,
            );
        }
    });

    await check(
        'the daemon is killed and comes back: the page waits, keeps what it shows, and goes on without a reload',
        async () => {
            await to(page, '#/now');
            await page.locator('.rows.running li').first().waitFor();
            world.kill();
            await page.getByText('no daemon; trying again').waitFor();
            ok(
                (await page.locator('.rows.running li').count()) > 0,
                'what was there is still shown',
            );
            const began = Date.now();
            world.up();
            await page.locator('.connected.live').waitFor();
            report('live again after the daemon came back', `${Date.now() - began} ms`);
            const [id] = await world.add({
                title: 'after the restart',
                argv: ['true'],
                hold: true,
            });
            await to(page, '#/board');
            await page.locator('section.column[aria-label=Held] .card', { hasText: id }).waitFor();
            equal(await page.evaluate(() => window.mine), 'not reloaded', 'the page');
        },
    );

    await check('a key that has ended is said in words, with what to do', async () => {
        const other = await open(world, '#/now');
        await other.route('**/v1/**', (route) =>
            route.fulfill({
                status: 401,
                contentType: 'application/json',
                body: '{"error":{"code":"unauthorized","message":"no token"}}',
            }),
        );
        await to(other, '#/events');
        await other.getByText('Your session has ended.').waitFor();
        await other.getByText('sluice dash').waitFor();
    });

    await check('colours follow the system, and the switch', async () => {
        const dark = await open(world, '#/now', { dark: true });
        const shade = () => dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
        equal(await shade(), 'rgb(15, 19, 22)', 'dark by the system');
        await dark.getByRole('button', { name: /colours: system/ }).click();
        equal(await shade(), 'rgb(246, 245, 241)', 'light by the switch');
    });
    await close(page);
}
