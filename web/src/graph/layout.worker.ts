// layout.worker.ts: computes the layout in a worker, so that a large graph does not block the page.
import { layout, type LayoutAsk } from './layout';

addEventListener('message', (event: MessageEvent<{ n: number; ask: LayoutAsk }>) => {
    const answer = layout(event.data.ask);
    postMessage({ n: event.data.n, answer }, { transfer: [answer.at.buffer as ArrayBuffer] });
});
