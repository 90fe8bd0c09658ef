// rules.mjs: the rules of the TypeScript client, against the daemon of test_typescript.sh. Prints the lines of TAP without numbers.
// usage: rules.mjs OPENAPI FIFO | rules.mjs OPENAPI URL CA
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import * as sluice from 'sluice-client';

const SLUICE = process.env.SLUICE;

function rule(what, holds, seen = '') {
    console.log(`${holds ? 'ok' : 'not ok'} - ${what}`);
    if (!holds) console.log('# seen:', seen);
}

async function errorOf(kind, call) {
    try {
        await call();
    } catch (error) {
        if (error instanceof kind) return error;
        throw error;
    }
    return undefined;
}

async function all(items) {
    const list = [];
    for await (const item of items) list.push(item);
    return list;
}

const command = (...words) => execFileSync(SLUICE, words, { stdio: ['ignore', 'pipe', 'ignore'] });
const sameNames = (object, names) =>
    JSON.stringify(Object.keys(object).sort()) === JSON.stringify([...names].sort());

function operationsAreMethods(document) {
    const calls = [];
    const record = (call) => calls.push(call);
    const groups = new sluice.Groups({ json: record, text: record, stream: record });
    const wrong = [];
    let count = 0;
    for (const [path, methods] of Object.entries(document.paths))
        for (const [method, operation] of Object.entries(methods)) {
            count++;
            const [group, verb] = operation.operationId.split('.');
            if (typeof groups[group]?.[verb] !== 'function') {
                wrong.push(operation.operationId);
                continue;
            }
            const names = (place) =>
                operation.parameters.filter((one) => one.in === place).map((one) => one.name);
            const body = Object.keys(
                operation.requestBody?.content['application/json'].schema.properties ?? {},
            );
            const params = Object.fromEntries(
                [...names('query'), ...body].map((name) => [name, `<${name}>`]),
            );
            groups[group][verb](...names('path').map((name) => `<${name}>`), params);
            const sent = calls.pop();
            const expected = names('path').reduce(
                (at, name) => at.replace(`{${name}}`, encodeURIComponent(`<${name}>`)),
                path,
            );
            if (
                sent.method !== method.toUpperCase() ||
                sent.path !== expected ||
                !sameNames(sent.query ?? {}, names('query')) ||
                !sameNames(sent.body ?? {}, body) ||
                (sent.keyed ?? false) !== names('header').includes('Idempotency-Key')
            )
                wrong.push(`${operation.operationId}: ${JSON.stringify(sent)}`);
        }
    rule(
        'every operation of the daemon is a method that sends all of its parameters',
        count > 80 && wrong.length === 0,
        wrong,
    );
}

async function add(client, task) {
    return (await client.task.add({ tasks: [task] })).tasks[0].id;
}

async function answers(client) {
    const name = await add(client, { argv: ['sh', '-c', 'echo hello; echo error >&2'] });
    const [task] = await client.wait([name]);
    rule('a task is added and waited for', task.state === 'done' && task.finished, task);
    rule('its output can be read', (await (await client.task.log(name)).text()) === 'hello\n');
    const log = await client.task.log(name, { stream: 'err' });
    rule(
        'and its errors, piece by piece',
        Buffer.concat(await all(log)).toString() === 'error\n' &&
            log.header('X-Sluice-Attempt') === '1',
    );
    rule('a task can be shown', (await client.task.show(name)).runs[0].outcome === 'ok');
    rule(
        'metrics are a text',
        (await client.daemon.metrics()).includes('sluice_start_time_seconds'),
    );
    const odd = 'a/b c?d&é=#';
    const error = await errorOf(sluice.ApiError, () => client.task.show(odd));
    rule('parameters in a path are escaped', error.message.includes(odd), error);
    await client.task.add({ tasks: [{ argv: ['true'], title: odd, draft: true }] });
    const found = (await client.task.list({ state: 'draft', text: odd })).items.map(
        (one) => one.title,
    );
    rule('and those of a query', found.length === 1 && found[0] === odd, found);
}

