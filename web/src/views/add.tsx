// add.tsx: a task, or many at once. What is written becomes one request: added whole or not at all.
import { useRef, useState } from 'preact/hooks';
import { ApiError, get, post, words } from '../api';
import { useLoad } from '../load';
import { status, wantStatus } from '../live';
import { members, type Member } from '../members';
import { ask, Dialog } from '../parts/dialog';
import { say } from '../parts/toast';
import { go, route } from '../route';
import { count, many, line } from '../text';
import type { Agent, Page } from '../types';

type Mode = 'prompt' | 'command' | 'lines' | 'json';
const LABELS: Record<Mode, string> = {
    prompt: 'What the agent should do',
    command: 'Command, given to sh -c',
    lines: 'Each line becomes a task',
    json: 'A list of tasks, as in POST /v1/tasks',
};
const PLACEHOLDERS: Record<Mode, string> = {
    prompt: 'fix the flaky test in tests/api, and say what it was',
    command: 'make test',
    lines: 'port test 1\nport test 2',
    json: '[{"name": "build", "argv": ["make"]}, {"argv": ["make", "test"], "depends_on": ["build"]}]',
};
const MODES: [Mode, string][] = [
    ['prompt', 'Prompt'],
    ['command', 'Command'],
    ['lines', 'One per line'],
    ['json', 'JSON'],
];
type Spec = Record<string, unknown>;

function common(form: FormData): Spec {
    const spec: Spec = {};
    const text = (name: string) => String(form.get(name) ?? '').trim();
    if (text('project')) spec.project = text('project');
    for (const { name, input } of members) {
        if (!text(name)) continue;
        spec[name] =
            input === 'number'
                ? Number(text(name))
                : input === 'names'
                  ? text(name).split(/[\s,]+/)
                  : input === 'switch'
                    ? true
                    : text(name);
    }
    return spec;
}

/** One field of the form, as the table of members describes it. */
function Field({ of: { name, label, input, example, help } }: { of: Member }) {
    return (
        <label class="field" title={help}>
            {label}
            <input
                name={name}
                type={input === 'number' ? 'number' : 'text'}
                placeholder={example}
            />
        </label>
    );
}

const FIRST = ['title', 'depends_on'];
const switches = members.filter((member) => member.input === 'switch');
const rest = members.filter((member) => member.input !== 'switch' && !FIRST.includes(member.name));
const field = (name: string) =>
    members
        .filter((member) => member.name === name)
        .map((member) => <Field key={name} of={member} />);

/** The tasks that a form describes; throws a message. */
function tasksOf(mode: Mode, form: FormData): { tasks: Spec[]; group?: string } {
    const text = String(form.get('text') ?? '');
    const agent = String(form.get('agent') ?? '');
    const spec = common(form);
    const group = String(form.get('group') ?? '').trim();
    const more = group ? { group } : {};
    if (mode === 'json') {
        let value: unknown;
        try {
            value = JSON.parse(text);
        } catch (error) {
            throw new Error(`this is not JSON: ${words(error)}`);
        }
        const list = Array.isArray(value)
            ? value
            : ((value as { tasks?: unknown[] } | null)?.tasks ?? [value]);
        return { tasks: list.map((one) => ({ ...spec, ...(one as Spec) })), ...more };
    }
    if (mode === 'lines') {
        const all = text
            .split('\n')
            .map((one) => one.trim())
            .filter(Boolean);
        if (all.length === 0) throw new Error('write one task in each line');
        return {
            tasks: all.map((one) => ({
                ...spec,
                title: one.slice(0, 200),
                ...(agent ? { agent, prompt: one } : { argv: ['sh', '-c', one] }),
            })),
            ...more,
        };
    }
    if (!text.trim())
        throw new Error(mode === 'prompt' ? 'write what the agent should do' : 'write a command');
    if (!spec.title) spec.title = text.trim().split('\n')[0]?.slice(0, 120);
    return {
        tasks: [
            {
                ...spec,
                ...(mode === 'prompt' ? { agent, prompt: text } : { argv: ['sh', '-c', text] }),
            },
        ],
        ...more,
    };
}

/** What is to be done, in the form that `mode` takes. */
function WorkField({ mode }: { mode: Mode }) {
    return (
        <label class="field">
            {LABELS[mode]}
            <textarea
                name="text"
                class={mode === 'prompt' ? '' : 'mono'}
                rows={mode === 'command' ? 3 : 7}
                autofocus
                spellcheck={mode === 'prompt'}
                required
                placeholder={PLACEHOLDERS[mode]}
            />
        </label>
    );
}

