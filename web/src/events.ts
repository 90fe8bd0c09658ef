// events.ts: server-sent events out of the body of an answer. EventSource cannot send a key in a header.

/** Cuts a stream of server-sent events into events; what is cut in the middle waits for the rest. */
export async function readEvents(
    body: ReadableStream<Uint8Array>,
    each: (kind: string, data: string) => void,
): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        rest += decoder.decode(value, { stream: true });
        let end: number;
        while ((end = rest.indexOf('\n\n')) >= 0) {
            let kind = 'message';
            let data = '';
            for (const line of rest.slice(0, end).split('\n')) {
                if (line.startsWith('event:')) kind = line.slice(6).trim();
                else if (line.startsWith('data:')) data += line.slice(5).trimStart();
            }
            rest = rest.slice(end + 2);
            if (data || kind === 'reset') each(kind, data);
        }
    }
}
