// zone.tsx: which time zone the times of the page are in, and another choice.
import { useEffect, useState } from 'preact/hooks';
import { status } from '../live';
import { choose, knows, ownZone, systemZone, zone, zoneChoice } from '../zone';

const FILL_MS = 200;

const named = (): string[] => {
    const all = Intl as unknown as { supportedValuesOf?: (key: string) => string[] };
    return all.supportedValuesOf?.('timeZone').filter((name) => name.includes('/')) ?? [];
};

function Named({ choice }: { choice: string }) {
    const system = systemZone.value;
    const others = named();
    const own = !['browser', 'system', 'UTC'].includes(choice) && !others.includes(choice);
    return (
        <>
            <option value="browser">browser: {ownZone()}</option>
            {knows(system) && <option value="system">daemon: {system}</option>}
            <option value="UTC">UTC</option>
            {own && <option value={choice}>{choice}</option>}
            <optgroup label="named">
                {others.map((name) => (
                    <option key={name} value={name}>
                        {name}
                    </option>
                ))}
            </optgroup>
        </>
    );
}

/** The choices are made after the first view: four hundred names, and the data of time zones in the browser, cost a third of it. */
export function ZoneChoice() {
    const choice = zoneChoice.value;
    const [isFull, setFull] = useState(false);
    const there = status.value !== null;
    const fill = () => setFull(true);
    useEffect(() => {
        const timer = there ? setTimeout(fill, FILL_MS) : undefined;
        return () => clearTimeout(timer);
    }, [there]);
    return (
        <label class="zone" onPointerEnter={fill}>
            <span aria-hidden="true">◷</span>
            <select
                aria-label="show times in"
                title={isFull ? `times are in ${zone()}` : undefined}
                value={choice}
                onFocus={fill}
                onChange={(event) => choose(event.currentTarget.value)}
            >
                {isFull ? <Named choice={choice} /> : <option value={choice}>{choice}</option>}
            </select>
        </label>
    );
}
