// log.tsx: what a run prints, while it prints it; of an agent, what it says and does, as the daemon renders it. The log
// is read once and continues from its position after a lost connection (a transcript is read again: its offsets are not
// those of the log); a hundred lines are on the page, however many there are.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { open, words } from '../api';
import { useKeys } from '../keys';
import { connection } from '../live';
import { LogText, pieces } from '../logtext';
import { count, many, visible } from '../text';
import { VList } from './vlist';

const TAIL_BYTES = 256 * 1024;
const ROW = 18;

const STREAMS: Record<string, string> = {
    out: 'output',
    err: 'errors',
    check: 'checks',
    prepare: 'preparation',
};

/** Reads the log and follows it while the run is live. The caller is drawn again as lines arrive. */
function useLogText(
    task: string,
    attempt: number,
    live: boolean,
    stream: string,
    whole: boolean,
    raw: boolean,
) {
    const [agent, setAgent] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const [, drawn] = useState(0);
    const log = useRef(new LogText(false));
    const offset = useRef(0);
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

    return { log: log.current, offset: offset.current, agent, error };
}

function Line({
    line,
    number,
    here,
    wanted,
    codes,
}: {
    line: { text: string; cut: number };
    /** Null when the beginning of the log was not read. */
    number: number | null;
    here: boolean;
    wanted: string;
    codes: boolean;
}) {
    return (
        <div class={`log-line${here ? ' here' : ''}`}>
            <span class="log-n" aria-hidden="true">
                {number ?? '·'}
            </span>
            <span class="foreign" dir="ltr">
                {pieces(line.text, wanted).map((piece, n) =>
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
                {line.cut > 0 && (
                    <i class="code"> … {count(line.cut)} more characters in this line</i>
                )}
            </span>
        </div>
    );
}

function Lines({
    task,
    log,
    partial,
    stick,
    release,
    wanted,
    reveal,
    codes,
}: {
    task: string;
    log: LogText;
    /** The beginning of the log was not read: lines have no numbers. */
    partial: boolean;
    stick: boolean;
    /** Called when the reader scrolls away from the end. */
    release: () => void;
    wanted: string;
    reveal: number | null | undefined;
    codes: boolean;
}) {
    const lines = log.lines;
    return (
        <VList
            class="log-lines"
            label={`log of ${task}`}
            role="log"
            count={lines.length}
            rowHeight={ROW}
            stick={stick}
            height={Math.max(6, lines.length + 1) * ROW}
            onScrolledAway={(isAway) => {
                if (isAway && stick) release();
            }}
            reveal={reveal}
            row={(i) => {
                const one = lines[i];
                return one ? (
                    <Line
                        key={i + log.dropped}
                        line={one}
                        number={partial ? null : i + 1 + log.dropped}
                        here={reveal === i}
                        wanted={wanted}
                        codes={codes}
                    />
                ) : null;
            }}
        />
    );
}

function Toggle({
    on,
    set,
    title,
    label,
}: {
    on: boolean;
    set: (on: boolean) => void;
    title: string;
    label: string;
}) {
    return (
        <button class="quiet" aria-pressed={on} onClick={() => set(!on)} title={title}>
            {label}
        </button>
    );
}

function StreamTabs({
    streams,
    stream,
    setStream,
}: {
    streams: string[];
    stream: string;
    setStream: (name: string) => void;
}) {
    return (
        <div class="tabs" role="group" aria-label="stream">
            {streams.map((name) => (
                <button
                    key={name}
                    class="quiet"
                    aria-pressed={stream === name}
                    onClick={() => setStream(name)}
                >
                    {STREAMS[name] ?? name}
                </button>
            ))}
        </div>
    );
}

/** How many lines the search has found, and which of them is chosen. */
function hitWords(found: number, at: number): string {
    if (found === 0) return 'nothing';
    return `${at < 0 ? '' : `${at + 1} of `}${count(found)}${found === 10000 ? '+' : ''}`;
}

function Search({
    input,
    wanted,
    search,
    step,
    found,
    at,
}: {
    input: RefObject<HTMLInputElement>;
    wanted: string;
    search: (text: string) => void;
    step: (by: number) => void;
    found: number;
    at: number;
}) {
    return (
        <>
            <input
                ref={input}
                type="search"
                placeholder="search the log"
                aria-label="search the log"
                value={wanted}
                onInput={(event) => search(event.currentTarget.value)}
                onKeyDown={(event) => {
                    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
                }}
            />
            {wanted && <span class="num faint">{hitWords(found, at)}</span>}
        </>
    );
}

function Foot({ log, missing, live }: { log: LogText; missing: number; live: boolean }) {
    return (
        <p class="log-foot faint num">
            {many(log.lines.length, 'line')}, {many(log.bytes, 'byte')}
            {missing > 0 ? `; the first ${count(missing)} are not shown` : ''}
            {live ? ', goes on' : ''}
        </p>
    );
}

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
    const search = useRef<HTMLInputElement>(null);
    const { log, offset, agent, error } = useLogText(task, attempt, live, stream, whole, raw);
    const partial = offset > 0 && !whole;
    const found = wanted ? log.find(wanted) : [];
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
                <StreamTabs streams={streams} stream={stream} setStream={setStream} />
                <Search
                    input={search}
                    wanted={wanted}
                    search={(text) => {
                        setWanted(text);
                        setAt(-1);
                    }}
                    step={step}
                    found={found.length}
                    at={at}
                />
                <span class="right">
                    {partial && (
                        <button class="quiet" onClick={() => setWhole(true)}>
                            from the beginning
                        </button>
                    )}
                    {agent && (
                        <Toggle
                            on={raw}
                            set={setRaw}
                            title="the events as the agent prints them"
                            label="raw"
                        />
                    )}
                    <Toggle
                        on={codes}
                        set={setCodes}
                        title="show the codes that would steer a terminal"
                        label="codes"
                    />
                    <Toggle on={stick} set={setStick} title="stay at the end (f)" label="follow" />
                </span>
            </div>
            {error && <p class="problem">{error}</p>}
            {log.lines.length === 0 ? (
                <p class="log-empty">
                    {live ? 'It has printed nothing yet.' : 'It has printed nothing.'}
                </p>
            ) : (
                <Lines
                    task={task}
                    log={log}
                    partial={partial}
                    stick={stick}
                    release={() => setStick(false)}
                    wanted={wanted}
                    reveal={at >= 0 ? found[at] : null}
                    codes={codes}
                />
            )}
            <Foot log={log} missing={partial ? offset : 0} live={live} />
        </div>
    );
}
