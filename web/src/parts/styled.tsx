// styled.tsx: a line of a terminal, with its colours as styles. Everything else in it is text.
import { parts } from '../logtext';
import { type Look, plain, PLAIN, type Run, runs, styleOf } from '../sgr';
import { line, visible } from '../text';

/** A text with what was searched for. */
export function Marked({ text, wanted }: { text: string; wanted: string }) {
    if (!wanted) return <>{visible(text)}</>;
    return (
        <>
            {parts(text, wanted).map((part, n) =>
                part.hit ? <mark key={n}>{visible(part.text)}</mark> : visible(part.text),
            )}
        </>
    );
}

function StyledRun({ run, wanted, codes }: { run: Run; wanted: string; codes: boolean }) {
    if (run.code) return codes ? <i class="code">{visible(run.text)}</i> : null;
    const style = styleOf(run.look);
    const text = <Marked text={run.text} wanted={wanted} />;
    return style ? (
        <span class={style.class} style={style.style}>
            {text}
        </span>
    ) : (
        text
    );
}

/** Without the code in which a text was cut. */
// eslint-disable-next-line no-control-regex
export const withoutHalf = (text: string): string => text.replace(/\u001b(?:\[[0-9;:?]*)?$/, '');

export function Styled({
    text,
    from = PLAIN,
    wanted = '',
    codes = false,
}: {
    text: string;
    from?: Look;
    wanted?: string;
    /** Show the codes, too. */
    codes?: boolean;
}) {
    // What was searched for may be in two colours: then it is marked, and has none.
    const across = wanted && text.includes('\u001b') && !codes ? plain(text) : '';
    if (across.toLowerCase().includes(wanted.toLowerCase()) && across)
        return <Marked text={across} wanted={wanted} />;
    return (
        <>
            {runs(text, from).runs.map((run, n) => (
                <StyledRun key={n} run={run} wanted={wanted} codes={codes} />
            ))}
        </>
    );
}

/** The last line of a run, on one line. It may be cut inside a code. */
export function LastLine({ of: text }: { of: string | null | undefined }) {
    const one = (text ?? '').replace(/[\n\t]+/g, ' ');
    return (
        <span class="foreign mono" dir="auto">
            {one.includes('\u001b') ? <Styled text={withoutHalf(one)} /> : line(one)}
        </span>
    );
}
