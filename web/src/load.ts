// load.ts: what a view reads. The old answer stays on the page until the new one is there: nothing flickers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';
import { connection, epoch } from './live';

export interface Loaded<T> {
    data: T | null;
    error: string | null;
    /** The daemon does not know this operation. */
    absent: boolean;
    loading: boolean;
    reload: () => void;
    set: (data: T) => void;
}

/** Reads when `key` changes, when `reload` is called, and after the daemon was away. */
export function useLoad<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Loaded<T> {
    const [state, setState] = useState<{
        key: string;
        data: T | null;
        error: string | null;
        absent: boolean;
        loading: boolean;
    }>({
        key,
        data: null,
        error: null,
        absent: false,
        loading: true,
    });
    const stop = useRef<AbortController | null>(null);
    const reader = useRef(read);
    reader.current = read;
    const busy = useRef(false);
    const again = useRef(false);

    const reload = () => {
        if (busy.current) {
            again.current = true;
            return;
        }
        busy.current = true;
        again.current = false;
        const mine = new AbortController();
        stop.current = mine;
        reader
            .current(mine.signal)
            .then(
                (data) => {
                    if (!mine.signal.aborted)
                        setState({ key, data, error: null, absent: false, loading: false });
                },
                (error: unknown) => {
                    if (mine.signal.aborted) return;
                    const absent =
                        error instanceof ApiError &&
                        (error.status === 404 || error.status === 501 || error.status === 405);
                    const message = error instanceof Error ? error.message : String(error);
                    setState((old) => ({
                        key,
                        data: old.key === key ? old.data : null,
                        error: message,
                        absent,
                        loading: false,
                    }));
                },
            )
            .finally(() => {
                if (mine.signal.aborted) return;
                busy.current = false;
                if (again.current) reload();
            });
    };

    const generation = epoch.value;
    useEffect(() => {
        setState((old) =>
            old.key === key
                ? { ...old, loading: true }
                : { key, data: null, error: null, absent: false, loading: true },
        );
        busy.current = false;
        reload();
        return () => stop.current?.abort();
    }, [key, generation]);

    // Requests that failed while the daemon did not answer are repeated when it does.
    const back = connection.value === 'live';
    useEffect(() => {
        if (back && state.error !== null && !state.absent) reload();
    }, [back]);

    const fresh = state.key === key;
    return {
        data: fresh ? state.data : null,
        error: fresh ? state.error : null,
        absent: fresh && state.absent,
        loading: !fresh || state.loading,
        reload,
        set: (data: T) => setState({ key, data, error: null, absent: false, loading: false }),
    };
}

/** Calls `fn` at most once per `ms`, and once more at the end. */
export function useThrottle(fn: () => void, ms: number): () => void {
    const timer = useRef<number | undefined>(undefined);
    const last = useRef(0);
    const latest = useRef(fn);
    latest.current = fn;
    useEffect(() => () => clearTimeout(timer.current), []);
    return () => {
        if (timer.current !== undefined) return;
        timer.current = window.setTimeout(
            () => {
                timer.current = undefined;
                last.current = Date.now();
                latest.current();
            },
            Math.max(0, last.current + ms - Date.now()),
        );
    };
}
