// badge.ts: how many things wait for a person, for eyes that are elsewhere: the icon of the tab has the number, and a
// notification of the browser says what is new. Permission for those is asked by a button (parts/needs.tsx), never by itself.
import { effect, signal } from '@preact/signals';
import { get } from './api';
import { attentionCount } from './attention';
import { daemonNow, keepWhile, status } from './live';
import { line } from './text';
import type { AttentionList } from './types';

const SHOWN = 3; // notifications at once; the others are one

const known = new Set<string>();
let before: number | null = null;

export const permission = signal<NotificationPermission | 'none'>(
    typeof Notification === 'undefined' ? 'none' : Notification.permission,
);

/** Only from a click: browsers refuse it otherwise, and rightly so. */
export async function askPermission(): Promise<void> {
    permission.value = await Notification.requestPermission();
}

function icon(n: number): string {
    const text = n > 99 ? '99+' : String(n);
    const size = text.length > 2 ? 11 : text.length > 1 ? 15 : 18;
    return `data:image/svg+xml,${encodeURIComponent(
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke="#0a627e" stroke-width="3" stroke-linecap="round"><path d="M5 5v22M27 5v22M5 10h22"/></g><circle cx="20" cy="20" r="12" fill="#b3402a"/><text x="20" y="${20 + size * 0.36}" font-family="sans-serif" font-weight="700" font-size="${size}" fill="#fff" text-anchor="middle">${text}</text></svg>`,
    )}`;
}

let plain: string | null = null;

function setIcon(n: number): void {
    const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
    if (!link) return;
    plain ??= link.href;
    const wanted = n > 0 ? icon(n) : plain;
    if (link.href !== wanted) link.href = wanted;
}

function show(title: string, body: string, tag: string): void {
    const note = new Notification(title, { body, tag, icon: icon(known.size || 1) });
    note.onclick = () => {
        window.focus();
        location.hash = '#/now';
        note.close();
    };
}

async function announce(): Promise<void> {
    const list = await get<AttentionList>('/v1/attention', { limit: 50 }).catch(() => null);
    if (!list) return;
    const fresh = list.items.filter(
        (item) => !known.has(item.key) && (item.since ?? Infinity) >= hiddenSince - SKEW_MS,
    );
    known.clear();
    for (const item of list.items) known.add(item.key);
    for (const item of fresh.slice(0, SHOWN))
        show(
            `${item.task?.id ?? item.name ?? 'Sluice'}: ${item.kind}`,
            line(item.question?.question ?? item.task?.title ?? item.text),
            item.key,
        );
    if (fresh.length > SHOWN) show('Sluice', `${fresh.length - SHOWN} more need you`, 'more');
}

/** What was there while the page was in sight is no news. */
let hiddenSince = 0;
const SKEW_MS = 2000; // between the clocks of browser and daemon

const announces = (): boolean => permission.value === 'granted';

export function badging(): void {
    keepWhile(announces);
    const leave = () => {
        if (document.hidden) hiddenSince = daemonNow();
    };
    leave();
    document.addEventListener('visibilitychange', leave);
    effect(() => {
        if (!status.value) return;
        const n = attentionCount();
        setIcon(n);
        if (announces() && document.hidden && before !== null && n > before) void announce();
        before = n;
    });
}
