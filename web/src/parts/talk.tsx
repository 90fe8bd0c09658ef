// talk.tsx: an entry of an agent's transcript. Tool calls are folded: their head has the tool and its main argument, and their
// results are inside. All of it was written by agents: it is text.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LogEntry } from '../logtext';
import { count, line } from '../text';
import { Marked } from './styled';

const LONG = 320;

function Long({ text, wanted, open }: { text: string; wanted: string; open: boolean }) {
    const [whole, setWhole] = useState(false);
    const isLong = text.length > LONG * 1.5;
    const shown = isLong && !whole && !open ? text.slice(0, LONG) : text;
    return (
        <>
            <Marked text={shown} wanted={wanted} />
            {isLong && !open && (
                <>
                    {whole ? ' ' : ' … '}
                    <button class="quiet talk-more" onClick={() => setWhole(!whole)}>
                        {whole ? 'less' : `${count(text.length - LONG)} more characters`}
                    </button>
                </>
            )}
        </>
    );
}

function Result({ of: entry, wanted }: { of: LogEntry; wanted: string }) {
    return (
        <pre class={`talk-result foreign${entry.failed ? ' failed' : ''}`} dir="ltr">
            <Marked text={entry.text} wanted={wanted} />
            {entry.cut && <i class="code"> … the rest is in the raw log</i>}
        </pre>
    );
}

/** Arguments that the head does not show. */
function Arguments({ of: entry, wanted }: { of: LogEntry; wanted: string }) {
    const more = Object.entries(entry.arguments ?? {}).filter(
        ([, value]) => value !== entry.text || value.includes('\n') || value.length > 80,
    );
    if (more.length === 0) return null;
    return (
        <dl class="talk-arguments">
            {more.map(([name, value]) => (
                <div key={name}>
                    <dt>{line(name)}</dt>
                    <dd class="foreign pre" dir="ltr">
                        <Long text={value} wanted={wanted} open={false} />
                    </dd>
                </div>
            ))}
        </dl>
    );
}

function Call({
    of: entry,
    wanted,
    all,
    here,
}: {
    of: LogEntry;
    wanted: string;
    all: boolean;
    here: boolean;
}) {
    const results = entry.results ?? [];
    const failed = results.some((result) => result.failed);
    const [open, setOpen] = useState(all || here);
    useEffect(() => setOpen(all || here), [all, here]);
    return (
        <details
            class="talk-call"
            open={open}
            onToggle={(event) => setOpen(event.currentTarget.open)}
        >
            <summary>
                <span class="talk-tool">{line(entry.tool)}</span>
                <span class="talk-argument foreign" dir="ltr">
                    <Marked text={line(entry.text)} wanted={wanted} />
                </span>
                {failed && <span class="talk-failed">✕ failed</span>}
            </summary>
            {open && (
                <div class="talk-inside">
                    <Arguments of={entry} wanted={wanted} />
                    {results.map((result, n) => (
                        <Result key={n} of={result} wanted={wanted} />
                    ))}
                    {results.length === 0 && <p class="faint">No result yet.</p>}
                </div>
            )}
        </details>
    );
}

const LABELS: Partial<Record<LogEntry['kind'], string>> = { prompt: 'prompt', think: 'thinks' };

export function Entry({
    of: entry,
    wanted,
    all,
    here,
}: {
    of: LogEntry;
    wanted: string;
    /** Calls are unfolded. */
    all: boolean;
    here: boolean;
}) {
    if (entry.kind === 'call') return <Call of={entry} wanted={wanted} all={all} here={here} />;
    if (entry.kind === 'result') return <Result of={entry} wanted={wanted} />;
    const isShort = entry.kind === 'prompt' || entry.kind === 'think';
    const text: ComponentChildren = isShort ? (
        <Long text={entry.text} wanted={wanted} open={here && wanted !== ''} />
    ) : (
        <Marked text={entry.text} wanted={wanted} />
    );
    return (
        <div class={`talk-${entry.kind}${entry.failed ? ' failed' : ''}`}>
            {LABELS[entry.kind] && <span class="talk-label">{LABELS[entry.kind]}</span>}
            <div class="foreign pre" dir="auto">
                {text}
                {entry.cut && <i class="code"> … the rest is in the raw log</i>}
            </div>
        </div>
    );
}
