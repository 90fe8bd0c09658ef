// windows.tsx: how much of the windows of an account is used, and how much is kept for its owner.
import { clock } from '../text';
import type { Limiter, QuotaWindow, WindowName } from '../types';
import { Countdown } from './small';

const NAMES: Record<WindowName, string> = {
    five_hour: '5-hour window',
    weekly: 'weekly window',
};

function Bar({ of: window }: { of: QuotaWindow }) {
    const used = window.used_percent;
    return (
        <div
            class={`meter quota${window.reserved ? ' full' : ''}${used === null ? ' open' : ''}`}
            role="meter"
            aria-label={`${NAMES[window.window]}: ${used ?? 'unknown'} % used, ${window.reserve_percent} % reserved`}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={used ?? 0}
        >
            <div class="used" style={{ width: `${Math.min(100, used ?? 0)}%` }} />
            <div class="reserve" style={{ width: `${window.reserve_percent}%` }} />
        </div>
    );
}

/** Nothing for an account without a plan, or whose use no agent has reported. */
export function Windows({ of: limiter }: { of: Limiter }) {
    if (limiter.windows.length === 0) return null;
    return (
        <ul class="windows">
            {limiter.windows.map((window) => (
                <li key={window.window} class={window.reserved ? 'reserved' : ''}>
                    <span>{NAMES[window.window]}</span>
                    <Bar of={window} />
                    <span class="num">
                        {window.used_percent === null
                            ? 'use unknown'
                            : `${window.used_percent} % used`}
                    </span>
                    {(window.reserve_percent > 0 || window.resets_at) && (
                        <p class="faint">
                            {window.reserve_percent > 0
                                ? `${window.reserve_percent} % reserved`
                                : ''}
                            {window.reserve_percent > 0 && window.resets_at ? ', ' : ''}
                            {window.resets_at ? (
                                <>
                                    resets <Countdown to={window.resets_at} />, at{' '}
                                    <span class="num">{clock(window.resets_at)}</span>
                                </>
                            ) : null}
                        </p>
                    )}
                </li>
            ))}
        </ul>
    );
}