function OwnerFields({ mode, agents }: { mode: Mode; agents: string[] }) {
    const projects = status.value?.projects ?? [];
    const here = route.value.query.get('project') ?? '';
    return (
        <div class="grid-2">
            <label class="field">
                Project
                <select name="project">
                    <option value="">default</option>
                    {projects.map((project) => (
                        <option
                            key={project.name}
                            value={project.name}
                            selected={project.name === here}
                        >
                            {line(project.name)}
                        </option>
                    ))}
                </select>
            </label>
            {(mode === 'prompt' || mode === 'lines') && (
                <label class="field">
                    Agent
                    <select name="agent">
                        {mode === 'lines' && <option value="">none: each line is a command</option>}
                        {agents.map((name) => (
                            <option key={name} value={name}>
                                {line(name)}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {(mode === 'prompt' || mode === 'command') && field('title')}
            {mode !== 'json' && field('depends_on')}
        </div>
    );
}

function MoreFields() {
    return (
        <details>
            <summary>more</summary>
            <div class="grid-2">
                {rest.map((member) => (
                    <Field key={member.name} of={member} />
                ))}
                <label class="field">
                    Group
                    <input name="group" />
                </label>
            </div>
        </details>
    );
}

function isTyped(form: HTMLFormElement | null): boolean {
    const fields = form?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(
        'textarea, input:not([type=checkbox])',
    );
    return [...(fields ?? [])].some((field) => field.value.trim() !== field.defaultValue.trim());
}

async function mayDiscard(form: HTMLFormElement | null): Promise<boolean> {
    const text = 'The task was not added yet.';
    return !isTyped(form) || (await ask('Discard what you typed?', text, 'Discard')) !== null;
}

export function Add({ onClose: end }: { onClose: () => void }) {
    const agents = useLoad('agents', (signal) =>
        get<Page<Agent>>('/v1/agents', { limit: 200 }, signal),
    );
    const names = agents.data?.items.map((agent) => agent.name) ?? [];
    const [mode, setMode] = useState<Mode>('prompt');
    const [error, setError] = useState<string | null>(null);
    const [busy, setBusy] = useState(false);
    const form = useRef<HTMLFormElement>(null);
    const onClose = () => void mayDiscard(form.current).then((yes) => yes && end());
    const shown = mode === 'prompt' && agents.data && names.length === 0 ? 'command' : mode;

    const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        if (!form.current || busy) return;
        setBusy(true);
        setError(null);
        try {
            const body = tasksOf(shown, new FormData(form.current));
            const got = await post<{
                tasks: { id: string; result: string; queue_position: number | null }[];
                warning: string | null;
            }>('/v1/tasks', body);
            wantStatus();
            const first = got.tasks[0];
            end();
            say(
                got.tasks.length === 1 && first
                    ? `${first.id}: ${first.result}${first.queue_position ? `, place ${count(first.queue_position)}` : ''}`
                    : `${many(got.tasks.length, 'task')} added`,
            );
            if (got.warning) say(got.warning, true);
            if (got.tasks.length === 1 && first) go('task', first.id);
        } catch (problem) {
            const at =
                problem instanceof ApiError &&
                problem.index !== null &&
                shown !== 'prompt' &&
                shown !== 'command'
                    ? ` (entry ${problem.index + 1})`
                    : '';
            setError(words(problem) + at);
            setBusy(false);
        }
    };
    return (
        <Dialog title="Add" onClose={onClose} wide>
            <div class="tabs" role="group" aria-label="what to add">
                {MODES.map(([name, label]) => (
                    <button
                        key={name}
                        class="quiet"
                        aria-pressed={shown === name}
                        disabled={name === 'prompt' && !!agents.data && names.length === 0}
                        onClick={() => {
                            setMode(name);
                            setError(null);
                        }}
                    >
                        {label}
                    </button>
                ))}
            </div>
            <form ref={form} onSubmit={submit}>
                <WorkField mode={shown} />
                <OwnerFields mode={shown} agents={names} />
                {shown !== 'json' && (
                    <div class="choices">
                        {switches.map(({ name, label, help }) => (
                            <label key={name} class="choice" title={help}>
                                <input type="checkbox" name={name} /> {label}
                            </label>
                        ))}
                    </div>
                )}
                <MoreFields />
                {error && (
                    <p class="problem" role="alert">
                        {line(error)}
                    </p>
                )}
                <div class="buttons">
                    <button type="button" onClick={onClose}>
                        Close
                    </button>
                    <button type="submit" class="primary" disabled={busy}>
                        Add
                    </button>
                </div>
            </form>
        </Dialog>
    );
}
