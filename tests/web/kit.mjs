// kit.mjs: what the tests of the page share: one browser, pages that notice what goes wrong in them, and TAP.
//
//   check('what must be so', async () => { … })   a test; it fails when it throws
//   const page = await open(world, '#/now')        a page whose errors fail the test that runs
//   report('what', 'value')                        a line of the table at the end
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const here = path.dirname(fileURLToPath(import.meta.url));
const only = process.argv.slice(2);
let number = 0;
let failed = 0;
let problems = [];
let browser;
const table = [];

export async function browse() {
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const found = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => file && fs.existsSync(file));
    browser = await chromium.launch({ executablePath: found, args: [...sandbox, '--disable-dev-shm-usage'] });
}

export const done = () => browser?.close();

export function equal(seen, wanted, what) {
    if (seen !== wanted) throw new Error(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
}

export function ok(value, what) {
    if (!value) throw new Error(what);
}

export async function check(name, test) {
    if (only.length > 0 && !only.some((word) => name.includes(word))) return;
    number++;
    problems = [];
    const began = Date.now();
    try {
        await test();
        if (problems.length > 0) throw new Error(`the page complained: ${problems.slice(0, 5).join(' | ')}`);
        console.log(`ok ${number} - ${name}`);
    } catch (error) {
        failed++;
        console.log(`not ok ${number} - ${name}`);
        for (const one of String(error.stack ?? error).split('\n').slice(0, 8)) console.log(`# ${one}`);
    }
    if (Date.now() - began > 2000) console.log(`# took ${((Date.now() - began) / 1000).toFixed(1)} s`);
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

/** A page that is ready; what it logs as an error, throws or is refused by its policy fails the test. */
export async function open(world, hash = '#/now', { width = 1280, height = 800, dark = false, quiet = [], ahead = 0 } = {}) {
    const context = await browser.newContext({
        viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', timezoneId: 'UTC',
    });
    // The clock of this browser is so many ms ahead.
    if (ahead) await context.addInitScript((by) => { const real = Date.now; Date.now = () => real() + by; }, ahead);
    const page = await context.newPage();
    page.setDefaultTimeout(20000);
    const complain = (text) => {
        if (!quiet.some((word) => text.includes(word))) problems.push(text);
    };
    page.on('pageerror', (error) => complain(`threw ${error.message}`));
    page.on('console', (message) => {
        // The browser says this of each answer that is no success; what the page makes of it is tested.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complain(message.text());
    });
    await page.goto(world.url + hash);
    await page.waitForSelector('main:not(:empty), .locked');
    return page;
}

/** Moves to another view of the same page. */
export async function to(page, hash) {
    await page.evaluate((there) => { location.hash = there; }, hash);
}

/** Until it is so in the page. The policy of the page allows no eval, so this asks from outside. */
export async function until(page, what, condition, value) {
    const deadline = Date.now() + 20000;
    while (!(await page.evaluate(condition, value))) {
        if (Date.now() > deadline) throw new Error(`not within 20 s: ${what}`);
        await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
    }
}

/** The view is there and has been drawn. */
export async function drawn(page) {
    await page.locator('main .view').waitFor();
    await until(page, 'nothing is being read', () => !document.querySelector('main [aria-busy=true]'));
    await page.evaluate(() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))));
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
