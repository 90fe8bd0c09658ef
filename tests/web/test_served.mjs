// test_served.mjs: the page as served by the daemon: the link of `sluice dash`, its key, the end of its session.
import fs from 'node:fs';
import { check, equal, ok, open } from './kit.mjs';

export async function served(world) {
    try {
        world.sluice('dash', '--help');
    } catch {
        return; // this daemon has no TCP listener
    }
    const linkTo = (...more) =>
        /http:\/\/\S+#t=\S+/.exec(world.sluice('dash', '--print', ...more))?.[0];
    const own = { url: '' };
    await check(
        'the link of `sluice dash` opens the page, once, and leaves no trace in the address',
        async () => {
            const link = linkTo();
            const first = await open(own, link);
            await first.locator('.headline').waitFor();
            const address = await first.evaluate(() => location.href);
            ok(!address.includes('#t='), 'the code is out of the address');
            await first.reload();
            await first.locator('.headline').waitFor();
            await first.locator('.connected.live').waitFor();
            const second = await open(own, link);
            await second.getByText('was used already').waitFor();
        },
    );
    await check(
        'the file that a browser is given leads to the page, and is gone then',
        async () => {
            const { file } = await world.api('POST', '/v1/session/code', { file: true });
            ok(fs.existsSync(file), 'the file is there');
            const first = await open(own, `file://${file}`);
            await first.locator('.headline').waitFor();
            const address = await first.evaluate(() => location.href);
            ok(!address.includes('#t='), 'the code is out of the address');
            equal(
                await first.getByRole('button', { name: 'Add task' }).count(),
                1,
                'what the page may do',
            );
            equal(
                await first.getByRole('button', { name: /Pause|Resume/ }).count(),
                0,
                'buttons that need more',
            );
            ok(!fs.existsSync(file), 'the file is gone');
        },
    );
    await check('a page that was asked for with --admin can pause', async () => {
        const first = await open(own, linkTo('--admin'));
        await first.locator('.headline').waitFor();
        equal(await first.getByRole('button', { name: /Pause|Resume/ }).count(), 1, 'buttons');
    });
    await check('a key that may only read has no buttons that change anything', async () => {
        const first = await open(own, linkTo('--scope', 'read'));
        await first.locator('.headline').waitFor();
        equal(
            await first.getByRole('button', { name: /Pause|Add task|Resume/ }).count(),
            0,
            'buttons',
        );
    });
}
