// home.ts: finds the daemon of this user, as the commands of Sluice do (src/os/home.h).
import { homedir } from 'node:os';

const SOCKET_MAX = 107; // bytes of a Unix socket's address
const GOLDEN = 0x9e3779b97f4a7c15n;
const u64 = (x: bigint): bigint => BigInt.asUintN(64, x);

function hashU64(value: bigint): bigint {
    let x = u64(value + GOLDEN);
    x = u64((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
    x = u64((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
    return x ^ (x >> 31n);
}

/** hash_bytes of src/base/hash.c: the name of the short socket is made with it. */
function hashBytes(bytes: Uint8Array): bigint {
    let value = hashU64(BigInt(bytes.length));
    for (let at = 0; at < bytes.length; at += 8) {
        let word = 0n;
        bytes.subarray(at, at + 8).forEach((byte, i) => (word |= BigInt(byte) << BigInt(8 * i)));
        value = hashU64(value ^ u64(word + GOLDEN + u64(value << 6n) + (value >> 2n)));
    }
    return value;
}

/** A relative XDG variable is ignored, as its specification requires. */
function xdg(name: string): string | undefined {
    const value = process.env[name];
    return value?.startsWith('/') ? value : undefined;
}

/** Dots stay as they are: the name of the short socket depends on every byte. */
function absolute(path: string): string {
    const full = path.startsWith('/') ? path : `${process.cwd()}/${path}`;
    return full.replace(/\/+$/, '') || '/';
}

/** The path of the owner's socket; the daemon need not run. */
export function findSocket(): string {
    const home = process.env.SLUICE_HOME;
    const runtime = xdg('XDG_RUNTIME_DIR');
    const data = xdg('XDG_DATA_HOME') ?? `${homedir()}/.local/share`;
    const path = home
        ? `${absolute(home)}/sluice.sock`
        : `${absolute(runtime ?? data)}/sluice/sluice.sock`;
    const bytes = new TextEncoder().encode(path);
    if (bytes.length <= SOCKET_MAX) return path;
    return `/tmp/sluice-${process.geteuid?.() ?? 0}/${hashBytes(bytes).toString(16).padStart(16, '0')}.sock`;
}

/** Addresses, token and CA file: of the run that this process belongs to, or of this user. */
export function findDaemon(): { address: string; token?: string; ca?: string } {
    const { SLUICE_HOME, SLUICE_SOCKET, SLUICE_TOKEN, SLUICE_PEERS, SLUICE_CA } = process.env;
    if (SLUICE_HOME !== undefined || !SLUICE_SOCKET) return { address: 'unix:' + findSocket() };
    const address = SLUICE_SOCKET.includes('://') ? SLUICE_SOCKET : 'unix:' + SLUICE_SOCKET;
    return {
        address: SLUICE_PEERS ? `${address},${SLUICE_PEERS}` : address,
        ...(SLUICE_TOKEN === undefined ? {} : { token: SLUICE_TOKEN }),
        ...(SLUICE_CA === undefined ? {} : { ca: SLUICE_CA }),
    };
}
