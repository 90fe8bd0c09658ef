// words.ts: events in words. An event without words of its own shows its data as it is.
import type { Event } from './types';

function text(value: unknown): string {
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const REASONS: Record<string, string> = {
    'first-in-order': 'first in order',
    prerequisites: 'its prerequisites are met',
    executed: 'its command runs',
    succeeded: 'it succeeded',
};

type Data = Record<string, unknown>;

function by(d: Data): string {
    return d.by ? ` by ${text(d.by)}` : '';
}

function reason(d: Data): string {
    return d.reason ? `: ${text(d.reason)}` : '';
}

function hoursOf(d: Data): string {
    if (d.project) return `project ${text(d.project)}`;
    return d.agent ? `agent ${text(d.agent)}` : `account ${text(d.limiter)}`;
}

function stateChange(d: Data): string {
    const known = d.reason && d.reason !== 'none';
    const why = known ? `, ${REASONS[text(d.reason)] ?? text(d.reason)}` : '';
    return `${text(d.from)} → ${text(d.to)}${why}`;
}

/** By kind of event. `attempt` is empty, or "attempt N " with its space. */
const WORDS: Record<string, (d: Data, attempt: string) => string> = {
    'task.added': () => 'added',
    'task.state': stateChange,
    'task.probe': (d) => `its ${text(d.probe)} says ${text(d.answer)}${reason(d)}`,
    'run.started': (_, attempt) => `${attempt}started`,
    'run.ended': (d, attempt) =>
        `${attempt}ended: ${text(d.outcome ?? d.how)}${d.exit_code ? `, exit ${text(d.exit_code)}` : ''}`,
    'run.merge': (d, attempt) =>
        `${attempt}${text(d.message ?? d.result)}${d.iterates ? '; the next iteration repairs it' : ''}`,
    'run.stopping': (d, attempt) => `${attempt}asked to stop${reason(d)}`,
    'task.asked': (d) => `asks: ${text(d.question)}`,
    'task.answered': (d) => `answered${by(d)}: ${text(d.answer)}`,
    'task.question_withdrawn': () => 'its question was withdrawn',
    'task.on_end': (d) =>
        d.result === 'delivered'
            ? 'on_end ran'
            : `on_end failed ${text(d.tries)} times and was given up`,
    'task.escalated': (d) =>
        `escalated from ${text(d.from)} to ${text(d.to)} (step ${text(d.step)} of ${text(d.steps)}): ${text(d.failures)} results were rejected`,
    'task.edited': (d) => `edited${by(d)}`,
    'task.followed_up': (d) => `continued${by(d)}: ${text(d.message)}`,
    'task.picked': (d) => `${text(d.candidate)} picked${by(d)}${reason(d)}`,
    'task.pick_refused': (d) => `${text(d.candidate)} could not be merged${reason(d)}`,
    'task.approved': (d) => `approved${by(d)}${reason(d)}`,
    'task.rejected': (d) => `rejected${by(d)}${reason(d)}`,
    'daemon.started': () => 'the daemon started',
    'daemon.paused': (d) => `everything paused${by(d)}`,
    'daemon.resumed': () => 'everything resumed',
    'project.deleted': (d) => `project ${text(d.project)} deleted`,
    'project.restored': (d) => `project ${text(d.project)} restored`,
    'project.paused': (d) => `project ${text(d.project)} paused`,
    'project.resumed': (d) => `project ${text(d.project)} resumed`,
    'limiter.limited': (d) => `account ${text(d.limiter ?? d.name)} is rate limited`,
    'limiter.used': (d) =>
        `account ${text(d.limiter)} has used ${text(d.used)} % of its ${d.window === 'weekly' ? 'weekly' : '5-hour'} window${d.reserved ? '; the rest is reserved' : ''}`,
    'hours.opened': (d) => `${hoursOf(d)} is inside its opening hours`,
    'hours.closed': (d) => `${hoursOf(d)} is outside its opening hours`,
    'config.changed': () => 'the configuration changed',
    'schedule.fired': (d) =>
        d.backup
            ? `schedule ${text(d.schedule)} wrote the backup ${text(d.backup)}`
            : `schedule ${text(d.schedule)} added ${text(d.tasks)} task${d.tasks === 1 ? '' : 's'}`,
    'schedule.skipped': (d) =>
        `schedule ${text(d.schedule)} skipped ${text(d.count)}: ${text(d.reason)}`,
};

export function eventWords(event: Event): string {
    const d: Data = event.data ?? {};
    const known = Object.hasOwn(WORDS, event.kind) ? WORDS[event.kind] : undefined;
    if (known) return known(d, event.attempt ? `attempt ${event.attempt} ` : '');
    const rest = Object.entries(d)
        .map(([name, value]) => `${name} ${text(value)}`)
        .join(', ');
    return `${event.kind}${rest ? `: ${rest}` : ''}`;
}
