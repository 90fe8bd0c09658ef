// questions.ts: the questions of a task, from its events. The daemon keeps a question until its task is final; its events stay.
import type { Event, Question } from './types';

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Oldest first. `events`: of this task, oldest first. */
export function questionsOf(task: string, agent: string | null, events: Event[]): Question[] {
    const all: Question[] = [];
    for (const { kind, at, attempt, data } of events) {
        const last = all[all.length - 1];
        if (kind === 'task.asked')
            all.push({
                task,
                agent,
                attempt: attempt ?? 0,
                question: text(data.question) ?? '',
                choices: Array.isArray(data.choices) ? data.choices.map(String) : [],
                default: text(data.default),
                asked_at: at,
                deadline: typeof data.deadline === 'number' ? data.deadline : null,
                state: 'open',
                answer: null,
                by: null,
                answered_at: null,
            });
        else if (last && kind === 'task.answered') {
            last.state = 'answered';
            last.answer = text(data.answer);
            last.by = text(data.by);
            last.answered_at = at;
        } else if (last && kind === 'task.question_withdrawn') last.state = 'withdrawn';
    }
    return all;
}
