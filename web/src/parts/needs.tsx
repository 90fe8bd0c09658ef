// needs.tsx: what waits for a person, first on Now and worst first. Each item has its buttons; of the current one they have
// the keys 1, 2, … in their order, so that a person goes through all of them without moving.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
    act,
    type Action,
    clearAgent,
    clearLimiter,
    dismiss,
    pick,
    possible,
    raise,
} from '../actions';
import { scope } from '../api';
import { attentionCount, LISTED, useAttention } from '../attention';
import { askPermission, permission } from '../badge';
import { useKeys } from '../keys';
import { href } from '../route';
import { count, line, many, money, short } from '../text';
import type { Attention, AttentionKind, RaisedBudget, State } from '../types';
import { Mark } from './mark';
import { draftKey, orphanedDrafts, QuestionEntry } from './question';
import { Ago, Problem, Section, Text, Tid } from './small';

const SHOWN = 20;

/** What is not about the reason why the task is here. */
const ELSEWHERE = new Set(['hold', 'priority', 'again', 'delete', 'sling']);

/** A button of an item: it is left out of the page at once when it has worked. */
interface Button {
    label: string;
    primary?: boolean;
    danger?: boolean;
    run: () => Promise<boolean>;
}

function amountOf(to: RaisedBudget): string {
    const parts = [
        to.tokens !== null ? `${short(to.tokens)} tokens` : '',
        to.usd !== null ? money(to.usd) : '',
        to.run_tokens !== null ? `${short(to.run_tokens)} tokens a run` : '',
        to.run_usd !== null ? `${money(to.run_usd)} a run` : '',
        to.setting?.endsWith('_usd')
            ? money(to.value)
            : to.setting
              ? `${short(to.value)} tokens`
              : '',
    ];
    return parts.filter(Boolean).join(', ');
}

function taskButtons(item: Attention): Button[] {
    const task = item.task;
    if (!task) return [];
    const list = possible(task).filter((action: Action) => !ELSEWHERE.has(action.name));
    const retries = list.some((action) => action.name === 'retry');
    // Both go on; the one that counts its attempts again is enough.
    const shown = list.filter((action) => !(retries && action.name === 'release'));
    return shown.map((action) => ({
        label: action.label,
        danger: action.name === 'cancel',
        run: () => act(action, [task.id]),
    }));
}

function buttonsOf(item: Attention): Button[] {
    if (scope.value === 'read') return [];
    const is = (...kinds: AttentionKind[]) => kinds.includes(item.kind);
    const all: Button[] = [];
    const to = item.raise;
    const admin = scope.value === 'admin';
    if (to && amountOf(to) && (item.task || admin))
        all.push({
            label: `Raise to ${amountOf(to)}`,
            run: () => raise(item.task?.id ?? null, to),
        });
    for (const candidate of item.best_of?.candidates ?? [])
        if (candidate.state === 'done')
            all.push({
                label: `Pick ${candidate.id}`,
                run: () => pick(item.task?.id ?? '', candidate.id),
            });
    if (is('account') && item.name && admin) {
        const name = item.name;
        all.push({ label: 'Open again', run: () => clearLimiter(name) });
    }
    if (is('agent') && item.name && admin) {
        const name = item.name;
        all.push({ label: 'Open again', run: () => clearAgent(name) });
    }
    if (!is('question', 'alert')) all.push(...taskButtons(item));
    if (is('failed', 'blocking') && item.task) {
        const id = item.task.id;
        all.push({ label: 'Dismiss', run: () => dismiss([id]) });
    }
    if (all[0] && !all[0].danger) all[0].primary = true;
    return all;
}

function lookAt(item: Attention): { label: string; to: string } | null {
    if (item.task)
        return {
            label: item.kind === 'pick' ? 'Compare' : item.kind === 'review' ? 'Review' : 'Open',
            to: href('task', item.task.id),
        };
    if (item.key.startsWith('schedule:') && item.name)
        return { label: 'Open', to: href('schedules', item.name) };
    return null;
}

function Buttons({ item, gone }: { item: Attention; gone: (key: string) => void }) {
    const [busy, setBusy] = useState(false);
    const look = lookAt(item);
    return (
        <div class="needs-act">
            {buttonsOf(item).map((button) => (
                <button
                    key={button.label}
                    data-act
                    disabled={busy}
                    class={button.primary ? 'primary' : button.danger ? 'danger' : ''}
                    onClick={() => {
                        setBusy(true);
                        void button.run().then((worked) => {
                            setBusy(false);
                            if (worked) gone(item.key);
                        });
                    }}
                >
                    {line(button.label)}
                </button>
            ))}
            {look && (
                <a class="button" data-act href={look.to}>
                    {look.label}
                </a>
            )}
        </div>
    );
}

const markOf = (item: Attention): State => item.task?.state ?? 'failed';

function Changes({ item }: { item: Attention }) {
    const changes = item.kind === 'review' ? item.task?.changes : null;
    if (!changes) return null;
    return (
        <span class="needs-changes num">
            {many(changes.files, 'file')} <b class="plus">+{count(changes.insertions)}</b>{' '}
            <b class="minus">−{count(changes.deletions)}</b>
        </span>
    );
}

