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
            contents: `export { LogText, parts as hits } from './logtext'; export { parts as filesOf, rowsOf } from './patch'; export { feedback } from './review'; export { runs, readable, contrast, styleOf, PLAIN } from './sgr'; export { visible, span, short, money } from './text';
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
    const modules = await load();
    const { LogText, hits, runs, readable, contrast, styleOf, PLAIN } = modules;
    const { visible, span, short, money, layout, NODE_W, NODE_H, readEvents } = modules;
    const piece = (text, stream = 'out') => ({ stream, offset: 0, text });
    const texts = (log) => log.items.map((item) => item.text).join('|');

    await check('a log is the same lines wherever its text is cut', async () => {
        const whole = 'first\r\n\n\u00fcber \u{1f600} \u001b[31mred\nlast without an end';
        for (let cut = 0; cut <= whole.length; cut++) {
            const log = new LogText();
            log.add(piece(whole.slice(0, cut)));
            log.add(piece(whole.slice(cut)));
            equal(
                texts(log),
                'first||\u00fcber \u{1f600} \u001b[31mred|last without an end',
                `cut at ${cut}`,
            );
        }
        const middle = new LogText(['out']);
        middle.add(piece('half of a line\nwhole'));
        middle.add(piece('other\n', 'err'));
        equal(texts(middle), 'whole|other', 'what begins inside a line');
    });

    await check('lines of two streams do not run into each other', async () => {
        const log = new LogText();
        for (const [text, stream] of [
            ['one, ', 'out'],
            ['error\n', 'err'],
            ['and the rest\ntwo\n', 'out'],
        ])
            log.add(piece(text, stream));
        equal(texts(log), 'one, and the rest|error|two', 'the lines');
        equal(log.items.map((item) => item.stream).join(' '), 'out err out', 'whose they are');
    });

    await check('a line without an end keeps its beginning and counts the rest', async () => {
        const log = new LogText();
        const block = 'x'.repeat(65536);
        for (let n = 0; n < 160; n++) log.add(piece(block));
        equal(log.items.length, 1, 'lines');
        const [line] = log.items;
        equal(line.text.length + line.cut, 160 * 65536, 'characters, kept and counted');
        ok(line.text.length <= 4000, 'the beginning is short');
    });

    await check('more lines than are kept: the oldest go, and are counted', async () => {
        const log = new LogText();
        const text = Array.from({ length: 1000 }, (_, n) => `line ${n}\n`).join('');
        for (let n = 0; n < 230; n++) log.add(piece(text));
        ok(log.items.length <= 200_000, `${log.items.length} lines are kept`);
        equal(log.items.length + log.dropped, 230_000, 'lines, kept and dropped');
        equal(log.items[log.items.length - 1].text, 'line 999', 'the last line');
    });

    await check('results go into their call, and parts of a message are joined', async () => {
        const log = new LogText();
        for (const entry of [
            { kind: 'say', text: 'one ' },
            { kind: 'say', text: 'two', continues: true },
            { kind: 'call', tool: 'A', text: '', id: 'a' },
            { kind: 'call', tool: 'B', text: '', id: 'b' },
            { kind: 'result', text: 'of a', id: 'a' },
            { kind: 'call', tool: 'C', text: '' },
            { kind: 'result', text: 'of c' },
            { kind: 'result', text: 'of nothing', id: 'x' },
        ])
            log.add(entry);
        const seen = log.items.map(
            (item) => `${item.tool ?? item.text}(${(item.results ?? []).map((one) => one.text)})`,
        );
        equal(seen.join(' '), 'one two() A(of a) B() C(of c) of nothing()', 'the items');
        equal(log.find('OF A').join(), '1', 'where a result is found');
    });

    await check(
        'codes have a look or are left out; hits are marked; nothing else is lost',
        async () => {
            const text =
                'a \u001b[1;31mRed\u001b[0m b \u001b]8;;http://x\u0007link\u001b]8;;\u0007 \u001b[2Jred';
            const all = runs(text).runs;
            equal(all.map((run) => run.text).join(''), text, 'all runs together');
            const seen = all.filter((run) => !run.code);
            equal(seen.map((run) => run.text).join(''), 'a Red b link red', 'what is seen');
            ok(!seen.some((run) => run.text.includes('\u001b')), 'codes are codes');
            equal(
                seen
                    .filter((run) => run.look.bold)
                    .map((run) => run.text)
                    .join(),
                'Red',
                'what is bold',
            );
            const marked = hits('a Red b red', 'red').filter((part) => part.hit);
            equal(marked.map((part) => part.text).join(' '), 'Red red', 'hits');
            for (const [code, colour] of [
                ['38;5;196', '255,0,0'],
                ['38;2;1;2;3', '1,2,3'],
                ['38:2::1:2:3', '1,2,3'],
                ['38:2:1:2:3', '1,2,3'],
                ['1;38;5;16;4', '0,0,0'],
            ])
                equal(String(runs(`\u001b[${code}mx`).after.fg), colour, `the colour of ${code}`);
            equal(runs('\u001b[31mx\u001b[39m').after.fg, null, 'the colour has ended');
            equal(runs('\u001b[?31mx\u001b[>4m').after, PLAIN, 'private codes have no look');
        },
    );

    await check('every colour of a terminal can be read, in light and in dark', async () => {
        for (const paper of [
            [255, 254, 251],
            [21, 26, 30],
            [250, 240, 220],
            [48, 37, 15],
        ])
            for (let n = 0; n < 4096; n++) {
                const colour = [(n >> 8) * 17, ((n >> 4) & 15) * 17, (n & 15) * 17];
                const ratio = contrast(readable(colour, paper), paper);
                ok(ratio >= 4.5, `${colour} on ${paper}: ${ratio.toFixed(2)}`);
            }
        for (let on = 0; on < 256; on++) {
            const { style } = styleOf(runs(`\u001b[48;5;${on};38;5;${(on * 7) % 256}mx`).after);
            const rgb = (css) => css.match(/\d+/g).map(Number);
            ok(
                contrast(rgb(style['--sgr-light']), rgb(style['--sgr-bg'])) >= 4.5,
                `a colour on ${on} can be read`,
            );
        }
    });

    await check('a line of codes alone has few elements', async () => {
        const { runs: all } = runs('\u001b[31m\u001b[1mx'.repeat(500));
        ok(all.length < 500, `${all.length} runs`);
        equal(
            all
                .filter((run) => !run.code)
                .map((run) => run.text)
                .join(''),
            'x'.repeat(500),
            'its text',
        );
    });

    await check('a patch has the lines of its files, with both numbers', async () => {
        const patch =
            'diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ int f(void)\n same\n' +
            '-return old_value;\n+return new_value;\n--- not a head\n+++ nor this\n\\ No newline at end of file\n' +
            'diff --git a/y b/y\nnew file mode 100644\n@@ -0,0 +1 @@\n+diff --git is text\n';
        const { filesOf, rowsOf } = modules;
        const files = filesOf(patch);
        equal(files.length, 2, 'files');
        equal(
            rowsOf(files[0])
                .map((row) => `${row.kind} ${row.old ?? ''}/${row.new ?? ''} ${row.text}`)
                .join('; '),
            'hunk 3/3 int f(void); same 3/3 same; removed 4/ return old_value;; added /4 return new_value;; ' +
                'removed 5/ -- not a head; added /5 ++ nor this; note / No newline at end of file',
            'lines',
        );
        const [, , removed, added] = rowsOf(files[0]);
        equal(removed.text.slice(...removed.mark), 'old_value', 'the word that is gone');
        equal(added.text.slice(...added.mark), 'new_value', 'the word that is new');
        equal(
            rowsOf(files[1])
                .map((row) => row.text)
                .join('; '),
            'new file mode 100644; ; diff --git is text',
            'lines of the other file',
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
