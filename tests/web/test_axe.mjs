// test_axe.mjs: what axe-core finds in each view, light and dark: contrast, names, roles, order. Nothing may be found.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { check, equal, open, report, screen } from './kit.mjs';
import { DARK, PHONE, show, views, WIDE } from './test_looks.mjs';

const source = fs.readFileSync(
    createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
    'utf8',
);

/** One line for each violation: its rule, and the first elements. */
export async function violations(page) {
    if (!(await page.evaluate(() => !!window.axe))) await page.evaluate(source);
    const { violations: found } = await page.evaluate(() => window.axe.run(document));
    return found.map(
        ({ id, nodes }) =>
            `${id}: ${nodes
                .slice(0, 3)
                .map((node) => `${node.target} ${node.any[0]?.message ?? ''}`)
                .join(', ')}`,
    );
}

export async function axe(world, night) {
    const all = {
        ...views(night),
        list: ['#/board?by=list&state=all', '.board', '.list-head', '.card.line .title'],
    };
    let seen = 0;
    for (const [name, view] of Object.entries(all))
        await check(
            `axe-core finds nothing in the view ${name}, light, dark and on a phone`,
            async () => {
                const page = await open(world);
                for (const size of [WIDE, DARK, PHONE]) {
                    await screen(page, size);
                    await show(page, view);
                    equal(
                        (await violations(page)).join('\n'),
                        '',
                        `${size.dark ? 'dark' : 'light'}, ${size.width} px`,
                    );
                    seen++;
                }
            },
        );
    if (seen > 0) report('pages without a violation (axe-core)', String(seen));
}
