import { defineConfig } from 'vite';

// The page is served with a policy that allows nothing inline and nothing from elsewhere, so no file may be
// turned into a data address, and the worker is a file of its own.
export default defineConfig({
    base: '/',
    esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
    build: {
        target: 'es2022',
        outDir: 'dist',
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: true,
    },
    worker: { format: 'es' },
});
