// sgr.ts: colours and styles of a terminal (SGR: 16, 256 and true colours) as styles of a page. Each colour is moved towards
// black or white until it can be read, in light and in dark. Every other code is left out.

type Rgb = readonly [number, number, number];

export interface Look {
    fg: Rgb | null;
    bg: Rgb | null;
    bold: boolean;
    dim: boolean;
    italic: boolean;
    underline: boolean;
    strike: boolean;
    inverse: boolean;
}

export const PLAIN: Look = {
    fg: null,
    bg: null,
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    strike: false,
    inverse: false,
};

export interface Run {
    text: string;
    look: Look;
    /** A code that has no look, or the code of one. */
    code: boolean;
}

/* --- codes -------------------------------------------------------------------------------------- */

// What a terminal would obey: colours and cursor, titles and links, single letters behind escape.
const CODES =
    // eslint-disable-next-line no-control-regex
    /\u001b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const RUNS_MAX = 200;

const SIXTEEN: Rgb[] = [
    [0, 0, 0],
    [192, 40, 40],
    [38, 140, 60],
    [160, 110, 0],
    [40, 90, 210],
    [160, 60, 170],
    [0, 130, 150],
    [190, 190, 190],
    [110, 110, 110],
    [235, 80, 70],
    [70, 180, 90],
    [210, 160, 20],
    [90, 140, 250],
    [205, 105, 215],
    [30, 175, 195],
    [250, 250, 250],
];

function indexed(n: number): Rgb {
    if (n < 16) return SIXTEEN[n] ?? [0, 0, 0];
    if (n >= 232) return [8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10];
    const step = (i: number) => (i === 0 ? 0 : 55 + i * 40);
    const at = n - 16;
    return [step(Math.floor(at / 36)), step(Math.floor(at / 6) % 6), step(at % 6)];
}

const byte = (n: number | undefined): number => Math.min(255, Math.max(0, n ?? 0));

/** The colour after 38 or 48, and how many numbers it has. */
function extended(numbers: number[], at: number): { colour: Rgb | null; used: number } {
    if (numbers[at] === 5) return { colour: indexed(byte(numbers[at + 1])), used: 2 };
    if (numbers[at] === 2)
        return {
            colour: [byte(numbers[at + 1]), byte(numbers[at + 2]), byte(numbers[at + 3])],
            used: 4,
        };
    return { colour: null, used: 1 };
}

const FLAGS: Record<number, Partial<Look>> = {
    1: { bold: true },
    2: { dim: true },
    3: { italic: true },
    4: { underline: true },
    7: { inverse: true },
    9: { strike: true },
    21: { underline: true },
    22: { bold: false, dim: false },
    23: { italic: false },
    24: { underline: false },
    27: { inverse: false },
    29: { strike: false },
    39: { fg: null },
    49: { bg: null },
};

function numbersOf(text: string): number[] {
    // 38:2::R:G:B has an empty name of a colour space; 4:3 is a kind of underline.
    return text
        .replace(/([34]8:2:)[0-9]*:(?=[0-9]+:[0-9]+:[0-9]+)/g, '$1')
        .replace(/(^|;)4:0(?=;|$)/g, '$124')
        .replace(/(^|;)4:[0-9]+(?=;|$)/g, '$14')
        .split(/[;:]/)
        .map((part) => Number.parseInt(part, 10) || 0);
}

function apply(look: Look, text: string): Look {
    let now = look;
    const numbers = numbersOf(text);
    for (let i = 0; i < numbers.length; i++) {
        const n = numbers[i] ?? 0;
        if (n === 0) now = PLAIN;
        else if (FLAGS[n]) now = { ...now, ...FLAGS[n] };
        else if (n === 38 || n === 48) {
            const { colour, used } = extended(numbers, i + 1);
            if (colour) now = n === 38 ? { ...now, fg: colour } : { ...now, bg: colour };
            i += used;
        } else if (n >= 30 && n <= 37) now = { ...now, fg: indexed(n - 30) };
        else if (n >= 40 && n <= 47) now = { ...now, bg: indexed(n - 40) };
        else if (n >= 90 && n <= 97) now = { ...now, fg: indexed(n - 82) };
        else if (n >= 100 && n <= 107) now = { ...now, bg: indexed(n - 92) };
    }
    return now;
}

