// edit.tsx: texts that a person writes for a task: a new prompt while it waits, and a message after it has ended. What was typed
// is kept until the daemon has stored it.
import { useState } from 'preact/hooks';
import { post, words } from '../api';
import { drafts, setDraft } from '../drafts';
import { line } from '../text';
import { say } from './toast';

function TextForm({
    of: key,
    label,
    button,
    start,
    send,
    cancel,
}: {
    of: string;
    label: string;
    button: string;
    start: string;
    send: (text: string) => Promise<unknown>;
    cancel?: () => void;
}) {
    const typed = drafts.value[key] ?? start;
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        if (busy) return;
        setBusy(true);
        setError(null);
        try {
            await send(typed);
            setDraft(key, '');
            cancel?.();
        } catch (problem) {
            setError(words(problem));
        }
        setBusy(false);
    };
    return (
        <form class="text-form" onSubmit={submit}>
            <textarea
                rows={Math.min(20, Math.max(3, typed.split('\n').length + 1))}
                required
                aria-label={label}
                placeholder={label}
                value={typed}
                onInput={(event) => setDraft(key, event.currentTarget.value)}
            />
            {error && (
                <p class="problem" role="alert">
                    {line(error)}
                </p>
            )}
            <div class="actions">
                <button class="primary" disabled={busy}>
                    {button}
                </button>
                {cancel && (
                    <button
                        type="button"
                        onClick={() => {
                            setDraft(key, '');
                            cancel();
                        }}
                    >
                        Cancel
                    </button>
                )}
            </div>
        </form>
    );
}

/** The draft of a prompt names the version of the task that the person has seen: the daemon refuses the edit if the task has
 * another one. */
export const editKey = (id: string): string | undefined =>
    Object.keys(drafts.value).find((key) => key.startsWith(`edit ${id} `));

export function EditPrompt({
    id,
    prompt,
    version,
    close,
}: {
    id: string;
    prompt: string;
    version: number;
    close: () => void;
}) {
    const [seen] = useState({ prompt, key: editKey(id) ?? `edit ${id} ${version}` });
    return (
        <TextForm
            of={seen.key}
            label={`prompt of ${id}`}
            button="Save"
            start={seen.prompt}
            send={async (text) => {
                const path = `/v1/tasks/${encodeURIComponent(id)}/edit`;
                const read = Number(seen.key.split(' ').pop());
                await post(path, { prompt: text, version: read });
                say(`${id}: edited`);
            }}
            cancel={close}
        />
    );
}

export function FollowUpForm({ id, after }: { id: string; after: () => void }) {
    return (
        <TextForm
            of={`follow-up ${id}`}
            label={`message for ${id}`}
            button="Continue"
            start=""
            send={async (message) => {
                await post('/v1/tasks/again', { tasks: [id], message });
                say(`${id}: continued`);
                after();
            }}
        />
    );
}
