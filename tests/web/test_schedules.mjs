// test_schedules.mjs: the view of schedules: what is due, what became of it, and the form that adds and changes them.
import { mkdirSync } from 'node:fs';

import { check, equal, ok, open, says, text, to, until } from './kit.mjs';
import { World } from './world.mjs';

const CONFIG = `
limits: {runs: 4}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
projects:
  web: {}
agents:
  claude: {command: [cat]}
schedules:
  nightly:
    cron: "30 2 * * *"
    timezone: Asia/Kolkata
    task: '{"project": "web", "argv": ["sh", "-c", "echo done"], "title": "every night", "priority": 7}'
  busy:
    every: 1s
    task: '{"project": "web", "argv": ["tail", "-f", "/dev/null"]}'
  broken:
    every: 1s
    task: '{"project": "nowhere", "argv": ["true"]}'
`;

const DAY = 86400000;

export async function schedules() {
    const world = await World.start({ config: CONFIG });
    const schedule = (name) => world.api('GET', `/v1/schedules/${name}`);
    const row = (page, name) =>
        page.locator('.schedule-rows > li', { has: page.getByRole('link', { name, exact: true }) });
    const link = (...more) =>
        /http:\/\/\S+#t=\S+/.exec(world.sluice('dash', '--print', ...more))?.[0];
    const form = (page) => page.locator('.schedule-form');
    try {
        await world.until(
            'one is busy and one is broken',
            async () =>
                (await schedule('busy')).skips.length > 0 && (await schedule('broken')).error,
        );

        await check(
            'Schedules shows what is due, in the time zone of the schedule, what was skipped and why',
            async () => {
                const page = await open(world);
                await page.locator('.connected.live').waitFor();
                await page.keyboard.press('g');
                await page.keyboard.press('d');
                await row(page, 'nightly').waitFor();
                ok(
                    /30 2 \* \* \*, Asia\/Kolkata\s+next \w+ \d+ \w+.*, 02:30, in /.test(
                        await row(page, 'nightly').innerText(),
                    ),
                    await row(page, 'nightly').innerText(),
                );
                const busy = await schedule('busy');
                const shown = await row(page, 'busy').innerText();
                ok(
                    shown.includes(`${busy.last_task}, not finished`) &&
                        /due times? skipped: the last task was not finished/.test(shown),
                    shown,
                );
                await row(page, 'broken').locator('.problem').getByText('nowhere').waitFor();
                await to(page, '#/now');
                await page
                    .locator('.needs-rows > li', { hasText: 'broken' })
                    .getByRole('link', { name: 'Open' })
                    .click();
                await page.locator('.schedules h1', { hasText: 'broken' }).waitFor();
                const skipped = page.locator('.past li', {
                    hasText: 'the task could not be added',
                });
                await skipped.waitFor();
                const box = await skipped.locator('span').boundingBox();
                ok(box.x > 200 && box.width > 100, `it is on the screen: ${box.x}, ${box.width}`);
                const before = await skipped.innerText();
                await until(
                    page,
                    'the record grows',
                    (old) => document.querySelector('.past li').innerText !== old,
                    before,
                );
            },
        );

        await check('buttons pause, resume and run a schedule', async () => {
            const page = await open(world, '#/schedules');
            for (const name of ['busy', 'broken']) {
                await says(page, `${name}: paused`, () =>
                    row(page, name).getByRole('button', { name: 'Pause' }).click(),
                );
                await row(page, name).getByText('paused', { exact: true }).waitFor();
                equal((await schedule(name)).paused, true, 'the daemon has it');
            }
            await says(page, 'nightly: ', () =>
                row(page, 'nightly').getByRole('button', { name: 'Run now' }).click(),
            );
            const { last_task: task } = await schedule('nightly');
            await row(page, 'nightly').getByRole('link', { name: task }).waitFor();
            await world.state(task, 'done');
            await row(page, 'nightly').getByRole('link', { name: 'nightly', exact: true }).click();
            await page.locator('.past li', { hasText: 'run manually' }).waitFor();
            const { due } = await world.api('GET', '/v1/schedules/nightly/next?count=10');
            equal(await page.locator('.coming li').count(), due.length, 'coming due times');
            ok((await text(page, '.coming li')).includes('02:30'), await text(page, '.coming li'));
            await page.locator('.past').getByRole('link', { name: task }).click();
            await page.locator('.task h1', { hasText: 'every night' }).waitFor();
            await to(page, '#/schedules/busy');
            await says(page, 'busy: resumed', () =>
                page.getByRole('button', { name: 'Resume: busy' }).click(),
            );
            await page.getByRole('button', { name: 'Pause: busy' }).click();
            await page.getByRole('button', { name: 'Resume: busy' }).waitFor();
        });

        await check(
            'the form shows the next due times while one types, and refusals where they happen',
            async () => {
                const page = await open(world, '#/schedules');
                await page.getByRole('link', { name: 'Add schedule' }).click();
                await form(page).waitFor();
                const preview = page.locator('.preview');
                await page.getByLabel(/^Minute, hour/).fill('0 99 * * *');
                await preview.getByText('hour 99 is out of range').waitFor();
                await page.getByLabel(/^Minute, hour/).fill('0 9 * * *');
                await page.getByLabel('Time zone').fill('Mars/Base');
                await preview.getByText("there is no time zone 'Mars/Base'").waitFor();
                await page.getByLabel('Time zone').fill('Asia/Tokyo');
                await until(
                    page,
                    'five times',
                    () =>
                        [...document.querySelectorAll('.preview .coming time')].filter((one) =>
                            one.textContent.endsWith('09:00'),
                        ).length === 5,
                );
                await page.getByLabel('Name').fill('nightly');
                await page.getByLabel('What the agent should do').fill('Say "hello",\nthen stop.');
                await page.getByRole('combobox', { name: 'Agent' }).selectOption('claude');
                await page.getByRole('button', { name: 'Add', exact: true }).click();
                await form(page)
                    .getByRole('alert')
                    .getByText("schedule 'nightly' already exists")
                    .waitFor();
                equal(
                    await page.getByLabel('What the agent should do').inputValue(),
                    'Say "hello",\nthen stop.',
                    'what was typed',
                );
                await page.getByLabel('Name').fill('greeting: daily');
                await page.getByLabel('While its last task').selectOption('queue');
                await page.getByRole('button', { name: 'Add', exact: true }).click();
                await page.locator('.schedules h1', { hasText: 'greeting: daily' }).waitFor();
                await page.locator('.coming li').nth(9).waitFor();
                const made = await schedule('greeting:%20daily');
                equal(made.cron, '0 9 * * *', 'cron');
                equal(made.timezone, 'Asia/Tokyo', 'time zone');
                equal(made.overlap, 'queue', 'overlap');
                equal(
                    JSON.stringify(JSON.parse(made.task)),
                    '{"agent":"claude","prompt":"Say \\"hello\\",\\nthen stop."}',
                    'task',
                );
            },
        );

        await check('a schedule is changed; what the form has no field for stays', async () => {
            const page = await open(world, '#/schedules/nightly');
            await page.getByRole('link', { name: 'Edit' }).click();
            await page.getByText('Also set, and kept: title, priority').waitFor();
            await page.getByRole('button', { name: 'Every', exact: true }).click();
            await page.getByLabel('The time between two due times').fill('1d');
            await page.getByLabel('Command, given to sh -c').fill('echo changed');
            await until(
                page,
                'five times, a day apart',
                (day) => {
                    const at = [...document.querySelectorAll('.preview .coming time')].map((one) =>
                        Date.parse(one.dateTime),
                    );
                    return at.length === 5 && at[4] - at[0] === 4 * day;
                },
                DAY,
            );
            await page.getByRole('button', { name: 'Save' }).click();
            await page.locator('.coming li').first().waitFor();
            const now = await schedule('nightly');
            equal(now.cron, null, 'cron');
            equal(now.every, DAY, 'every');
            const task = JSON.parse(now.task);
            equal(task.argv[2], 'echo changed', 'the command');
            equal(task.priority, 7, 'the priority');
            await page.getByRole('link', { name: 'Edit' }).click();
            await page.getByRole('button', { name: 'Save' }).click();
            await page.locator('.coming li').first().waitFor();
            equal((await schedule('nightly')).task, now.task, 'saved without a change');
        });

        await check(
            'the times of a schedule of backups are changed, not its directory',
            async () => {
                const folder = `${world.home}/backups`;
                mkdirSync(folder);
                world.sluice('schedule', 'add', 'copies', '--every', '1d', '--backup', folder);
                const page = await open(world, '#/schedules/copies');
                await page.locator('section', { hasText: 'Backups' }).getByText(folder).waitFor();
                equal(await page.getByRole('button', { name: 'Run now' }).count(), 0, 'run');
                await page.getByRole('link', { name: 'Edit' }).click();
                await form(page).getByText('change it with sluice schedule set').waitFor();
                await page.getByLabel('The time between two due times').fill('2d');
                await page.getByRole('button', { name: 'Save' }).click();
                await page.locator('.coming li').first().waitFor();
                const now = await schedule('copies');
                equal(now.every, 2 * DAY, 'every');
                equal(now.backup, folder, 'the directory');
            },
        );

        await check(
            'over TCP an admin changes schedules, but not their files; others only look',
            async () => {
                const page = await open({ url: '' }, link('--admin'), { fresh: true });
                await page.locator('.connected.live').waitFor();
                await to(page, '#/schedules?form=1');
                await page.getByLabel('Name').fill('by page');
                await page.getByLabel(/^Minute, hour/).fill('@daily');
                await page.getByRole('button', { name: 'File' }).click();
                await page.getByLabel(/^A task file/).fill('/tmp/tasks.yaml');
                await page.getByRole('button', { name: 'Add', exact: true }).click();
                await form(page)
                    .getByRole('alert')
                    .getByText('cannot be changed over TCP')
                    .waitFor();
                await page.getByRole('button', { name: 'Command' }).click();
                await page.getByLabel('Command, given to sh -c').fill('true');
                await page.getByRole('button', { name: 'Add', exact: true }).click();
                await page.locator('.schedules h1', { hasText: 'by page' }).waitFor();
                equal((await schedule('by%20page')).file, null, 'file');
                await page.getByRole('button', { name: 'Remove' }).click();
                await says(page, 'by page: removed', () =>
                    page.locator('dialog').getByRole('button', { name: 'Remove' }).click(),
                );
                await row(page, 'nightly').waitFor();
                equal(await row(page, 'by page').count(), 0, 'rows');
                const other = await open({ url: '' }, link(), { fresh: true });
                await other.locator('.connected.live').waitFor();
                await to(other, '#/schedules');
                await row(other, 'nightly').waitFor();
                equal(
                    await other.getByRole('button', { name: /Run now|Add schedule/ }).count(),
                    0,
                    'buttons',
                );
            },
        );
    } finally {
        world.stop();
    }
}
