// app.tsx: the frame around the views: where to go, whether the daemon is there, light or dark.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { pause } from './actions';
import { access, lockedBecause, scope } from './api';
import { attentionCount } from './attention';
import { addShown, helpShown, keys, VIEWS } from './keys';
import { connection, lostSince, now, status } from './live';
import { Dialog, Questions } from './parts/dialog';
import { Toasts } from './parts/toast';
import { ZoneChoice } from './parts/zone';
import { href, route } from './route';
import { clock, line } from './text';
import { nextTheme, theme } from './theme';
import { Add } from './views/add';
import { Now } from './views/now';

// The first view is there at once; the others come when they are asked for.
const LAZY: Record<string, () => Promise<ComponentType>> = {
    board: () => import('./views/board').then((m) => m.Board),
    task: () => import('./views/task').then((m) => m.TaskView),
    graph: () => import('./views/graph').then((m) => m.Graph),
    timeline: () => import('./views/timeline').then((m) => m.Timeline),
    schedules: () => import('./views/schedules').then((m) => m.Schedules),
    share: () => import('./views/share').then((m) => m.Share),
    cost: () => import('./views/cost').then((m) => m.Cost),
    whatif: () => import('./views/whatif').then((m) => m.WhatIf),
    events: () => import('./views/events').then((m) => m.Events),
};
const ready: Record<string, ComponentType> = { now: Now };

function View() {
    const name = route.value.view;
    const needs = attentionCount();
    const [, arrived] = useState(0);
    useEffect(() => {
        const shown =
            name === 'task'
                ? route.value.id
                : (VIEWS.find((view) => view.name === name)?.label ?? 'Sluice');
        document.title = `${needs ? `(${needs}) ` : ''}${line(shown)} · Sluice`;
    }, [name, route.value.id, needs]);
    useEffect(() => {
        const load = LAZY[name];
        if (ready[name] || !load) return;
        load().then(
            (view) => {
                ready[name] = view;
                arrived((n) => n + 1);
            },
            // The page is older than the daemon behind it: its files are gone.
            () => location.reload(),
        );
    }, [name, route.value.id]);
    const Shown = ready[name];
    if (Shown) return <Shown />;
    if (LAZY[name]) return <div class="loading" aria-busy="true" />;
    return (
        <div class="empty">
            <p>
                There is no such view. <a href={href('now')}>Go to Now</a>
            </p>
        </div>
    );
}

function Logo() {
    return (
        <svg viewBox="0 0 32 32" class="logo" aria-hidden="true">
            <path d="M6 6v20M26 6v20M6 11h20" />
            <path
                d="M11 18c1.7-1.7 3.3-1.7 5 0s3.3 1.7 5 0M11 24c1.7-1.7 3.3-1.7 5 0s3.3 1.7 5 0"
                class="water"
            />
        </svg>
    );
}

function Nav() {
    const s = status.value;
    const counts: Record<string, number | undefined> = {
        now: s?.running.length,
        board: s
            ? (s.counts.ready ?? 0) + (s.counts.waiting ?? 0) + (s.counts.held ?? 0)
            : undefined,
    };
    const here = route.value.view;
    const nav = useRef<HTMLElement>(null);
    // On a phone the views are one line that scrolls.
    useEffect(() => {
        const current = nav.current?.querySelector('[aria-current]');
        current?.scrollIntoView({ block: 'nearest', inline: 'center' });
    }, [here, counts.now, counts.board]);
    return (
        <nav ref={nav} aria-label="Views">
            {VIEWS.map((view) => (
                <a
                    key={view.name}
                    href={href(view.name)}
                    aria-current={
                        here === view.name || (here === 'task' && view.name === 'board')
                            ? 'page'
                            : undefined
                    }
                >
                    <span>{view.label}</span>
                    {counts[view.name] ? (
                        <span class="num faint">
                            {(counts[view.name] ?? 0).toLocaleString('en-US')}
                        </span>
                    ) : null}
                </a>
            ))}
        </nav>
    );
}

function Connected() {
    const state = connection.value;
    const text = { live: 'live', connecting: 'connecting …', lost: 'no daemon; trying again …' }[
        state
    ];
    return (
        <span class={`connected ${state}`} role="status">
            <i aria-hidden="true" />
            {text}
        </span>
    );
}

