/* usual_paths.c: what is where on most machines. */
#include "sandbox/sandbox.h"

const char *const *sandbox_private_folders(void) {
    /* /dev/shm is private with /dev. */
    static const char *const list[] = { "/tmp", "/var/tmp", "/run", NULL };
    return list;
}

const char *const *sandbox_shown_in_run(void) {
    static const char *const list[] = {
        "/run/systemd/resolve",
        "/run/current-system",
        "/run/opengl-driver",
        NULL,
    };
    return list;
}

/* Programs, not settings: nothing with a key in it. */
const char *const *sandbox_tools_at_home(void) {
    static const char *const list[] = {
        "bin",
        "go",
        ".asdf",
        ".bun",
        ".cargo/bin",
        ".cargo/config.toml",
        ".config/git",
        ".deno",
        ".gitconfig",
        ".gitignore",
        ".jbang",
        ".local/bin",
        ".local/lib",
        ".local/pipx",
        ".local/share/claude",
        ".local/share/fnm",
        ".local/share/mise",
        ".local/share/pipx",
        ".local/share/pnpm",
        ".local/share/uv",
        ".local/share/virtualenvs",
        ".mise",
        ".npm-global",
        ".nvm",
        ".nodenv",
        ".opam",
        ".opencode/bin",
        ".pyenv",
        ".rbenv",
        ".rustup",
        ".rvm",
        ".sdkman",
        ".volta",
        NULL,
    };
    return list;
}

/* A cache that runs could write and you use would bring their files into your builds. */
const char *const *sandbox_caches_at_home(void) {
    static const char *const list[] = {
        ".cache", ".npm", ".cargo/git", ".cargo/registry", "go/pkg", NULL,
    };
    return list;
}
