// small.tsx: the small parts that every view is made of.
import type { ComponentChildren } from 'preact';
import { now } from '../live';
import { href } from '../route';
import { clock, line, span } from '../text';
import { fullTime } from '../zone';

/** The id of a task, as a link to it. */
export function Tid({ id }: { id: string }) {
    return (
        <a class="id" href={href('task', id)}>
            {line(id)}
        </a>
    );
}

/** Foreign text on one line: harmless, and in its own direction. */
export function Text({ of, class: name = '' }: { of: string | null | undefined; class?: string }) {
    return (
        <span class={`foreign ${name}`} dir="auto">
            {line(of)}
        </span>
    );
}

export function Elapsed({ from }: { from: number | null }) {
    return from ? <span class="num">{span(now.value - from)}</span> : <span class="faint">–</span>;
}

export function Countdown({ to }: { to: number }) {
    const left = to - now.value;
    return <span class="num">{left > 0 ? `in ${span(left)}` : 'now'}</span>;
}

export function Ago({ at }: { at: number | null }) {
    if (!at) return <span class="faint">–</span>;
    const ms = now.value - at;
    return (
        <time class="num" dateTime={new Date(at).toISOString()} title={fullTime(at)}>
            {ms < 60000
                ? 'just now'
                : ms < 86400000
                  ? `${span(ms - (ms % 60000)).replace(/:\d\d$/, ms < 3600000 ? ' min' : ' h')} ago`
                  : clock(at)}
        </time>
    );
}

/** How much of a limit is used. Without a cap there is nothing to fill. */
export function Meter({
    used,
    reserved = 0,
    cap,
    label,
}: {
    used: number;
    reserved?: number;
    cap: number | null;
    label: string;
}) {
    const part = cap ? Math.min(1, used / cap) : 0;
    const more = cap ? Math.min(1 - part, reserved / cap) : 0;
    const full = cap !== null && used + reserved >= cap;
    return (
        <div
            class={`meter${full ? ' full' : ''}${cap === null ? ' open' : ''}`}
            role="meter"
            aria-label={label}
            aria-valuemin={0}
            aria-valuemax={cap ?? used}
            aria-valuenow={used}
        >
            <div class="used" style={{ width: `${part * 100}%` }} />
            <div class="more" style={{ width: `${more * 100}%` }} />
        </div>
    );
}

export function Section({
    title,
    note,
    children,
    class: name = '',
    actions,
}: {
    title: string;
    note?: ComponentChildren;
    children: ComponentChildren;
    class?: string;
    actions?: ComponentChildren;
}) {
    return (
        <section class={`section ${name}`} aria-label={title}>
            <header>
                <h2>{title}</h2>
                {note !== undefined && <span class="note">{note}</span>}
                {actions && <span class="right">{actions}</span>}
            </header>
            {children}
        </section>
    );
}

export type Pair = [name: string, value: ComponentChildren];

export function Pairs({ of: pairs }: { of: Pair[] }) {
    return (
        <dl class="pairs">
            {pairs.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            ))}
        </dl>
    );
}

/** Nothing there, and what to do about it. */
export function Empty({ children, command }: { children: ComponentChildren; command?: string }) {
    return (
        <div class="empty">
            <p>{children}</p>
            {command && (
                <p>
                    <code class="command">{command}</code>
                </p>
            )}
        </div>
    );
}

export function Problem({ error, absent }: { error: string | null; absent?: boolean }) {
    if (absent)
        return (
            <Empty>
                This daemon does not offer this yet: not available in this daemon. Install a newer
                Sluice and restart it.
            </Empty>
        );
    return error ? (
        <p class="problem" role="alert">
            {line(error)}
        </p>
    ) : null;
}
