// look.mjs: describes the layout of a page as text that is the same on every machine.
//
// Fonts differ from machine to machine, and with them text widths, line breaks and heights. So the description contains only
// what the style sheet and the program determine: the parts and their order, left and right edges that do not depend on text,
// which parts are side by side, fixed sizes, font size, colours, and fixed texts. Data (numbers, times, the number of rows) is
// left out: of similar parts only the first one is described.
//
//   const { lines, faults } = await page.evaluate(look, { parts: PARTS, within: 'main' })
//
// Each line describes a part, below its parent:   h2 "Running" 13px/650 #1b2126 on #f6f5f1
// Size, weight and colours are printed if they differ from those of the parent.
//
// A fault is an error on any page: a part or a text that overlaps another, is outside the screen or has no size, or an empty
// canvas.

/** What counts as a part: a selector, and what is printed about it. x: its edges; h: its height; row: its children, "/" where
 *  a new row begins; say: its words; own: only those of its first child; paint: nothing more. */
export const PARTS = [
    ['header.top', 'x'],
    ['.brand', 'say'],
    ['.logo', 'h'],
    ['.top nav', 'x'],
    ['.top nav a', 'own'],
    ['.connected', 'say'],
    ['.top button', 'say'],
    ['main', 'x'],
    ['.view', 'x'],
    ['.view.board', 'x h'],
    ['h1', 'say'],
    ['h2', 'say'],
    ['h3', 'say'],
    ['.headline', 'x'],
    ['.headline span', 'say'],
    ['.headline b', 'paint'],
    ['.needs-rows > li', 'x'],
    ['.needs-kind', 'paint'],
    ['.needs-text', 'paint'],
    ['.needs-act button', 'paint'],
    ['.needs-act .button', 'say'],
    ['.columns', 'x'],
    ['.columns > .main', 'x'],
    ['.columns > .side', 'x'],
    ['section', 'x'],
    ['.rows > li', 'x row'],
    ['.rows .what', 'paint'],
    ['.rows .title', 'paint'],
    ['.rows .said', 'paint'],
    ['.rows .mark', 'h'],
    ['.facts', 'paint'],
    ['.facts dt', 'say'],
    ['.question', 'x'],
    ['.question-of', 'paint'],
    ['.question-text', 'paint'],
    ['.option', 'say'],
    ['.question-foot button', 'say'],
    ['.windows > li', 'x row'],
    ['.agent-choice', 'x'],
    ['.schedule-what', 'paint'],
    ['.schedule-act button', 'say'],
    ['.coming > li', 'x row'],
    ['.past > li', 'x row'],
    ['.preview', 'x'],
    ['.schedule-form', 'x'],
    ['.schedule-form .tabs button', 'say'],
    ['.schedule-form .field', 'x'],
    ['.title-row .button', 'say'],
    ['.bars > li', 'x row'],
    ['.meter', 'h'],
    ['.meter .used', 'h'],
    ['.share', 'h'],
    ['.limiter.backoff', 'x'],
    ['.pairs > div', 'x row'],
    ['.pairs dt', 'say'],
    ['.crumb', 'paint'],
    ['.state', 'say'],
    ['.actions button', 'say'],
    ['.log', 'x'],
    ['.log-bar button', 'say'],
    ['.log-lines', 'x'],
    ['.log-line', 'h'],
    ['.log-n', 'paint'],
    ['.scroll-x', 'x'],
    ['th', 'say'],
    ['td', 'paint'],
    ['.history li', 'x row'],
    ['.prompt', 'paint'],
    ['.inline', 'x row'],
    ['.filters', 'x'],
    ['.filters .tabs button', 'say'],
    ['.filters select', 'say'],
    ['.filters input', 'say'],
    ['.choice', 'say'],
    ['.columns-x', 'x'],
    ['.column', 'x'],
    ['.card', 'x h'],
    ['.card-top', 'row'],
    ['.card .title', 'paint'],
    ['.vlist.event-rows', 'x'],
    ['.event', 'x h row'],
    ['.event > .one', 'x'],
    ['.e-kind', 'x'],
    ['.graph-canvas', 'x'],
    ['.graph-canvas canvas', 'x'],
    ['.zoom button', 'say'],
    ['.legend', 'x'],
    ['.critical-key', 'say'],
    ['.timeline-box', 'x'],
    ['.timeline-box canvas', 'x'],
    ['summary', 'say'],
    ['.chart', 'x'],
    ['.chart canvas', 'x'],
    ['.chart-key', 'x'],
    ['.sums', 'x'],
    ['.sums b', 'paint'],
    ['.setting', 'x row'],
    ['.setting span', 'say'],
    ['.setting input', 'paint'],
    ['.buttons button', 'say'],
];

