#!/usr/bin/env python3
"""report.py: tables and pictures of the results of make bench-peers and make bench-growth.

usage: report.py table FILE        prints the tables in Markdown
       report.py svg FILE NAME     prints a picture; NAME: peers, growth or days
       report.py docs FILE DOCS    replaces the part of DOCS/benchmarks.md between its markers, and writes DOCS/img/bench-NAME.svg
"""
import json
import math
import statistics
import sys
from pathlib import Path
from xml.sax.saxutils import escape

LEVELS = {
    'synced': 'survives a power cut',
    'later': 'survives a kill',
    'memory': 'lost with the server',
}
OURS = ('sluice', 'sluice-postgresql')


def number(value):
    if value >= 100:
        return f'{value:,.0f}'
    digits = 2 if value < 10 else 1
    return f'{value:,.{digits}f}'


def spread(values):
    middle = number(statistics.median(values))
    return middle if len(values) == 1 else f'{middle} ({number(min(values))}–{number(max(values))})'


# --- peers -------------------------------------------------------------------------------------

def present(result):
    return [system for system in result['systems'] if not system['missing']]


def systems_table(result):
    yield '| system | version | durability |'
    yield '|---|---|---|'
    for system in result['systems']:
        version = system['version'] or f'**not measured**: {system["missing"]}'
        yield f'| {system["label"]} | {version} | {LEVELS[system["level"]]}: {system["durability"]} |'


def figures_table(result, rows):
    yield '| system | ' + ' | '.join(f'{row["title"]}, {row["unit"]}' for row in rows) + ' |'
    yield '|---|' + '---:|' * len(rows)
    for system in present(result):
        figures = [row['figures'].get(system['name'], {}) for row in rows]
        if any(figures):
            cells = (spread(figure['values']) if 'values' in figure else '–' for figure in figures)
            yield f'| {system["label"]} | ' + ' | '.join(cells) + ' |'


def absent_lines(result):
    labels = {system['name']: system['label'] for system in result['systems']}
    reasons = {}
    for row in result['rows']:
        for name, figure in row['figures'].items():
            if 'absent' in figure:
                reasons.setdefault((labels[name], figure['absent']), []).append(row['title'])
    for (label, reason), titles in reasons.items():
        yield f'- {label}, {"; ".join(titles)}: {reason}'


def ahead(result, row):
    """The systems that are better than Sluice in a row, with the factor, and whether the rounds of both overlap."""
    ours = row['figures'].get('sluice', {}).get('values')
    if not ours:
        return []
    base = statistics.median(ours)
    found = []
    for system in present(result):
        values = row['figures'].get(system['name'], {}).get('values')
        if values and system['name'] not in OURS:
            value = statistics.median(values)
            factor = (value / base if row['more'] else base / value) if base > 0 and value > 0 else 0
            if factor > 1:
                overlap = max(min(values), min(ours)) <= min(max(values), max(ours))
                found.append((factor, system, overlap))
    return sorted(found, key=lambda pair: -pair[0])


def ahead_table(result):
    yield '| row | ahead of Sluice, equally durable | ahead of Sluice, less durable |'
    yield '|---|---|---|'
    for row in result['rows']:
        better = ahead(result, row)
        if not row['figures'].get('sluice', {}).get('values'):
            continue
        cells = []
        for durable in (True, False):
            names = [f'{system["label"]} ({factor:.1f} times{", within the spread" if overlap else ""})' for factor, system, overlap in better
                     if (system['level'] == 'synced') == durable]
            cells.append(', '.join(names) or 'none')
        yield f'| {row["title"]} | {cells[0]} | {cells[1]} |'


def machine_line(result):
    machine = result['machine']
    return (f'Measured on {result["date"]} in {result["took_s"]} s: {machine["processors"]} processors ({machine["model"]}), '
            f'{machine["memory_gib"]} GiB, Linux {machine["kernel"]}; load average {machine["load"]} before and {machine["load_after"]} after. '
            f'{result["rounds"]} round{"s" * (result["rounds"] != 1)} of {result["seconds"]:g} s; medians, with the lowest and the highest round in parentheses.')


def peers_tables(result):
    groups = (('Submits', 'submit-'), ('Latency', 'latency-'), ('Runs and depth', ''))
    left = list(result['rows'])
    yield machine_line(result)
    yield ''
    yield from systems_table(result)
    for title, prefix in groups:
        rows = [row for row in left if row['name'].startswith(prefix)]
        left = [row for row in left if row not in rows]
        if rows:
            yield f'\n### {title}\n'
            yield from figures_table(result, rows)
    yield '\n### Who is ahead\n'
    yield from ahead_table(result)
    lines = list(absent_lines(result))
    if lines:
        yield '\nNot in a row:\n'
        yield from lines


# --- pictures ----------------------------------------------------------------------------------

