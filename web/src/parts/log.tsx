// log.tsx: what a run prints, while it prints it; of an agent, what it says and does, as the daemon renders it. The log
// is read once and goes on from where it was after a lost connection (a transcript is read again: its offsets are not
// those of the log); a hundred lines are on the page, however many there are.
import { useEffect, useRef, useState } from 'preact/hooks';
import { open, words } from '../api';
import { useKeys } from '../keys';
import { connection } from '../live';
import { LogText, pieces } from '../logtext';
import { count, many, visible } from '../text';
import { VList } from './vlist';

const TAIL_BYTES = 256 * 1024;
const ROW = 18;

export function Log({
    task,
    attempt,
    live,
    streams,
}: {
    task: string;
    attempt: number;
    live: boolean;
    streams: string[];
}) {
    const [stream, setStream] = useState('out');
    const [whole, setWhole] = useState(false);
    const [stick, setStick] = useState(true);
    const [wanted, setWanted] = useState('');
    const [at, setAt] = useState(-1);
    const [codes, setCodes] = useState(true);
    const [raw, setRaw] = useState(false);
    const [agent, setAgent] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const [, drawn] = useState(0);
    const log = useRef(new LogText(false));
    const offset = useRef(0);
    const search = useRef<HTMLInputElement>(null);
    const reachable = connection.value !== 'lost';

    useEffect(() => {
        const stop = new AbortController();
        let frame = 0;
        const draw = () => {
            if (!frame)
                frame = requestAnimationFrame(() => {
                    frame = 0;
                    drawn((n) => n + 1);
                });
        };
        let rendered = false;
        const read = async (again: boolean) => {
            const from = again
                ? { offset: offset.current + log.current.bytes }
                : { tail: whole ? undefined : TAIL_BYTES };
            const query = { attempt, stream, follow: live, format: raw ? 'raw' : 'text', ...from };
            const answer = await open(
                `/v1/tasks/${encodeURIComponent(task)}/log`,
                query,
                stop.signal,
            );
            rendered = (answer.headers.get('Content-Type') ?? '').startsWith('text/plain');
            setAgent(answer.headers.has('X-Sluice-Adapter'));
            if (!again) {
                offset.current = Number(answer.headers.get('X-Sluice-Offset') ?? '0');
                log.current = new LogText(offset.current > 0 && !rendered);
            }
            setError(null);
            draw();
            const reader = answer.body?.getReader();
            for (;;) {
                const part = await reader?.read();
                if (!part || part.done) return;
                log.current.add(part.value);
                draw();
            }
        };
        const run = async () => {
            for (let again = false; ; again = true) {
                try {
                    await read(again && !rendered && (log.current.bytes > 0 || offset.current > 0));
                    return;
                } catch (problem) {
                    if (stop.signal.aborted) return;
                    setError(words(problem));
                    if (!live) return;
                }
                await new Promise((go) => setTimeout(go, 1000));
                if (stop.signal.aborted) return;
            }
        };
        log.current = new LogText(false);
        offset.current = 0;
        draw();
        void run();
        return () => {
            stop.abort();
            cancelAnimationFrame(frame);
        };
    }, [task, attempt, stream, whole, raw, live && reachable]);

    const lines = log.current.lines;
    const found = wanted ? log.current.find(wanted) : [];
    const step = (by: number) => {
        if (found.length === 0) return;
        setStick(false);
        setAt((old) =>
            old < 0 ? (by > 0 ? 0 : found.length - 1) : (old + by + found.length) % found.length,
        );
    };
    useKeys((key) => {
        if (key === 'f') setStick((old) => !old);
        else if (key === '/') search.current?.focus();
        else if (key === 'n' && wanted) step(1);
        else if (key === 'N' && wanted) step(-1);
        else return false;
        return true;
    });

    return (
        <div class="log">
            <div class="log-bar">
                <div class="tabs" role="group" aria-label="stream">
                    {streams.map((name) => (
                        <button
                            key={name}
                            class="quiet"
                            aria-pressed={stream === name}
                            onClick={() => setStream(name)}
                        >
                            {{
                                out: 'output',
                                err: 'errors',
                                check: 'checks',
                                prepare: 'preparation',
                            }[name] ?? name}
                        </button>
                    ))}
                </div>
                <input
                    ref={search}
                    type="search"
                    placeholder="search the log"
                    aria-label="search the log"
                    value={wanted}
                    onInput={(event) => {
                        setWanted(event.currentTarget.value);
                        setAt(-1);
                    }}
                    onKeyDown={(event) => {
                        if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
                    }}
                />
                {wanted && (
                    <span class="num faint">
                        {found.length === 0
                            ? 'nothing'
                            : `${at < 0 ? '' : `${at + 1} of `}${count(found.length)}${found.length === 10000 ? '+' : ''}`}
                    </span>
                )}
                <span class="right">
                    {offset.current > 0 && !whole && (
                        <button class="quiet" onClick={() => setWhole(true)}>
                            from the beginning
                        </button>
                    )}
                    {agent && (
                        <button
                            class="quiet"
                            aria-pressed={raw}
                            onClick={() => setRaw(!raw)}
                            title="the events as the agent prints them"
                        >
                            raw
                        </button>
                    )}
                    <button
                        class="quiet"
                        aria-pressed={codes}
                        onClick={() => setCodes(!codes)}
                        title="show the codes that would steer a terminal"
                    >
                        codes
                    </button>
                    <button
                        class="quiet"
                        aria-pressed={stick}
                        onClick={() => setStick(!stick)}
                        title="stay at the end (f)"
                    >
                        follow
                    </button>
                </span>
            </div>
            {error && <p class="problem">{error}</p>}
            {lines.length === 0 ? (
                <p class="log-empty">
                    {live ? 'It has printed nothing yet.' : 'It has printed nothing.'}
                </p>
            ) : (
                <VList
                    class="log-lines"
                    label={`log of ${task}`}
                    role="log"
                    count={lines.length}
                    rowHeight={ROW}
                    stick={stick}
                    height={Math.max(6, lines.length + 1) * ROW}
                    onScrolledAway={(away) => {
                        if (away && stick) setStick(false);
                    }}
                    reveal={at >= 0 ? found[at] : null}
                    row={(i) => {
                        const one = lines[i];
                        if (!one) return null;
                        const here = at >= 0 && found[at] === i;
                        return (
                            <div
                                key={i + log.current.dropped}
                                class={`log-line${here ? ' here' : ''}`}
                            >
                                <span class="log-n" aria-hidden="true">
                                    {offset.current > 0 && !whole
                                        ? '·'
                                        : i + 1 + log.current.dropped}
                                </span>
                                <span class="foreign" dir="ltr">
                                    {pieces(one.text, wanted).map((piece, n) =>
                                        piece.kind === 'code' ? (
                                            codes ? (
                                                <i key={n} class="code">
                                                    {visible(piece.text)}
                                                </i>
                                            ) : null
                                        ) : piece.kind === 'hit' ? (
                                            <mark key={n}>{visible(piece.text)}</mark>
                                        ) : (
                                            visible(piece.text)
                                        ),
                                    )}
                                    {one.cut > 0 && (
                                        <i class="code">
                                            {' '}
                                            … {count(one.cut)} more characters in this line
                                        </i>
                                    )}
                                </span>
                            </div>
                        );
                    }}
                />
            )}
            <p class="log-foot faint num">
                {many(lines.length, 'line')}, {many(log.current.bytes, 'byte')}
                {offset.current > 0 && !whole
                    ? `; the first ${count(offset.current)} are not shown`
                    : ''}
                {live ? ', goes on' : ''}
            </p>
        </div>
    );
}