async function errors(client) {
    let error = await errorOf(sluice.NotFound, () => client.task.show('t-99999'));
    rule(
        'an error has the code, the status and the message of the API',
        error.code === 'not_found' && error.status === 404 && error.message.includes('t-99999'),
        error,
    );
    error = await errorOf(sluice.BadRequest, () =>
        client.task.add({ tasks: [{ argv: ['true'] }, {}] }),
    );
    rule('and says which entry it is about', error.index === 1, error);
    rule(
        'all errors have one base',
        error instanceof sluice.ApiError && error instanceof sluice.SluiceError,
    );
    rule(
        'a conflict has a class of its own',
        await errorOf(sluice.Conflict, () => client.task.answer('t-1', { text: 'yes' })),
    );
    error = await errorOf(sluice.Unavailable, () =>
        new sluice.Client({ address: 'unix:/nowhere/sluice.sock' }).daemon.status(),
    );
    rule(
        'without a daemon the error says how to start it',
        error.message.includes('sluice up'),
        error,
    );
    rule(
        'an address must be one',
        await errorOf(sluice.SluiceError, () =>
            new sluice.Client({ address: 'ftp://x' }).daemon.status(),
        ),
    );
    const key = { idempotencyKey: 'the-same-key' };
    const once = async () =>
        (await client.task.add({ tasks: [{ argv: ['true'] }] }, key)).tasks[0].id;
    rule('a key is done once', (await once()) === (await once()));
    rule(
        'and not for something else',
        await errorOf(sluice.Conflict, () =>
            client.task.add({ tasks: [{ argv: ['false'] }] }, key),
        ),
    );
    const aborted = await client.daemon
        .status({ signal: AbortSignal.abort(new Error('enough')) })
        .catch((reason) => reason);
    rule('a call can be aborted', aborted.message === 'enough', aborted);
}

async function pages(client) {
    const added = await client.task.add({
        tasks: Array.from({ length: 25 }, () => ({ argv: ['true'], draft: true })),
        new_group: true,
    });
    const filter = { state: 'draft', group: added.group, limit: 10 };
    const listed = (await all(client.task.listAll(filter))).map((one) => one.id);
    rule(
        'all pages of a list are gone through',
        listed.length === 25 && new Set(listed).size === 25,
        listed,
    );
    rule('one page has its limit', (await client.task.list(filter)).items.length === 10);
    rule(
        'also where the items have another name',
        (await all(client.task.selectAll(filter))).length === 25,
    );
}

async function events(client) {
    const stream = await client.events();
    const following = stream[Symbol.asyncIterator]();
    const name = await add(client, { argv: ['true'] });
    const seen = [];
    const until = async (task) => {
        do seen.push((await following.next()).value);
        while (seen.at(-1).task !== task);
    };
    await until(name);
    rule(
        'events begin where the stream was opened',
        seen[0].kind === 'task.added' && seen[0].task === name,
        seen,
    );
    command('down', '--wait');
    command('up');
    const later = await add(client, { argv: ['true'] });
    await until(later);
    const numbers = seen.map((one) => one.seq);
    const gap = numbers.find((number, i) => number !== numbers[0] + i);
    rule(
        'a stream goes on after a restart of the daemon: no event is missing, none is there twice',
        gap === undefined,
        numbers,
    );
    await following.return();
    rule('a closed stream has ended', (await following.next()).done);
    const again = (await client.events({ after: numbers[1] }))[Symbol.asyncIterator]();
    rule('a stream can be resumed from any number', (await again.next()).value.seq === numbers[2]);
    await again.return();
    const ahead = (await client.events({ after: 10 ** 9 }))[Symbol.asyncIterator]();
    const reset = (await ahead.next()).value;
    rule(
        'a number that the daemon does not know is a reset',
        reset.kind === 'reset' && reset.seq < 10 ** 9,
        reset,
    );
    await ahead.return();
    const filtered = (await client.events({ after: numbers[0] - 1, task: later }))[
        Symbol.asyncIterator
    ]();
    rule('events of one task', (await filtered.next()).value.task === later);
    await filtered.return();
}

async function waits(client, fifo) {
    const name = await add(client, { argv: ['sh', '-c', `read -r word <${fifo}; echo $word`] });
    const error = await errorOf(sluice.WaitTimedOut, () => client.wait([name], { timeout: 0 }));
    rule(
        'a wait that takes too long is an error with the state of the tasks',
        error.tasks[0].id === name && !error.tasks[0].finished,
    );
    const draft = await add(client, { argv: ['true'], draft: true });
    rule('a task that needs a person ends a wait', (await client.wait([draft]))[0].needs_person);
    rule(
        'any: one of them is enough',
        (await client.wait([name, draft], { any: true }))[1].needs_person,
    );
    const waiting = client.wait([name]);
    command('down');
    command('up');
    writeFileSync(fifo, 'go\n');
    rule('a wait goes on after a restart of the daemon', (await waiting)[0].state === 'done');
    const many = await client.task.add({
        tasks: Array.from({ length: 300 }, () => ({ argv: ['true'], draft: true })),
    });
    rule(
        'more tasks than one request takes',
        (await client.wait(many.tasks.map((one) => one.id))).length === 300,
    );
}

