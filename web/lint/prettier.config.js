// The rules of .clang-format where they apply: 100 columns, four spaces.
export default {
    printWidth: 100,
    tabWidth: 4,
    singleQuote: true,
    arrowParens: 'always',
};
