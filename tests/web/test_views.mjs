// test_views.mjs: every view shows the state of the daemon, on a wide screen and on a phone, and is accessible.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, close, drawn, equal, has, ok, open, text, to, until } from './kit.mjs';
import { World } from './world.mjs';

const VIEWS = [
    'now',
    'board',
    'graph',
    'timeline',
    'schedules',
    'schedules/nightly',
    'schedules/nightly?form=1',
    'schedules?form=1',
    'share',
    'cost',
    'whatif',
    'events',
];

/** Elements without a name for screen readers. */
function nameless() {
    const seen = [
        ...document.querySelectorAll(
            'button, a[href], input, select, textarea, canvas, [role=img], dialog',
        ),
    ];
    return seen
        .filter((el) => el.checkVisibility() && !el.parentElement?.closest('[role=img]'))
        .filter((el) => {
            const label =
                el.getAttribute('aria-label') ||
                el.getAttribute('title') ||
                el.textContent?.trim() ||
                el.getAttribute('placeholder');
            return !label && !el.closest('label')?.textContent?.trim() && !el.labels?.length;
        })
        .map((el) => el.outerHTML.slice(0, 80));
}

/** Text with a contrast below 4.5 to its background. */
function faint() {
    const known = new Map();
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const parse = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const light = ([r, g, b]) => {
        const part = (n) =>
            n / 255 <= 0.03928 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const bad = new Set();
    for (const el of document.querySelectorAll('main *, header *')) {
        const own = [...el.childNodes].some(
            (node) => node.nodeType === 3 && node.textContent.trim(),
        );
        if (!own || !el.checkVisibility() || el.closest('canvas, .none, .log-n, button:disabled'))
            continue;
        let behind = el;
        while (behind && parse(getComputedStyle(behind).backgroundColor)[3] < 255)
            behind = behind.parentElement;
        const a = light(parse(getComputedStyle(el).color));
        const b = light(parse(getComputedStyle(behind ?? document.body).backgroundColor));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.45) bad.add(`${el.className || el.tagName} ${ratio.toFixed(2)}`);
    }
    return [...bad];
}

/** The settings of a daemon whose tasks work in worktrees of a small repository. */
function worktrees(home) {
    const repo = path.join(home, 'repo');
    fs.mkdirSync(repo);
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const git = (...words) =>
        execFileSync('git', ['-C', repo, '-c', 'user.name=t', '-c', 'user.email=t@t', ...words], {
            env,
            stdio: 'ignore',
        });
    git('init', '-q', '-b', 'main');
    fs.writeFileSync(path.join(repo, 'old'), 'one\ntwo\n');
    git('add', '-A');
    git('commit', '-qm', 'begin');
    return `projects: {tree: {path: ${repo}, workspace_mode: worktree, merge: none}}\nretry: {unfinished: {max: 3, delay_s: 0.1}}\n`;
}

async function changes() {
    const world = await World.start({ config: worktrees });
    try {
        const script =
            'echo "turn $SLUICE_ITERATION" >>turns; echo three >>old; printf "x\\0y" >bin; ' +
            'printf "<b>\\033[31mred\\n" >"$(printf "a\\033]0;b\\nc")"; [ "$SLUICE_ITERATION" = 1 ] || : >"$SLUICE_DONE"';
        const [id] = await world.add({
            project: 'tree',
            until: 'done',
            argv: ['sh', '-c', script],
        });
        await world.state(id, 'done');
        const page = await open(world, `#/task/${id}`);
        const part = page.locator('section[aria-label=Changes]');
        const file = (name) => part.getByRole('button', { name });
        await part.getByText('4 files since main').waitFor();
        await part.getByText('binary').waitFor();
        await file(/^old/).click();
        await part.locator('.diff-line.diff-added', { hasText: '+three' }).first().waitFor();
        equal(
            await part.locator('.diff-added.diff-line').count(),
            2,
            'added lines of the file that is unfolded',
        );
        await file(/^a/).click();
        await part.getByText('<b>\u241b[31mred').waitFor();
        ok((await file(/^a/).innerText()).includes('a\u241b]0;b c'), 'a name is text on one line');
        await file(/^old/).click();
        await part.getByText('+three').first().waitFor({ state: 'detached' });
        await part.getByLabel('iteration').selectOption('2');
        await file(/^turns/).click();
        await part.getByText('+turn 2').waitFor();
        equal(await part.getByText('+turn 1').count(), 0, 'lines of the other iteration');
        equal((await page.evaluate(nameless)).join(' '), '', 'parts without a name');
        equal((await page.evaluate(faint)).join(', '), '', 'text that is hard to read');
        fs.rmSync(path.join(world.home, `tasks/${id}/iterations/001/diff.json`));
        await part.getByLabel('iteration').selectOption('1');
        await part.getByText(`what iteration 1 of '${id}' changed was not recorded`).waitFor();
    } finally {
        world.stop();
    }
}

