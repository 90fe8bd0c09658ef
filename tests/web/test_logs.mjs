// test_logs.mjs: logs of runs: colours, order of output and errors, links, outages, and agents' events as a conversation.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, drawn, equal, ok, open, report, saved, screen, text, to, until } from './kit.mjs';
import { accessible, contrasts } from './judge.mjs';
import { patience } from './patience.mjs';

const line = (page, words) => page.locator('.log-line', { hasText: words }).first();
const shown = (page) => page.locator('.log-line .foreign').allInnerTexts();

/** A pipe that a command waits at until it is opened from here. */
function gate(world, name) {
    const file = path.join(world.home, name);
    execFileSync('mkfifo', [file]);
    return {
        file,
        open: () => execFileSync('sh', ['-c', `echo >'${file}'`], { timeout: patience }),
    };
}

/** What a program prints for Claude Code. */
const EVENTS = [
    { type: 'system', subtype: 'init', session_id: 's-1', model: 'claude-test' },
    {
        type: 'assistant',
        message: {
            content: [
                { type: 'thinking', thinking: 'The test fails in the parser.' },
                { type: 'text', text: 'I look at the parser first.' },
                {
                    type: 'tool_use',
                    id: 't1',
                    name: 'Bash',
                    input: { command: 'make test T=parser', description: 'Run the parser tests' },
                },
                { type: 'tool_use', id: 't2', name: 'Read', input: { file_path: 'src/parser.c' } },
            ],
        },
    },
    {
        type: 'user',
        message: {
            content: [
                { type: 'tool_result', tool_use_id: 't2', content: 'int parse(void);' },
                {
                    type: 'tool_result',
                    tool_use_id: 't1',
                    content: 'FAIL: parser <b>line 12</b>',
                    is_error: true,
                },
            ],
        },
    },
    { type: 'assistant', message: { content: [{ type: 'text', text: 'Fixed and committed.' }] } },
    {
        type: 'result',
        subtype: 'success',
        is_error: false,
        result: 'Fixed and committed.',
        num_turns: 3,
    },
];

/** A task whose agent prints these events. */
async function talking(world, more = '') {
    const bin = path.join(world.home, 'talk');
    fs.mkdirSync(bin, { recursive: true });
    const events = path.join(bin, 'events');
    fs.writeFileSync(events, EVENTS.map((event) => `${JSON.stringify(event)}\n`).join(''));
    fs.writeFileSync(
        path.join(bin, 'claude'),
        `#!/bin/sh\ncat >/dev/null\necho "warning from stderr" >&2\n${more}cat '${events}'\n`,
        { mode: 0o755 },
    );
    const [id] = await world.add({
        title: 'an agent that talks',
        agent: 'strict',
        prompt: 'Fix it.',
        retries: 0,
        priority: 1,
        env: { PATH: `${bin}:/usr/bin:/bin` },
    });
    return id;
}

