// agent.tsx: who works for whom, and whose slot it is: another agent instead of the task's, a slot that is lent.
import { clock, line } from '../text';
import type { LiveRun } from '../types';
import { Tid } from './small';

/** codex, for claude, which is limited until 03:10 */
export function Instead({ of: run }: { of: LiveRun }) {
    if (!run.instead_of) return null;
    return (
        <span class="instead">
            {line(run.agent)}, for {line(run.instead_of)}
            {run.instead_until ? (
                <>
                    , which is limited until <span class="num">{clock(run.instead_until)}</span>
                </>
            ) : null}
        </span>
    );
}

export function Lends({ to }: { to: string }) {
    return (
        <span class="lends">
            waits for its children, lends its slot to <Tid id={to} />
        </span>
    );
}

export function Borrows({ from }: { from: string }) {
    return (
        <span class="lends">
            runs in the slot of <Tid id={from} />, which waits for it
        </span>
    );
}
