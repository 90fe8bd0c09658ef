// judge.mjs: whether a page can be used by everybody: the rules of axe, and the contrast of every text.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { drawn, equal } from './kit.mjs';

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Texts with a contrast below 4.5 to what is behind them. Runs in the page. */
export function contrasts() {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const parse = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
        const part = (n) =>
            n / 255 <= 0.03928 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4;
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const bad = new Set();
    for (const el of document.querySelectorAll('main *')) {
        const own = [...el.childNodes].some(
            (node) => node.nodeType === 3 && node.textContent.trim(),
        );
        if (!own || !el.checkVisibility() || el.closest('canvas, button:disabled')) continue;
        let behind = el;
        let opacity = 1;
        for (let at = el; at; at = at.parentElement)
            opacity *= Number(getComputedStyle(at).opacity);
        while (behind && parse(getComputedStyle(behind).backgroundColor)[3] < 255)
            behind = behind.parentElement;
        const paper = parse(getComputedStyle(behind ?? document.body).backgroundColor);
        const ink = parse(getComputedStyle(el).color).map(
            (n, i) => n * opacity + (paper[i] ?? 255) * (1 - opacity),
        );
        const [a, b] = [light(ink), light(paper)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.add(`${el.className || el.tagName} ${ratio.toFixed(2)}`);
    }
    return [...bad];
}

/** What axe finds in a part of the page: one line for each violation, its rule and the first elements. The policy of the page
 * refuses scripts of others, so axe comes in from outside. */
export async function violations(page, within = 'html') {
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
    const found = await page.evaluate(async (part) => {
        const { violations: all } = await window.axe.run(
            part === 'html' ? document : document.querySelector(part),
        );
        return all.map(({ id, nodes }) => ({
            id,
            nodes: nodes.map(({ target, html, any }) => ({ target, html, any })),
        }));
    }, within);
    return found.map(
        ({ id, nodes }) =>
            `${id}: ${nodes
                .slice(0, 3)
                .map(
                    ({ target, html, any }) =>
                        `${target} ${html.slice(0, 120)} ${any[0]?.message ?? ''}`,
                )
                .join(', ')}`,
    );
}

/** Fails with what axe finds, and with text of low contrast. */
export async function accessible(page, within = 'main') {
    await drawn(page);
    equal((await violations(page, within)).join('\n'), '', 'what axe finds');
    equal((await page.evaluate(contrasts)).join(', '), '', 'text that is hard to read');
}
