// test_questions.mjs: questions of runs on Now and on the page of their task. The first answer counts, and typed text is kept.
import { check, equal, ok, open, says, text, to, until } from './kit.mjs';
import { World } from './world.mjs';

const CONFIG = `
limits: {runs: 4}
host: {disk_free_gb: 0, memory_free_mb: 0}
tasks.sandbox: none
`;

const ANSWER = { name: 'Answer', exact: true };

export async function questions() {
    const world = await World.start({ config: CONFIG });
    const asks = async (options, question, then) => {
        const [id] = await world.add({
            title: 'port the parser',
            ...world.asking(options, question, then),
        });
        await world.state(id, 'held');
        return id;
    };
    // The daemon keeps a question until its task is final; its events stay.
    const question = async (id) => {
        const { items } = await world.api('GET', `/v1/events?task=${id}`);
        const answered = items.find(({ kind }) => kind === 'task.answered');
        return answered ? { state: 'answered', ...answered.data } : { state: 'open' };
    };
    const card = (page, id) => page.locator(`.question[aria-label="question of ${id}"]`);
    const answers = (id, answer) => world.api('POST', `/v1/tasks/${id}/answer`, { text: answer });
    try {
        await check(
            'open questions are the first thing on Now; a choice is answered, and its task goes on',
            async () => {
                const page = await open(world);
                await page.locator('.connected.live').waitFor();
                equal(await page.locator('.inbox').count(), 0, 'without questions');
                const id = await asks(
                    '--choice sqlite --choice "<b>postgres" --deadline 8h --default sqlite',
                    'Which database?',
                );
                await card(page, id).waitFor();
                equal(
                    await page.evaluate(
                        () => document.querySelector('.view.now section').ariaLabel,
                    ),
                    'Needs you',
                    'the first section',
                );
                await until(
                    page,
                    'the title has the number',
                    () => document.title === '(1) Now · Sluice',
                );
                const shown = await card(page, id).innerText();
                for (const part of [id, 'port the parser', 'Which database?', 'default'])
                    ok(shown.includes(part), `${part}: ${shown}`);
                ok(/“sqlite” is used in [78]:\d\d:\d\d, at/.test(shown), shown);

                await card(page, id).getByRole('button', ANSWER).click();
                equal((await question(id)).state, 'open', 'nothing was chosen');
                await card(page, id).getByRole('radio').first().focus();
                await page.keyboard.press('ArrowDown');
                await page.keyboard.press('Tab');
                await says(page, `${id}: answered`, () => page.keyboard.press('Enter'));
                await card(page, id).waitFor({ state: 'detached' });
                await until(page, 'the title is plain', () => document.title === 'Now · Sluice');
                await world.state(id, 'done');
                const { answer, by } = await question(id);
                equal(answer, '<b>postgres', 'the answer');
                await to(page, `#/task/${id}`);
                await card(page, id).waitFor();
                ok(
                    (await card(page, id).innerText()).includes(`Answered by ${by}`),
                    await card(page, id).innerText(),
                );
                await page.locator('.log-line', { hasText: 'got: <b>postgres' }).waitFor();
            },
        );

        await check(
            'a refusal stands beside what was typed, which outlives views, reloads and the daemon',
            async () => {
                const id = await asks('', 'What is its name?');
                const page = await open(world);
                const field = card(page, id).getByRole('textbox');
                await field.fill('  ');
                await card(page, id).getByRole('button', ANSWER).click();
                await card(page, id).getByRole('alert').getByText("'text' is empty").waitFor();
                await field.fill('sluice\nwith a gate');
                await to(page, '#/board');
                await page.locator('.view.board').waitFor();
                await to(page, `#/task/${id}`);
                await card(page, id).waitFor();
                equal(await field.inputValue(), 'sluice\nwith a gate', 'on the page of the task');
                await to(page, '#/now');
                await page.reload();
                equal(await field.inputValue(), 'sluice\nwith a gate', 'after a reload');
                world.kill();
                await card(page, id).getByRole('button', ANSWER).click();
                await card(page, id).getByRole('alert').waitFor();
                equal(await field.inputValue(), 'sluice\nwith a gate', 'without a daemon');
                world.up();
                await page.locator('.connected.live').waitFor();
                await field.focus();
                await says(page, `${id}: answered`, () => page.keyboard.press('Control+Enter'));
                await world.state(id, 'done');
                equal((await question(id)).answer, 'sluice\nwith a gate', 'the answer');
            },
        );

        await check(
            'of two people the faster one counts; the other one sees who that was, and keeps the text',
            async () => {
                const id = await asks('', 'Which colour?');
                const page = await open(world);
                const field = card(page, id).getByRole('textbox');
                await field.fill('green');
                await answers(id, 'blue');
                const { by } = await question(id);
                await card(page, id).getByText(`${by} answered first`).waitFor();
                equal(await text(page, '.question .answer'), 'blue', 'the answer');
                equal(await field.inputValue(), 'green', 'what was typed');
                ok(
                    await field.evaluate((one) => one === document.activeElement && one.readOnly),
                    'keys that follow do nothing',
                );
                await page.keyboard.press('a');
                equal(await page.locator('dialog').count(), 0, 'dialogs');
                await card(page, id).getByRole('button', { name: 'Dismiss' }).click();
                await page.locator('.inbox').waitFor({ state: 'detached' });
            },
        );

        await check(
            'an answer that comes second is refused with the name of the first',
            async () => {
                const id = await asks('', 'Which size?', 'tail -f /dev/null');
                const page = await open(world);
                await card(page, id).getByRole('textbox').fill('small');
                // This page learns of the other answer only from the refusal.
                await page.route('**/v1/tasks/*/answer', async (route) => {
                    await answers(id, 'large');
                    await route.continue();
                });
                await page.route('**/v1/questions*', (route) => route.abort());
                await page.route(`**/v1/tasks/${id}`, (route) => route.abort());
                await card(page, id).getByRole('button', ANSWER).click();
                const { by } = await question(id);
                await card(page, id)
                    .getByRole('alert')
                    .getByText(`answered already, by ${by}: 'large'`)
                    .waitFor();
                equal(await card(page, id).getByRole('textbox').inputValue(), 'small', 'the text');
            },
        );

        await check(
            'the answer of a deadline, and a withdrawn question, say what they are',
            async () => {
                const late = await asks('--deadline 1s --default red', 'Red or green?');
                await world.state(late, 'done');
                const page = await open(world, `#/task/${late}`);
                await card(page, late)
                    .getByText('there was no answer before the deadline')
                    .waitFor();
                const released = await asks('', 'Who knows?');
                await to(page, `#/task/${released}`);
                await card(page, released).getByRole('button', ANSWER).waitFor();
                await world.api('POST', '/v1/tasks/release', { tasks: [released] });
                // It has no answer, so its next attempt asks again.
                await card(page, released).getByText('Withdrawn').waitFor();
                await card(page, released).nth(1).waitFor();
                equal(await page.getByRole('button', ANSWER).count(), 1, 'forms');
            },
        );

        await check('a page that may only look shows questions without a form', async () => {
            const id = await asks('--deadline 8h', 'May I?');
            const link = /http:\/\/\S+#t=\S+/.exec(
                world.sluice('dash', '--print', '--scope', 'read'),
            )?.[0];
            const page = await open({ url: '' }, link, { fresh: true });
            await card(page, id).getByText('the task fails').waitFor();
            equal(await page.getByRole('button', ANSWER).count(), 0, 'buttons');
        });
    } finally {
        world.stop();
    }
}
