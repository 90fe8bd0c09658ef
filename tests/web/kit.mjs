// kit.mjs: shared functions of the dashboard tests: one browser, pages that record their errors, and TAP.
//
//   check('what must be so', async () => { … })   a test; it fails when it throws
//   const page = await open(world, '#/now')        a page whose errors fail the test that runs; check() closes it
//   report('what', 'value')                        a line of the table at the end
//
// SLUICE_TEST_BROWSER=firefox: the same tests in the Firefox of the system, over WebDriver BiDi. What cannot be tested there
// is in notInFirefox.
//
// A closed page is reset and used again: a new one takes three times as long.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import playwright from 'playwright-core';
import { patience } from './patience.mjs';

export const here = path.dirname(fileURLToPath(import.meta.url));
const only = process.argv.slice(2);
let number = 0;
let failed = 0;
let problems = [];
let browser;
let opened = null; // pages of the current test
const idle = [];
const table = [];

export const inFirefox = process.env.SLUICE_TEST_BROWSER === 'firefox';

const notInFirefox = [
    [/^it looks as it did/, 'tests/web/looks.txt has the sizes of Chromium'],
    [/^colours follow the system/, 'WebDriver BiDi cannot emulate a dark system'],
    [/^two fingers /, 'the driver sends no touches over WebDriver BiDi'],
    [/^a hidden page notifies /, 'the driver grants no permissions over WebDriver BiDi'],
];

