// test_inbox.mjs: a night's inbox is worked off, by keyboard alone and by touch on a phone; what finished is listed once; the
// icon of the tab counts; what can be taken back is.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { check, equal, ok, open, report, says, tap as touch, text, to, until } from './kit.mjs';
import { World } from './world.mjs';

export const CONFIG = `
limits: {runs: 8}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
retry: {failed: {max: 0}}
alerts: {stuck_s: 0}
projects:
  web: {}
  docs: {budget: 1000}
agents:
  strict: {adapter: claude}
`;
const ITEMS = 12;
const KEYS_EACH = 3;
const FINGER = 44; // px: the smallest target

const EVENTS = [
    { type: 'system', subtype: 'init', session_id: '01a1e56c-0000-7000-8000-000000000002' },
    {
        type: 'result',
        subtype: 'success',
        is_error: false,
        result: 'I may not.',
        session_id: '01a1e56c-0000-7000-8000-000000000002',
        permission_denials: [
            { tool_name: 'Bash', tool_use_id: 't', tool_input: { command: 'git push' } },
        ],
    },
];

/** One item of most kinds, ${ITEMS} in all. */
export async function night(world) {
    const bin = path.join(world.home, 'denied');
    await mkdir(bin, { recursive: true });
    await writeFile(
        path.join(bin, 'claude'),
        `#!/bin/sh\n[ ! -e ${world.home}/allowed ] || exec tail -f /dev/null\ntouch ${world.home}/allowed\n${EVENTS.map((event) => `echo '${JSON.stringify(event)}'\n`).join('')}`,
        { mode: 0o755 },
    );
    const env = { BIN: world.bin };
    const run = (script) => ({ env, argv: ['sh', '-c', script] });
    const fails = (title, line) => ({
        project: 'web',
        title,
        ...run(`echo working; echo "${line}" >&2; exit 1`),
    });
    const ids = await world.add(
        {
            project: 'web',
            title: 'choose a port',
            ...world.asking('--choice 80 --choice 8080', 'Which port?'),
        },
        { project: 'web', title: 'choose a name', ...world.asking('', 'What is its name?') },
        {
            project: 'web',
            title: 'push the branch',
            agent: 'strict',
            prompt: 'Push it.',
            env: { PATH: `${bin}:/usr/bin:/bin` },
        },
        fails('migrate the schema', 'no such table: runs'),
        { project: 'web', title: 'rewrite the guide', review: true, argv: ['true'] },
        // Its second iteration does not end.
        {
            project: 'web',
            title: 'shorten the guide',
            review: true,
            ...run(
                `[ ! -e ${world.home}/once ] || exec tail -f /dev/null; touch ${world.home}/once`,
            ),
        },
        { project: 'web', title: 'translate the guide', review: true, argv: ['true'] },
        {
            project: 'web',
            title: 'train the model',
            run_tokens: 100,
            retries: 3,
            ...run(
                `[ ! -e ${world.home}/model ] || exec tail -f /dev/null; touch ${world.home}/model; "$BIN" report --tokens-in 150; exit 1`,
            ),
        },
        fails('check the links', 'link 404: /guide'),
        fails('measure the parser', '3 % slower than before'),
        fails('build for arm', 'cc: not found'),
        {
            project: 'docs',
            title: 'summarize the month',
            ...run('"$BIN" report --tokens-in 1500; exit 0'),
        },
    );
    const names = [
        'port',
        'name',
        'denied',
        'blocking',
        'review',
        'rejected',
        'third',
        'model',
        'links',
        'slower',
        'arm',
        'window',
    ];
    const of = Object.fromEntries(names.map((name, n) => [name, ids[n]]));
    await world.until('all of them need a person', async () => {
        const { counts } = await world.api('GET', '/v1/status');
        return !counts.running && !counts.starting && !counts.ready;
    });
    await world.add({
        project: 'web',
        title: 'use the schema',
        depends_on: [of.blocking],
        argv: ['true'],
    });
    await world.until(
        `${ITEMS} items`,
        async () => (await world.api('GET', '/v1/attention')).total === ITEMS,
    );
    return of;
}

const count = (page) => page.locator('.needs-rows > li').count();
const here = (page) => page.locator('.needs-rows > li.here');

/** Waits until the item is gone, and the next one is current. */
const left = (page, n) =>
    until(
        page,
        `${n} items are left`,
        (wanted) => document.querySelectorAll('.needs-rows > li').length === wanted,
        n,
    );

