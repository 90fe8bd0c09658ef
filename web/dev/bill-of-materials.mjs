// bill-of-materials: what a release is made of: what the dashboard bundles from npm, and the libraries of the system.
import fs from 'node:fs';
import path from 'node:path';

const usage = `usage: web/dev/bill-of-materials.mjs [--copyright] TREE VERSION

Prints the software bill of materials of the source tree TREE as CycloneDX 1.5, in JSON: the packages of npm that are bundled in the
dashboard, with their versions, checksums and licenses (from web/package-lock.json and web/node_modules), and the libraries that the
programs are linked with. Their versions are those of the distribution. --copyright prints the npm packages as paragraphs of debian/copyright.
Times are SOURCE_DATE_EPOCH.
`;

const words = process.argv.slice(2);
if (words.includes('-h') || words.includes('--help')) {
    process.stdout.write(usage);
    process.exit(0);
}
const copyright = words[0] === '--copyright';
const [tree, version] = copyright ? words.slice(1) : words;
if (!tree || !version) {
    process.stderr.write(usage);
    process.exit(2);
}

const web = path.join(tree, 'web');
const lock = JSON.parse(fs.readFileSync(path.join(web, 'package-lock.json'), 'utf8'));
const bundled = Object.entries(lock.packages)
    .filter(([folder, one]) => folder.startsWith('node_modules/') && !one.dev && !one.devOptional)
    .map(([folder, one]) => ({
        name: folder.replace(/^.*node_modules\//, ''),
        version: one.version,
        integrity: one.integrity,
        license: one.license,
        text: fs.readFileSync(path.join(web, folder, 'LICENSE'), 'utf8'),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

function paragraph({ name, version, license, text }) {
    const holders = text.match(/^Copyright \(c\) (.*)$/m);
    if (license !== 'MIT' || !holders)
        throw new Error(`${name}: license ${license} is not covered by this script`);
    const body = text.slice(text.indexOf('Permission is hereby granted')).trim();
    return [
        `Files: web/dist/*`,
        `Comment: ${name} ${version}, bundled in the dashboard`,
        `Copyright: ${holders[1]}`,
        `License: Expat`,
        ...body.split('\n').map((line) => ` ${line.trim() || '.'}`),
        '',
    ].join('\n');
}

// How each is linked: meson.build and src/*/meson.build.
const libraries = [
    ['libfyaml', 'MIT', 'static'],
    ['jansson', 'MIT', 'static'],
    ['ncurses', 'X11', 'static'],
    ['libpq', 'PostgreSQL', 'dynamic'],
    ['sqlite3', 'blessing', 'dynamic'],
    ['openssl', 'Apache-2.0', 'dynamic'],
    ['yajl', 'ISC', 'static'],
    ['musl', 'MIT', 'static'],
];

if (copyright) {
    process.stdout.write(bundled.map(paragraph).join('\n'));
} else {
    const bom = {
        bomFormat: 'CycloneDX',
        specVersion: '1.5',
        version: 1,
        metadata: {
            timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1000).toISOString(),
            component: {
                type: 'application',
                name: 'sluice',
                version,
                licenses: [{ license: { id: 'Apache-2.0' } }],
            },
        },
        components: [
            ...bundled.map((one) => ({
                type: 'library',
                name: one.name,
                version: one.version,
                purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
                licenses: [{ license: { id: one.license } }],
                hashes: [
                    {
                        alg: 'SHA-512',
                        content: Buffer.from(
                            one.integrity.replace('sha512-', ''),
                            'base64',
                        ).toString('hex'),
                    },
                ],
            })),
            ...libraries.map(([name, license, linking]) => ({
                type: 'library',
                name,
                licenses: [{ license: { id: license } }],
                properties: [{ name: 'sluice:linking', value: linking }],
            })),
        ],
    };
    process.stdout.write(JSON.stringify(bom, null, 2) + '\n');
}