/** Runs in the page, so it must not use anything outside of this function. */
export function look({ parts, within }) {
    const faults = [];
    const near = (n) => Math.round(n);
    const box = (el) => el.getBoundingClientRect();
    const style = (el) => getComputedStyle(el);

    /* --- colours --- */
    const known = new Map();
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const hex = (colour) =>
        `#${rgba(colour)
            .slice(0, 3)
            .map((n) => n.toString(16).padStart(2, '0'))
            .join('')}`;
    const behind = (el) => {
        let at = el;
        while (at && rgba(style(at).backgroundColor)[3] < 255) at = at.parentElement;
        return at ? hex(style(at).backgroundColor) : 'nothing';
    };

    /* --- parts --- */
    // Text for screen readers only is one pixel large.
    const hidden = (el) =>
        !!el.closest('.sr, .skip') ||
        !el.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const words = (el) =>
        (el.getAttribute('aria-label') ?? el.getAttribute('placeholder') ?? el.textContent ?? '')
            .replace(/\d[\d.,:]*/g, '#')
            .replace(/\s+/g, ' ')
            .trim();
    const name = (el) =>
        `${el.localName}${[...el.classList]
            .slice(0, 2)
            .map((one) => `.${one}`)
            .join('')}`;
    const rows = (el) => {
        const classes = [];
        let last = null;
        for (const child of el.children) {
            if (hidden(child)) continue;
            const b = box(child);
            const shared = last && Math.min(last.bottom, b.bottom) - Math.max(last.top, b.top);
            if (last && shared < Math.min(last.height, b.height) / 2) classes.push('/');
            classes.push(child.classList[0] ? `.${child.classList[0]}` : child.localName);
            last = b;
        }
        return `[${classes.join(' ')}]`;
    };
    const of = new Map();
    for (const [selector, say] of parts)
        for (const el of document.querySelectorAll(selector)) of.set(el, say);
    const all = [...document.querySelectorAll('body *')].filter((el) => of.has(el) && !hidden(el));
    const above = (el) => {
        let at = el.parentElement;
        while (at && !of.has(at)) at = at.parentElement;
        return at;
    };
    const children = new Map();
    for (const el of all) children.set(above(el), [...(children.get(above(el)) ?? []), el]);
    /** In reading order: from top to bottom, from left to right. */
    const inOrder = (some) => {
        const at = some.map((el) => ({ el, b: box(el) })).sort((p, q) => p.b.top - q.b.top);
        const rows = [];
        for (const one of at) {
            const first = rows.at(-1)?.[0].b;
            const shared = first
                ? Math.min(first.bottom, one.b.bottom) - Math.max(first.top, one.b.top)
                : -1;
            if (shared >= 0 && shared >= Math.min(first.height, one.b.height) / 2)
                rows.at(-1).push(one);
            else rows.push([one]);
        }
        return rows.flatMap((row) => row.sort((p, q) => p.b.left - q.b.left)).map(({ el }) => el);
    };
    const paint = (el) =>
        `${Number.parseFloat(style(el).fontSize)}px/${style(el).fontWeight} ${hex(style(el).color)} on ${behind(el)}`;
    const lines = [];
    const print = (parent, indent) => {
        const alike = new Set();
        for (const el of inOrder(children.get(parent) ?? [])) {
            const say = of.get(el);
            const label =
                /say/.test(say) || el.matches('section')
                    ? words(el)
                    : /own/.test(say)
                      ? words(el.firstElementChild ?? el)
                      : '';
            const current = el.hasAttribute('aria-current')
                ? 'here'
                : el.getAttribute('aria-pressed') === 'true'
                  ? 'pressed'
                  : '';
            const key = `${name(el)} ${label} ${current}`;
            if (alike.has(key)) continue;
            alike.add(key);
            const b = box(el);
            const line = [`${indent}${name(el)}`];
            if (label) line.push(`"${label}"`);
            if (current) line.push(current);
            if (/\bx\b/.test(say)) line.push(`${near(b.left)}..${near(b.right)}`);
            if (/\bh\b/.test(say)) line.push(`${near(b.height)} high`);
            if (/row/.test(say)) line.push(rows(el));
            if (!parent || paint(el) !== paint(parent)) line.push(paint(el));
            if (el.closest(within)) lines.push(line.join(' '));
            print(el, el.closest(within) ? `${indent}  ` : indent);
        }
    };
    print(null, '');

    /* --- faults --- */
    // The visible area: the intersection with all ancestors that clip or scroll.
    const seen = (el, rect) => {
        let { left, right, top, bottom } = rect ?? box(el);
        // A text is clipped by its own element, too.
        for (
            let at = rect ? el : el.parentElement;
            at && at !== document.body;
            at = at.parentElement
        ) {
            const s = style(at);
            if (s.overflowX === 'visible' && s.overflowY === 'visible') continue;
            const b = box(at);
            [left, right] = [Math.max(left, b.left), Math.min(right, b.right)];
            [top, bottom] = [Math.max(top, b.top), Math.min(bottom, b.bottom)];
        }
        return { left, right, top, bottom, width: right - left, height: bottom - top };
    };
    const over = (a, b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
    const called = (el) => `${name(el)} "${words(el).slice(0, 24)}"`;
    const apart = new Map();
    for (const el of all) {
        const b = box(el);
        // A bar with the value 0 has no width.
        if (b.height < 1 || (b.width < 1 && !el.matches('.used')))
            faults.push(`${called(el)} has no size`);
        const part = seen(el);
        if (part.width > 0 && (part.left < -1 || part.right > innerWidth + 1))
            faults.push(`${called(el)} is outside the screen`);
        if (b.top + scrollY < -1) faults.push(`${called(el)} is above the page`);
        const parent = above(el);
        // Positioned parts may overlap others: a button bar on a canvas, the page header on a phone.
        let free = false;
        for (let at = el; at && at !== parent; at = at.parentElement)
            free ||= /absolute|fixed|sticky/.test(style(at).position) && !at.matches('.vrows');
        if (free) continue;
        for (const other of apart.get(parent) ?? [])
            if (over(part, seen(other))) faults.push(`${called(el)} lies over ${called(other)}`);
        apart.set(parent, [...(apart.get(parent) ?? []), el]);
    }

    // Texts are compared by the middle of their lines: the height of letters depends on the font.
    const texts = [];
    const walk = document.createTreeWalker(
        document.querySelector('.frame') ?? document.body,
        NodeFilter.SHOW_TEXT,
    );
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const el = node.parentElement;
        if (
            !node.textContent.trim() ||
            hidden(el) ||
            el.closest('option, .toasts, .u-legend, .uplot')
        )
            continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const rect of range.getClientRects()) {
            const middle = (rect.top + rect.bottom) / 2;
            const part = seen(el, {
                left: rect.left,
                right: rect.right,
                top: middle - 3,
                bottom: middle + 3,
            });
            // A line whose middle is clipped is scrolled out of view.
            if (part.width > 2 && part.height > 5) texts.push({ node, el, ...part });
        }
    }
    texts.sort((a, b) => a.top - b.top);
    const top = document.querySelector('header.top');
    for (let i = 0; i < texts.length; i++)
        for (let j = i + 1; j < texts.length && texts[j].top < texts[i].bottom; j++) {
            const [a, b] = [texts[i], texts[j]];
            // On a phone the page header is sticky, and the page scrolls under it.
            if (a.node !== b.node && over(a, b) && top?.contains(a.el) === top?.contains(b.el))
                faults.push(
                    `the text "${words(a.el).slice(0, 24)}" lies over "${words(b.el).slice(0, 24)}"`,
                );
        }

    for (const el of document.querySelectorAll('main canvas')) {
        if (hidden(el) || el.width === 0 || el.height === 0) continue;
        const { data } = el.getContext('2d').getImageData(0, 0, el.width, el.height);
        let drawn = 0;
        for (let i = 3; i < data.length; i += 4) if (data[i] > 0) drawn++;
        if (drawn < el.width + el.height)
            faults.push(`${name(el)} in ${name(el.parentElement)}: nothing is drawn on it`);
        if (!el.matches('.graph-canvas *')) continue;
        const surface = rgba(style(document.documentElement).getPropertyValue('--surface'));
        let filled = 0;
        for (let i = 0; i < data.length; i += 4)
            if (surface.every((n, k) => data[i + k] === n)) filled++;
        if (filled < 500)
            faults.push(`${name(el)}: the nodes do not have the colour of this theme`);
    }
    if (document.documentElement.scrollWidth > innerWidth)
        faults.push(
            `the page is wider than the screen by ${document.documentElement.scrollWidth - innerWidth}`,
        );
    return { lines, faults: [...new Set(faults)] };
}
