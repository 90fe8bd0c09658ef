// toast.tsx: what an action did, or why not, in one message that disappears by itself (a refusal stays longer).
import { signal } from '@preact/signals';
import { line } from '../text';

interface Toast {
    id: number;
    text: string;
    bad: boolean;
}

const toasts = signal<Toast[]>([]);
let next = 1;

export function say(text: string, bad = false): void {
    const id = next++;
    toasts.value = [...toasts.value.slice(-3), { id, text, bad }];
    setTimeout(() => drop(id), bad ? 12000 : 4000);
}

function drop(id: number): void {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
    return (
        <div class="toasts" role="status" aria-live="polite">
            {toasts.value.map((toast) => (
                <button
                    key={toast.id}
                    class={`toast${toast.bad ? ' bad' : ''}`}
                    onClick={() => drop(toast.id)}
                    title="dismiss"
                >
                    {line(toast.text)}
                </button>
            ))}
        </div>
    );
}
