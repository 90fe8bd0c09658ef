// session.ts: the session of this browser. Its private key is made here, cannot be read by anything, not even by
// this page, and stays in the browser's database for this address. It signs every request for this host and port
// and for one start of the daemon (`boot`), so what a request carries is worth nothing to another program, also
// if that listens at this port while the daemon is down. All tabs of the browser share the session.
export type Scope = 'read' | 'submit' | 'admin';

interface Session {
    id: string;
    boot: string;
    scope: Scope;
    key: CryptoKey;
}

const DATABASE = 'sluice';
const STORE = 'session';
const CURRENT = 'current';
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const TOKEN = 'sluice.token'; // without a secure context: a token for this tab, as other clients have

let session: Session | null = null;

/* --- the database of the browser ---------------------------------------------------------------- */

function done<T>(request: IDBRequest<T>): Promise<T> {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error ?? new Error('the browser stores nothing'));
    });
}

function openDatabase(): Promise<IDBDatabase> {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    return done(opening);
}

async function within<T>(
    mode: IDBTransactionMode,
    use: (store: IDBObjectStore) => IDBRequest<T>,
    opening = openDatabase(),
): Promise<T> {
    const database = await opening;
    try {
        return await done(use(database.transaction(STORE, mode).objectStore(STORE)));
    } finally {
        database.close();
    }
}

async function stored(): Promise<Session | null> {
    try {
        return ((await within('readonly', (s) => s.get(CURRENT))) as Session | undefined) ?? null;
    } catch {
        return null;
    }
}

async function keep(opening?: Promise<IDBDatabase>): Promise<void> {
    try {
        await within('readwrite', (s) => s.put(session, CURRENT), opening);
    } catch {
        // A browser that stores nothing: the session lasts as long as this tab.
    }
}

/* --- signing ------------------------------------------------------------------------------------- */

const hex = (bytes: ArrayBuffer): string =>
    Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(new TextEncoder().encode(text));

/** The header of a request; null: it goes without one. `target` is the path with its query. */
export async function authorization(
    method: string,
    target: string,
    body: string | null,
): Promise<string | null> {
    if (!session) {
        const token = sessionStorage.getItem(TOKEN);
        return token ? `Bearer ${token}` : null;
    }
    const { id, boot, key } = session;
    const digest = body ? hex(await crypto.subtle.digest('SHA-256', bytesOf(body))) : '-';
    const text = ['sluice-key-1', location.host, boot, id, method, target, digest].join('\n');
    const signature = await crypto.subtle.sign(SIGNATURE, key, bytesOf(text));
    return `Sluice-Key ${id} ${boot} ${digest} ${hex(signature)}`;
}

/** After a refusal of what was sent with this header: should it be signed and sent again? */
export async function renew(answer: Response, header: string | null): Promise<boolean> {
    const boot = answer.headers.get('X-Sluice-Boot');
    if (session && boot) {
        if (boot !== session.boot) {
            session = { ...session, boot };
            await keep();
        }
        return !header?.includes(` ${boot} `); // other requests may have learned it first
    }
    const other = await stored(); // `sluice dash` may have opened another tab meanwhile
    if (!other || other.id === session?.id) return false;
    session = other;
    return true;
}

/* --- beginning ----------------------------------------------------------------------------------- */

export const scopeNow = (): Scope | null => session?.scope ?? null;

/** Takes up the session of this browser, if it has one. */
export async function resume(): Promise<void> {
    if (self.isSecureContext) session = await stored();
}

/** Swaps a code for a session. Null: the code is not accepted. */
export async function begin(code: string): Promise<Scope | null> {
    // A new database is made while the daemon is asked: its first opening takes longer than the answer.
    const opening = self.isSecureContext ? openDatabase() : undefined;
    opening?.catch(() => undefined); // keep() continues without it
    const pair = self.isSecureContext
        ? await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify'])
        : null;
    const key = pair ? hex(await crypto.subtle.exportKey('raw', pair.publicKey)) : undefined;
    const answer = await fetch('/v1/session', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ code, key }),
        cache: 'no-store',
        credentials: 'omit',
    });
    if (!answer.ok) {
        void opening?.then((database) => database.close());
        return null;
    }
    const got = (await answer.json()) as {
        token: string | null;
        id: string;
        boot: string;
        scope: Scope;
    };
    if (pair) {
        session = { id: got.id, boot: got.boot, scope: got.scope, key: pair.privateKey };
        await keep(opening);
    } else if (got.token) {
        session = null;
        sessionStorage.setItem(TOKEN, got.token);
    }
    return got.scope;
}
