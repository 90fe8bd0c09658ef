// budget.tsx: what was used of which budget, in tokens and in dollars, and a form to give a task more. What the amounts may
// be is the daemon's word: the form sends what was typed as a number, or as the word that it is.
import { useRef, useState } from 'preact/hooks';
import { post, scope, words } from '../api';
import { money, short } from '../text';
import type { Amount, TaskBudget, TaskFull, Window } from '../types';
import { unknownRuns } from './amount';
import { Countdown, Section, Text } from './small';
import { say } from './toast';

function Row({
    name,
    tokens,
    usd,
    window,
}: {
    name: string;
    tokens: Amount;
    usd: Amount;
    window?: Window;
}) {
    const of = (amount: Amount, show: (n: number | null) => string) => (
        <td class="r num">
            {show(amount.used)}
            <span class="faint">
                {' '}
                / {amount.budget === null ? 'no limit' : show(amount.budget)}
            </span>
        </td>
    );
    return (
        <tr>
            <td>
                {name}
                {window && !window.open ? (
                    <span class="faint">
                        {' '}
                        used up
                        {window.opens_at ? (
                            <>
                                , opens <Countdown to={window.opens_at} />
                            </>
                        ) : null}
                    </span>
                ) : null}
            </td>
            {of(tokens, short)}
            {of(usd, money)}
        </tr>
    );
}

const limited = (part: { tokens: Amount; usd: Amount } | null): boolean =>
    !!part && (part.tokens.budget !== null || part.usd.budget !== null);

const FIELDS = [
    ['tokens', 'task, tokens'],
    ['usd', 'task, dollars'],
    ['run_tokens', 'one run, tokens'],
    ['run_usd', 'one run, dollars'],
] as const;

function Form({
    task,
    budget,
    done,
}: {
    task: TaskFull;
    budget: TaskBudget;
    done: (changed: boolean) => void;
}) {
    const form = useRef<HTMLFormElement>(null);
    const [busy, setBusy] = useState(false);
    const now: Record<string, number | null> = {
        tokens: budget.task.tokens.budget,
        usd: budget.task.usd.budget,
        run_tokens: budget.run.tokens.budget,
        run_usd: budget.run.usd.budget,
    };
    const send = async (event: SubmitEvent) => {
        event.preventDefault();
        if (!form.current) return;
        const data = new FormData(form.current);
        const body: Record<string, unknown> = {};
        for (const [name] of FIELDS) {
            const typed = String(data.get(name) ?? '')
                .trim()
                .replace(/^\$/, '');
            if (typed)
                body[name] = /^\d[\d,_]*(\.\d+)?$/.test(typed)
                    ? Number(typed.replace(/[,_]/g, ''))
                    : typed;
        }
        if (data.get('on_budget') !== budget.on_budget) body.on_budget = data.get('on_budget');
        if (Object.keys(body).length === 0) return done(false);
        setBusy(true);
        try {
            const got = await post<{ hold: string | null }>(
                `/v1/tasks/${encodeURIComponent(task.id)}/budget`,
                body,
            );
            say(
                `${task.id}: ${task.hold === 'budget' && got.hold === null ? 'budget raised, the task continues' : 'budget changed'}`,
            );
            done(true);
        } catch (error) {
            say(words(error), true);
        }
        setBusy(false);
    };
    return (
        <form ref={form} class="budget-form" onSubmit={send} aria-label="change the budget">
            {FIELDS.map(([name, label]) => (
                <label key={name}>
                    <span>{label}</span>
                    <input
                        name={name}
                        inputMode="decimal"
                        autocomplete="off"
                        placeholder={now[name] === null ? 'no limit' : String(now[name])}
                    />
                </label>
            ))}
            <label>
                <span>a run that exceeds it</span>
                <select name="on_budget">
                    <option value="hold" selected={budget.on_budget === 'hold'}>
                        runs to its end
                    </option>
                    <option value="stop" selected={budget.on_budget === 'stop'}>
                        is stopped
                    </option>
                </select>
            </label>
            <p class="faint">
                What is left empty stays as it is; <code>unlimited</code> takes a limit away.
            </p>
            <p class="buttons">
                <button class="primary" disabled={busy}>
                    {task.hold === 'budget' ? 'Raise it' : 'Change it'}
                </button>
            </p>
        </form>
    );
}

export function Budget({ task, after }: { task: TaskFull; after: () => void }) {
    const [changing, setChanging] = useState(false);
    const budget = task.budget;
    if (!budget?.task?.tokens) return null;
    const held = task.state === 'held' && task.hold === 'budget';
    const may = scope.value !== 'read' && !['done', 'canceled', 'invalidated'].includes(task.state);
    const handed = [
        budget.handed.tokens > 0 ? `${short(budget.handed.tokens)} tokens` : '',
        (budget.handed.usd ?? 0) > 0 ? money(budget.handed.usd) : '',
    ]
        .filter(Boolean)
        .join(', ');
    return (
        <Section
            title="Budget"
            class={held ? 'is-held' : ''}
            actions={
                may &&
                !held && (
                    <button
                        class="quiet"
                        aria-expanded={changing}
                        onClick={() => setChanging(!changing)}
                    >
                        {changing ? 'leave it' : 'change'}
                    </button>
                )
            }
        >
            {held && (
                <p class="why-first">
                    <Text of={task.why ?? 'it has used up its budget'} />
                </p>
            )}
            <div class="scroll-x">
                <table class="table budget">
                    <thead>
                        <tr>
                            <th>of</th>
                            <th class="r">tokens</th>
                            <th class="r">dollars</th>
                        </tr>
                    </thead>
                    <tbody>
                        <Row
                            name={
                                ['starting', 'running'].includes(task.state)
                                    ? 'this run'
                                    : 'last run'
                            }
                            {...budget.run}
                        />
                        <Row name="task" {...budget.task} />
                        {budget.project && limited(budget.project) && (
                            <Row name="project" {...budget.project} window={budget.project} />
                        )}
                        {budget.all && limited(budget.all) && (
                            <Row name="all projects" {...budget.all} window={budget.all} />
                        )}
                    </tbody>
                </table>
            </div>
            {budget.unknown_cost_runs > 0 && (
                <p class="faint small">
                    {unknownRuns(budget.unknown_cost_runs)}: not in these dollars.
                </p>
            )}
            {handed && <p class="faint small">Handed to its descendants: {handed}.</p>}
            {may && (held || changing) && (
                <Form
                    task={task}
                    budget={budget}
                    done={(changed) => {
                        setChanging(false);
                        if (changed) after();
                    }}
                />
            )}
        </Section>
    );
}
