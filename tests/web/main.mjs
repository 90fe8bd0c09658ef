// main.mjs: runs all dashboard tests in sequence, with one browser and one daemon. Arguments select tests.
import { browse, done, finish } from './kit.mjs';
import { costs } from './test_cost.mjs';
import { axe } from './test_axe.mjs';
import { edit } from './test_edit.mjs';
import { graphs } from './test_graph.mjs';
import { hostile } from './test_hostile.mjs';
import { inbox } from './test_inbox.mjs';
import { lists } from './test_lists.mjs';
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
import { timelines } from './test_timeline.mjs';
import { views } from './test_views.mjs';
import { walk } from './test_walk.mjs';
import { World } from './world.mjs';

// The browser and the daemons end with this process, however it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

const words = process.argv.slice(2);
const onlyWalk = words.length > 0 && words.every((word) => word.startsWith('walk:')); // needs no other daemon

let code = 1;
try {
    await parts();
    await browse();
    await walk();
    if (onlyWalk) {
        code = finish();
        await done();
        process.exit(code);
    }
    const world = await World.start();
    const night = await world.night();
    await looks(world, night);
    await axe(world, night);
    await views(world, night);
    await costs(world, night);
    await timelines(world);
    await live(world, night);
    await hostile(world);
    await logs(world);
    await served(world);
    await sessions();
    await news();
    await questions();
    await edit();
    await inbox();
    await lists();
    await reviews();
    await schedules();
    await graphs();
    await many(world);
    code = finish();
    await done();
} catch (error) {
    console.log(`Bail out! ${String(error.stack).replaceAll('\n', '\n# ')}`);
}
process.exit(code);
