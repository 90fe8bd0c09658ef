// stub.mjs: imitates the service behind Claude Code on loopback, just enough for one call of one tool.
// The first turn calls the tool, the next one ends. Prints its port; ends with its standard input.
//
// node stub.mjs TOOL JSON
import http from 'node:http';

const [tool, input] = process.argv.slice(2);
let turns = 0;

const send = (response, type, data) =>
  response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);

function answer(response, model, blocks, reason) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send(response, 'message_start', {
    message: {
      id: `msg_${++turns}`, type: 'message', role: 'assistant', model, content: [],
      stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 },
    },
  });
  blocks.forEach(([content_block, delta], index) => {
    send(response, 'content_block_start', { index, content_block });
    send(response, 'content_block_delta', { index, delta });
    send(response, 'content_block_stop', { index });
  });
  send(response, 'message_delta', {
    delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 2 },
  });
  send(response, 'message_stop', {});
  response.end();
}

const text = (words) => [{ type: 'text', text: '' }, { type: 'text_delta', text: words }];

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    if (request.method !== 'POST' || !request.url.startsWith('/v1/messages')) return response.end();
    if (request.url.includes('count_tokens')) return response.end('{"input_tokens":1}');
    const asked = JSON.parse(body);
    const offered = (asked.tools ?? []).some((one) => one.name === tool);
    const called = JSON.stringify(asked.messages).includes('"tool_result"');
    if (!offered || called) return answer(response, asked.model, [text('finished')], 'end_turn');
    answer(response, asked.model, [[
      { type: 'tool_use', id: 'toolu_1', name: tool, input: {} },
      { type: 'input_json_delta', partial_json: input },
    ]], 'tool_use');
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
