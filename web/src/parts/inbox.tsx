// inbox.tsx: what waits for a person, first on the page. Each kind of entry is a row; today these are questions.
import { useEffect, useRef } from 'preact/hooks';
import { get } from '../api';
import { type Loaded, useLoad, useThrottle } from '../load';
import { onEvents, status } from '../live';
import { count } from '../text';
import type { OpenQuestion, Page } from '../types';
import { draftKey, orphanedDrafts, QuestionEntry } from './question';
import { Problem, Section } from './small';

const SHOWN = 50;
const ABOUT_QUESTIONS = new Set(['task.asked', 'task.answered', 'task.question_withdrawn']);

function useQuestions(): Loaded<Page<OpenQuestion>> {
    const any = (status.value?.questions ?? 0) > 0;
    // Without an open question there is nothing to ask for: the first view stays as fast as it is.
    const page = useLoad(`questions ${any}`, (signal) =>
        any
            ? get<Page<OpenQuestion>>('/v1/questions', { limit: SHOWN }, signal)
            : Promise.resolve({ items: [], next: null }),
    );
    const again = useThrottle(page.reload, 300);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => ABOUT_QUESTIONS.has(event.kind))) again();
            }),
        [],
    );
    useEffect(again, [status.value?.questions]);
    return page;
}

export function Inbox() {
    const page = useQuestions();
    const open = page.data?.items ?? [];
    // While the list is read again, those of the last answer stay.
    const kept = useRef<[string, OpenQuestion | undefined][]>([]);
    if (page.data)
        kept.current = [
            ...open.map((q): [string, OpenQuestion] => [draftKey(q), q]),
            ...orphanedDrafts(open).map((key): [string, undefined] => [key, undefined]),
        ];
    const entries = kept.current;
    const total = status.value?.questions ?? 0;
    if (entries.length === 0 && !page.error) return null;
    return (
        <Section
            title="Questions"
            class="inbox"
            note={
                page.data?.next
                    ? `${count(open.length)} of ${count(total)}, oldest first`
                    : undefined
            }
        >
            <Problem error={page.error} />
            <ul class="inbox-rows">
                {entries.map(([key, q]) => (
                    <li key={key}>
                        <QuestionEntry of={key} q={q} title={q?.title} after={page.reload} />
                    </li>
                ))}
            </ul>
        </Section>
    );
}
