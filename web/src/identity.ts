// identity.ts: a project and an agent have one colour everywhere, whatever their rank. A project has it by its place in the
// daemon's list, as in the picture of a simulation; agents in the order in which this browser has seen them.
import { status } from './live';
import { colour } from './theme';

const SERIES = 8;
const KEPT = 'sluice.colours';
let agents: string[] | null = null;

function agentIndex(name: string): number {
    agents ??= JSON.parse(localStorage.getItem(KEPT) ?? '[]') as string[];
    const known = agents.indexOf(name);
    if (known >= 0) return known;
    agents.push(name);
    localStorage.setItem(KEPT, JSON.stringify(agents));
    return agents.length - 1;
}

function projectIndex(name: string): number {
    const known = status.value?.projects.findIndex((one) => one.name === name) ?? -1;
    return known < 0 ? SERIES - 1 : known;
}

/** `''`: no project, or a command without an agent. */
export function identityColour(kind: 'project' | 'agent', name: string): string {
    if (name === '') return colour('waiting');
    const index = kind === 'project' ? projectIndex(name) : agentIndex(name);
    return colour(`series-${(index % SERIES) + 1}`);
}
