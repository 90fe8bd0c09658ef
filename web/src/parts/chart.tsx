// chart.tsx: uPlot with the colours of the page. It is drawn again when the colours or the width change.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colour, paint } from '../theme';
import { dayOf, offsetAt, timeOf, zone } from '../zone';

export interface Line {
    label: string;
    colour: string;
    dash?: boolean;
    /** Bars are drawn one over the other, the first one at the back: give sums. */
    bars?: boolean;
    step?: boolean;
    width?: number;
}

export function Chart({
    times,
    values,
    lines,
    height = 240,
    label,
    format,
    min0 = true,
    max,
    describe,
}: {
    times: number[];
    values: (number | null)[][];
    lines: Line[];
    height?: number;
    label: string;
    format: (n: number) => string;
    min0?: boolean;
    max?: number;
    /** The text for the index under the pointer. */
    describe?: (index: number) => string;
}) {
    const box = useRef<HTMLDivElement>(null);
    const [at, setAt] = useState<number | null>(null);
    const painted = paint.value;
    const shape = JSON.stringify([lines, height, label, painted, max, zone()]);
    const plot = useRef<uPlot | null>(null);
    const data = [times.map((t) => t / 1000), ...values] as uPlot.AlignedData;

    useEffect(() => {
        const el = box.current;
        if (!el) return;
        const font = `11px ${getComputedStyle(document.body).fontFamily}`;
        const axis = (more: Partial<uPlot.Axis>): uPlot.Axis => ({
            stroke: colour('ink-3'),
            font,
            grid: { stroke: colour('line'), width: 1 },
            ticks: { show: false },
            ...more,
        });
        // Bars stand for days: each has its date below, and the first and the last have room.
        const days = lines.some((line) => line.bars);
        const room = days ? 0.6 * 86400 : 0;
        const opts: uPlot.Options = {
            tzDate: (s: number) => uPlot.tzDate(new Date(s * 1000), zone()),
            width: el.clientWidth,
            height,
            padding: [10, 22, 0, 0],
            cursor: { y: false, points: { show: false } },
            legend: { show: false },
            hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
            scales: {
                x: { time: true, range: (_, lo, hi) => [lo - room, hi + room] },
                y: { range: (_, lo, hi) => [min0 ? 0 : lo, max ?? (hi > 0 ? hi * 1.06 : 1)] },
            },
            axes: [
                axis({
                    grid: { show: false },
                    size: 30,
                    space: 70,
                    values: stamps(days),
                    ...(days ? { incrs: [1, 2, 3, 7, 14, 30, 60, 120].map((n) => n * 86400) } : {}),
                }),
                axis({ size: 62, values: (_, all) => all.map((n) => format(n)) }),
            ],
            series: [{}, ...lines.map(series)],
        };
        const made = new uPlot(opts, data, el);
        plot.current = made;
        const observer = new ResizeObserver(() => made.setSize({ width: el.clientWidth, height }));
        observer.observe(el);
        return () => {
            observer.disconnect();
            made.destroy();
            plot.current = null;
        };
    }, [shape]);
    useEffect(() => {
        plot.current?.setData(data);
    }, [
        JSON.stringify([
            times.length,
            times[0],
            values.map((one) => one[one.length - 1]),
            values.map((one) => one.reduce<number>((sum, n) => sum + (n ?? 0), 0)),
        ]),
    ]);
    return (
        <div class="chart-box">
            <div ref={box} class="chart" role="img" aria-label={label} />
            {describe && (
                <p class="chart-describe num faint">
                    {at !== null && at < times.length ? describe(at) : '\u00a0'}
                </p>
            )}
        </div>
    );
}

function series(line: Line): uPlot.Series {
    return {
        label: line.label,
        stroke: line.bars ? 'transparent' : line.colour,
        width: line.bars ? 0 : (line.width ?? 2),
        ...(line.bars ? { fill: line.colour, paths: bars() } : line.step ? { paths: steps() } : {}),
        ...(line.dash ? { dash: [5, 5] } : {}),
        // A single point is no line.
        points: {
            show: (u, at) =>
                !line.bars &&
                (u.data[at] ?? []).filter((n) => n !== null && n !== undefined).length < 3,
            size: 7,
            fill: line.colour,
        },
    };
}

function bars(): uPlot.Series.PathBuilder {
    const make = uPlot.paths.bars;
    if (!make) throw new Error('uPlot has no bars');
    return make({ size: [0.72, 48], align: 0, radius: 0.12 });
}

function steps(): uPlot.Series.PathBuilder {
    const make = uPlot.paths.stepped;
    if (!make) throw new Error('uPlot has no steps');
    return make({ align: 1 });
}

/** Days in words when the axis has days, else the time. */
function stamps(
    days: boolean,
): (u: uPlot, all: number[], axis: number, space: number, gap: number) => string[] {
    return (_, all, __, ___, gap) =>
        all.map((s) => {
            const midnight = (s * 1000 + offsetAt(s * 1000)) % 86400e3 === 0;
            return days || gap >= 86400 || midnight ? dayOf(s * 1000) : timeOf(s * 1000);
        });
}