export async function logs(world) {
    await check('log: colours are styles that can be read, and no code is left', async () => {
        const [id] = await world.add({
            title: 'prints colours',
            priority: 1,
            argv: [
                'printf',
                '%b',
                'plain \\033[1;31mred\\033[0m \\033[38;5;226mlemon\\033[0m \\033[38;2;10;10;30mnight\\033[39m ' +
                    '\\033[48;5;19mon blue\\033[0m \\033[7minverse\\033[0m \\033[2mdim\\033[0m ' +
                    '\\033]0;title\\007\\033[2J\\033[10;10Hend\\n\\033[32mgreen goes on\\nhere\\033[0m\\nplain again\\n',
            ],
        });
        await world.state(id, 'done');
        for (const dark of [false, true]) {
            const page = await open(world, `#/task/${id}`, { dark });
            await line(page, 'plain again').waitFor();
            const [first] = await shown(page);
            equal(first, 'plain red lemon night on blue inverse dim end', 'the text of the line');
            const red = page.locator('.log-line .sgr-bold', { hasText: 'red' });
            ok((await red.getAttribute('class')).includes('sgr-ink'), 'red is a colour');
            equal(
                await page.locator('.sgr-ink', { hasText: 'here' }).count(),
                1,
                'a colour goes on',
            );
            equal(
                await page.locator('[class*=sgr-]', { hasText: 'plain again' }).count(),
                0,
                'and ends',
            );
            equal((await page.evaluate(contrasts)).join(', '), '', 'text that is hard to read');
            await page.getByRole('button', { name: 'codes' }).click();
            await line(page, '\u241b[2J').waitFor();
        }
    });

    await check('log: a last line on Now has its colours, and no code', async () => {
        const end = gate(world, 'colours');
        const [id] = await world.add({
            title: 'prints a colour and stays',
            priority: 1,
            argv: [
                'sh',
                '-c',
                'printf "\\033[32mall green\\033[0m\\033[K now\\n"; read x <"$0"',
                end.file,
            ],
        });
        await world.state(id, 'running');
        const page = await open(world, '#/now');
        const lastLine = page.locator('.rows.running li', { hasText: id }).locator('.said');
        await lastLine.getByText('all green now').waitFor();
        equal(await lastLine.innerText(), 'all green now', 'the line');
        equal(await lastLine.locator('.sgr-ink').innerText(), 'all green', 'what is green');
        end.open();
        await world.state(id, 'done');
    });

    await check('log: output and errors are in the order in which they were written', async () => {
        const [first, second, third] = ['order1', 'order2', 'order3'].map((name) =>
            gate(world, name),
        );
        const [id] = await world.add({
            title: 'writes to both',
            priority: 1,
            argv: [
                'sh',
                '-c',
                'echo one; read x <"$0"; echo two >&2; read x <"$1"; echo three; echo four; read x <"$2"; echo five >&2; exit 3',
                first.file,
                second.file,
                third.file,
            ],
            retries: 0,
        });
        const page = await open(world, `#/task/${id}`);
        await line(page, 'one').waitFor();
        first.open();
        await line(page, 'two').waitFor();
        second.open();
        await line(page, 'four').waitFor();
        third.open();
        await line(page, 'five').waitFor();
        await world.state(id, 'failed');
        for (let n = 0; n < 2; n++) {
            equal((await shown(page)).join(' '), 'one two three four five', 'the lines');
            const errors = await page.locator('.log-line.err .foreign').allInnerTexts();
            equal(errors.join(' '), 'two five', 'lines that are marked as errors');
            await page.reload();
            await line(page, 'five').waitFor();
        }
        await page.getByRole('button', { name: 'errors', exact: true }).click();
        await line(page, 'one').waitFor({ state: 'detached' });
        await line(page, 'five').waitFor(); // the other stream is fetched
        equal((await shown(page)).join(' '), 'two five', 'the errors alone');
    });

    await check('log: search steps through the hits, in both directions', async () => {
        const [id] = await world.add({
            title: 'prints much',
            priority: 1,
            argv: ['sh', '-c', 'seq 1 3000 | sed "s/^/line /"'],
        });
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}`);
        const box = page.getByPlaceholder('search the log');
        await line(page, 'line 3000').waitFor();
        await box.fill('00 ');
        await page.getByText('nothing').waitFor();
        await box.fill('line 29');
        await page.getByText('111', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'next hit' }).click();
        await page.getByText('1 of 111').waitFor();
        equal(await text(page, '.log-line.here .foreign'), 'line 29', 'the first hit');
        await page.getByRole('button', { name: 'previous hit' }).click();
        await page.getByText('111 of 111').waitFor();
        equal(await text(page, '.log-line.here .foreign'), 'line 2999', 'the last hit');
        await box.press('Enter');
        await page.getByText('1 of 111').waitFor();
        await box.press('Shift+Enter');
        await page.getByText('111 of 111').waitFor();
    });

    await check('log: a link to a line opens it, chosen and in sight', async () => {
        const [id] = await world.add({
            title: 'is linked to',
            priority: 1,
            argv: ['sh', '-c', 'seq 1 60000 | sed "s/^/row /"'],
        });
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}/log/12345?attempt=1&stream=all`);
        const here = page.locator('.log-line.here');
        await here.waitFor();
        equal(await here.locator('.foreign').innerText(), 'row 12345', 'the chosen line');
        equal(await here.locator('.log-n').innerText(), '12345', 'its number');
        const inside = (el) => {
            const box = el.closest('.blocks').getBoundingClientRect();
            const at = el.getBoundingClientRect();
            return at.top >= box.top && at.bottom <= box.bottom;
        };
        ok(await here.evaluate(inside), 'it is in sight');
        const other = page.locator('.log-line', { hasText: 'row 12350' });
        await other.locator('.log-n').click();
        await until(page, 'the other line is chosen', () =>
            document.querySelector('.log-line.here')?.textContent.includes('row 12350'),
        );
        const address = await page.evaluate(() => location.hash);
        equal(address, `#/task/${id}/log/12350?attempt=1&stream=all`, 'the address');
        ok(await here.evaluate(inside), 'that is in sight, too');
    });

    await check(
        'log: long lines wrap on request, and the file is downloaded as it is',
        async () => {
            const long = 'word '.repeat(200);
            const [id] = await world.add({
                title: 'prints a long line',
                priority: 1,
                argv: [
                    'sh',
                    '-c',
                    `printf '\\033[31m%s\\033[0m\\n' '${long}'; head -c 400000 /dev/zero | tr '\\0' x`,
                ],
            });
            await world.state(id, 'done');
            const page = await open(world, `#/task/${id}`);
            await page.getByRole('button', { name: 'from the beginning' }).click();
            await line(page, 'word word').waitFor();
            const wide = () =>
                page.evaluate(() => {
                    const box = document.querySelector('.log-lines');
                    return box.scrollWidth > box.clientWidth + 1;
                });
            ok(await wide(), 'a long line is wider than the log');
            await page.getByRole('button', { name: 'wrap' }).click();
            ok(!(await wide()), 'a wrapped line is not');
            const { name, text: bytes } = await saved(page, () =>
                page.getByRole('button', { name: 'download' }).click(),
            );
            equal(name, `${id}.1.all.log`, 'the name of the file');
            ok(bytes.startsWith(`\u001b[31m${long}\u001b[0m\n`), 'its beginning, with its codes');
            equal(bytes.length, 400000 + long.length + 10, 'its size');
        },
    );

    await check('log: it stays while the daemon is away, and goes on afterwards', async () => {
        for (const isAgent of [false, true]) {
            const wait = gate(world, `away${isAgent}`);
            const script = `echo "before 1"; echo "before 2" >&2; read x <'${wait.file}'; echo after; `;
            const id = isAgent
                ? await talking(
                      world,
                      `echo "before 1"; echo "before 2" >&2; read x <'${wait.file}'\n`,
                  )
                : (
                      await world.add({ title: 'goes on', priority: 1, argv: ['sh', '-c', script] })
                  )[0];
            await world.state(id, 'running');
            const page = await open(world, `#/task/${id}`);
            const before = (n) => page.locator('.log').getByText(`before ${n}`);
            await before(1).waitFor();
            await before(2).waitFor();
            world.kill();
            await page.locator('.connected.lost').waitFor();
            ok(await before(1).isVisible(), 'output that was read stays');
            ok(await before(2).isVisible(), 'errors that were read stay');
            await page.getByText('continues when the daemon is back').waitFor();
            world.up();
            await page.locator('.connected.live').waitFor();
            ok(await before(1).isVisible(), 'it stays while it is read again');
            wait.open();
            await page
                .locator('.log')
                .getByText(isAgent ? 'Fixed and committed.' : 'after')
                .waitFor();
            equal(await before(1).count(), 1, 'lines that were read before');
            await world.state(id, 'done');
        }
    });

    await check('log: the events of an agent are a conversation, raw on request', async () => {
        const id = await talking(world);
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}`);
        await page.locator('.talk-say', { hasText: 'I look at the parser first.' }).waitFor();
        equal(
            (await page.locator('.talk-call > summary').allInnerTexts())
                .map((one) => one.replace(/\s+/g, ' ').trim())
                .join(' | '),
            'Bash make test T=parser ✕ failed | Read src/parser.c',
            'calls, folded, with tool and argument',
        );
        equal(await page.locator('.talk-result').count(), 0, 'results that are seen at once');
        await page.locator('.log-line.err', { hasText: 'warning from stderr' }).waitFor();
        await page.locator('.talk-note', { hasText: 'claude-test' }).waitFor();
        const call = page.locator('.talk-call', { hasText: 'make test' });
        await call.locator('summary').click();
        equal(
            await call.locator('.talk-result').innerText(),
            'FAIL: parser <b>line 12</b>',
            'its own result, although the other one came first',
        );
        ok((await call.innerText()).includes('Run the parser tests'), 'its other argument');
        await page.getByPlaceholder('search the log').fill('int parse');
        await page.keyboard.press('Enter');
        await page.locator('.talk-result mark', { hasText: 'int parse' }).waitFor();
        await page.getByRole('button', { name: 'unfold' }).click();
        await until(
            page,
            'both results',
            () => document.querySelectorAll('.talk-result').length === 2,
        );
        for (const size of [{}, { dark: true }, { width: 360, height: 740 }]) {
            await screen(page, size);
            await accessible(page);
        }
        await screen(page);
        await page.getByRole('button', { name: 'raw' }).click();
        await line(page, '"type":"assistant"').waitFor();
    });

    await check(
        'log: a line of 10 MB, endless codes and turned text are harmless and quick',
        async () => {
            const [id] = await world.add({
                title: 'prints too much',
                priority: 1,
                argv: [
                    'sh',
                    '-c',
                    'printf "begin <b>it</b> \\342\\200\\256txt.exe\\n"; head -c 10485760 /dev/zero | tr "\\0" x; echo; ' +
                        'i=0; while [ $i -lt 400 ]; do printf "\\033[3$((i % 8));4$((i % 7))m\\033]8;;http://x\\007%s\\033[1A" $i; i=$((i + 1)); done; echo; ' +
                        'yes "$(printf "\\033[31m\\033[1m")" | head -c 3000000 | tr -d "\\n"; printf "\\033[0m\\nend\\n"',
                ],
            });
            await world.state(id, 'done');
            const page = await open(world, `#/task/${id}/log/1?attempt=1&stream=all`);
            const began = Date.now();
            await page
                .locator('.log-line.here', { hasText: 'begin <b>it</b> ⟨202E⟩txt.exe' })
                .waitFor();
            await page.getByText('5 lines', { exact: false }).waitFor();
            await page.locator('.log-lines').press('End');
            await line(page, 'end').waitFor();
            report('a log with a line of 10 MB and codes is shown', `${Date.now() - began} ms`);
            equal(
                await page.locator('.log-line b, .log-line a:not(.log-n)').count(),
                0,
                'its elements',
            );
            const spans = await page.evaluate(
                () => document.querySelectorAll('.log-line *').length,
            );
            ok(spans < 1500, `${spans} elements for five lines`);
            ok(
                !(await page.locator('.log-lines').innerText()).includes('\u001b'),
                'no code is left',
            );
            await page.getByRole('button', { name: 'wrap' }).click();
            await drawn(page);
            await page.getByPlaceholder('search the log').fill('xxxx');
            await page.locator('.log-search').getByText('1', { exact: true }).waitFor();
            await to(page, '#/now');
        },
    );

    await check('log: it is accessible, light and dark, wide and on a phone', async () => {
        const [id] = await world.add({
            title: 'is looked at',
            priority: 1,
            argv: ['sh', '-c', 'echo output; echo errors >&2; printf "\\033[33myellow\\033[0m\\n"'],
        });
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}/log/2?attempt=1&stream=all`);
        await page.locator('.log-line.here').waitFor();
        for (const dark of [false, true])
            for (const size of [{}, { width: 360, height: 740 }]) {
                await screen(page, { ...size, dark });
                await accessible(page);
            }
    });
}
