// patch.ts: a unified diff as rows with old and new line numbers, and the words that differ in changed lines.

export interface DiffRow {
    kind: 'hunk' | 'same' | 'added' | 'removed' | 'note';
    old: number | null;
    new: number | null;
    text: string;
    /** Characters that differ from the line that this one replaces, or is replaced by. */
    mark: readonly [number, number] | null;
}

/** The part of each file, in the order of the files. Lines of a file have a sign before them, so none is taken for a head. */
export function parts(patch: string): string[][] {
    const found: string[][] = [];
    for (const text of patch.split('\n'))
        if (text.startsWith('diff --git ')) found.push([]);
        else found[found.length - 1]?.push(text);
    for (const one of found) if (one[one.length - 1] === '') one.pop();
    return found;
}

const HUNK = /^@@ -([0-9]+)(?:,[0-9]+)? \+([0-9]+)(?:,[0-9]+)? @@ ?(.*)$/;
const WORD_MAX = 1000; // a longer line is shown without marks

/** The middle of both, without what they have in common at the beginning and at the end, in whole words. */
function differing(a: string, b: string): [[number, number], [number, number]] | null {
    if (a.length > WORD_MAX || b.length > WORD_MAX) return null;
    const short = Math.min(a.length, b.length);
    let from = 0;
    while (from < short && a[from] === b[from]) from++;
    let end = 0;
    while (end < short - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    const isWord = (text: string, at: number) => /\w/.test(text[at] ?? '');
    while (from > 0 && isWord(a, from - 1) && (isWord(a, from) || isWord(b, from))) from--;
    while (end > 0 && isWord(a, a.length - end) && isWord(a, a.length - end - 1)) end--;
    // Lines that have little in common are no change of words.
    if ((from + end) * 4 < Math.max(a.length, b.length)) return null;
    return [
        [from, a.length - end],
        [from, b.length - end],
    ];
}

function markWords(rows: DiffRow[]): void {
    for (let at = 0; at < rows.length; at++) {
        if (rows[at]?.kind !== 'removed') continue;
        let middle = at;
        while (rows[middle]?.kind === 'removed') middle++;
        let end = middle;
        while (rows[end]?.kind === 'added') end++;
        for (let n = 0; n < Math.min(middle - at, end - middle); n++) {
            const [before, after] = [rows[at + n], rows[middle + n]];
            const both = before && after ? differing(before.text, after.text) : null;
            if (before && after && both) [before.mark, after.mark] = both;
        }
        at = end - 1;
    }
}

/** The lines of one file, as of `parts`. What stands before the first hunk (modes, names) are notes. */
export function rowsOf(lines: string[]): DiffRow[] {
    const rows: DiffRow[] = [];
    const put = (kind: DiffRow['kind'], text: string, a: number | null, b: number | null) =>
        rows.push({ kind, text, old: a, new: b, mark: null });
    let [a, b, inside] = [0, 0, false];
    for (const text of lines) {
        const hunk = HUNK.exec(text);
        if (hunk) {
            [a, b, inside] = [Number(hunk[1]), Number(hunk[2]), true];
            put('hunk', hunk[3] ?? '', a, b);
        } else if (!inside) {
            if (!/^(?:index |--- |\+\+\+ )/.test(text)) put('note', text, null, null);
        } else if (text.startsWith('+')) put('added', text.slice(1), null, b++);
        else if (text.startsWith('-')) put('removed', text.slice(1), a++, null);
        else if (text.startsWith('\\')) put('note', text.slice(2), null, null);
        else put('same', text.slice(1), a++, b++);
    }
    markWords(rows);
    return rows;
}