// Which programs to look for, and what their driver needs.
const driver = inFirefox
    ? {
          type: playwright._bidiFirefox,
          files: [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'],
          // What the driver sets for each page in Chromium: less motion, and scrollbars without width.
          options: {
              firefoxUserPrefs: { 'ui.prefersReducedMotion': 1, 'ui.useOverlayScrollbars': 1 },
          },
      }
    : {
          type: playwright.chromium,
          files: [
              process.env.CHROMIUM,
              '/usr/bin/chromium',
              '/usr/bin/chromium-browser',
              '/usr/bin/google-chrome',
          ],
          // No sandbox: the pages are trusted, and a sandbox needs namespaces or a helper that not every machine has.
          options: { args: ['--no-sandbox', '--disable-dev-shm-usage'] },
      };

export async function browse() {
    // Its user data is in its profile, which scripts/test-web removes.
    const {
        DBUS_SESSION_BUS_ADDRESS: _,
        XDG_CONFIG_HOME: _c,
        XDG_CACHE_HOME: _k,
        XDG_DATA_HOME: _d,
        ...env
    } = process.env;
    browser = await driver.type.launch({
        ...driver.options,
        executablePath: driver.files.find((file) => file && fs.existsSync(file)),
        timeout: patience,
        env: { ...env, HOME: os.tmpdir(), TZ: 'UTC' },
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
    });
    const page = await newPage();
    if (
        await page.evaluate(
            () => new OffscreenCanvas(1, 1).getContext('2d').measureText('text').width === 0,
        )
    )
        throw new Error('the browser finds no font: install one, for example fonts-dejavu-core');
    idle.push(page);
}

export const done = () => browser?.close();

export function equal(seen, wanted, what) {
    if (seen !== wanted)
        throw new Error(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

export function ok(value, what) {
    if (!value) throw new Error(what);
}

export const chosen = (name) => only.length === 0 || only.some((word) => name.includes(word));

export async function check(name, test) {
    if (!chosen(name)) return;
    number++;
    const reason = inFirefox && notInFirefox.find(([pattern]) => pattern.test(name))?.[1];
    if (reason) {
        console.log(`ok ${number} - ${name} # SKIP ${reason}`);
        return;
    }
    problems = [];
    opened = new Set();
    const began = Date.now();
    try {
        await test();
        if (problems.length > 0)
            throw new Error(`the page complained: ${problems.slice(0, 5).join(' | ')}`);
        await Promise.all([...opened].map(close));
        console.log(`ok ${number} - ${name}`);
    } catch (error) {
        failed++;
        console.log(`not ok ${number} - ${name}`);
        for (const one of String(error.stack ?? error)
            .split('\n')
            .slice(0, 40))
            console.log(`# ${one}`);
        await Promise.all(
            [...opened].map((page) =>
                page
                    .context()
                    .close()
                    .catch(() => {}),
            ),
        );
    }
    opened = null;
    if (process.env.TIMES || Date.now() - began > 2000)
        console.log(`# took ${((Date.now() - began) / 1000).toFixed(1)} s`);
}

export function report(what, value) {
    table.push([what, value]);
}

export function finish() {
    const width = Math.max(0, ...table.map(([what]) => what.length));
    for (const [what, value] of table) console.log(`# ${what.padEnd(width)}  ${value}`);
    console.log(`1..${number}`);
    return failed === 0 ? 0 : 1;
}

async function newPage(ahead, touch) {
    const context = await browser.newContext({
        reducedMotion: 'reduce',
        timezoneId: 'UTC',
        locale: 'en-US',
        hasTouch: !!touch,
    });
    // The clock of this browser is ahead by this many ms.
    if (ahead)
        await context.addInitScript((by) => {
            const real = Date.now;
            Date.now = () => real() + by;
        }, ahead);
    // Records all toasts: they disappear after seconds, and a busy machine may check later.
    await context.addInitScript(() => {
        window.noted = [];
        const seen = new WeakSet();
        new MutationObserver(() => {
            for (const toast of document.querySelectorAll('.toast')) {
                if (!seen.has(toast)) window.noted.push(toast.textContent);
                seen.add(toast);
            }
        }).observe(document, { childList: true, subtree: true });
    });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    page.on('pageerror', (error) => problems.push(`threw ${error.message}`));
    page.on('console', (message) => {
        // The browser logs this for each response with an error status; the tests check how the page handles it.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
            problems.push(message.text());
    });
    return page;
}

/** Opens a page and waits until it is ready. Logged errors, exceptions and violations of its policy fail the test. `fresh`: in
 *  a browser context without stored data. */
export async function open(
    world,
    hash = '#/now',
    { width = 1280, height = 800, dark = false, ahead = 0, fresh = false, touch = false } = {},
) {
    const page = (!ahead && !fresh && !touch && idle.pop()) || (await newPage(ahead, touch));
    page.again = !ahead && !fresh && !touch;
    opened?.add(page);
    await screen(page, { width, height, dark });
    if (inFirefox) await page.bringToFront(); // only that page has the focus
    await page.goto(world.url + hash);
    await page.waitForSelector('main:not(:empty), .locked');
    return page;
}

/** Changes the screen size of a page. */
export async function screen(page, { width = 1280, height = 800, dark = false } = {}) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
}

export async function close(page) {
    opened?.delete(page);
    if (!page.again) return page.context().close();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.evaluate(() => {
        localStorage.clear();
        sessionStorage.clear();
        indexedDB.deleteDatabase('sluice');
    });
    await page.goto('about:blank');
    idle.push(page);
}

/** Moves to another view of the same page. */
export async function to(page, hash) {
    await page.evaluate((there) => {
        location.hash = there;
    }, hash);
}

/** Waits until the condition holds in the page. The policy of the page forbids eval, so this polls from outside. */
export async function until(page, what, condition, value) {
    const deadline = Date.now() + patience;
    while (!(await page.evaluate(condition, value))) {
        if (Date.now() > deadline) throw new Error(`not within ${patience / 1000} s: ${what}`);
        await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
    }
}

/** The file that the action saves: its name and text. WebDriver BiDi reports no downloads, so in Firefox it is taken from the page. */
export async function saved(page, act) {
    if (!inFirefox) {
        const [file] = await Promise.all([page.waitForEvent('download'), act()]);
        return {
            name: file.suggestedFilename(),
            text: fs.readFileSync(await file.path(), 'utf8'),
        };
    }
    await page.evaluate(() => {
        const { createObjectURL } = URL;
        const { click } = HTMLAnchorElement.prototype;
        let blob;
        window.saved = null;
        URL.createObjectURL = (given) => {
            blob = given;
            return createObjectURL.call(URL, given);
        };
        HTMLAnchorElement.prototype.click = function () {
            const name = this.download;
            blob.text().then((text) => {
                window.saved = { name, text };
            });
            URL.createObjectURL = createObjectURL;
            HTMLAnchorElement.prototype.click = click;
        };
    });
    await act();
    await until(page, 'a file is saved', () => window.saved !== null);
    return page.evaluate(() => window.saved);
}

/** A tap of a finger. The driver's taps over WebDriver BiDi are no clicks: in Firefox it is a click, on the same page of a phone. */
export const tap = (target) => (inFirefox ? target.click() : target.tap());

/** Two fingers on an element: from a distance to another, in pixels. Real touches of the browser, on a page with `touch`. */
export async function pinch(page, selector, from, to) {
    const { x, y, width, height } = await page.locator(selector).boundingBox();
    const [middle, line] = [x + width / 2, y + height / 2];
    const client = await page.context().newCDPSession(page);
    const send = (type, apart) =>
        client.send('Input.dispatchTouchEvent', {
            type,
            touchPoints: apart
                ? [-0.5, 0.5].map((side, id) => ({ x: middle + side * apart, y: line, id }))
                : [],
        });
    await send('touchStart', from);
    for (let step = 1; step <= 5; step++) await send('touchMove', from + ((to - from) * step) / 5);
    await send('touchEnd', 0);
    await client.detach();
}

/** Asserts that the action makes the page show a message with this text. */
export async function says(page, text, act) {
    const before = await page.evaluate(() => window.noted.length);
    await act();
    await until(
        page,
        `the page says '${text}'`,
        ([from, wanted]) => window.noted.slice(from).some((one) => one.includes(wanted)),
        [before, text],
    );
}

/** Waits until the view exists and is drawn. */
export async function drawn(page) {
    await page.locator('main .view').waitFor();
    await until(
        page,
        'nothing is being read',
        () => !document.querySelector('main [aria-busy=true]'),
    );
    await page.evaluate(
        () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))),
    );
}

export const text = (page, selector) => page.locator(selector).first().innerText();

/** Whether an operation exists in this daemon. */
export async function has(world, address) {
    try {
        await world.api('GET', address);
        return true;
    } catch (error) {
        return !/ (404|405|501) /.test(error.message);
    }
}
