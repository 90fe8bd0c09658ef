// test_session.mjs: the session of a browser: tabs and links share it, it survives restarts of the daemon, and what the
// page sends is worth nothing to another program that listens at its port or at any other.
import http from 'node:http';
import { check, equal, ok, open, until } from './kit.mjs';
import { patience } from './patience.mjs';
import { World } from './world.mjs';

const CONFIG = 'tasks.sandbox: none\nhost: {disk_free_gb: 0, memory_free_mb: 0}\n';

const linkOf = (world, ...more) =>
    /http:\/\/\S+#t=\S+/.exec(world.sluice('dash', '--print', ...more))[0];
const portOf = (address) => Number(new URL(address).port);

async function signIn(world) {
    const page = await open({ url: '' }, linkOf(world), { fresh: true });
    await page.locator('.connected.live').waitFor();
    return page;
}

/** Another tab of the same browser. */
async function tab(page, address) {
    const other = await page.context().newPage();
    other.setDefaultTimeout(patience);
    await other.goto(address);
    return other;
}

/** A request as it was seen, sent to a port; its status and headers. */
function send(seen, port, host) {
    return new Promise((done, fail) => {
        const request = http.request(
            {
                host: '127.0.0.1',
                port,
                method: seen.method,
                path: seen.url,
                headers: { ...seen.headers, host },
            },
            (answer) => {
                answer.destroy();
                done(answer);
            },
        );
        request.on('error', fail);
        request.end(seen.body);
    });
}

/** Listens at the port of the page, and answers so that the page signs for it: with a `boot` of its own. */
async function listenAt(port) {
    const seen = [];
    const server = http.createServer(async (request, response) => {
        let body = '';
        for await (const part of request) body += part;
        seen.push({ method: request.method, url: request.url, headers: request.headers, body });
        response.writeHead(401, { 'X-Sluice-Boot': `boot-${seen.length}` }).end('{}');
    });
    const deadline = Date.now() + patience;
    for (;;) {
        const error = await new Promise((go) => {
            server.once('error', go);
            server.listen(port, '127.0.0.1', () => go(null));
        });
        if (!error) break;
        if (Date.now() > deadline) throw error;
        await new Promise((go) => setTimeout(go, 50));
    }
    return { seen, server };
}

async function refused(seen, port, host) {
    for (const one of seen) {
        const { statusCode } = await send(one, port, host);
        ok(
            statusCode === 401 || statusCode === 403,
            `${one.method} ${one.url} for ${host} was answered with ${statusCode}`,
        );
    }
}

export async function sessions() {
    const names = [
        'a new tab and a shared link open without another code',
        'the page goes on after a restart of the daemon, at the same port',
        'what the browser keeps cannot be copied',
        'a program that listens at the port of the page gets nothing that opens the daemon',
        'a session that is revoked ends in every tab',
        'a page signs for an address, not for a name that another program can answer for',
    ];
    const world = await World.start({ config: CONFIG });
    await check(names[0], async () => {
        const [id] = await world.add({ title: 'a task to look at', argv: ['true'], hold: true });
        const first = await signIn(world);
        const second = await tab(first, `${new URL(first.url()).origin}/#/task/${id}`);
        await second.getByText('a task to look at').first().waitFor();
        await second.locator('.connected.live').waitFor();
    });
    await check(names[1], async () => {
        const page = await signIn(world);
        const port = portOf(page.url());
        await page.evaluate(() => {
            window.mine = 'not reloaded';
        });
        world.kill();
        await page.locator('.connected.lost').waitFor();
        world.up();
        await page.locator('.connected.live').waitFor();
        equal(await page.evaluate(() => window.mine), 'not reloaded', 'the page');
        equal(portOf(linkOf(world)), port, 'the port');
    });
    await check(names[2], async () => {
        const page = await signIn(world);
        const kept = await page.evaluate(async () => {
            const ask = (request) =>
                new Promise((go, fail) => {
                    request.onsuccess = () => go(request.result);
                    request.onerror = () => fail(request.error);
                });
            const database = await ask(indexedDB.open('sluice', 1));
            const stored = await ask(
                database.transaction('session').objectStore('session').get('current'),
            );
            const copies = await Promise.all(
                ['jwk', 'pkcs8', 'raw'].map((form) =>
                    crypto.subtle.exportKey(form, stored.key).then(
                        () => true,
                        () => false,
                    ),
                ),
            );
            return {
                copied: copies.some(Boolean),
                texts: JSON.stringify([
                    { ...localStorage },
                    { ...sessionStorage },
                    document.cookie,
                ]),
            };
        });
        ok(!kept.copied, 'the private key can be exported');
        ok(!/sl_|[0-9a-f]{32}/.test(kept.texts), `there is a secret in ${kept.texts}`);
        equal((await page.context().cookies()).length, 0, 'cookies');
    });
    await check(names[3], async () => {
        const page = await signIn(world);
        const port = portOf(page.url());
        world.kill();
        const thief = await listenAt(port);
        const signed = () => thief.seen.filter(({ headers }) => headers.authorization);
        await until(page, 'the page has signed for the wrong program', () =>
            Boolean(document.querySelector('.locked')),
        );
        ok(signed().length > 1, 'it has seen signed requests');
        ok(
            signed().some(({ headers }) => headers.authorization.includes(' boot-')),
            'one of them with its own boot',
        );
        ok(
            thief.seen.every(
                ({ headers }) => !headers.cookie && !/Bearer/.test(headers.authorization),
            ),
            'a token or a cookie was sent',
        );
        world.up(); // its port is taken: it comes up at another one
        const other = portOf(linkOf(world));
        ok(other !== port, 'the port is taken');
        for (const host of [`127.0.0.1:${other}`, `127.0.0.1:${port}`, `localhost:${other}`])
            await refused(signed(), other, host);
        world.kill();
        await new Promise((go) => {
            thief.server.close(go);
            thief.server.closeAllConnections();
        });
        world.up(); // at its own port again
        equal(portOf(linkOf(world)), port, 'the port');
        await refused(signed(), port, `127.0.0.1:${port}`);
        await page.reload();
        await page.locator('.connected.live').waitFor();
    });
    await check(names[5], async () => {
        // A program may listen at [::1] with the port of the daemon, which listens at 127.0.0.1.
        const link = linkOf(world).replace('127.0.0.1', 'localhost');
        const page = await open({ url: '' }, link, { fresh: true });
        await page.locator('.connected.live').waitFor();
        equal(new URL(page.url()).hostname, '127.0.0.1', 'where the page is');
    });
    await check(names[4], async () => {
        const page = await signIn(world);
        const second = await tab(page, page.url());
        await second.locator('.connected.live').waitFor();
        const { items } = JSON.parse(world.sluice('token', 'list', '--json'));
        for (const { id, session } of items) if (session) world.sluice('token', 'revoke', id);
        await page.getByText('Your session has ended.').waitFor();
        await second.getByText('Your session has ended.').waitFor();
    });
    world.stop();
}
