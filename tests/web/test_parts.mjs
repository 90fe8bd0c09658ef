// test_parts.mjs: modules of the dashboard that need no browser: untrusted text, logs and streams split at any byte, layouts.
// They are bundled from web/src without changes.
import path from 'node:path';
import { createRequire } from 'node:module';
import { check, equal, here, ok } from './kit.mjs';

const web = path.resolve(here, '../../web');

async function load() {
    const { build } = createRequire(path.join(web, 'package.json'))('esbuild');
    const made = await build({
        stdin: {
            contents: `export { LogText, pieces } from './logtext'; export { visible, span, short, money } from './text';
                export { layout } from './graph/layout'; export { NODE_W, NODE_H } from './graph/size'; export { readEvents } from './events';`,
            resolveDir: path.join(web, 'src'),
        },
        bundle: true,
        format: 'esm',
        write: false,
        platform: 'neutral',
        mainFields: ['module', 'main'],
        logLevel: 'silent',
    });
    return import(
        `data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString('base64')}`
    );
}

export async function parts() {
    const { LogText, pieces, visible, span, short, money, layout, NODE_W, NODE_H, readEvents } =
        await load();

    await check('a log is the same lines wherever its bytes are cut', async () => {
        const bytes = new TextEncoder().encode(
            'first\r\n\n\u00fcber \u{1f600} \u001b[31mred\nlast without an end',
        );
        for (let cut = 0; cut <= bytes.length; cut++) {
            const log = new LogText(false);
            log.add(bytes.slice(0, cut));
            log.add(bytes.slice(cut));
            equal(
                JSON.stringify(log.lines.map((line) => line.text)),
                JSON.stringify([
                    'first',
                    '',
                    '\u00fcber \u{1f600} \u001b[31mred',
                    'last without an end',
                ]),
                `cut at ${cut}`,
            );
        }
        const middle = new LogText(true);
        middle.add(new TextEncoder().encode('half of a line\nwhole'));
        equal(
            middle.lines.map((line) => line.text).join('|'),
            'whole',
            'what begins inside a line',
        );
    });

    await check('a line without an end keeps its beginning and counts the rest', async () => {
        const log = new LogText(false);
        const block = new Uint8Array(65536).fill(120);
        for (let n = 0; n < 160; n++) log.add(block);
        equal(log.lines.length, 1, 'lines');
        equal(
            log.lines[0].text.length + log.lines[0].cut,
            160 * 65536,
            'characters, kept and counted',
        );
        ok(log.lines[0].text.length <= 4000, 'the beginning is short');
    });

    await check('more lines than are kept: the oldest go, and are counted', async () => {
        const log = new LogText(false);
        const text = new TextEncoder().encode(
            Array.from({ length: 1000 }, (_, n) => `line ${n}\n`).join(''),
        );
        for (let n = 0; n < 230; n++) log.add(text);
        ok(log.lines.length <= 200_000, `${log.lines.length} lines are kept`);
        equal(log.lines.length + log.dropped, 230_000, 'lines, kept and dropped');
        equal(log.lines[log.lines.length - 1].text, 'line 999', 'the last line');
    });

    await check('codes and hits are pieces of a line; nothing is lost', async () => {
        const text =
            'a \u001b[1;31mRed\u001b[0m b \u001b]8;;http://x\u0007link\u001b]8;;\u0007 red';
        const all = pieces(text, 'red');
        equal(all.map((piece) => piece.text).join(''), text, 'all pieces together');
        equal(
            all
                .filter((piece) => piece.kind === 'hit')
                .map((piece) => piece.text)
                .join(' '),
            'Red red',
            'hits',
        );
        ok(
            !all.some((piece) => piece.kind !== 'code' && piece.text.includes('\u001b')),
            'codes are codes',
        );
    });

    await check('what cannot be seen becomes a sign', async () => {
        for (const code of [
            0x00, 0x07, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0x61c, 0x200b, 0x200e, 0x202e, 0x2028, 0x2066,
            0x2069, 0xfeff, 0xe0041,
        ]) {
            const shown = visible(`a${String.fromCodePoint(code)}b`);
            ok(
                !shown.includes(String.fromCodePoint(code)) && shown.length > 2,
                `U+${code.toString(16)} is shown as ${shown}`,
            );
        }
        equal(
            visible('ordinary \u00e4\u00f6 \u05e9\u05dc\u05d5\u05dd \u{1f468}\u200d\u{1f4bb}\tx\n'),
            'ordinary \u00e4\u00f6 \u05e9\u05dc\u05d5\u05dd \u{1f468}\u200d\u{1f4bb}\tx\n',
            'what is seen stays',
        );
    });

    await check('a stream of events is the same wherever it is cut', async () => {
        const bytes = new TextEncoder().encode(
            ':\n\nid: 1\nevent: task.added\ndata: {"title":"\u00fc"}\n\nevent: reset\ndata:\n\nid: 2\nevent: run.ended\ndata: {"a":1}\n\n',
        );
        for (let cut = 0; cut < bytes.length; cut++) {
            const seen = [];
            const body = new ReadableStream({
                start(to) {
                    to.enqueue(bytes.slice(0, cut));
                    to.enqueue(bytes.slice(cut));
                    to.close();
                },
            });
            await readEvents(body, (kind, data) => seen.push(`${kind} ${data}`));
            equal(
                seen.join('; '),
                'task.added {"title":"\u00fc"}; reset ; run.ended {"a":1}',
                `cut at ${cut}`,
            );
        }
    });

    for (const [what, count] of [
        ['small', 60],
        ['large', 3000],
    ])
        await check(
            `a ${what} graph: no node lies on another, and edges lead to the right`,
            async () => {
                const edges = [];
                let seed = 7;
                const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
                for (let n = 1; n < count * 0.8; n++)
                    edges.push(Math.max(0, n - 1 - Math.floor(random() * 9)), n);
                const { at, width, height } = layout({ count, edges: Uint32Array.from(edges) });
                const taken = new Map();
                for (let n = 0; n < count; n++) {
                    const [x, y] = [at[n * 2], at[n * 2 + 1]];
                    ok(x >= -0.5 && y >= -0.5 && x <= width && y <= height, `node ${n} is inside`);
                    for (const [dx, dy] of [
                        [0, 0],
                        [1, 0],
                        [0, 1],
                        [1, 1],
                        [-1, 0],
                        [0, -1],
                        [-1, -1],
                        [1, -1],
                        [-1, 1],
                    ])
                        for (const m of taken.get(
                            `${Math.floor(x / NODE_W) + dx} ${Math.floor(y / NODE_H) + dy}`,
                        ) ?? [])
                            ok(
                                Math.abs(at[m * 2] - x) >= NODE_W - 1 ||
                                    Math.abs(at[m * 2 + 1] - y) >= NODE_H - 1,
                                `nodes ${n} and ${m} are apart`,
                            );
                    const key = `${Math.floor(x / NODE_W)} ${Math.floor(y / NODE_H)}`;
                    taken.set(key, [...(taken.get(key) ?? []), n]);
                }
                for (let i = 0; i < edges.length; i += 2)
                    ok(
                        at[edges[i] * 2] < at[edges[i + 1] * 2],
                        `edge ${edges[i]} to ${edges[i + 1]}`,
                    );
            },
        );

    await check('numbers are short and honest', async () => {
        equal(
            [short(0), short(950), short(12345), short(4560000), short(null)].join(' '),
            '0 950 12.3 k 4.56 M –',
            'short',
        );
        equal(
            [span(0), span(7000), span(187000), span(7387000), span(273600000)].join(' '),
            '0 s 7 s 3:07 2:03:07 3 d 4 h',
            'spans',
        );
        equal(
            [money(null), money(0.0123), money(1234.5), money(80.215555), money(0.00002)].join(' '),
            '– $0.0123 $1,234.50 $80.22 < $0.0001',
            'money: unknown is not 0',
        );
    });
}
