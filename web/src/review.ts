// review.ts: comments on the lines of a change. They stay in this browser until they are sent, as the feedback of a rejection.
import { signal } from '@preact/signals';

export interface Comment {
    path: string;
    /** Of the file as it is now, or as it was. */
    side: 'new' | 'old';
    line: number;
    /** The text of the line. */
    quote: string;
    text: string;
}

export interface Review {
    text: string;
    comments: Comment[];
}

const STORED = 'sluice.review.';
const QUOTE_MAX = 200;
const EMPTY: Review = { text: '', comments: [] };

/** Rises with each change. */
const changed = signal(0);

/** Of one iteration: the next one is another change. */
export const reviewKey = (task: string, iteration: number): string => `${task}.${iteration}`;

export function reviewOf(key: string): Review {
    void changed.value;
    try {
        const all = JSON.parse(localStorage.getItem(STORED + key) ?? 'null') as Review | null;
        return all && Array.isArray(all.comments) ? all : EMPTY;
    } catch {
        return EMPTY;
    }
}

export function setReview(key: string, review: Review): void {
    try {
        if (review.text || review.comments.length > 0)
            localStorage.setItem(STORED + key, JSON.stringify(review));
        else localStorage.removeItem(STORED + key);
    } catch {
        // Without room in the storage nothing is kept.
    }
    changed.value++;
}

export const sameLine = (a: Comment, b: Pick<Comment, 'path' | 'side' | 'line'>): boolean =>
    a.path === b.path && a.side === b.side && a.line === b.line;

/** An empty text removes the comment. */
export function setComment(key: string, comment: Comment): void {
    const review = reviewOf(key);
    const others = review.comments.filter((one) => !sameLine(one, comment));
    setReview(key, {
        ...review,
        comments: comment.text ? [...others, comment] : others,
    });
}

/** In the order of the files and of their lines, each with file, line and the line itself. */
export function feedback(review: Review, paths: string[]): string {
    const order = (comment: Comment) => paths.indexOf(comment.path);
    const comments = [...review.comments]
        .filter((comment) => comment.text.trim())
        .sort((a, b) => order(a) - order(b) || a.line - b.line);
    return [
        review.text.trim(),
        ...comments.map(
            ({ path, side, line, quote, text }) =>
                `${path}:${line}${side === 'old' ? ' (a line that was removed)' : ''}\n> ${quote.slice(0, QUOTE_MAX)}\n${text.trim()}`,
        ),
    ]
        .filter(Boolean)
        .join('\n\n');
}
