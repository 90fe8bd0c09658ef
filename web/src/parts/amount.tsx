// amount.tsx: how much of a budget is used, as a bar. Apart from the form that changes one, which the first view need not load.
import { count, line } from '../text';
import { Meter } from './small';

export function unknownRuns(n: number): string {
    return `${count(n)} ${n === 1 ? 'run' : 'runs'} of unknown cost`;
}

/** A bar in a list of bars; nothing where there is no limit. `name` may be empty below one with the same. */
export function AmountBar({
    name,
    label,
    unit,
    used,
    reserved = 0,
    cap,
    show,
}: {
    name: string;
    label?: string;
    unit: string;
    used: number | null;
    reserved?: number;
    cap: number | null;
    show: (n: number | null) => string;
}) {
    if (cap === null) return null;
    return (
        <>
            <span>{line(name)}</span>
            <Meter
                used={used ?? 0}
                reserved={reserved}
                cap={cap}
                label={`budget ${label ?? name}: ${show(used)} of ${show(cap)} ${unit}`}
            />
            <span class="num">
                {show(used)}
                <span class="faint"> / {show(cap)}</span>
            </span>
        </>
    );
}
