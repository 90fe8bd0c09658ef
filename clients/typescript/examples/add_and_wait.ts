// Adds a command as a task, waits for its end and prints what it printed.
// usage: node add_and_wait.js COMMAND [ARGUMENT...]
import { argv, exit, stderr, stdout } from 'node:process';
import { BadRequest, Client, Unavailable } from 'sluice-client';

const client = new Client();
try {
    const added = await client.task.add({ tasks: [{ argv: argv.slice(2) }] });
    const [task] = await client.wait(added.tasks.flatMap((one) => one.id ?? []));
    if (!task) throw new Error('no task was added');
    stdout.write(await (await client.task.log(task.id)).text());
    if (task.needs_person) stderr.write(`${task.id} needs a person: ${task.why}\n`);
    exit(task.state === 'done' ? 0 : 1);
} catch (error) {
    if (error instanceof BadRequest) stderr.write(`not added: ${error.message}\n`);
    else if (error instanceof Unavailable) stderr.write(`${error.message}\n`);
    else throw error;
    exit(error instanceof BadRequest ? 2 : 3);
}
