// words.ts: events in words. An event without words of its own shows its data as it is.
import type { Event } from './types';

function text(value: unknown): string {
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const REASONS: Record<string, string> = {
    'first-in-order': 'first in order',
    prerequisites: 'what it needs is there',
    executed: 'its command runs',
    succeeded: 'it succeeded',
};

export function eventWords(event: Event): string {
    const d = event.data ?? {};
    const attempt = event.attempt ? `attempt ${event.attempt} ` : '';
    switch (event.kind) {
        case 'task.added':
            return 'added';
        case 'task.state':
            return `${text(d.from)} → ${text(d.to)}${d.reason && d.reason !== 'none' ? `, ${REASONS[text(d.reason)] ?? text(d.reason)}` : ''}`;
        case 'run.started':
            return `${attempt}started`;
        case 'run.ended':
            return `${attempt}ended: ${text(d.outcome ?? d.how)}${d.exit_code ? `, exit ${text(d.exit_code)}` : ''}`;
        case 'run.stopping':
            return `${attempt}is told to stop${d.reason ? `: ${text(d.reason)}` : ''}`;
        case 'task.approved':
            return `approved${d.by ? ` by ${text(d.by)}` : ''}${d.reason ? `: ${text(d.reason)}` : ''}`;
        case 'task.rejected':
            return `rejected${d.by ? ` by ${text(d.by)}` : ''}${d.reason ? `: ${text(d.reason)}` : ''}`;
        case 'daemon.started':
            return 'the daemon started';
        case 'daemon.paused':
            return `everything paused${d.by ? ` by ${text(d.by)}` : ''}`;
        case 'daemon.resumed':
            return 'everything goes on';
        case 'project.deleted':
            return `project ${text(d.project)} deleted`;
        case 'project.restored':
            return `project ${text(d.project)} restored`;
        case 'project.paused':
            return `project ${text(d.project)} paused`;
        case 'project.resumed':
            return `project ${text(d.project)} goes on`;
        case 'limiter.limited':
            return `account ${text(d.limiter ?? d.name)} is rate limited`;
        case 'config.changed':
            return 'the configuration changed';
        default: {
            const rest = Object.entries(d)
                .map(([name, value]) => `${name} ${text(value)}`)
                .join(', ');
            return `${event.kind}${rest ? `: ${rest}` : ''}`;
        }
    }
}
