// test_news.mjs: children, lent slots and budgets. Uses a separate world: two slots, a rate-limited account, small budgets.
import fs from 'node:fs';
import path from 'node:path';
import { check, equal, ok, open, says, text, to, until } from './kit.mjs';
import { World } from './world.mjs';

const CONFIG = `
limits: {runs: 2}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
budget_usd: 20
capability: {commands: true}
projects:
  web: {budget: 900000, budget_usd: 5}
retry:
  failed: {delay_s: 0, jitter: 0}
agents:
  claude: {command: [sh, -c, '"$BIN" report --rate-limited 840; exit 1'], limiter: anthropic, failover: [codex]}
  codex: {command: [tail, -f, /dev/null], limiter: openai}
limiters:
  anthropic: {max_running: 4}
  openai: {max_running: 2}
`;

const HOUR = 3600 * 1000;

export async function news() {
    const world = await World.start({ config: CONFIG });
    const env = { BIN: world.bin };
    try {
        await check(
            'another agent that works for a limited one is named, with whom it works for and until when',
            async () => {
                const [id] = await world.add({
                    title: 'port the tests',
                    prompt: 'port the tests',
                    project: 'web',
                    agent: 'claude',
                    env,
                });
                await world.until(
                    'codex has it',
                    async () =>
                        (await world.api('GET', `/v1/tasks/${id}`)).run?.instead_of === 'claude',
                );
                const page = await open(world);
                await page.locator('.rows.running .instead').waitFor();
                ok(
                    /^codex, for claude, which is limited until .*\d\d:\d\d$/.test(
                        await text(page, '.rows.running .instead'),
                    ),
                    await text(page, '.rows.running .instead'),
                );
                // The accounts and the agents that use them come in two answers.
                await until(page, 'the account says where its tasks go', () =>
                    document
                        .querySelector('.limiter.backoff')
                        ?.textContent.includes('tasks of claude go to codex'),
                );
                await to(page, `#/task/${id}`);
                await page.locator('.task-sub .instead').waitFor();
                ok(
                    (await text(page, 'section[aria-label=Attempts] tbody tr')).includes(
                        'codex for claude',
                    ),
                    'the attempt says it, too',
                );
            },
        );

        await check(
            'time is that of the daemon, also where the clock of the browser is wrong',
            async () => {
                const opens = (await world.api('GET', '/v1/status')).limiters.find(
                    (one) => one.name === 'anthropic',
                ).opens_at;
                const page = await open(world, '#/now', { ahead: 5 * HOUR });
                await page.locator('.limiter.backoff').waitFor();
                await until(
                    page,
                    'it counts down to the time of the daemon',
                    ([at, real]) => {
                        const [, minutes, seconds] =
                            /in (\d+):(\d\d)/.exec(
                                document.querySelector('.limiter.backoff .under').textContent,
                            ) ?? [];
                        return (
                            Math.abs(
                                (minutes * 60 + Number(seconds)) * 1000 -
                                    (at - (Date.now() - real)),
                            ) < 10000
                        );
                    },
                    [opens, 5 * HOUR],
                );
            },
        );

        await check(
            'a run that waits for its child says so, and to which task it lends its slot',
            async () => {
                const [parent] = await world.add({
                    title: 'plan the work',
                    project: 'web',
                    env,
                    argv: [
                        'sh',
                        '-c',
                        'child=$("$BIN" add --json --title sit -- tail -f /dev/null | sed "s/.*\\"id\\":\\"\\([^\\"]*\\)\\".*/\\1/"); "$BIN" wait "$child"; tail -f /dev/null',
                    ],
                });
                const child = await world.until(
                    'it lends',
                    async () => (await world.api('GET', `/v1/tasks/${parent}`)).run?.lends_to,
                );
                const page = await open(world, `#/task/${parent}`);
                await page.locator('.task-sub .lends').waitFor();
                equal(
                    await text(page, '.task-sub .lends'),
                    `waits for its children, lends its slot to ${child}`,
                    'the parent',
                );
                await page.locator('.task-sub .lends a').click();
                await until(
                    page,
                    'the child says whose place it has',
                    (id) =>
                        document
                            .querySelector('.task-sub .lends')
                            ?.textContent.startsWith(`runs in the slot of ${id}`),
                    parent,
                );
                await to(page, '#/now');
                await page.locator('.rows.running .lends').waitFor();
                await world.api('POST', '/v1/tasks/cancel', { tasks: [parent] });
            },
        );

        await check(
            'a task that has used up its money is held; the form raises it, and it goes on',
            async () => {
                const [id] = await world.add({
                    title: 'too dear',
                    project: 'web',
                    usd: 0.05,
                    env,
                    argv: [
                        'sh',
                        '-c',
                        '"$BIN" report --tokens-in 5000 --tokens-out 10 --cost 0.30; exit 1',
                    ],
                });
                await world.state(id, 'held');
                const page = await open(world);
                await page
                    .locator('.needs-rows > li.is-budget', { hasText: id })
                    .getByRole('link', { name: 'Open' })
                    .click();
                await page.locator('.is-held .why-first').waitFor();
                ok(
                    (await text(page, '.is-held .why-first')).includes('$0.30 of $0.05'),
                    await text(page, '.is-held .why-first'),
                );
                ok(
                    /task\s+5\.01 k \/ no limit\s+\$0\.30 \/ \$0\.05/.test(
                        await text(page, '.table.budget'),
                    ),
                    await text(page, '.table.budget'),
                );
                await page.getByLabel('task, dollars').fill('lots');
                const raise = () => page.getByRole('button', { name: 'Raise it' }).click();
                await says(page, 'usd', raise);
                equal(
                    (await world.api('GET', `/v1/tasks/${id}`)).hold,
                    'budget',
                    'a word that is no amount changes nothing',
                );
                await page.getByLabel('task, dollars').fill('$200');
                await says(page, 'budget raised, the task continues', raise);
                const now = await world.api('GET', `/v1/tasks/${id}`);
                equal(now.budget.task.usd.budget, 200, 'dollars that it may use');
                ok(now.hold !== 'budget', 'it is not held for its budget');
            },
        );

        await check(
            'Now has tokens and dollars of each window, and of how many runs nobody knows the cost',
            async () => {
                const page = await open(world);
                const web = page.locator('.bars .budget', { hasText: 'project web' });
                await web.waitFor();
                ok(
                    /\/ 900 k/.test(await web.innerText()) &&
                        /\$\d.*\/ \$5\.00/.test(await web.innerText()),
                    await web.innerText(),
                );
                ok(
                    (
                        await page.locator('.bars .budget', { hasText: 'all projects' }).innerText()
                    ).includes('/ $20.00'),
                    'dollars of all projects',
                );
                ok(
                    (await web.innerText()).includes('of unknown cost'),
                    'runs that told no cost are counted apart',
                );
            },
        );

        await check(
            'a closed gate and a pending check say what they wait for, and end by themselves',
            async () => {
                const flag = path.join(world.home, 'merged');
                const probe = `test -e ${flag} || { echo "review is open"; exit 75; }`;
                const [gated, checked] = await world.add(
                    {
                        title: 'behind a gate',
                        project: 'web',
                        argv: ['true'],
                        gate: { run: probe, every_s: 1 },
                    },
                    {
                        title: 'waits for CI',
                        project: 'web',
                        argv: ['true'],
                        until: 'validate',
                        checks: [{ run: probe, every_s: 1 }],
                    },
                );
                await world.state(checked, 'held');
                await world.until('the gate has answered', async () =>
                    (await world.api('GET', `/v1/tasks/${gated}`)).why?.includes('review is open'),
                );
                const page = await open(world);
                const waiting = page.locator('.gates li', { hasText: 'Closed gates' });
                await waiting.getByText('its gate says not yet: review is open').waitFor();
                await to(page, `#/task/${gated}`);
                await page
                    .locator('.is-closed', { hasText: 'Gate' })
                    .getByText('review is open')
                    .waitFor();
                await to(page, `#/task/${checked}`);
                await page.locator('.state', { hasText: 'waits for a check' }).waitFor();
                await page
                    .locator('.why-first', { hasText: 'check 1 has no result yet: review is open' })
                    .waitFor();
                await page
                    .locator('section[aria-label=Attempts] td', { hasText: 'pending' })
                    .waitFor();
                fs.writeFileSync(flag, '');
                await page.locator('.state', { hasText: 'done' }).waitFor();
                await world.state(gated, 'done');
            },
        );

        await check(
            'on a phone the end of a long line of a log can be reached, and the page stays as wide as it is',
            async () => {
                const [id] = await world.add({
                    title: 'long lines',
                    project: 'web',
                    argv: ['sh', '-c', 'printf "%0300d END\\n" 7'],
                });
                await world.state(id, 'done');
                const page = await open(world, `#/task/${id}`, { width: 360, height: 740 });
                await page.locator('.log-line', { hasText: 'END' }).waitFor();
                const seen = await page.locator('.log-lines').evaluate((box) => {
                    box.scrollLeft = box.scrollWidth;
                    const line = box.querySelector('.log-line').getBoundingClientRect();
                    const frame = box.getBoundingClientRect();
                    return {
                        end: line.right <= frame.right + 1,
                        inside: frame.right <= innerWidth,
                        wide: document.documentElement.scrollWidth - innerWidth,
                    };
                });
                ok(seen.end && seen.inside, 'the end of the line is in sight, in its own box');
                equal(seen.wide, 0, 'the page is wider than the screen by');
            },
        );
    } finally {
        world.stop();
    }
}
