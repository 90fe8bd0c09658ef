// dialog.tsx: a question that must be answered before anything happens. The browser keeps the focus inside.
import type { ComponentChildren } from 'preact';
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** How the dialogs on the page are closed, the topmost last. */
const shown: { close: () => void }[] = [];

// Escape is handled here and not by the browser: that closes every dialog which no click or typing has come between, and
// asks its `cancel` event only once.
addEventListener('keydown', (event: KeyboardEvent) => {
    const top = shown.at(-1);
    if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented || !top) return;
    event.preventDefault();
    top.close();
});

export function Dialog({
    title,
    onClose,
    children,
    wide = false,
}: {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
    wide?: boolean;
}) {
    const ref = useRef<HTMLDialogElement>(null);
    const handle = useRef({ close: onClose });
    handle.current.close = onClose;
    useEffect(() => {
        const dialog = ref.current;
        const own = handle.current;
        dialog?.showModal();
        shown.push(own);
        return () => {
            shown.splice(shown.indexOf(own), 1);
            dialog?.close(); // which returns the focus to where it was
        };
    }, []);
    return (
        <dialog
            ref={ref}
            class={wide ? 'wide' : ''}
            aria-label={title}
            onCancel={(event) => {
                event.preventDefault();
                onClose();
            }}
            onClose={() => {
                // A browser may close it without asking, for example at the second "back" on a phone.
                if (!ref.current) return; // it was closed by the page
                ref.current.showModal();
                onClose();
            }}
            onClick={(event) => {
                if (event.target === ref.current) onClose();
            }}
        >
            <div class="dialog-body">
                <header>
                    <h2>{title}</h2>
                    <button class="quiet" onClick={onClose} aria-label="close">
                        ✕
                    </button>
                </header>
                {children}
            </div>
        </dialog>
    );
}

interface Question {
    title: string;
    text: string;
    yes: string;
    /** What the answer may be explained with; null when there is nothing to explain. */
    reason: string | null;
    /** The button for yes has the focus, because nothing is lost by it. */
    eager: boolean;
    answer: (reason: string | null) => void;
}

const question = signal<Question | null>(null);

/** Asks; the answer is what was written (or ''), or null for no. */
export function ask(
    title: string,
    text: string,
    yes: string,
    reason: string | null = null,
    eager = false,
): Promise<string | null> {
    return new Promise((answer) => {
        question.value = { title, text, yes, reason, eager, answer };
    });
}

export function Questions() {
    const q = question.value;
    const input = useRef<HTMLTextAreaElement>(null);
    if (!q) return null;
    const end = (answer: string | null) => {
        question.value = null;
        q.answer(answer);
    };
    return (
        <Dialog title={q.title} onClose={() => end(null)}>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    end(input.current?.value ?? '');
                }}
            >
                <p>{q.text}</p>
                {q.reason !== null && (
                    <label class="field">
                        {q.reason}
                        <textarea
                            ref={input}
                            rows={3}
                            autofocus
                            onKeyDown={(event) => {
                                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                                    event.currentTarget.form?.requestSubmit();
                            }}
                        />
                    </label>
                )}
                <div class="buttons">
                    <button type="button" onClick={() => end(null)}>
                        No, leave it
                    </button>
                    <button
                        type="submit"
                        class={q.eager ? 'primary' : 'danger'}
                        autofocus={q.eager}
                    >
                        {q.yes}
                    </button>
                </div>
            </form>
        </Dialog>
    );
}