function Item({ item, gone }: { item: Attention; gone: (key: string) => void }) {
    const failed = item.kind === 'failed' || item.kind === 'blocking';
    return (
        <>
            <Mark state={markOf(item)} label={false} />
            <div class="needs-what">
                <p class="needs-of">
                    <span class="needs-kind">{line(item.label)}</span>
                    {item.task ? (
                        <>
                            <Tid id={item.task.id} />
                            <a class="title" href={href('task', item.task.id)}>
                                <Text of={item.task.title} />
                            </a>
                        </>
                    ) : (
                        item.name && <b class="title">{line(item.name)}</b>
                    )}
                    {item.blocks > 0 && (
                        <span class="needs-blocks">
                            {many(item.blocks, 'task')} {item.blocks === 1 ? 'waits' : 'wait'} for
                            it
                        </span>
                    )}
                    <Changes item={item} />
                    <span class="faint">
                        <Ago at={item.since} />
                    </span>
                </p>
                {item.text && (
                    <p class={failed ? 'needs-text mono' : 'needs-text'}>
                        <Text of={item.text} />
                    </p>
                )}
            </div>
            <Buttons item={item} gone={gone} />
        </>
    );
}

function Notify() {
    if (permission.value !== 'default') return null;
    return (
        <button class="quiet" onClick={() => void askPermission()}>
            Notify me
        </button>
    );
}

/** The digits press what the current item offers: its choices, then its buttons. */
function press(li: Element, digit: number): boolean {
    const target = li.querySelectorAll<HTMLElement>(
        '.option input, [data-act]:not(:disabled), .question-foot button',
    )[digit - 1];
    if (!target) return false;
    target.focus();
    target.click();
    return true;
}

function useInboxKeys(here: () => Element | null): void {
    useKeys((pressed) => {
        const li = here();
        if (!li) return false;
        if (/^[1-9]$/.test(pressed)) return press(li, Number(pressed));
        // Links and buttons that have the focus do what they say.
        if (pressed !== 'Enter' || document.activeElement?.matches('a, button')) return false;
        const field = li.querySelector<HTMLElement>('textarea:not([readonly])');
        const link = li.querySelector<HTMLElement>('a.title');
        if (field) field.focus();
        else if (link) link.click();
        return !!(field ?? link);
    });
}

interface Row {
    key: string;
    item: Attention | null; // null: an answer that was not sent
}

/** The rows in their order. The current one is the first, or the one that has the focus; when it goes, the next one is. */
function useHere(rows: Row[]) {
    const [key, setKey] = useState('');
    const at = useRef(0);
    const found = rows.findIndex((row) => row.key === key);
    at.current = found >= 0 ? found : Math.min(at.current, Math.max(0, rows.length - 1));
    return { here: rows[at.current]?.key ?? '', setHere: setKey };
}

export function Needs() {
    const page = useAttention();
    const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
    const [all, setAll] = useState(false);
    const list = useRef<HTMLUListElement>(null);
    // While the list is read again, what was read before stays.
    const kept = useRef<Attention[]>([]);
    if (page.data) kept.current = page.data.items;
    useEffect(() => {
        const there = new Set(page.data?.items.map((item) => item.key));
        if (page.data && gone.size > 0) setGone(new Set([...gone].filter((key) => there.has(key))));
    }, [page.data]);
    const items = kept.current.filter((item) => !gone.has(item.key));
    const open = items.flatMap((item) => (item.question ? [item.question] : []));
    const rows: Row[] = [
        ...items.map((item) => ({
            key: item.question ? draftKey(item.question) : item.key,
            item,
        })),
        ...orphanedDrafts(open).map((key) => ({ key, item: null })),
    ];
    const shown = all ? rows : rows.slice(0, SHOWN);
    const { here, setHere } = useHere(shown);
    useInboxKeys(() => list.current?.querySelector('li.here') ?? null);
    const remove = (key: string) => {
        setGone((old) => new Set(old).add(key));
        page.reload();
    };
    if (rows.length === 0 && !page.error) return null;
    const total = Math.max(attentionCount(), items.length);
    return (
        <Section
            title="Needs you"
            class="inbox needs"
            note={total > shown.length ? `${count(shown.length)} of ${count(total)}` : count(total)}
            actions={<Notify />}
        >
            <Problem error={page.error} />
            <ul class="needs-rows" ref={list}>
                {shown.map(({ key, item }) => (
                    <li
                        key={key}
                        data-row
                        tabIndex={-1}
                        class={`${here === key ? 'here ' : ''}is-${item?.kind ?? 'question'}`}
                        aria-current={here === key ? 'true' : undefined}
                        onFocusCapture={() => setHere(key)}
                    >
                        {item && !item.question ? (
                            <Item item={item} gone={remove} />
                        ) : (
                            <QuestionEntry
                                of={key}
                                q={item?.question ?? undefined}
                                title={item?.task?.title}
                                after={page.reload}
                            />
                        )}
                    </li>
                ))}
            </ul>
            <More all={all} setAll={setAll} rows={rows.length} total={total} />
        </Section>
    );
}

function More({
    all,
    setAll,
    rows,
    total,
}: {
    all: boolean;
    setAll: (all: boolean) => void;
    rows: number;
    total: number;
}) {
    let text: ComponentChildren = null;
    if (rows > SHOWN)
        text = (
            <button class="quiet" onClick={() => setAll(!all)}>
                {all ? 'only the worst' : `${count(rows - SHOWN)} more`}
            </button>
        );
    return (
        <>
            {text}
            {total > LISTED && (
                <a class="button quiet" href={href('board', '', { state: 'failed', by: 'list' })}>
                    all failures
                </a>
            )}
        </>
    );
}
