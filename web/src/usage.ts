// usage.ts: what was used, as the daemon sums it up; the same for money and for shares.
import { get } from './api';
import { daemonNow } from './live';
import type { UsageList, UsageSum } from './types';

const SUMS_MAX = 20_000;

export async function readUsage(
    by: 'day' | 'hour',
    group: 'project' | 'agent',
    since: number,
    signal: AbortSignal,
): Promise<UsageList> {
    let all: UsageList | null = null;
    for (let cursor: string | null = ''; cursor !== null;) {
        const page: UsageList = await get<UsageList>(
            '/v1/usage',
            { by, group, since, limit: 1000, cursor },
            signal,
        );
        if (all) all.items.push(...page.items);
        else all = page;
        cursor = all.items.length < SUMS_MAX ? page.next : null;
    }
    return all as UsageList;
}

export const tokensOf = (sum: UsageSum) => sum.tokens_in + sum.tokens_out;

/** All spans from the first that is known, and a few before it; also those in which nothing was used. */
export function spans(items: UsageSum[], length: number, since: number, least: number): number[] {
    const start = (t: number) => t - (t % length);
    const now = daemonNow();
    const first = Math.min(...items.map((item) => item.at), now - least * length);
    const all: number[] = [];
    for (let t = start(Math.max(since, first)); t <= now; t += length) all.push(t);
    return all;
}

/** Names by how much they used, most first. */
export function names(items: UsageSum[], value: (sum: UsageSum) => number): string[] {
    const sums = new Map<string, number>();
    for (const item of items)
        sums.set(item.name ?? '', (sums.get(item.name ?? '') ?? 0) + value(item));
    return [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}
