// log.tsx: what a run prints, while it prints it: output and errors in their order, with their colours; of an agent the
// conversation, as the daemon reads it (logread.ts). However long it is, only what is near the visible part is on the page.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { words } from '../api';
import { useKeys } from '../keys';
import { connection } from '../live';
import { type LogChoice, type Reading, useLog, wholeLog } from '../logread';
import type { LogItem, LogLine, LogText } from '../logtext';
import { href } from '../route';
import { saveFile } from '../save';
import { count, many } from '../text';
import { Blocks } from './blocks';
import { Styled, withoutHalf } from './styled';
import { Entry } from './talk';
import { say } from './toast';

const ROW = 18;
const TALK_ROW = 40;
const WRAP = 'sluice.log.wrap';

const STREAMS: Record<string, string> = {
    all: 'all',
    out: 'output',
    err: 'errors',
    check: 'checks',
    prepare: 'preparation',
};

/** Which log is shown, and which line of it is chosen; in the address, so that it can be shared. */
export interface LogPlace {
    stream: string;
    raw: boolean;
    /** From 1; 0: none. */
    line: number;
}

function Line({ line, wanted, codes }: { line: LogLine; wanted: string; codes: boolean }) {
    return (
        <span class="foreign" dir="ltr">
            <Styled
                text={line.cut > 0 ? withoutHalf(line.text) : line.text}
                from={line.from}
                wanted={wanted}
                codes={codes}
            />
            {line.cut > 0 && <i class="code"> … {count(line.cut)} more characters in this line</i>}
        </span>
    );
}

interface Shown {
    wanted: string;
    codes: boolean;
    unfolded: boolean;
}

function Row({
    item,
    index,
    number,
    link,
    here,
    shown,
}: {
    item: LogItem;
    index: number;
    /** Null when the beginning of the log was not read. */
    number: number | null;
    link: string;
    here: boolean;
    shown: Shown;
}) {
    const isLine = item.kind === 'line';
    const kind = isLine ? `log-line${item.stream === 'err' ? ' err' : ''}` : 'talk';
    const nested = !isLine && item.nested ? ' nested' : '';
    return (
        <div class={`${kind}${nested}${here ? ' here' : ''}`} data-row={index}>
            {number === null ? (
                <span class="log-n" aria-hidden="true">
                    ·
                </span>
            ) : (
                <a class="log-n" href={link} tabIndex={-1} aria-label={`line ${number}`}>
                    {number}
                </a>
            )}
            {isLine ? (
                <Line line={item} wanted={shown.wanted} codes={shown.codes} />
            ) : (
                <Entry of={item} wanted={shown.wanted} all={shown.unfolded} here={here} />
            )}
        </div>
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
        <span class="log-search">
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
            {wanted && (
                <>
                    <button
                        class="quiet"
                        aria-label="previous hit"
                        title="previous (N)"
                        disabled={found === 0}
                        onClick={() => step(-1)}
                    >
                        ↑
                    </button>
                    <button
                        class="quiet"
                        aria-label="next hit"
                        title="next (n)"
                        disabled={found === 0}
                        onClick={() => step(1)}
                    >
                        ↓
                    </button>
                    <span class="num faint" role="status">
                        {hitWords(found, at)}
                    </span>
                </>
            )}
        </span>
    );
}

/** It reads a signal, so it is drawn again only for other values: numbers, not the log that grows. */
function Foot({
    size,
    hasEntries,
    missing,
    live,
}: {
    size: number;
    hasEntries: boolean;
    missing: number;
    live: boolean;
}) {
    const lost = connection.value === 'lost';
    return (
        <p class="log-foot faint num">
            {hasEntries ? `${count(size)} entries and lines` : many(size, 'line')}
            {missing > 0 ? `; the first ${many(missing, 'byte')} are not shown` : ''}
            {live ? (lost ? '; continues when the daemon is back' : '; still being written') : ''}
        </p>
    );
}

async function download(choice: LogChoice): Promise<void> {
    try {
        const blob = await wholeLog(choice, new AbortController().signal);
        saveFile(`${choice.task}.${choice.attempt}.${choice.stream}.log`, blob);
    } catch (error) {
        say(words(error), true);
    }
}

function useWrap(): [boolean, (on: boolean) => void] {
    const [wrap, setWrap] = useState(localStorage.getItem(WRAP) === '1');
    return [
        wrap,
        (on) => {
            localStorage.setItem(WRAP, on ? '1' : '');
            setWrap(on);
        },
    ];
}

/** The hits of a search; one of them is chosen. */
function useHits(log: LogText) {
    const [wanted, setWanted] = useState('');
    const [at, setAt] = useState(-1);
    const memo = useRef({ key: '', found: [] as number[] });
    const key = `${wanted}\n${log.size}\n${log.items.length}`;
    if (memo.current.key !== key) memo.current = { key, found: wanted ? log.find(wanted) : [] };
    const { found } = memo.current;
    return {
        wanted,
        found,
        at,
        row: at >= 0 ? (found[at] ?? null) : null,
        search: (text: string) => {
            setWanted(text);
            setAt(-1);
        },
        step: (by: number) => {
            if (found.length === 0) return;
            setAt(
                at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length,
            );
        },
    };
}

