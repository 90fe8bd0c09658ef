// world.mjs: a daemon with its own home and real processes, for the dashboard tests and for screenshots.
//
//   const world = await World.start()      starts a daemon and its page: world.url; the config may be a function of the home
//   await world.api('POST', '/v1/pause')   sends a request; throws the error message if it is refused
//   await world.night()                    adds a small batch of tasks: an example of everything the page shows
//   world.kill() · await world.up()        kill -9, and restart
//   world.stop()                           ends all runs and the daemon, removes the home; also done at the end of this process
//
// To look at a world in a browser:  node tests/web/world.mjs BUILD
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bridge } from '../../web/dev/bridge.mjs';
import { patience } from './patience.mjs';

const worlds = new Set();
process.on('exit', () => {
    for (const world of worlds) world.stop();
});

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

const AGENT = String.raw`
prompt=$(cat)
echo "> $prompt"
[ -z "$LIMITED" ] || { echo "429: slow down" && "$BIN" report --rate-limited "$LIMITED"; exit 1; }
n=0
for step in "reading src/parser.c" "3 edits in src/parser.c" "running the tests" "42 passed, 1 failed" "looking at the failure" "all green"; do
    n=$((n + 1))
    echo "$step"
    "$BIN" report --tokens-in $((n * 9100)) --tokens-out $((n * 640)) --cost 0.0$((n * 3)) >/dev/null 2>&1
    sleep "$STEP"
done
tail -f /dev/null &
[ -n "$STAY" ] && wait
exit 0
`;

// Prints what Claude Code prints, with the use of its account.
const PLANNER = String.raw`
cat >/dev/null
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$SLUICE_SESSION"
printf '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","unifiedWindows":{"five_hour":{"utilization":0.83,"resetsAt":%s},"seven_day":{"utilization":0.41,"resetsAt":%s}}}}\n' \
    "$(($(date +%s) + 7200))" "$(($(date +%s) + 300000))"
printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"%s"}\n' "$SLUICE_SESSION"
`;

const CONFIG = `
limits: {runs: 6, resource.gpu: 1}
tasks.sandbox: none # agents are scripts beside the home, and their folder has it in it
host: {disk_free_gb: 0, memory_free_mb: 0}
budget: 40000000
budget_usd: 25
projects:
  web: {weight: 2, max_running: 3}
  api: {weight: 1, max_running: 2}
  docs: {weight: 1, budget: 900000, budget_usd: 4}
kinds:
  plan: {base: 40, max_running: 1}
  fix: {base: 80}
agents:
  claude: {command: [sh, -c, 'exec sh "$AGENT_SCRIPT"'], limiter: anthropic, slots: 4}
  strict: {adapter: claude} # a program of its task
  codex: {command: [sh, -c, 'exec sh "$AGENT_SCRIPT"'], limiter: openai, slots: 2}
  planner: {command: [sh, -c, 'exec sh "$AGENT_SCRIPT"'], adapter: claude, limiter: plan}
limiters:
  anthropic: {max_running: 4}
  openai: {max_running: 2, initial_s: 600, max_s: 3600}
  plan: {reserve: 20}
schedules:
  nightly:
    cron: "0 2 * * 1-5"
    timezone: Europe/Berlin
    task: '{"project": "web", "agent": "claude", "prompt": "Update the dependencies and run the tests.", "title": "update the dependencies", "hold": true}'
  poll:
    every: 6h
    timezone: UTC
    paused: true
    task: '{"project": "api", "argv": ["true"]}'
`;

export class World {
    static async start({
        build = process.env.BUILD ?? 'build',
        config = CONFIG,
        port = 0,
        dist,
    } = {}) {
        const world = new World();
        world.bin = path.resolve(root, build, 'sluice');
        world.home = fs.mkdtempSync(path.join(os.tmpdir(), 'web-'));
        worlds.add(world);
        fs.writeFileSync(path.join(world.home, 'agent.sh'), AGENT);
        fs.writeFileSync(path.join(world.home, 'planner.sh'), PLANNER);
        fs.writeFileSync(
            path.join(world.home, 'sluice.yaml'),
            (typeof config === 'function' ? config(world.home) : config).trimStart(),
        );
        world.up();
        world.server = await bridge({
            socket: path.join(world.home, 'sluice.sock'),
            dist: dist ?? path.join(root, 'web/dist'),
            port,
        });
        world.url = `http://127.0.0.1:${world.server.address().port}/`;
        return world;
    }