async function questions(client) {
    const name = await add(client, {
        argv: ['sh', '-c', '"$0" ask --wait 10m --choice yes --choice no "Delete it?"', SLUICE],
    });
    for await (const event of await client.events({ after: 0 }))
        if (event.kind === 'task.asked' && event.task === name) break;
    const [question] = await all(client.question.listAll());
    rule(
        'a question is listed',
        question.task === name && question.choices.join() === 'yes,no',
        question,
    );
    rule(
        'an answer must be one of the choices',
        await errorOf(sluice.BadRequest, () => client.task.answer(name, { text: 'maybe' })),
    );
    await client.task.answer(name, { text: 'yes' });
    await client.wait([name]);
    rule(
        'an answer reaches the run that asked',
        (await (await client.task.log(name)).text()) === 'yes\n',
    );
}

async function tcp(client, url, ca) {
    const kind = url.split(':')[0];
    const token = async (scope) =>
        (await client.token.add({ name: `${scope}-${kind}`, scope })).token;
    const [reader, submitter] = [await token('read'), await token('submit')];
    const far = new sluice.Client({ address: url, token: submitter, ca });
    const name = await add(far, { argv: ['echo', 'far'] });
    rule(
        `${kind}: with a token tasks are added and waited for`,
        (await far.wait([name]))[0].state === 'done',
    );
    for await (const event of await far.events({ after: 0 })) {
        rule(`${kind}: events come, too`, event.seq >= 1);
        break;
    }
    rule(
        `${kind}: without a token there is no access`,
        await errorOf(sluice.Unauthorized, () =>
            new sluice.Client({ address: url, ca }).task.list(),
        ),
    );
    const refused = await errorOf(sluice.Refused, () =>
        new sluice.Client({ address: url, token: reader, ca }).task.add({
            tasks: [{ argv: ['true'] }],
        }),
    );
    rule(`${kind}: a token gives no more than its scope`, refused);
    process.env.SLUICE_API_TOKEN = reader;
    rule(
        `${kind}: the token may be in the environment`,
        await new sluice.Client({ address: url, ca }).daemon.status(),
    );
    delete process.env.SLUICE_API_TOKEN;
    const several = new sluice.Client({
        address: `unix:/nowhere/sluice.sock,${url}`,
        token: reader,
        ca,
    });
    rule(
        `${kind}: of several addresses the first that answers is used`,
        await several.task.list({ limit: 1 }),
    );
    if (ca) {
        const error = await errorOf(sluice.SluiceError, () =>
            new sluice.Client({ address: url, token: reader }).daemon.status(),
        );
        rule(
            'https: a certificate that is not trusted is an error',
            /certificate/i.test(error.message),
            error,
        );
        return;
    }
    // The entry point of pages needs nothing but fetch, which Node has, too.
    const page = await import(
        new URL('./node_modules/sluice-client/dist/browser.js', import.meta.url)
    );
    const browser = new page.Client({ address: url, token: submitter });
    const other = await add(browser, { argv: ['echo', 'page'] });
    rule(
        'in a page: tasks are added and waited for',
        (await browser.wait([other]))[0].state === 'done',
    );
    rule('in a page: output', (await (await browser.task.log(other)).text()) === 'page\n');
    rule('in a page: errors', await errorOf(page.NotFound, () => browser.task.show('t-99999')));
    for await (const event of await browser.events({ after: 0, task: other })) {
        rule('in a page: events', event.task === other);
        break;
    }
}

const [file, what, ca] = process.argv.slice(2);
const client = new sluice.Client();
if (ca) {
    await tcp(client, what, ca);
} else {
    operationsAreMethods(JSON.parse(readFileSync(file, 'utf8')));
    await answers(client);
    await errors(client);
    await pages(client);
    await events(client);
    await waits(client, what);
    await questions(client);
    await tcp(client, (await client.daemon.status()).http.url, undefined);
}
