// zone.tsx: which time zone the times of the page are in, and another choice.
import { choose, knows, ownZone, systemZone, zone, zoneChoice } from '../zone';

const named = (): string[] => {
    const all = Intl as unknown as { supportedValuesOf?: (key: string) => string[] };
    return all.supportedValuesOf?.('timeZone').filter((name) => name.includes('/')) ?? [];
};

export function ZoneChoice() {
    const system = systemZone.value;
    const choice = zoneChoice.value;
    const others = named();
    const own = !['browser', 'system', 'UTC'].includes(choice) && !others.includes(choice);
    return (
        <label class="zone">
            <span aria-hidden="true">◷</span>
            <select
                aria-label="show times in"
                title={`times are in ${zone()}`}
                value={choice}
                onChange={(event) => choose(event.currentTarget.value)}
            >
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
            </select>
        </label>
    );
}
