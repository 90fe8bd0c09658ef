/* config_reference.c: docs/config.md, from the table.
 *
 * Rows are grouped by the first part of their key, in the order of the table; rows without a dot
 * come first, as one group. */
#include <assert.h>
#include <string.h>

#include "base/macros.h"
#include "config/config_show.h"
#include "config/config_show_internal.h"

static const char *const intro =
    "# Configuration\n"
    "\n"
    "<!-- Printed by `sluice config reference` from the settings table. Do not edit. -->\n"
    "\n"
    "A configuration is one YAML file: `$SLUICE_HOME/sluice.yaml`, or\n"
    "`~/.config/sluice/sluice.yaml`. Everything has a default; an empty file is a good one.\n"
    "\n"
    "```yaml\n"
    "preset: sluice\n"
    "limits:\n"
    "  runs: 4\n"
    "  resource:\n"
    "    gpu: 1\n"
    "kinds:\n"
    "  plan: {base: 40, max_running: 2}\n"
    "agents:\n"
    "  claude: {slots: 3}\n"
    "  mine:\n"
    "    command: [./agent.sh, --, \"{prompt}\"]\n"
    "    prompt: argument\n"
    "projects:\n"
    "  web: {weight: 3}\n"
    "  api:\n"
    "```\n"
    "\n"
    "- Keys are written here as dotted paths. In the file a dot is a level; `limits.runs: 4` on\n"
    "  one line means the same.\n"
    "- A part in capitals stands for a name: `kinds.K.base` is the base of the kind called K. A\n"
    "  name without any key (`api:` above) is known with all its defaults.\n"
    "- `limiter.*` holds for every provider account, `limiters.L.*` for the account L alone.\n"
    "- Caps are whole numbers or `unlimited`; 0 means nothing at all. Spans are in the unit that\n"
    "  ends their key (`_s` seconds, `_h` hours, `days`), with up to three decimals, or with a "
    "unit: `90s`, `30m`, `2h`, `1d`; sizes in\n"
    "  `_mb` count 1048576 bytes, and may have a unit, too: `512MB`, `1.5GB`. Money is in dollars: "
    "`2.50`, `$2.50`.\n"
    "- Words are a list, or one text that is parted as a shell does it: blanks, quotes and\n"
    "  backslashes. Nothing is expanded: no variables, no patterns, no pipes. On a command line a\n"
    "  JSON array is good, too.\n"
    "- `preset` takes effect first, wherever it stands in the file.\n"
    "- A key that does not exist, is given twice, or has a value out of its range is an error\n"
    "  with the line; aliases and tags of YAML are not supported.\n"
    "- Numbers that mean \"no limit\": under `conductor` every number from 0 down for\n"
    "  `limits.runs` and `limits.roots`, under `gastown` 0 and -1 for `limits.runs`; nowhere\n"
    "  else.\n"
    "\n"
    "`sluice config show` prints every value in force with its origin, `sluice config explain\n"
    "KEY` everything about one. `sluice config set` changes one value in the file and leaves "
    "every\n"
    "other byte of it as it is, comments included.\n";

static size_t group_length(const char *key) {
    const char *dot = strchr(key, '.');
    return dot ? (size_t)(dot - key) : 0;
}

static bool same_group(const struct setting *a, const struct setting *b) {
    size_t length = group_length(a->key);
    return length == group_length(b->key) && strncmp(a->key, b->key, length) == 0;
}

/* Is there no row of its group before it? */
static bool opens_group(size_t row) {
    for (size_t i = 0; i < row; i++)
        if (same_group(&settings[i], &settings[row]))
            return false;
    return true;
}

static void print_group(size_t first, struct strbuf *out) {
    size_t length = group_length(settings[first].key);
    strbuf_puts(out, "\n### ");
    if (length)
        strbuf_add(out, settings[first].key, length);
    else
        strbuf_puts(out, "At the top");
    strbuf_puts(out, "\n\n| key | value | default | meaning |\n|---|---|---|---|\n");
    for (size_t i = first; i < settings_count; i++) {
        if (!same_group(&settings[first], &settings[i]))
            continue;
        strbuf_printf(out, "| `%s` | ", settings[i].key);
        setting_expected(&settings[i], out);
        strbuf_puts(out, " | ");
        show_default(&settings[i], out);
        strbuf_printf(out, " | %s |\n", settings[i].text);
    }
}

static void print_presets(struct strbuf *out) {
    strbuf_puts(out, "\n## Presets\n\n| preset | what it is |\n|---|---|\n");
    for (size_t i = 0; i < presets_count; i++)
        strbuf_printf(out, "| `%s` | %s |\n", presets[i].name, presets[i].text);
}

/* One row for each key that is not the same everywhere. */
static void print_differences(struct strbuf *out) {
    struct config *configs[6] = { NULL };
    assert(presets_count == ARRAY_SIZE(configs));
    strbuf_puts(out, "\nWhere they differ:\n\n| key |");
    for (size_t i = 0; i < presets_count; i++) {
        configs[i] = show_preset(presets[i].name);
        strbuf_printf(out, " `%s` |", presets[i].name);
    }
    strbuf_puts(out, "\n|---|---|---|---|---|---|---|\n");
    for (size_t row = 1; row < settings_count; row++) { /* 0 is the preset itself */
        struct strbuf line = STRBUF_INIT, first = STRBUF_INIT, value = STRBUF_INIT;
        bool differs = false;
        show_preset_value(configs[0], &settings[row], NULL, &first);
        for (size_t i = 0; i < presets_count; i++) {
            strbuf_clear(&value);
            show_preset_value(configs[i], &settings[row], NULL, &value);
            strbuf_printf(&line, " %s |", strbuf_text(&value));
            differs = differs || strcmp(strbuf_text(&first), strbuf_text(&value)) != 0;
        }
        if (differs)
            strbuf_printf(out, "| `%s` |%s\n", settings[row].key, strbuf_text(&line));
        strbuf_finish(&line);
        strbuf_finish(&first);
        strbuf_finish(&value);
    }
    for (size_t i = 0; i < presets_count; i++)
        config_free(configs[i]);
}

void config_reference(struct strbuf *out) {
    strbuf_puts(out, intro);
    print_presets(out);
    print_differences(out);
    strbuf_puts(out, "\n## Keys\n");
    for (size_t i = 0; i < settings_count; i++)
        if (opens_group(i))
            print_group(i, out);
}
