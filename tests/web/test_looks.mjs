// test_looks.mjs: compares the layout of each view with an accepted one. look.mjs describes the layout independently of fonts,
// and looks.txt has the accepted descriptions. UPDATE=1 writes it; then look at the pages (node tests/web/world.mjs build), and
// read the diff.
import fs from 'node:fs';
import path from 'node:path';
import { check, chosen, close, drawn, here, ok, open, screen, to } from './kit.mjs';
import { look, PARTS } from './look.mjs';

const FILE = path.join(here, 'looks.txt');
export const WIDE = { width: 1280, height: 800 };
export const DARK = { ...WIDE, dark: true };
export const PHONE = { width: 360, height: 740 };

/** Every view: its address, its element, and the content that must be loaded first. */
export const views = (night) => ({
    now: [
        '#/now',
        '.now',
        '.question .option',
        '.windows .reserved',
        '.rows.running .said',
        '.rows.next li',
        '.rows.gates li',
        '.needs-rows .is-blocking',
        '.limiter.backoff .under',
    ],
    board: [
        '#/board',
        '.board',
        ...['Running', 'Ready', 'Waiting', 'Held', 'Failed', 'Done', 'Draft'].map(
            (name) => `.column[aria-label=${name}] .card:not(.gap)`,
        ),
    ],
    task: [
        `#/task/${night.parser[0]}`,
        '.task',
        '.log-line',
        'section[aria-label=Attempts] td',
        'section[aria-label=Budget] td',
        '.history li',
    ],
    graph: ['#/graph', '.graph', '.graph-canvas canvas', '.legend'],
    timeline: ['#/timeline', '.timeline', '.timeline-box canvas'],
    question: [`#/task/${night.asks}`, '.task', '.question .option', '.history li'],
    reserved: [`#/task/${night.reserved}`, '.task', '.gate-why .windows', '.history li'],
    schedules: ['#/schedules', '.schedules', '.schedule-rows li'],
    schedule: ['#/schedules/nightly', '.schedules', '.coming li', '.past li'],
    form: ['#/schedules/nightly?form=1', '.schedules', '.schedule-form'],
    share: ['#/share', '.share-view', '.uplot canvas', '.share-now li'],
    cost: ['#/cost', '.cost', '.uplot canvas', 'td'],
    whatif: ['#/whatif', '.whatif', '.setting', '.sums', '.uplot canvas', 'td'],
    events: ['#/events', '.events', '.event'],
});

/** Opens the view and waits until it is complete. */
export async function show(page, [hash, view, ...ready]) {
    await to(page, hash);
    for (const selector of ['.connected.live', ...ready.map((one) => `.view${view} ${one}`)])
        await page.locator(selector).first().waitFor({ state: 'attached' });
    await drawn(page);
}

const SHOTS = [
    ...[
        'now',
        'board',
        'task',
        'question',
        'reserved',
        'graph',
        'timeline',
        'schedules',
        'schedule',
        'form',
        'share',
        'cost',
        'whatif',
        'events',
    ].map((view) => [view, view, WIDE]),
    ...['now', 'board', 'task', 'graph', 'schedule'].map((view) => [`${view}, dark`, view, DARK]),
    ...['now', 'board', 'task', 'events', 'question', 'schedules', 'schedule', 'form'].map(
        (view) => [`${view}, on a phone`, view, PHONE],
    ),
];

// Errors in a style sheet that must be detected: the change, and the view that shows it.
const BROKEN = [
    ['nothing is broken', 'now', ''],
    ['no style at all', 'now', null],
    ['one column instead of two', 'now', '.columns { display: block; }'],
    ['a column without room', 'now', '.columns { grid-template-columns: minmax(0, 1fr) 0; }'],
    ['a panel that is removed', 'now', 'section[aria-label=Limits] { display: none; }'],
    ['a panel that cannot be seen', 'now', 'section[aria-label=Limits] { opacity: 0; }'],
    ['panels in another order', 'now', '.side { display: flex; flex-direction: column-reverse; }'],
    ['a panel over another', 'now', 'section[aria-label=Accounts] { margin-top: -60px; }'],
    ['rows that lie over each other', 'now', '.rows > li { height: 6px; }'],
    ['a view outside the screen', 'now', 'main { margin-left: -240px; }'],
    ['a view that is too wide', 'now', '.view { width: 1400px; }'],
    ['no head', 'now', '.top { display: none; }'],
    ['bars without a height', 'now', '.meter { height: 0; }'],
    ['a colour of its own', 'now', 'button.primary { background: #ffffff; }'],
    ['other ink', 'now', 'body { color: #777777; }'],
    ['large print', 'now', 'body { font-size: 20px; }'],
    ['nothing, as at the beginning', 'now', ''],
    ['columns without a width', 'board', '.column { flex: 0 0 0; }'],
    ['columns one below the other', 'board', '.columns-x { flex-direction: column; }'],
    ['a board that is longer than the screen', 'board', '.board { height: auto; }'],
    ['cards without a height', 'board', '.card { height: 2px; }'],
    ['events in one column', 'events', '.event { display: block; }'],
    ['a log that is folded up', 'task', '.log-lines { display: none; }'],
    ['a canvas without a size', 'graph', '.graph-canvas { flex: none; min-height: 0; height: 0; }'],
];