/** A line as runs of one look each, and the look in which the next line begins. */
export function runs(text: string, from: Look = PLAIN): { runs: Run[]; after: Look } {
    if (!text.includes('\u001b'))
        return { runs: text ? [{ text, look: from, code: false }] : [], after: from };
    const all: Run[] = [];
    let look = from;
    let at = 0;
    for (const match of text.matchAll(CODES)) {
        const many = all.length >= RUNS_MAX;
        if (match.index > at)
            all.push({ text: text.slice(at, match.index), look: many ? PLAIN : look, code: false });
        if (!many) all.push({ text: match[0], look: PLAIN, code: true });
        if (match[2] === 'm' && !/[?<=>]/.test(match[1] ?? '')) look = apply(look, match[1] ?? '');
        at = match.index + match[0].length;
        if (all.length > 2 * RUNS_MAX) {
            // A line that is mostly codes: the rest has one look.
            all.push({ text: text.slice(at).replace(CODES, ''), look: PLAIN, code: false });
            return { runs: all, after: look };
        }
    }
    if (at < text.length) all.push({ text: text.slice(at), look, code: false });
    return { runs: all, after: look };
}

/** Without any code. */
export function plain(text: string): string {
    return text.includes('\u001b') ? text.replace(CODES, '') : text;
}

/* --- colours ------------------------------------------------------------------------------------ */

const CONTRAST = 5.4; // 4.5, and room for the tint of a line that is chosen
const PAPER: Record<'light' | 'dark', Rgb> = { light: [239, 237, 231], dark: [40, 40, 36] };

function luminance([r, g, b]: Rgb): number {
    const part = (n: number) =>
        n / 255 <= 0.03928 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}

export function contrast(a: Rgb, b: Rgb): number {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

const mixed = (a: Rgb, b: Rgb, part: number): Rgb => [
    Math.round(a[0] + (b[0] - a[0]) * part),
    Math.round(a[1] + (b[1] - a[1]) * part),
    Math.round(a[2] + (b[2] - a[2]) * part),
];

/** The same hue, as far from the paper as reading needs. */
export function readable(colour: Rgb, paper: Rgb): Rgb {
    const ink: Rgb = luminance(paper) > 0.18 ? [0, 0, 0] : [255, 255, 255];
    let now = colour;
    for (let part = 0.1; contrast(now, paper) < CONTRAST && part <= 1; part += 0.1)
        now = mixed(colour, ink, part);
    return contrast(now, paper) < CONTRAST ? ink : now;
}

const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

export interface Style {
    class: string;
    /** Colours for both themes; CSS takes one. */
    style: Record<string, string> | undefined;
}

const known = new Map<string, Style>();

function made(look: Look): Style {
    const names = [];
    if (look.bold) names.push('sgr-bold');
    if (look.dim && !look.fg) names.push('sgr-dim');
    if (look.italic) names.push('sgr-italic');
    if (look.underline) names.push('sgr-underline');
    if (look.strike) names.push('sgr-strike');
    const style: Record<string, string> = {};
    let { fg, bg } = look;
    if (look.inverse) {
        if (!fg && !bg) names.push('sgr-inverse');
        [fg, bg] = [bg, fg];
    }
    if (bg) {
        names.push('sgr-on');
        style['--sgr-bg'] = css(bg);
        style['--sgr-light'] = style['--sgr-dark'] = css(
            fg ? readable(fg, bg) : luminance(bg) > 0.18 ? [0, 0, 0] : [255, 255, 255],
        );
    } else if (fg) {
        names.push('sgr-ink');
        style['--sgr-light'] = css(readable(fg, PAPER.light));
        style['--sgr-dark'] = css(readable(fg, PAPER.dark));
    }
    return { class: names.join(' '), style: bg || fg ? style : undefined };
}

export function styleOf(look: Look): Style | null {
    if (look === PLAIN) return null;
    const key = JSON.stringify(look);
    let style = known.get(key);
    if (!style) {
        if (known.size > 2000) known.clear(); // a rainbow
        style = made(look);
        known.set(key, style);
    }
    return style.class ? style : null;
}
