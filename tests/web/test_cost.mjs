// test_cost.mjs: one figure for money and one forecast wherever they are shown, and times in the zone that is chosen.
import { check, chosen, close, drawn, equal, ok, open, saved, text, to, until } from './kit.mjs';

const number = (money) => Number(/\$([\d.,]+)/.exec(money)[1].replaceAll(',', ''));

async function cost(page, query = '') {
    await to(page, `#/cost${query}`);
    await page.locator('.uplot canvas').waitFor();
    await page.locator('.tasks-cost tr').nth(1).waitFor();
    await drawn(page);
}

/** What a table of the view has in a column, by its first column. */
const column = (page, label, n) =>
    page
        .getByRole('region', { name: label })
        .locator('tbody tr')
        .evaluateAll(
            (rows, at) =>
                Object.fromEntries(
                    rows.map((row) => [
                        row.cells[0].innerText.trim(),
                        row.cells[at].innerText.trim(),
                    ]),
                ),
            n,
        );

async function oneFigure(world, page) {
    await cost(page);
    const usage = await world.api('GET', '/v1/usage');
    const { budgets } = await world.api('GET', '/v1/status');
    const all = budgets.find((one) => one.key === 'global');
    equal(usage.totals.cost_usd, all.usd_used, 'the budget and the sum of the days');
    equal(usage.live.cost_usd, all.usd_live, 'what live runs cost, in both');
    const wanted = `$${usage.totals.cost_usd.toFixed(2)} + $${usage.live.cost_usd.toFixed(2)} in live runs`;
    ok((await text(page, '.sums b')).includes(wanted), `the sum is ${wanted}`);
    ok((await text(page, '.cost .bars li')).includes(wanted), `the budget says ${wanted}`);
    const tasks = await world.api('GET', '/v1/usage/tasks');
    const sum = tasks.items.reduce((part, one) => part + (one.cost_usd ?? 0), 0);
    equal(sum.toFixed(6), usage.totals.cost_usd.toFixed(6), 'the sum of all tasks');
    const shown = Object.values(await column(page, 'usage by project', 1)).map(number);
    equal(
        shown.reduce((a, b) => a + b, 0).toFixed(2),
        usage.totals.cost_usd.toFixed(2),
        'the sum of the rows',
    );
    ok(!/\$\d+\.\d{5}/.test(await text(page, '.view.cost')), 'no millionths of a dollar');
}

async function tasksAndFiles(world, page, night) {
    await cost(page);
    const rows = await column(page, 'usage by task', 3);
    ok(
        Object.keys(rows).some((id) => id.includes(night.past[0])),
        'a finished task is in the table',
    );
    for (const [n, by, at, name] of [
        [0, 'project', 1, 'sluice-cost-by-project.csv'],
        [1, 'task', 3, 'sluice-cost-by-task.csv'],
    ]) {
        const file = await saved(page, () =>
            page.getByRole('button', { name: 'export CSV' }).nth(n).click(),
        );
        equal(file.name, name, 'the name of the file');
        const sums = costsIn(file.text, by);
        const shown = Object.entries(await column(page, `usage by ${by}`, at));
        const known = shown.filter(([, cost]) => cost.includes('$'));
        ok(known.length > 1, `${by}s with a cost are in the table`);
        for (const [one, cost] of known)
            equal(sums[one]?.toFixed(2), number(cost).toFixed(2), `${name}: the cost of ${one}`);
    }
}

/** The sums of cost_usd in a CSV file. Counted from the end, a comma in a title does not matter. */
function costsIn(text, by) {
    const [head, ...rows] = text
        .trim()
        .split('\n')
        .map((row) => row.split(','));
    const sums = {};
    for (const row of rows) {
        const name = row[head.indexOf(by)];
        sums[name] = (sums[name] ?? 0) + Number(row.at(head.indexOf('cost_usd') - head.length));
    }
    return sums;
}

/** The colour of each name in the key below the chart. */
const colours = (page) =>
    page
        .locator('.chart-key span')
        .evaluateAll((all) =>
            Object.fromEntries(
                all.map((one) => [
                    one.textContent.trim(),
                    getComputedStyle(one.querySelector('i')).backgroundColor,
                ]),
            ),
        );

async function sameColours(page) {
    await cost(page);
    const money = await colours(page);
    await cost(page, '?what=tokens');
    const tokens = await colours(page);
    await to(page, '#/share');
    await page.locator('.chart-key span').first().waitFor();
    const share = await colours(page);
    for (const name of Object.keys(money)) {
        equal(tokens[name], money[name], `the colour of ${name} by tokens`);
        equal(share[name], money[name], `the colour of ${name} in Fair share`);
    }
    equal(new Set(Object.values(money)).size, Object.keys(money).length, 'different colours');
}

