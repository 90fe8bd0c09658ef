// usage.ts: what was used, as the daemon sums it up; the same for money and for shares.
import { ApiError, get } from './api';
import { daemonNow } from './live';
import type { UsageList, UsageSum, UsageTotal } from './types';
import { daysOf, zone } from './zone';

const SUMS_MAX = 20_000;

async function pages(
    query: Record<string, string | number>,
    signal: AbortSignal,
): Promise<UsageList> {
    let all: UsageList | null = null;
    for (let cursor: string | null = ''; cursor !== null;) {
        const page: UsageList = await get<UsageList>(
            '/v1/usage',
            { ...query, limit: 1000, cursor },
            signal,
        );
        if (all) all.items.push(...page.items);
        else all = page;
        cursor = all.items.length < SUMS_MAX ? page.next : null;
    }
    return all as UsageList;
}

/** Days are those of the chosen time zone; of UTC, where the daemon's system does not know that. */
export async function readUsage(
    by: 'day' | 'hour',
    group: 'project' | 'agent',
    since: number,
    signal: AbortSignal,
): Promise<UsageList> {
    const query = { by, group, since };
    if (by === 'hour') return pages(query, signal);
    try {
        return await pages({ ...query, timezone: zone() }, signal);
    } catch (error) {
        if (error instanceof ApiError && error.status === 400) return pages(query, signal);
        throw error;
    }
}

export const tokensOf = (sum: UsageTotal) => sum.tokens_in + sum.tokens_out;

/** The hours from the first that is known, and a few before it; also those in which nothing was used. */
export function hours(items: UsageSum[], since: number, least: number): number[] {
    const length = 3600e3;
    const now = daemonNow();
    const first = Math.max(since, Math.min(...items.map((item) => item.at), now - least * length));
    const all: number[] = [];
    for (let t = first - (first % length); t <= now; t += length) all.push(t);
    return all;
}

/** The same in days, which begin when those of the sums do. */
export function days(list: UsageList | null, since: number, least: number): number[] {
    const now = daemonNow();
    const items = list?.items ?? [];
    const first = Math.max(since, Math.min(...items.map((item) => item.at), now - least * 86400e3));
    const all =
        list && list.timezone === 'UTC' && zone() !== 'UTC'
            ? Array.from(
                  { length: Math.floor(now / 86400e3) - Math.floor(first / 86400e3) + 1 },
                  (_, i) => (Math.floor(first / 86400e3) + i) * 86400e3,
              )
            : daysOf(first, now);
    return [...new Set([...items.map((item) => item.at), ...all])].sort((a, b) => a - b);
}
