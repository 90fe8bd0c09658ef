// test_axe.mjs: what axe-core finds in each view, light and dark: contrast, names, roles, order. Nothing may be found.
import { check, equal, open, report, screen } from './kit.mjs';
import { violations } from './judge.mjs';
import { DARK, PHONE, show, views, WIDE } from './test_looks.mjs';

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