    env() {
        const { XDG_RUNTIME_DIR: _, SLUICE_SOCKET: _s, SLUICE_TOKEN: _t, ...env } = process.env;
        return {
            ...env,
            SLUICE_HOME: this.home,
            GIT_CONFIG_GLOBAL: '/dev/null',
            GIT_CONFIG_NOSYSTEM: '1',
        };
    }

    sluice(...words) {
        return execFileSync(this.bin, words, {
            env: this.env(),
            encoding: 'utf8',
            timeout: patience,
            stdio: ['ignore', 'pipe', 'ignore'],
        });
    }

    up() {
        this.pid = JSON.parse(this.sluice('up', '--json')).pid;
    }

    kill() {
        process.kill(this.pid, 'SIGKILL');
    }

    api(method, address, body) {
        return new Promise((done, fail) => {
            const request = http.request(
                {
                    socketPath: path.join(this.home, 'sluice.sock'),
                    method,
                    path: address,
                    headers: body ? { 'Content-Type': 'application/json' } : {},
                },
                (answer) => {
                    const parts = [];
                    answer.on('data', (part) => parts.push(part));
                    answer.on('end', () => {
                        const text = Buffer.concat(parts).toString();
                        const value = text.startsWith('{') ? JSON.parse(text) : text;
                        if (answer.statusCode < 300) done(value);
                        else fail(new Error(`${method} ${address}: ${answer.statusCode} ${text}`));
                    });
                },
            );
            request.on('error', fail);
            request.end(body ? JSON.stringify(body) : undefined);
        });
    }

    async add(...tasks) {
        return (await this.api('POST', '/v1/tasks', { tasks })).tasks.map((task) => task.id);
    }

    /** Waits until the condition holds. It is checked again after each event of the daemon. */
    async until(what, condition) {
        let wake;
        const news = () =>
            new Promise((go) => {
                wake = go;
            });
        let next = news();
        const late = setTimeout(
            () => stream.destroy(new Error(`not within ${patience / 1000} s: ${what}`)),
            patience,
        );
        const stream = http.get({
            socketPath: path.join(this.home, 'sluice.sock'),
            path: '/v1/events',
            headers: { Accept: 'text/event-stream' },
        });
        try {
            return await new Promise((done, fail) => {
                stream.on('error', fail);
                stream.on('response', async (answer) => {
                    answer
                        .on('data', () => wake())
                        .on('error', fail)
                        .on('end', () => fail(new Error(`the daemon ended: ${what}`)));
                    try {
                        for (;;) {
                            const value = await condition();
                            if (value) return done(value);
                            await next;
                            next = news();
                        }
                    } catch (error) {
                        fail(error);
                    }
                });
            });
        } finally {
            clearTimeout(late);
            stream.destroy();
        }
    }

    state(id, wanted) {
        return this.until(
            `${id} is ${wanted}`,
            async () => (await this.api('GET', `/v1/tasks/${id}`)).state === wanted,
        );
    }

    /** A prompt for an agent that reports tokens and money while it works. */
    agentTask(title, more = {}) {
        const { step = '0.02', stay = '', limited = '', ...rest } = more;
        return {
            title,
            agent: 'claude',
            prompt: title,
            env: {
                AGENT_SCRIPT: path.join(this.home, 'agent.sh'),
                BIN: this.bin,
                STEP: step,
                STAY: stay,
                LIMITED: limited,
            },
            ...rest,
        };
    }

    /** A command that asks once, and prints the answer in its next attempt. `then`: what that does before it ends. */
    asking(options, question, then = ':') {
        return {
            env: { BIN: this.bin, QUESTION: question },
            argv: [
                'sh',
                '-c',
                `[ -z "$SLUICE_ANSWER" ] || { echo "got: $SLUICE_ANSWER"; ${then}; exit 0; }; "$BIN" ask ${options} "$QUESTION"`,
            ],
        };
    }