export async function inbox() {
    await check(
        'a night of 12 items is worked off by keyboard alone, with at most 3 keys for each',
        async () => {
            const world = await World.start({ config: CONFIG });
            try {
                const of = await night(world);
                const page = await open(world);
                await left(page, ITEMS);
                equal(
                    await page.evaluate(
                        () => document.querySelector('.view.now section').ariaLabel,
                    ),
                    'Needs you',
                    'the first section',
                );
                await until(page, 'the title has the number', () =>
                    document.title.startsWith('(12) '),
                );
                // The last error line of a command, and what waits for it, without a click.
                ok(
                    (await text(page, '.is-blocking')).includes('no such table: runs'),
                    await text(page, '.is-blocking'),
                );
                ok(
                    (await text(page, '.is-blocking')).includes('1 task waits for it'),
                    await text(page, '.is-blocking'),
                );

                let pressed = 0;
                let most = 0;
                let items = ITEMS;
                let keys = 0;
                const key = async (name) => {
                    pressed++;
                    keys++;
                    await page.keyboard.press(name);
                };
                const done = async () => {
                    await left(page, --items);
                    most = Math.max(most, keys);
                    ok(keys <= KEYS_EACH, `${keys} keys for one item`);
                    keys = 0;
                };
                const button = async (label) => {
                    const all = await here(page).locator('.needs-act > *').allInnerTexts();
                    const at = all.findIndex((one) => one.startsWith(label));
                    ok(at >= 0, `${label} is one of ${all.join(', ')}`);
                    await key(String(at + 1));
                };
                while (items > 0) {
                    const kind = /is-(\w+)/.exec(await here(page).getAttribute('class'))[1];
                    const words = await here(page).innerText();
                    if (kind === 'question' && words.includes('Which port?')) {
                        await key('2');
                        await key('Enter');
                    } else if (kind === 'question') {
                        await key('Enter');
                        await page.keyboard.insertText('sluice');
                        await key('Control+Enter');
                    } else if (kind === 'denied') {
                        await button('Allow');
                        await page.getByRole('dialog').waitFor();
                        await key('Enter');
                    } else if (kind === 'review' && words.includes('shorten')) {
                        await button('Reject');
                        await page.getByRole('dialog').waitFor();
                        await page.keyboard.insertText('still too long');
                        await key('Control+Enter');
                    } else if (kind === 'review') await button('Approve');
                    else if (kind === 'window' || kind === 'budget') await button('Raise to');
                    else if (kind === 'blocking') await button('Dismiss');
                    else if (words.includes('check the links')) await button('Dismiss');
                    else await button('Dismiss');
                    await done();
                }
                report('keys for a night of 12 items', `${pressed}, at most ${most} for one`);
                await page.locator('.needs').waitFor({ state: 'detached' });
                await until(page, 'the title is plain', () => document.title === 'Now · Sluice');
                await world.state(of.port, 'done');
                await world.state(of.review, 'done');
                await world.until(
                    'it is rejected',
                    async () =>
                        (await world.api('GET', `/v1/tasks/${of.rejected}`)).iteration === 2,
                );
                const { items: events } = await world.api('GET', `/v1/events?task=${of.rejected}`);
                equal(
                    events.find(({ kind }) => kind === 'task.rejected').data.reason,
                    'still too long',
                    'the reason',
                );
            } finally {
                world.stop();
            }
        },
    );

    const world = await World.start({ config: CONFIG });
    try {
        const of = await night(world);
        await check(
            'a dismissed failure comes back with one key, and so does one that fails again',
            async () => {
                const page = await open(world);
                await left(page, ITEMS);
                const item = page.locator('.needs-rows > li', { hasText: 'check the links' });
                await says(page, `${of.links}: dismissed`, () =>
                    item.getByRole('button', { name: 'Dismiss' }).click(),
                );
                await item.waitFor({ state: 'detached' });
                await page.keyboard.press('u');
                await item.waitFor();
                await item.getByRole('button', { name: 'Dismiss' }).click();
                await item.waitFor({ state: 'detached' });
                await world.api('POST', '/v1/tasks/retry', { tasks: [of.links] });
                await item.waitFor();
            },
        );

        await check('j and k go through every list, and Enter opens the row', async () => {
            const page = await open(world);
            await left(page, ITEMS);
            await page.keyboard.press('j');
            equal(
                await here(page).locator('.id').first().innerText(),
                await page.locator('.needs-rows > li').nth(1).locator('.id').first().innerText(),
                'the second item is current',
            );
            await page.keyboard.press('k');
            await to(page, '#/schedules');
            for (const [hash, row] of [
                ['#/events', '.event'],
                ['#/cost', 'tbody tr'],
            ]) {
                await to(page, hash);
                await page.locator(row).first().waitFor();
                await page.keyboard.press('j');
                await page.keyboard.press('j');
                equal(
                    await page.evaluate(
                        (rows) =>
                            [...document.querySelectorAll(rows)].findIndex((one) =>
                                one.contains(document.activeElement),
                            ),
                        row,
                    ),
                    Math.min(1, (await page.locator(row).count()) - 1),
                    `${hash}: the row that has the focus`,
                );
            }
        });

        await check(
            'the icon of the tab has the number, and notifications are asked for by a button alone',
            async () => {
                const page = await open(world, '#/now', { fresh: true });
                await page.addInitScript(() => {
                    window.asked = 0;
                    Object.defineProperty(Notification, 'permission', { get: () => 'default' });
                    Notification.requestPermission = () => {
                        window.asked++;
                        return Promise.resolve('denied');
                    };
                });
                await page.reload();
                await left(page, ITEMS);
                await until(page, 'the icon has the number', () =>
                    decodeURIComponent(document.querySelector('link[rel=icon]').href).includes(
                        '>12<',
                    ),
                );
                equal(await page.evaluate(() => window.asked), 0, 'nothing was asked');
                await page.getByRole('button', { name: 'Notify me' }).click();
                await until(page, 'it was asked', () => window.asked === 1);
                await page
                    .getByRole('button', { name: 'Notify me' })
                    .waitFor({ state: 'detached' });
            },
        );

        await check(
            'a hidden page notifies through the browser of what needs a person, once',
            async () => {
                const page = await open(world, '#/now', { fresh: true });
                await page
                    .context()
                    .grantPermissions(['notifications'], { origin: new URL(world.url).origin });
                await page.addInitScript(() => {
                    window.shown = []; // what the browser has really shown
                    window.Notification = class extends Notification {
                        constructor(title, options) {
                            super(title, options);
                            this.addEventListener('show', () =>
                                window.shown.push(`${title}: ${options.body}`),
                            );
                        }
                    };
                    Object.defineProperty(document, 'hidden', {
                        get: () => window.isHidden ?? false,
                    });
                });
                await page.reload();
                await left(page, ITEMS);
                equal(await page.evaluate(() => Notification.permission), 'granted', 'the right');
                const failing = { project: 'web', argv: ['false'], retries: 0 };
                const [seen] = await world.add({ ...failing, title: 'fails in sight' });
                await left(page, ITEMS + 1);
                await page.evaluate(() => {
                    window.isHidden = true;
                    document.dispatchEvent(new Event('visibilitychange'));
                });
                const [unseen] = await world.add({ ...failing, title: 'fails unseen' });
                await until(page, 'a notification', () => window.shown.length > 0);
                await left(page, ITEMS + 2);
                const shown = await page.evaluate(() => window.shown);
                equal(
                    shown.filter((one) => one.includes(unseen)).join(),
                    `${unseen}: failed: fails unseen`,
                    'what was shown of it',
                );
                await world.api('POST', '/v1/attention/dismiss', { tasks: [seen, unseen] });
                await left(page, ITEMS);
            },
        );

        await check('what finished since the last look is listed until it was seen', async () => {
            const page = await open(world);
            await left(page, ITEMS);
            equal(
                await page.locator('.finished').count(),
                0,
                'a browser that never looked has missed nothing',
            );
            await page.goto('about:blank');
            const [id] = await world.add({
                project: 'web',
                title: 'finished meanwhile',
                argv: ['true'],
            });
            await world.state(id, 'done');
            await page.goto(`${world.url}#/now`);
            await page.locator('.finished', { hasText: 'finished meanwhile' }).waitFor();
            equal(
                await page.locator('.finished li').count(),
                1,
                'what finished before is not listed',
            );
            await page.getByRole('button', { name: 'Seen' }).click();
            await page.locator('.finished').waitFor({ state: 'detached' });
        });

        await check(
            'the same night is worked off by touch on a phone of 360 px, with targets of 44 px',
            async () => {
                const page = await open(world, '#/now', { width: 360, height: 740, touch: true });
                await left(page, ITEMS);
                const small = await page.evaluate((finger) => {
                    const seen = [];
                    for (const one of document.querySelectorAll(
                        '.needs-act > *, .needs .option, .needs .question-foot button',
                    )) {
                        const box = one.getBoundingClientRect();
                        if (box.height < finger || box.width < finger || box.right > innerWidth)
                            seen.push(`${one.textContent} ${box.width}x${box.height}`);
                    }
                    return seen;
                }, FINGER);
                equal(small.join('; '), '', 'targets that are too small or outside the screen');
                ok(
                    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
                    'nothing scrolls sideways',
                );
                let taps = 0;
                for (let items = await count(page); items > 0; items--) {
                    const first = page.locator('.needs-rows > li').first();
                    const tap = async (target) => {
                        taps++;
                        await touch(target);
                    };
                    if (await first.locator('.option').count()) {
                        await tap(first.locator('.option').first());
                        await tap(first.getByRole('button', { name: 'Answer' }));
                    } else if (await first.locator('textarea').count()) {
                        await first.locator('textarea').fill('sluice');
                        await tap(first.getByRole('button', { name: 'Answer' }));
                    } else {
                        const dismissed = first.getByRole('button', { name: 'Dismiss' });
                        const target = (await dismissed.count())
                            ? dismissed
                            : first.locator('.needs-act > *').first();
                        await tap(target);
                        const yes = page
                            .getByRole('dialog')
                            .getByRole('button', { name: 'Allow', exact: true });
                        if (
                            await first
                                .evaluate((li) => li.classList.contains('is-denied'))
                                .catch(() => false)
                        )
                            await tap(yes);
                    }
                    await left(page, items - 1);
                }
                report('taps for a night of 12 items', String(taps));
            },
        );
    } finally {
        world.stop();
    }
}
