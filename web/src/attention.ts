// attention.ts: what waits for a person, worst first. The daemon decides what is in it and in which order.
import { useEffect } from 'preact/hooks';
import { get } from './api';
import { type Loaded, useLoad, useThrottle } from './load';
import { onEvents, status } from './live';
import type { AttentionList } from './types';

export const LISTED = 50;
const NONE = { total: 0, items: [] } as unknown as AttentionList;
const ABOUT = /^(task\.(state|asked|answered|question_withdrawn|dismissed|deleted)|alert)/;

/** How many there are; 0 also while it is not known. */
export const attentionCount = (): number => status.value?.attention ?? status.value?.questions ?? 0;

export function useAttention(): Loaded<AttentionList> {
    const any = attentionCount() > 0;
    // Without an item there is nothing to ask for: the first view stays as fast as it is.
    const page = useLoad(`attention ${any}`, (signal) =>
        any
            ? get<AttentionList>('/v1/attention', { limit: LISTED }, signal)
            : Promise.resolve(NONE),
    );
    const again = useThrottle(page.reload, 500);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => ABOUT.test(event.kind))) again();
            }),
        [],
    );
    useEffect(again, [attentionCount()]);
    return page;
}
