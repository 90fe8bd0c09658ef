// mark.tsx: a state as a shape. Not all users see colours, so each state has its own form.
import { LOOKS, type State } from '../types';

export function Mark({ state, label = true }: { state: State; label?: boolean }) {
    const look = LOOKS[state] ?? LOOKS.waiting;
    return (
        <svg
            class={`mark s-${state}`}
            viewBox="0 0 16 16"
            role={label ? 'img' : 'presentation'}
            aria-label={label ? state : undefined}
            aria-hidden={label ? undefined : true}
        >
            <path
                d={look.outline}
                class={look.heavy ? 'stroke thick' : 'stroke'}
                stroke-dasharray={look.dashed ? '2.2 2' : undefined}
            />
            {look.solid && <path d={look.solid} class="fill" />}
        </svg>
    );
}