/** What the reader has chosen, but for the search. */
function useView(place: LogPlace) {
    const [stream, setStream] = useState(place.stream);
    const [whole, setWhole] = useState(place.line > 0);
    const [stick, setStick] = useState(place.line === 0);
    const [raw, setRaw] = useState(place.raw);
    const [codes, setCodes] = useState(false);
    const [unfolded, setUnfolded] = useState(false);
    const [wrap, setWrap] = useWrap();
    useEffect(() => {
        if (place.line === 0) return;
        setStream(place.stream);
        setRaw(place.raw);
        setWhole(true);
        setStick(false);
    }, [place.line, place.stream, place.raw]);
    return {
        ...{ stream, whole, stick, raw, codes, unfolded, wrap },
        ...{ setStream, setWhole, setStick, setRaw, setCodes, setUnfolded, setWrap },
    };
}

type View = ReturnType<typeof useView>;

function Tools({
    view,
    choice,
    of: { log, missing, agent },
}: {
    view: View;
    choice: LogChoice;
    of: Reading;
}) {
    return (
        <span class="right">
            {missing > 0 && !view.whole && (
                <button class="quiet" onClick={() => view.setWhole(true)}>
                    from the beginning
                </button>
            )}
            {log.hasEntries && (
                <Toggle
                    on={view.unfolded}
                    set={view.setUnfolded}
                    title="show arguments and results of tool calls"
                    label="unfold"
                />
            )}
            {agent && (
                <Toggle
                    on={view.raw}
                    set={view.setRaw}
                    title="the events as the agent prints them"
                    label="raw"
                />
            )}
            <Toggle on={view.wrap} set={view.setWrap} title="wrap long lines (w)" label="wrap" />
            <Toggle
                on={view.codes}
                set={view.setCodes}
                title="show terminal escape codes"
                label="codes"
            />
            <Toggle
                on={view.stick}
                set={view.setStick}
                title="stay at the end (f)"
                label="follow"
            />
            <button
                class="quiet"
                title="the complete file as it was written"
                onClick={() => void download(choice)}
            >
                download
            </button>
        </span>
    );
}

function Items({
    choice,
    view,
    of: { log, missing },
    wanted,
    reveal,
}: {
    choice: LogChoice;
    view: View;
    of: Reading;
    wanted: string;
    reveal: number | null;
}) {
    const { task, attempt, stream, raw } = choice;
    const query = { attempt: String(attempt), stream, ...(raw ? { raw: '1' } : {}) };
    return (
        <Blocks
            key={`${stream} ${raw}`}
            class={`log-lines${view.wrap ? ' wrap' : ''}`}
            label={`log of ${task}`}
            role="log"
            count={log.items.length}
            size={log.hasEntries ? 40 : 100}
            rowHeight={log.hasEntries ? TALK_ROW : ROW}
            stick={view.stick}
            onScrolledAway={(isAway) => {
                if (isAway && view.stick) view.setStick(false);
            }}
            reveal={reveal}
            row={(i) => {
                const item = log.items[i];
                const number = missing > 0 ? null : i + 1 + log.dropped;
                return item ? (
                    <Row
                        key={i + log.dropped}
                        item={item}
                        index={i}
                        number={number}
                        link={href('task', task, query, `log/${number ?? 0}`)}
                        here={reveal === i}
                        shown={{ wanted, codes: view.codes, unfolded: view.unfolded }}
                    />
                ) : null;
            }}
        />
    );
}

export function Log({
    task,
    attempt,
    live,
    streams,
    place,
}: {
    task: string;
    attempt: number;
    live: boolean;
    streams: string[];
    place: LogPlace;
}) {
    const view = useView(place);
    const search = useRef<HTMLInputElement>(null);
    const choice = { task, attempt, stream: view.stream, whole: view.whole, raw: view.raw };
    const reading = useLog(choice, live);
    const { log, error } = reading;
    const hits = useHits(log);
    const step = (by: number) => {
        view.setStick(false);
        hits.step(by);
    };
    useKeys((key) => {
        if (key === 'f') view.setStick(!view.stick);
        else if (key === 'w') view.setWrap(!view.wrap);
        else if (key === '/') search.current?.focus();
        else if (key === 'n' && hits.wanted) step(1);
        else if (key === 'N' && hits.wanted) step(-1);
        else return false;
        return true;
    });
    const isChosen = place.line > 0 && place.stream === view.stream && place.raw === view.raw;

    return (
        <div class="log">
            <div class="log-bar">
                <StreamTabs streams={streams} stream={view.stream} setStream={view.setStream} />
                <Search
                    input={search}
                    wanted={hits.wanted}
                    search={hits.search}
                    step={step}
                    found={hits.found.length}
                    at={hits.at}
                />
                <Tools view={view} choice={choice} of={reading} />
            </div>
            {error && connection.value !== 'lost' && <p class="problem">{error}</p>}
            {log.items.length === 0 ? (
                <p class="log-empty">{live ? 'No output yet.' : 'No output.'}</p>
            ) : (
                <Items
                    choice={choice}
                    view={view}
                    of={reading}
                    wanted={hits.wanted}
                    reveal={hits.row ?? (isChosen ? place.line - 1 - log.dropped : null)}
                />
            )}
            <Foot
                size={log.size}
                hasEntries={log.hasEntries}
                missing={reading.missing}
                live={live}
            />
        </div>
    );
}
