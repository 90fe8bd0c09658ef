// canvas.ts: text on a canvas, for the graph and the timeline.
const widths = new Map<string, string>();

/** Text that fits, in the font that is set; remembered, because measuring is what takes time. */
export function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
    const key = `${ctx.font} ${room} ${text}`;
    const known = widths.get(key);
    if (known !== undefined) return known;
    let shown = text.slice(0, 80);
    if (ctx.measureText(shown).width > room) {
        let low = 0;
        let high = shown.length;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (ctx.measureText(`${shown.slice(0, middle)}…`).width <= room) low = middle;
            else high = middle - 1;
        }
        shown = `${shown.slice(0, low)}…`;
    }
    if (widths.size > 50_000) widths.clear();
    widths.set(key, shown);
    return shown;
}