export async function views(world, night) {
    await check('a task shows what it changed, by file and by iteration, as text', changes);

    const page = await open(world);

    await check(
        'Now shows what runs with its last line, what comes next, what waits and why',
        async () => {
            await page.waitForSelector('.rows.running li');
            const running = (await world.api('GET', '/v1/status')).running;
            await until(
                page,
                `${running.length} rows of running tasks`,
                (n) => document.querySelectorAll('.rows.running li').length === n,
                running.length,
            );
            await page.getByText('all green').first().waitFor();
            await page.locator('.rows.next li').first().waitFor();
            await page.getByText('Unfinished dependencies').waitFor();
            await page
                .getByText(`waits for '${night.broken}'`)
                .or(page.getByText('which is'))
                .first()
                .waitFor();
            ok(
                (await text(page, '.needs')).includes(night.broken),
                'the failed task needs a person',
            );
            ok(
                (await text(page, '.limiter.backoff')).includes('opens in'),
                'the rate limit counts down',
            );
            ok((await page.locator('[role=meter]').count()) > 5, 'limits are bars');
        },
    );

    await check(
        'the windows of an account show use, reserve and reset, also where a task waits for it',
        async () => {
            const seen =
                /5-hour window\s+83 % used\s+20 % reserved, resets in 1:\d\d:\d\d, at .*weekly window\s+41 % used/s;
            for (const hash of ['#/now', `#/task/${night.reserved}`]) {
                await to(page, hash);
                await page.locator('.windows').waitFor();
                ok(
                    seen.test(await text(page, '.windows')),
                    `${hash}: ${await text(page, '.windows')}`,
                );
            }
            await page.locator('.is-closed', { hasText: '20 % is reserved for you' }).waitFor();
            await to(page, '#/now');
        },
    );

    await check('Now says everything in words when it is paused, and goes on', async () => {
        await page.getByRole('button', { name: 'Pause', exact: true }).click();
        await page.locator('.alert.paused').waitFor();
        equal((await world.api('GET', '/v1/status')).paused, true, 'the daemon is paused');
        await page.locator('.alert.paused').getByRole('button', { name: 'Resume' }).click();
        await page.locator('.alert.paused').waitFor({ state: 'detached' });
    });

    await check(
        'a task shows its gates, its log, its attempts and what was asked for',
        async () => {
            const [tokens, , descent] = night.parser;
            await to(page, `#/task/${descent}`);
            await page.getByText(`waits for '${tokens}'`).first().waitFor();
            await page.getByRole('button', { name: /all \d+ gates/ }).click();
            const gates = (await world.api('GET', `/v1/tasks/${descent}/why`)).gates;
            await until(
                page,
                `${gates.length} gates`,
                (n) => document.querySelectorAll('.gate-list li').length === n,
                gates.length,
            );
            await to(page, `#/task/${tokens}`);
            await page.locator('.log-line', { hasText: 'running the tests' }).waitFor();
            equal(
                await page.locator('section[aria-label=Attempts] tbody tr').count(),
                1,
                'attempts',
            );
            await page.getByText('$0.').first().waitFor();
            await page.getByRole('button', { name: 'as JSON' }).click();
            ok((await text(page, 'pre.box')).includes('"prompt"'), 'the spec as JSON');
            await page.getByPlaceholder('search the log').fill('passed');
            await page.keyboard.press('Enter');
            equal(
                await page.locator('.log-line mark').innerText(),
                'passed',
                'what was searched is marked',
            );
        },
    );

    await check(
        'Board has the tasks by state, by project and as a list, and finds by text',
        async () => {
            await to(page, '#/board');
            await page.locator('section.column[aria-label=Ready] .card').first().waitFor();
            const counts = (await world.api('GET', '/v1/status')).counts;
            await until(
                page,
                `${counts.held} held cards`,
                (n) =>
                    document.querySelectorAll('section.column[aria-label=Held] .card:not(.gap)')
                        .length === n,
                counts.held,
            );
            await page.getByRole('button', { name: 'By project' }).click();
            await page.locator('section.column[aria-label=docs] .card').first().waitFor();
            await page.getByRole('button', { name: 'List' }).click();
            await page.getByLabel('search titles and ids').fill('port test 3 of');
            await until(
                page,
                'one card',
                () => document.querySelectorAll('.card:not(.gap)').length === 1,
            );
            ok(
                (await text(page, '.card')).includes('port test 3 of 14'),
                'the one that was searched for',
            );
        },
    );

    await check('Events shows what happened, and filters', async () => {
        await to(page, '#/events');
        await page.locator('.event').first().waitFor();
        await page.getByLabel('kind of event').selectOption('bad');
        await until(page, 'only what went wrong', () =>
            [...document.querySelectorAll('.event')].every((row) =>
                /fail|limited|lost|exit|alert|block/.test(row.textContent),
            ),
        );
        ok((await page.locator('.event').count()) > 0, 'something went wrong in this night');
    });

    const rest = {
        graph: [
            '/v1/graph',
            async () => {
                await page.locator('.graph-canvas canvas').waitFor();
                await page.getByRole('button', { name: 'as a list' }).click();
                await page.locator('.graph-row', { hasText: night.parser[5] }).waitFor();
            },
        ],
        timeline: [
            '/v1/runs',
            async () => {
                await page.locator('.timeline-box canvas').waitFor();
                await page.getByRole('button', { name: 'as a table' }).click();
                await page.locator('.table tr', { hasText: night.broken }).first().waitFor();
            },
        ],
        cost: [
            '/v1/usage',
            async () => {
                await page.locator('.uplot canvas').waitFor();
                await page.locator('.table tr', { hasText: 'web' }).first().waitFor();
                ok(/\$\d/.test(await text(page, '.sums')), 'money');
                ok((await text(page, '.sums')).includes('did not report'), 'unknown cost is said');
            },
        ],
        share: [
            '/v1/usage',
            async () => {
                await page.locator('.uplot canvas').waitFor();
                await page.locator('.share-now li', { hasText: 'docs' }).waitFor();
            },
        ],
        whatif: [
            '/v1/usage',
            async () => {
                await page.locator('.sums', { hasText: 'as it is' }).waitFor();
                await page.getByLabel('limits.runs').fill('1');
                await page.getByRole('button', { name: 'Run the forecast' }).click();
                await page.locator('.sums', { hasText: 'with the change' }).waitFor();
                equal(
                    (await world.api('GET', '/v1/config/limits.runs')).value,
                    6,
                    'nothing has changed',
                );
            },
        ],
    };
    for (const [name, [address, test]] of Object.entries(rest)) {
        const there = await has(world, address);
        await check(
            `${name} ${there ? 'shows real data' : 'says that this daemon does not offer it'}`,
            async () => {
                await to(page, `#/${name}`);
                if (there) await test();
                else await page.getByText('not available in this daemon').first().waitFor();
            },
        );
    }
    await close(page);

    for (const [what, options] of [
        ['wide and light', {}],
        ['a phone, dark', { width: 360, height: 740, dark: true }],
    ]) {
        await check(`every view fits its screen, has names and contrast (${what})`, async () => {
            const small = await open(world, '#/now', options);
            for (const view of [
                ...VIEWS,
                ...[night.parser[0], night.parser[2], night.asks, night.reserved].map(
                    (id) => `task/${id}`,
                ),
            ]) {
                await to(small, `#/${view}`);
                await drawn(small);
                equal(
                    await small.evaluate(() => document.documentElement.scrollWidth - innerWidth),
                    0,
                    `${view} is wider than the screen by`,
                );
                equal(
                    (await small.evaluate(nameless)).join(' '),
                    '',
                    `${view} has parts without a name`,
                );
                equal(
                    (await small.evaluate(faint)).join(', '),
                    '',
                    `${view} has text that is hard to read`,
                );
            }
        });
    }
}
