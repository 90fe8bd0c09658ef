/* inside.c: see inside.h. */
#include "ops/inside.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "engine/sandboxes.h"
#include "ops/op_internal.h"

json_t *inside_of_run(struct engine *engine, task_id task) {
    const char *root = NULL, *sandbox = engine_run_sandbox(engine, task, &root);
    struct engine_sandboxes here;
    if (!sandbox) { /* not known: as if it were the usual one */
        engine_sandboxes(engine, &here);
        sandbox = here.automatic;
    }
    if (strcmp(sandbox, "none") == 0)
        return NULL;
    json_t *inside = json_pack("{s:s}", "sandbox", sandbox);
    if (root)
        json_object_set_new(inside, "root", json_string(root));
    return inside;
}

int inside_check(const char *name, const json_t *value, struct error *err) {
    static const char *const kinds[] = { "bubblewrap", "podman", "wrap" };
    const char *kind = json_string_value(json_object_get(value, "sandbox")), *member;
    const char *root = json_string_value(json_object_get(value, "root"));
    json_t *one;
    bool known = false;
    for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
        known = known || strcmp(kinds[i], kind) == 0;
    json_object_foreach((json_t *)(uintptr_t)value, member, one) known =
        known && (strcmp(member, "sandbox") == 0 || strcmp(member, "root") == 0);
    if (known && (!json_object_get(value, "root") || (root && *root == '/')))
        return 0;
    return error_set(err, -EINVAL, "'%s' must be an object with 'sandbox' and 'root'", name);
}
