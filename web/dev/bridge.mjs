// bridge.mjs: the page of web/dist (or of Vite) in a browser, with a daemon behind its Unix socket.
//
// For work on the page alone: the socket of the daemon takes no browser, and a bridge to it would give
// everybody on this machine the rights of its owner. So it listens on loopback, asks for the exact Host, and
// refuses what comes from another page. The daemon's own listener (`sluice dash`) is for everything else.
//
//   node dev/bridge.mjs [--socket FILE] [--port N] [--dist FOLDER]
import http from 'node:http';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
};

function socketOfHome() {
    if (process.env.SLUICE_HOME) return path.join(process.env.SLUICE_HOME, 'sluice.sock');
    return path.join(process.env.XDG_RUNTIME_DIR ?? '/tmp', 'sluice', 'sluice.sock');
}

export function bridge({ socket, dist, port = 0 }) {
    const server = http.createServer((request, response) => {
        const own = `127.0.0.1:${server.address().port}`;
        const origin = request.headers.origin;
        if (request.headers.host !== own || (origin && origin !== `http://${own}`)) {
            response.writeHead(403).end();
            return;
        }
        const { pathname } = new URL(request.url, `http://${own}`);
        if (pathname.startsWith('/v1/') || pathname === '/healthz' || pathname === '/metrics')
            pass(request, response, socket);
        else page(pathname, response, dist);
    });
    return new Promise((ready) => server.listen(port, '127.0.0.1', () => ready(server)));
}

function pass(request, response, socket) {
    const headers = { ...request.headers, host: 'localhost' };
    for (const name of Object.keys(headers))
        if (/^(origin|referer|sec-|authorization|connection|cookie)/.test(name))
            delete headers[name];
    const up = http.request(
        { socketPath: socket, method: request.method, path: request.url, headers },
        (answer) => {
            response.writeHead(answer.statusCode, answer.headers);
            response.flushHeaders();
            answer.on('error', () => response.destroy());
            answer.pipe(response);
        },
    );
    up.on('error', () => {
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end();
    });
    response.on('close', () => up.destroy());
    // In one write, with its end: node 18 writes the end of a piped body apart, after the daemon may have answered and closed.
    const parts = [];
    request.on('data', (part) => parts.push(part)).on('end', () => up.end(Buffer.concat(parts)));
}

function page(pathname, response, dist) {
    const file = path.join(dist, path.normalize(pathname === '/' ? '/index.html' : pathname));
    fs.readFile(file, (error, bytes) => {
        if (error || !file.startsWith(dist)) {
            response.writeHead(404).end();
            return;
        }
        response.writeHead(200, {
            'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream',
            'Content-Security-Policy': POLICY,
            'X-Content-Type-Options': 'nosniff',
            'Cache-Control': 'no-store',
        });
        response.end(bytes);
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const option = (name, otherwise) => {
        const at = process.argv.indexOf(`--${name}`);
        return at > 0 ? process.argv[at + 1] : otherwise;
    };
    const here = path.dirname(fileURLToPath(import.meta.url));
    const socket = option('socket', socketOfHome());
    const server = await bridge({
        socket,
        dist: path.resolve(option('dist', path.join(here, '..', 'dist'))),
        port: Number(option('port', '7879')),
    });
    console.log(`http://127.0.0.1:${server.address().port}/ in front of ${socket}`);
}