    async night() {
        const a = (title, more) => this.agentTask(title, more);
        const past = await this.add(
            a('read the old parser and write down what it accepts', {
                project: 'web',
                kind: 'plan',
            }),
            a('list every caller of session_open()', { project: 'api' }),
            a('outline the operator guide', { project: 'docs' }),
            a('fix: time-outs are lost after a restart', { project: 'web', kind: 'fix' }),
            a('rename flags to options in the public headers', { project: 'api', kind: 'fix' }),
        );
        for (const id of past) await this.state(id, 'done');
        const [broken] = await this.add({
            project: 'api',
            title: 'migrate the schema of the test database',
            retries: 0,
            argv: [
                'sh',
                '-c',
                'echo applying 0012_add_index.sql; echo "no such table: runs" >&2; exit 3',
            ],
        });
        await this.state(broken, 'failed');
        const [review] = await this.add({
            ...a('rewrite the introduction for people who never saw a queue', { project: 'docs' }),
            review: true,
        });
        await this.state(review, 'held');
        const [asks] = await this.add({
            project: 'web',
            title: 'choose the database of the new tests',
            ...this.asking(
                '--choice sqlite --choice postgres --deadline 8h --default sqlite',
                'Which database shall the tests use?',
            ),
        });
        await this.state(asks, 'held');
        const planner = (title) => ({
            ...a(title, { project: 'docs', agent: 'planner' }),
            env: { AGENT_SCRIPT: path.join(this.home, 'planner.sh') },
        });
        const [planned] = await this.add(planner('plan the next month'));
        await this.state(planned, 'done');
        const [reserved] = await this.add(planner('plan the month after that'));
        await this.api('POST', '/v1/schedules/nightly/run');
        const stay = { stay: '1' };
        const batch = await this.api('POST', '/v1/tasks', {
            group: 'parser',
            tasks: [
                {
                    ...a('a tokenizer that keeps positions', { project: 'web', ...stay }),
                    name: 'tokens',
                },
                {
                    ...a('property tests for the tokenizer', {
                        project: 'web',
                        step: '1',
                        stay: '1',
                    }),
                    name: 'props',
                },
                {
                    ...a('recursive descent on top of the tokens', { project: 'web' }),
                    name: 'descent',
                    depends_on: ['tokens'],
                },
                {
                    ...a('error messages with line and caret', { project: 'web' }),
                    name: 'errors',
                    depends_on: ['descent'],
                },
                {
                    ...a('benchmark against the old parser', { project: 'web', kind: 'fix' }),
                    name: 'bench',
                    depends_on: ['descent', 'props'],
                },
                {
                    ...a('switch the command line over', { project: 'web' }),
                    name: 'switch',
                    depends_on: ['errors', 'bench'],
                    priority: 20,
                },
            ],
        });
        const ids = batch.tasks.map((task) => task.id);
        await this.add(
            a('split session.c where one question ends', { project: 'api', ...stay }),
            a('page through /v1/users by cursor', { project: 'api', step: '2', stay: '1' }),
            a('document the cursor', { project: 'api' }),
            a('collect the questions of the last month', { project: 'docs', ...stay }),
            a('translate the quick start', { project: 'docs', hold: true }),
            a('train the ranking model', { project: 'web', resources: ['gpu'], ...stay }),
            a('evaluate the ranking model', { project: 'web', resources: ['gpu'] }),
            {
                ...a('remove the code behind the old flag', { project: 'api' }),
                depends_on: [broken],
            },
            a('tomorrow: tag the release', {
                project: 'web',
                not_before: Date.now() + 9 * 3600 * 1000,
            }),
            a('an idea: stream diffs instead of files', { project: 'web', draft: true }),
        );
        await this.add(
            a('check every link of the guide', {
                project: 'docs',
                agent: 'codex',
                priority: 5,
                limited: '3000',
            }),
        );
        await this.api('POST', '/v1/tasks', {
            tasks: Array.from({ length: 14 }, (_, n) =>
                a(`port test ${n + 1} of 14 to the new harness`, {
                    project: n % 3 ? 'web' : 'api',
                    kind: 'fix',
                }),
            ),
        });
        // Four runs are live and wait, one was rate limited: from now on nothing changes by itself.
        await this.until('the night goes on', async () => {
            const { running, limiters, counts } = await this.api('GET', '/v1/status');
            return (
                running.length === 4 &&
                !counts.starting &&
                limiters.find((one) => one.name === 'openai').state === 'backoff'
            );
        });
        return { past, broken, review, asks, reserved, parser: ids };
    }

    stop() {
        if (!worlds.delete(this)) return;
        this.server?.closeAllConnections();
        this.server?.close();
        const run = (...words) =>
            spawnSync(this.bin, words, { env: this.env(), timeout: patience, stdio: 'ignore' });
        run('up'); // it may have been killed
        run('pause');
        run('cancel', '--all', '--now', '--state', 'starting,running');
        run('down', '--wait');
        fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const world = await World.start({
        build: process.argv[2] ?? 'build',
        port: Number(process.argv[3] ?? 7879),
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0));
    console.log(`${world.url}  home ${world.home}`);
    await world.night();
    console.log('the night has begun; Ctrl-C ends it');
}
