// Prints what happens, from now on or behind a number, until a task has ended.
// usage: node follow_events.js TASK [AFTER]
import { argv } from 'node:process';
import { Client } from 'sluice-client';

const client = new Client();
const [task = '', after] = argv.slice(2);
const hasEnded = async (): Promise<boolean> =>
    ['done', 'failed', 'canceled', 'invalidated'].includes((await client.task.show(task)).state);

const events = await client.events(after === undefined ? {} : { after: Number(after) });
// The stream begins here: what ends from here on is an event.
if (after !== undefined || !(await hasEnded())) {
    for await (const event of events) {
        console.log(event.seq, event.kind, event.task ?? '-');
        if ((event.kind === 'reset' || event.task === task) && (await hasEnded())) break;
    }
}
