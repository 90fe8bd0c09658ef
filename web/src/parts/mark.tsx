// mark.tsx: a state as a shape. Colour alone tells nobody who cannot see it, so each state has its own form.
import type { JSX } from 'preact';
import type { State } from '../types';

const SHAPES: Record<State, JSX.Element> = {
    draft: <circle cx="8" cy="8" r="5" class="stroke" stroke-dasharray="2.2 2" />,
    waiting: <circle cx="8" cy="8" r="5" class="stroke" />,
    ready: <g><circle cx="8" cy="8" r="5" class="stroke" /><circle cx="8" cy="8" r="2.2" class="fill" /></g>,
    starting: <g><circle cx="8" cy="8" r="5" class="stroke" /><path d="M8 3a5 5 0 0 1 0 10z" class="fill" /></g>,
    running: <path d="M4.5 2.8v10.4L13 8z" class="fill join" />,
    held: <path d="M5.5 3.5v9M10.5 3.500v9" class="stroke thick" />,
    done: <path d="M3 8.6l3.3 3.300L13 4.8" class="stroke thick" />,
    failed: <path d="M4 4l8 8M12 4l-8 8" class="stroke thick" />,
    canceled: <g><circle cx="8" cy="8" r="5" class="stroke" /><path d="M4.5 11.500l7-7" class="stroke" /></g>,
    invalidated: <path d="M3 9.500c1.7-3 3.3-3 5-1.500s3.3 1.5 5-1.5" class="stroke thick" />,
};

export function Mark({ state, label = true }: { state: State; label?: boolean }) {
    return (
        <svg class={`mark s-${state}`} viewBox="0 0 16 16" role={label ? 'img' : 'presentation'}
            aria-label={label ? state : undefined} aria-hidden={label ? undefined : true}>
            {SHAPES[state] ?? SHAPES.waiting}
        </svg>
    );
}
