// layout.worker.ts: the layout beside the page, so that a large graph stops nobody.
import { layout, type LayoutAsk } from './layout';

addEventListener('message', (event: MessageEvent<{ n: number; ask: LayoutAsk }>) => {
    const answer = layout(event.data.ask);
    postMessage({ n: event.data.n, answer }, { transfer: [answer.at.buffer as ArrayBuffer] });
});
