// Shows each open question and takes its answer from the standard input.
import { createInterface } from 'node:readline';
import { stdin } from 'node:process';
import { ApiError, Client } from 'sluice-client';

const client = new Client();
const lines = createInterface({ input: stdin })[Symbol.asyncIterator]();
for await (const question of client.question.listAll()) {
    const choices = question.choices.length > 0 ? ` (${question.choices.join(', ')})` : '';
    console.log(`${question.task} asks: ${question.question}${choices}`);
    const { value, done } = await lines.next();
    if (done) break;
    try {
        await client.task.answer(question.task, { text: value });
    } catch (error) {
        // Another person was faster, or it is not one of the choices.
        if (!(error instanceof ApiError)) throw error;
        console.log(`not answered: ${error.message}`);
    }
}
