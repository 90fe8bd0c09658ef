// test_edit.mjs: a prompt is edited while its task waits, and a finished task is continued with a message.
import { check, equal, open, says } from './kit.mjs';
import { World } from './world.mjs';

const CONFIG = `
limits: {runs: 4}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
agents:
  echo: {adapter: plain, command: [cat]}
`;

export async function edit() {
    const world = await World.start({ config: CONFIG });
    const task = (id) => world.api('GET', `/v1/tasks/${id}`);
    try {
        await check('a prompt is edited; a stale edit is refused, and its text stays', async () => {
            const [id] = await world.add({ agent: 'echo', prompt: 'first', hold: true });
            const page = await open(world, `#/task/${id}`);
            const field = page.getByRole('textbox', { name: `prompt of ${id}` });
            await page.getByRole('button', { name: 'Edit', exact: true }).click();
            equal(await field.inputValue(), 'first', 'the form has the prompt');
            await field.fill('second\n<b>line');
            await says(page, `${id}: edited`, () =>
                page.getByRole('button', { name: 'Save' }).click(),
            );
            equal((await task(id)).spec.prompt, 'second\n<b>line', 'the prompt');
            await page.locator('.prompt', { hasText: 'second' }).waitFor();

            await page.getByRole('button', { name: 'Edit', exact: true }).click();
            await field.fill('mine');
            await world.api('POST', `/v1/tasks/${id}/edit`, { prompt: 'theirs' });
            await page.getByRole('button', { name: 'Save' }).click();
            await page.getByRole('alert').getByText('was edited or started since').waitFor();
            equal(await field.inputValue(), 'mine', 'the text stays');
            equal((await task(id)).spec.prompt, 'theirs', 'the first edit stays');
            await page.getByRole('button', { name: 'Cancel', exact: true }).last().click();
            await page.locator('.prompt', { hasText: 'theirs' }).waitFor();
        });

        await check('a finished task is continued with a message', async () => {
            const [id] = await world.add({ agent: 'echo', prompt: 'first' });
            await world.state(id, 'done');
            const page = await open(world, `#/task/${id}`);
            await page.getByRole('textbox', { name: `message for ${id}` }).fill('and now?');
            await says(page, `${id}: continued`, () =>
                page.getByRole('button', { name: 'Continue' }).click(),
            );
            await page.locator('.message', { hasText: 'and now?' }).first().waitFor();
            equal((await task(id)).follow_up.message, 'and now?', 'the message');
        });
    } finally {
        world.stop();
    }
}
