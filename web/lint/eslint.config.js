import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
    { ignores: ['**/types.ts', '**/members.ts', '**/dist/**'] },
    js.configs.recommended,
    ...tseslint.configs.recommended,
    {
        files: ['**/*.ts', '**/*.tsx'],
        rules: {
            'no-undef': 'off', // tsc finds them
            eqeqeq: 'error',
            'prefer-const': 'error',
            'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
            complexity: ['error', 25],
            'max-depth': ['error', 5],
        },
    },
);
