// review_verdict.tsx: what becomes of a change that waits for review: approved, rejected with the comments, or taken over.
import { useEffect, useRef, useState } from 'preact/hooks';
import { act, ACTIONS, possible } from '../actions';
import { scope } from '../api';
import { useKeys } from '../keys';
import { feedback, reviewOf, setReview } from '../review';
import { many, visible } from '../text';
import type { TaskFull } from '../types';
import { ask, Dialog } from './dialog';
import { say } from './toast';

function Rejection({
    task,
    text,
    send,
    close,
}: {
    task: TaskFull;
    text: string;
    send: (reason: string) => void;
    close: () => void;
}) {
    const [reason, setReason] = useState(text);
    const box = useRef<HTMLTextAreaElement>(null);
    useEffect(() => box.current?.focus(), []);
    return (
        <Dialog title={`Reject ${visible(task.id)}?`} onClose={close} wide>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    send(reason);
                }}
            >
                <label class="field">
                    The next iteration reads this.
                    <textarea
                        ref={box}
                        class="mono"
                        rows={Math.min(18, Math.max(6, reason.split('\n').length + 1))}
                        value={reason}
                        onInput={(event) => setReason(event.currentTarget.value)}
                        onKeyDown={(event) => {
                            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                                send(reason);
                        }}
                    />
                </label>
                <div class="buttons">
                    <span class="faint">Ctrl+Enter sends</span>
                    <button type="button" onClick={close}>
                        No, leave it
                    </button>
                    <button type="submit" class="danger">
                        Reject
                    </button>
                </div>
            </form>
        </Dialog>
    );
}

function TakeOver({ id, close }: { id: string; close: () => void }) {
    const command = `sluice take ${id}`;
    const code = useRef<HTMLElement>(null);
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(command);
            say('copied');
        } catch {
            // Not permitted: it is selected instead.
            if (code.current) getSelection()?.selectAllChildren(code.current);
        }
    };
    return (
        <Dialog title={`Take ${visible(id)} over`} onClose={close}>
            <p>
                Run this in a terminal. It opens the session of the agent in the worktree of the
                task.
            </p>
            <p class="review-command">
                <code class="command" ref={code}>
                    {visible(command)}
                </code>
                <button autofocus onClick={() => void copy()}>
                    Copy
                </button>
            </p>
        </Dialog>
    );
}

/** The buttons, and their keys: A, R and T. */
export function Verdict({
    task,
    reviewed,
    paths,
    after,
}: {
    task: TaskFull;
    /** Key of the review. */
    reviewed: string;
    paths: string[];
    after: () => void;
}) {
    const [shown, show] = useState<'reject' | 'take' | null>(null);
    const review = reviewOf(reviewed);
    const allowed = possible(task).map((action) => action.name);
    const mayTake = scope.value !== 'read';
    const unsent = review.comments.length;
    const decide = async (name: string, reason?: string) => {
        const action = ACTIONS.find((one) => one.name === name);
        if (!action || !(await act(action, [task.id], [task], reason))) return;
        show(null);
        setReview(reviewed, { text: '', comments: [] });
        after();
    };
    const approve = async () => {
        const question = `${many(unsent, 'comment')} will not be sent.`;
        if (unsent > 0 && (await ask(`Approve ${visible(task.id)}?`, question, 'Approve')) === null)
            return;
        await decide('approve');
    };
    useKeys((key) => {
        if (key === 'A' && allowed.includes('approve')) void approve();
        else if (key === 'R' && allowed.includes('reject')) show('reject');
        else if (key === 'T' && mayTake) show('take');
        else return false;
        return true;
    });
    return (
        <span class="review-verdict">
            {allowed.includes('approve') && (
                <button class="primary" onClick={() => void approve()} title="A">
                    Approve
                </button>
            )}
            {allowed.includes('reject') && (
                <button class="danger" onClick={() => show('reject')} title="R">
                    Reject{unsent > 0 ? ` with ${many(unsent, 'comment')}` : ''}
                </button>
            )}
            {mayTake && (
                <button onClick={() => show('take')} title="T">
                    Take over
                </button>
            )}
            {shown === 'reject' && (
                <Rejection
                    task={task}
                    text={feedback(review, paths)}
                    send={(reason) => void decide('reject', reason)}
                    close={() => show(null)}
                />
            )}
            {shown === 'take' && <TakeOver id={task.id} close={() => show(null)} />}
        </span>
    );
}