async function oneForecast(world, page, night) {
    await to(page, '#/whatif');
    await page.locator('.bottleneck').waitFor();
    const forecast = await world.api('GET', '/v1/forecast?limit=1000');
    ok(
        (await text(page, '.assumptions')).includes(`${forecast.tasks} tasks will be finished`),
        'what-if plays the tasks of the forecast',
    );
    ok(
        forecast.bottleneck && (await text(page, '.bottleneck')).startsWith('Bottleneck:'),
        'it names the bottleneck',
    );
    const graph = await world.api('GET', '/v1/graph');
    const at = (id) => graph.nodes.find((node) => node.id === id)?.forecast;
    for (const one of forecast.items.filter((item) => !item.live)) {
        const { forecast: why } = await world.api('GET', `/v1/tasks/${one.task}/why`);
        if (why?.starts_at) equal(at(one.task), why.starts_at, `the start of ${one.task}`);
    }
    ok(at(night.parser[2]), 'a task that waits for another has a forecast');
    await to(page, '#/timeline');
    await page.locator('.timeline-rows canvas[data-window]').waitFor();
}

async function phone(page) {
    await to(page, '#/whatif');
    await page.locator('.sums', { hasText: 'as it is' }).waitFor();
    const top = await page
        .locator('.whatif .sums')
        .evaluate((el) => el.getBoundingClientRect().top);
    ok(top < 400, `the result is at ${Math.round(top)} px`);
    for (const view of ['whatif', 'events', 'now', 'cost', 'timeline', 'graph']) {
        await to(page, `#/${view}`);
        await drawn(page);
        await until(page, `the tab of ${view} is on the screen`, () => {
            const box = document.querySelector('nav [aria-current]')?.getBoundingClientRect();
            return box && box.left >= 0 && box.right <= innerWidth;
        });
        if (!['cost', 'timeline', 'graph'].includes(view)) continue;
        const small = await page
            .locator('.view .filters button, .view .zoom button, .view .filters select')
            .evaluateAll((all) =>
                all
                    .filter((el) => el.checkVisibility() && el.getBoundingClientRect().height < 40)
                    .map((el) => el.textContent),
            );
        equal(small.join(', '), '', `small targets in ${view}`);
    }
}

async function zones(world, page) {
    const zone = page.getByLabel('show times in');
    await to(page, '#/timeline?rows=task');
    await page.getByRole('button', { name: 'as a table' }).click();
    const began = page.locator('.run-table tbody tr').first().locator('td').nth(4);
    const utc = await began.innerText();
    await zone.selectOption('Australia/Darwin');
    await until(
        page,
        'times are in the other zone',
        (was) => document.querySelector('.run-table tbody tr').cells[4].innerText !== was,
        utc,
    );
    const minutes = (clock) => {
        const [h, m] = clock.split(', ').pop().split(':').map(Number);
        return h * 60 + m;
    };
    equal(
        (minutes(await began.innerText()) - minutes(utc) + 1440) % 1440,
        570,
        'minutes that the clocks of the other zone are ahead',
    );
    await cost(page);
    await page.locator('.section .note', { hasText: 'days of Australia/Darwin' }).waitFor();
    // It is this browser's choice, also after another load.
    await page.reload();
    await page.locator('.section .note', { hasText: 'days of Australia/Darwin' }).waitFor();
    equal(await zone.inputValue(), 'Australia/Darwin', 'the choice after a reload');
    await zone.selectOption('system');
    const { timezone } = await world.api('GET', '/v1/status');
    await page.locator('.section .note', { hasText: `days of ${timezone}` }).waitFor();
    await zone.selectOption('browser');
}

export async function costs(world, night) {
    const names = {
        figure: 'money is one figure wherever it is shown, and live runs are apart',
        tasks: 'cost has a table of tasks, and files to download',
        colours: 'cost and share: the colour of a project is the same, whatever its rank',
        forecast: 'cost of time: what-if, graph and task show one forecast, and the bottleneck',
        phone: 'cost and what-if on a phone: the result first, the tab in sight, large targets',
        zones: 'times and days of cost are in the time zone that is chosen',
    };
    if (!Object.values(names).some(chosen)) return;
    const page = await open(world, '#/cost');
    await check(names.figure, () => oneFigure(world, page));
    await check(names.tasks, () => tasksAndFiles(world, page, night));
    await check(names.colours, () => sameColours(page));
    await check(names.forecast, () => oneForecast(world, page, night));
    await check(names.zones, () => zones(world, page));
    await close(page);
    await check(names.phone, async () => {
        const small = await open(world, '#/whatif', { width: 360, height: 740 });
        await phone(small);
    });
}
