// finished.tsx: what finished since this browser last showed the page. A page that is hidden has been looked at.
import { useEffect, useState } from 'preact/hooks';
import { get } from '../api';
import { useLoad, useThrottle } from '../load';
import { daemonNow, onEvents } from '../live';
import { href } from '../route';
import { count, money, span } from '../text';
import type { ListedRun, Page } from '../types';
import { Mark } from './mark';
import { Ago, Section, Text, Tid } from './small';

const STORED = 'sluice.looked';
const SHOWN = 6;
const READ = 200;

function lastLook(): number | null {
    const at = Number(localStorage.getItem(STORED));
    return at > 0 ? at : null;
}

function looked(): void {
    localStorage.setItem(STORED, String(daemonNow()));
}

/** Since when: fixed while the page is looked at, and the time of the last look after that. */
let since: number | null | undefined;

function useSince(): [number | null, () => void] {
    since ??= lastLook();
    const [, draw] = useState(0);
    useEffect(() => {
        const changed = () => {
            if (document.hidden) return looked();
            since = lastLook();
            draw((n) => n + 1);
        };
        document.addEventListener('visibilitychange', changed);
        addEventListener('pagehide', looked);
        return () => {
            document.removeEventListener('visibilitychange', changed);
            removeEventListener('pagehide', looked);
        };
    }, []);
    return [
        since,
        () => {
            looked();
            since = lastLook();
            draw((n) => n + 1);
        },
    ];
}

/** The last run of each task that is done. */
function doneOf(runs: ListedRun[]): ListedRun[] {
    const seen = new Set<string>();
    return runs.filter((run) => {
        if (run.state !== 'done' || seen.has(run.task)) return false;
        seen.add(run.task);
        return true;
    });
}

export function Finished() {
    const [from, seen] = useSince();
    const page = useLoad(`finished ${from ?? 'never'}`, (signal) =>
        from
            ? get<Page<ListedRun>>('/v1/runs', { since: from, limit: READ }, signal)
            : Promise.resolve({ items: [], next: null }),
    );
    const again = useThrottle(page.reload, 3000);
    useEffect(
        () =>
            onEvents((events) => {
                if (
                    events.some((event) => event.kind === 'task.state' && event.data?.to === 'done')
                )
                    again();
            }),
        [],
    );
    const done = doneOf(page.data?.items ?? []);
    if (!from || done.length === 0) return null;
    return (
        <Section
            title="Finished since you last looked"
            class="finished"
            note={`${count(done.length)}${page.data?.next ? '+' : ''}`}
            actions={
                <button class="quiet" onClick={seen}>
                    Seen
                </button>
            }
        >
            <ul class="rows">
                {done.slice(0, SHOWN).map((run) => (
                    <li key={run.task}>
                        <Mark state="done" />
                        <div class="what">
                            <p class="one">
                                <Tid id={run.task} />{' '}
                                <a class="title" href={href('task', run.task)}>
                                    <Text of={run.title} />
                                </a>
                            </p>
                            {run.message && (
                                <p class="said one">
                                    <Text of={run.message} />
                                </p>
                            )}
                        </div>
                        <span class="num faint">
                            {run.started_at && run.ended_at
                                ? span(run.ended_at - run.started_at)
                                : ''}
                            {run.cost_usd ? ` · ${money(run.cost_usd)}` : ''} ·{' '}
                            <Ago at={run.ended_at} />
                        </span>
                    </li>
                ))}
            </ul>
            {done.length > SHOWN && (
                <a class="button quiet" href={href('board', '', { state: 'done', by: 'list' })}>
                    {count(done.length - SHOWN)} more
                </a>
            )}
        </Section>
    );
}
