// test_hostile.mjs: output of agents is shown as text. It executes no script, changes no markup, and cannot hang the page.
import { check, drawn, equal, ok, open, report, to } from './kit.mjs';

const TITLE = '<img src=x onerror="document.title=\'owned\'">';
const TURNED = '\u202egnp.exe \u2066x\u2069';

export async function hostile(world) {
    await check('a hostile title is shown as it is, in every view, and does nothing', async () => {
        const [id] = await world.add({ title: TITLE, argv: ['true'], hold: true });
        const page = await open(world, '#/board');
        const card = page.locator('.card', { hasText: id });
        await card.waitFor();
        const seen = await card.locator('.title').innerText();
        ok(seen.includes('<img src=x onerror='), 'the tag is text');
        for (const view of [`task/${id}`, 'events', 'now', 'graph', 'timeline']) {
            await to(page, `#/${view}`);
            await drawn(page);
            equal(
                await page.locator('main img').count(),
                0,
                `elements that the title made in ${view}`,
            );
        }
        ok(!(await page.title()).includes('owned'), 'nothing ran');
        await world.api('POST', '/v1/tasks/cancel', { tasks: [id] });
    });

    await check('a line of 10 MB and codes for a terminal are harmless in the log', async () => {
        const [id] = await world.add({
            title: 'prints too much',
            priority: 1,
            argv: [
                'sh',
                '-c',
                'printf "\\033[2J\\033]0;title\\007begin \\033[1mbold\\033[0m\\n"; head -c 10485760 /dev/zero | tr "\\0" x; printf "\\nafter <b>it</b>\\n"',
            ],
        });
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}`);
        await page.locator('.log-line').first().waitFor();
        const whole = page.getByRole('button', { name: 'from the beginning' });
        const began = Date.now();
        if (await whole.count()) await whole.click();
        await page.locator('.log-line', { hasText: 'more characters in this line' }).waitFor();
        await page.locator('.log-line', { hasText: 'after <b>it</b>' }).waitFor();
        report('a log with a line of 10 MB is shown', `${Date.now() - began} ms`);
        const longest = await page.evaluate(() =>
            Math.max(
                ...[...document.querySelectorAll('.log-line')].map(
                    (line) => line.textContent.length,
                ),
            ),
        );
        ok(longest < 6000, `the longest line on the page has ${longest} characters`);
        equal(await page.locator('.log-line b').count(), 0, 'elements that the log made');
        const first = await page.locator('.log-line').first().innerText();
        ok(first.includes('begin bold') && !first.includes('[2J'), 'the codes are left out');
        await page.getByRole('button', { name: 'codes' }).click();
        ok(
            (await page.locator('.log-line').first().innerText()).includes('\u241b[2J'),
            'and are shown on request',
        );
    });

    await check('a message and an agent of bad words are text too', async () => {
        const [id] = await world.add({ title: 'talks', argv: ['true'], hold: true });
        await world.api('POST', `/v1/tasks/${id}/messages`, {
            text: `</p><script>document.title="owned"</script>${TURNED}`,
        });
        const page = await open(world, `#/task/${id}`);
        const seen = await page.getByText('</p><script>').innerText();
        ok(seen.includes('\u27e8202E\u27e9') && !seen.includes('\u202e'), 'the override is a sign');
        ok(!(await page.title()).includes('owned'), 'nothing ran');
    });
}