/** Lines of one that are not in the other, and where they first differ. */
function difference(before, now) {
    const left = [...now];
    const removed = before.filter((line) => {
        const at = left.indexOf(line);
        if (at >= 0) left.splice(at, 1);
        return at < 0;
    });
    if (removed.length + left.length > 0)
        return [...removed.map((line) => `- ${line}`), ...left.map((line) => `+ ${line}`)];
    const at = before.findIndex((line, n) => line !== now[n]);
    return at < 0 ? [] : [`another order: "${now[at].trim()}" where "${before[at].trim()}" was`];
}

function read() {
    const known = {};
    let name;
    for (const line of fs.existsSync(FILE) ? fs.readFileSync(FILE, 'utf8').split('\n') : []) {
        if (line.startsWith('== ')) known[(name = line.slice(3))] = [];
        else if (line && name) known[name].push(line);
    }
    return known;
}

const HEAD = `# How the dashboard looks, by tests/web/look.mjs, which says what the words mean. Written by: make test-web UPDATE=1\n`;

export async function looks(world, night) {
    const all = views(night);
    const known = read();
    const title = (name) => `it looks as it did: ${name}`;
    const broken = 'a broken style is noticed, whatever it breaks';
    if (![broken, ...SHOTS.map(([name]) => title(name))].some(chosen)) return;
    const page = await open(world);
    for (const [name, view, size] of SHOTS)
        await check(title(name), async () => {
            await screen(page, size);
            await show(page, all[view]);
            // The page header is the same in every view.
            const { lines, faults } = await page.evaluate(look, {
                parts: PARTS,
                within: view === 'now' ? 'body' : 'main',
            });
            ok(faults.length === 0, faults.slice(0, 20).join('\n'));
            if (process.env.UPDATE) {
                known[name] = lines;
                return;
            }
            ok(
                known[name],
                `there is no look of '${name}' yet: look at it, then run this with UPDATE=1`,
            );
            const different = difference(known[name], lines);
            ok(
                different.length === 0,
                `if this is meant, look at the page, then run this with UPDATE=1\n${different.slice(0, 30).join('\n')}`,
            );
        });
    if (process.env.UPDATE)
        fs.writeFileSync(
            FILE,
            `${HEAD}${SHOTS.filter(([name]) => known[name])
                .map(([name]) => `\n== ${name}\n${known[name].join('\n')}\n`)
                .join('')}`,
        );

    await check(broken, async () => {
        await screen(page, WIDE);
        const whole = { parts: PARTS, within: 'body' };
        let there;
        let before;
        for (const [what, view, css] of BROKEN) {
            if (there !== view) {
                await show(page, all[view]);
                before = await page.evaluate(look, whole);
                there = view;
            }
            await page.evaluate((text) => {
                if (text === null) for (const sheet of document.styleSheets) sheet.disabled = true;
                const added = new CSSStyleSheet();
                added.replaceSync(text ?? '');
                document.adoptedStyleSheets = [added];
            }, css);
            const { lines, faults } = await page.evaluate(look, whole);
            const noticed = faults.length > 0 || difference(before.lines, lines).length > 0;
            ok(
                noticed === (css !== ''),
                `${noticed ? 'something is noticed' : 'nothing is noticed'}: ${what}`,
            );
            await page.evaluate(() => {
                for (const sheet of document.styleSheets) sheet.disabled = false;
                document.adoptedStyleSheets = [];
            });
        }
    });
    await close(page);
}