STYLE = """text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px;fill:#1f2328}
.bg{fill:#ffffff}.title{font-size:13px;font-weight:600}.strong{font-weight:600}.muted{font-size:11px;fill:#59636e}
.ours{fill:#3b6fd4}.synced{fill:#57606a}.later{fill:#a5adb5}.memory{fill:#d0d7de}
.grid{stroke:#eaeef2}.spread{stroke:#1f2328}
.one{stroke:#3b6fd4;fill:#3b6fd4}.two{stroke:#9a6700;fill:#9a6700}.curve{fill:none;stroke-width:2}.label{font-size:11px;stroke:none}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.bg{fill:#0d1117}.muted{fill:#9198a1}.synced{fill:#9198a1}.later{fill:#656c76}.memory{fill:#3d444d}
.grid{stroke:#2a313c}.spread{stroke:#e6edf3}.two{stroke:#d29922;fill:#d29922}.curve{fill:none}
}"""


def text(x, y, words, kind='', anchor='start'):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def rect(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" class="{kind}"/>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def page(width, height, title, parts):
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<title>{escape(title)}</title>', f'<style>\n{STYLE}\n</style>', rect(0, 0, width, height, 'bg'), *parts, '</svg>\n'])


def kind_of(system):
    return 'ours' if system['name'] in OURS else system['level']


def panel(row, systems, x, y, width):
    """One row: a bar for each system, the best on top. Returns its height and its parts."""
    bars = [(statistics.median(figure['values']), figure['values'], system) for system in systems
            if 'values' in (figure := row['figures'].get(system['name'], {}))]
    bars.sort(key=lambda bar: bar[0], reverse=row['more'])
    names, values_at = 170, 70
    room = width - names - values_at
    most = max(max(values) for _, values, _ in bars) or 1
    parts = [text(x, y + 14, row['title'], 'title'),
             text(x, y + 30, f'{row["unit"]}, {"more" if row["more"] else "less"} is better', 'muted')]
    top = y + 40
    for i, (median, values, system) in enumerate(bars):
        line_y = top + i * 20
        end = x + names + room * median / most
        parts.append(text(x + names - 8, line_y + 13, system['label'], 'strong' if system['name'] in OURS else '', 'end'))
        parts.append(rect(x + names, line_y + 3, room * median / most, 13, kind_of(system)))
        if len(values) > 1:
            parts.append(line(x + names + room * min(values) / most, line_y + 9.5, x + names + room * max(values) / most, line_y + 9.5, 'spread'))
        parts.append(text(max(end, x + names + room * max(values) / most) + 6, line_y + 13, number(median), 'muted'))
    return 40 + 20 * len(bars) + 24, parts


def peers_svg(result):
    systems = present(result)
    rows = [row for row in result['rows'] if any('values' in figure for figure in row['figures'].values())]
    width, margin, gap = 1000, 20, 20
    column = (width - 2 * margin - gap) / 2
    parts = []
    at = margin
    for key, words in (('ours', 'Sluice'), ('synced', 'survives a power cut'), ('later', 'survives a kill'), ('memory', 'lost with the server')):
        parts += [rect(at, margin, 12, 12, key), text(at + 18, margin + 11, words)]
        at += 40 + 7 * len(words)
    y = margin + 36
    for i in range(0, len(rows), 2):
        tallest = 0
        for k, row in enumerate(rows[i:i + 2]):
            height, some = panel(row, systems, margin + k * (column + gap), y, column)
            tallest = max(tallest, height)
            parts += some
        y += tallest
    return page(width, math.ceil(y + margin), 'Sluice beside other queues', parts)


# --- growth ------------------------------------------------------------------------------------

def growth_tables(result):
    machine = result['machine']
    yield f'Measured on {result["date"]}: {machine["processors"]} processors, load average {machine["load"]}. Processor time in µs.'
    yield ''
    yield '| tasks in the store | a submit, they wait | a run, they wait | a submit, they have ended | a run, they have ended |'
    yield '|---:|---:|---:|---:|---:|'
    cells = {}
    for point in result['points']:
        cells.setdefault(point['tasks'], {})[point['stored']] = point
    for tasks, stored in sorted(cells.items()):
        values = [number(stored[kind][what]) if kind in stored else '–' for kind in ('waiting', 'finished') for what in ('submit_us', 'run_us')]
        yield f'| {tasks:,} | ' + ' | '.join(values) + ' |'
    if result['days']:
        yield f'\n| day of {result["day_runs"]:,} runs | a run, µs | heap, MB | resident, MB | disk, MB | descriptors |'
        yield '|---:|---:|---:|---:|---:|---:|'
        for i, day in enumerate(result['days'], 1):
            yield (f'| {i} | {number(day["run_us"])} | {day["heap"] / 1e6:.1f} | {day["resident"] / 1e6:.1f} | {day["disk"] / 1e6:.1f} | '
                   f'{day["descriptors"]} |')


def round_up(value):
    """The next number of the form 1, 2, 4 or 8 times a power of ten, so that quarters of it are short."""
    unit = 10 ** math.floor(math.log10(value or 1))
    return next(unit * factor for factor in (1, 2, 4, 8, 10) if unit * factor >= value)


def plot(x, y, width, height, title, ticks, series):
    """Lines over equally spaced ticks. series: name, class, values."""
    most = round_up(max(max(values) for _, _, values in series) * 1.05)
    left, bottom = 50, 36
    inner_x, inner_y = x + left, y + 30
    inner_width, inner_height = width - left - 90, height - 30 - bottom
    parts = [text(x, y + 14, title, 'title')]
    for i in range(5):
        at = inner_y + inner_height * (1 - i / 4)
        parts += [line(inner_x, at, inner_x + inner_width, at, 'grid'), text(inner_x - 6, at + 4, f'{most * i / 4:g}', 'muted', 'end')]
    step = inner_width / max(len(ticks) - 1, 1)
    for i, tick in enumerate(ticks):
        parts.append(text(inner_x + i * step, inner_y + inner_height + 18, tick, 'muted', 'middle'))
    ends = []
    for name, kind, values in series:
        points = [(inner_x + i * step, inner_y + inner_height * (1 - value / most)) for i, value in enumerate(values)]
        words = ' '.join(f'{a:.1f},{b:.1f}' for a, b in points)
        parts.append(f'<polyline class="{kind} curve" points="{words}"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" class="{kind}"/>' for a, b in points]
        ends.append((points[-1][1], name, kind))
    lowest = -math.inf
    for at, name, kind in sorted(ends):  # labels do not overlap
        lowest = max(at + 4, lowest + 14)
        parts.append(text(inner_x + inner_width + 8, lowest, name, f'{kind} label'))
    return parts


def power(tasks):
    digits = str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹')
    return '10' + str(round(math.log10(tasks))).translate(digits)


def growth_svg(result):
    parts = []
    for k, (what, title) in enumerate((('submit_us', 'A submit, µs'), ('run_us', 'A run, µs'))):
        series = []
        for stored, kind in (('waiting', 'one'), ('finished', 'two')):
            points = sorted((point['tasks'], point[what]) for point in result['points'] if point['stored'] == stored)
            series.append((f'{stored} tasks', kind, [value for _, value in points]))
        ticks = [power(tasks) for tasks, _ in points]
        parts += plot(20 + k * 490, 16, 470, 260, f'{title}, by the number of stored tasks', ticks, series)
    return page(1000, 290, 'Cost of a submit and of a run by the number of stored tasks', parts)


def days_svg(result):
    days = result['days']
    ticks = [str(i) for i in range(1, len(days) + 1)]
    def in_mb(member):
        return [day[member] / 1e6 for day in days]
    title = f'days of {result["day_runs"]:,} runs'
    parts = plot(20, 16, 470, 260, f'Memory, MB: {title}', ticks, [('resident', 'one', in_mb('resident')), ('heap', 'two', in_mb('heap'))])
    parts += plot(510, 16, 470, 260, f'Disk, MB: {title}', ticks, [('data folder', 'one', in_mb('disk'))])
    return page(1000, 290, 'Memory and disk by day', parts)


# --- output ------------------------------------------------------------------------------------

KINDS = {
    'peers': (peers_tables, {'peers': peers_svg}),
    'growth': (growth_tables, {'growth': growth_svg, 'days': days_svg}),
}


def write_docs(result, docs):
    tables, pictures = KINDS[result['kind']]
    target = docs / 'benchmarks.md'
    old = target.read_text(encoding='utf-8')
    begin, end = f'<!-- {result["kind"]}: written by make bench-{result["kind"]} DOCS=1 -->\n', f'<!-- end of {result["kind"]} -->\n'
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        sys.exit(f'report: {target} must have the lines {begin.strip()} and {end.strip()} once each, in this order')
    before, after = old[:old.index(begin)], old[old.index(end):]
    target.write_text(before + begin + '\n' + '\n'.join(tables(result)) + '\n\n' + after, encoding='utf-8')
    for name, picture in pictures.items():
        if name != 'days' or result['days']:
            (docs / 'img' / f'bench-{name}.svg').write_text(picture(result), encoding='utf-8')


def main(arguments):
    verbs = {('table', 2): None, ('svg', 3): None, ('docs', 3): None}
    if not arguments or (arguments[0], len(arguments)) not in verbs:
        sys.exit(__doc__)
    sys.stdout.reconfigure(encoding='utf-8')
    verb, path, *rest = arguments
    result = json.loads(Path(path).read_text(encoding='utf-8'))
    tables, pictures = KINDS[result['kind']]
    if verb == 'table':
        print('\n'.join(tables(result)))
    elif verb == 'svg':
        if rest[0] not in pictures:
            sys.exit(f'report: {path} has no picture {rest[0]}; it has {", ".join(pictures)}')
        sys.stdout.write(pictures[rest[0]](result))
    else:
        write_docs(result, Path(rest[0]))


if __name__ == '__main__':
    main(sys.argv[1:])