/** A short outage of the daemon is not shown; a longer one is. */
function Lost() {
    const since = lostSince.value;
    if (since === null || now.value - since < 8000) return null;
    return (
        <p class="alert lost" role="alert">
            <span>
                The daemon does not answer since {clock(since, true)}; this is what it said last.
                Start it with <code>sluice up</code>; if it listens at another port now,{' '}
                <code>sluice dash</code> opens a new page.
            </span>
        </p>
    );
}

function Top() {
    const s = status.value;
    return (
        <header class="top">
            <a class="brand" href={href('now')} aria-label="Sluice">
                <Logo />
                <span>Sluice</span>
            </a>
            <Nav />
            <div class="foot">
                <ZoneChoice />
                <Connected />
                <div class="tools">
                    <button
                        class="quiet"
                        onClick={nextTheme}
                        title={`colours: ${theme.value}`}
                        aria-label={`colours: ${theme.value}; change`}
                    >
                        {{ system: '◐', light: '☀', dark: '☾' }[theme.value]}
                    </button>
                    <button
                        class="quiet"
                        onClick={() => {
                            helpShown.value = true;
                        }}
                        aria-label="keys"
                        title="keys (?)"
                    >
                        ?
                    </button>
                </div>
            </div>
            <div class="act">
                {scope.value === 'admin' &&
                    s &&
                    (s.paused ? (
                        <button onClick={() => pause(false)}>Resume</button>
                    ) : (
                        <button onClick={() => pause(true)}>Pause</button>
                    ))}
                {scope.value !== 'read' && (
                    <button
                        class="primary"
                        onClick={() => {
                            addShown.value = true;
                        }}
                    >
                        Add task
                    </button>
                )}
            </div>
        </header>
    );
}

const HELP: [string, string][] = [
    ['j k', 'next, previous row in any list'],
    ['1 2 3', 'the buttons of the current item (Needs you)'],
    ['h l', 'column to the left, to the right'],
    ['Enter', 'open the task'],
    ['Esc', 'back'],
    ['/', 'search'],
    ['a', 'add a task'],
    ['x', 'choose a task (board)'],
    ['u', 'undo the last step'],
    ['f', 'follow the log (task)'],
    ['w', 'wrap long lines of the log (task)'],
    ['/ n N', 'search the log, next and previous hit (task)'],
    ['j k J K', 'next and previous line, change (review)'],
    ['] [', 'next, previous file (review)'],
    ['c e z', 'comment, more around, fold the file (review)'],
    ['A R T', 'approve, reject, take over (review)'],
    ...VIEWS.map((view): [string, string] => [`g ${view.key}`, view.label]),
    ['?', 'these keys'],
];

function Help() {
    if (!helpShown.value) return null;
    return (
        <Dialog
            title="Keys"
            onClose={() => {
                helpShown.value = false;
            }}
        >
            <dl class="keys">
                {HELP.map(([key, text]) => (
                    <div key={key}>
                        <dt>
                            {key.split(' ').map((k) => (
                                <kbd key={k}>{k}</kbd>
                            ))}
                        </dt>
                        <dd>{text}</dd>
                    </div>
                ))}
            </dl>
        </Dialog>
    );
}

function Locked() {
    return (
        <main class="locked">
            <Logo />
            <h1>{lockedBecause.value ?? 'Your session has ended.'}</h1>
            <p>
                Access lasts for this session and can be revoked. To open a new one, run in a
                terminal:
            </p>
            <p>
                <code class="command">sluice dash</code>
            </p>
        </main>
    );
}

export function App() {
    useEffect(keys, []);
    if (access.value === 'locked') return <Locked />;
    return (
        <div class="frame">
            <a
                class="skip"
                href="#main"
                onClick={(event) => {
                    event.preventDefault();
                    document.getElementById('main')?.focus();
                }}
            >
                to the content
            </a>
            <Top />
            <main id="main" tabIndex={-1}>
                <Lost />
                {access.value === 'open' ? <View /> : <div class="loading" aria-busy="true" />}
            </main>
            <Toasts />
            <Questions />
            <Help />
            {addShown.value && (
                <Add
                    onClose={() => {
                        addShown.value = false;
                    }}
                />
            )}
        </div>
    );
}
