// main.mjs: runs all dashboard tests in sequence, with one browser and one daemon. Arguments select tests.
import { browse, done, finish } from './kit.mjs';
import { edit } from './test_edit.mjs';
import { hostile } from './test_hostile.mjs';
import { live } from './test_live.mjs';
import { logs } from './test_logs.mjs';
import { looks } from './test_looks.mjs';
import { many } from './test_many.mjs';
import { served } from './test_served.mjs';
import { sessions } from './test_session.mjs';
import { news } from './test_news.mjs';
import { parts } from './test_parts.mjs';
import { questions } from './test_questions.mjs';
import { reviews } from './test_review.mjs';
import { schedules } from './test_schedules.mjs';
import { views } from './test_views.mjs';
import { World } from './world.mjs';

// The browser and the daemons end with this process, however it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

let code = 1;
try {
    await parts();
    await browse();
    const world = await World.start();
    const night = await world.night();
    await looks(world, night);
    await views(world, night);
    await live(world, night);
    await hostile(world);
    await logs(world);
    await served(world);
    await sessions();
    await news();
    await questions();
    await edit();
    await reviews();
    await schedules();
    await many(world);
    code = finish();
    await done();
} catch (error) {
    console.log(`Bail out! ${String(error.stack).replaceAll('\n', '\n# ')}`);
}
process.exit(code);
