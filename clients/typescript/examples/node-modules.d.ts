// What the examples use of Node; your own program has these types from @types/node.
declare module 'node:process' {
    interface Output {
        write(text: string): void;
    }
    export const argv: string[];
    export const stdin: object;
    export const stdout: Output;
    export const stderr: Output;
    export function exit(code: number): never;
}
declare module 'node:readline' {
    export function createInterface(options: { input: object }): AsyncIterable<string>;
}
