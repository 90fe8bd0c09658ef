// bridge.mjs: a loopback TCP port in front of a Unix socket, for test clients that know only TCP.
// Prints the port. Ends with its standard input, so that it never outlives the test.
//
// node bridge.mjs SOCKET
import net from 'node:net';

const socket = process.argv[2];
const server = net.createServer((client) => {
  const daemon = net.connect(socket);
  client.pipe(daemon);
  daemon.pipe(client);
  // When either side exits, the other ends as well: a client that leaves cancels its waits.
  const end = () => {
    client.destroy();
    daemon.destroy();
  };
  for (const side of [client, daemon]) side.on('error', end).on('close', end);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
