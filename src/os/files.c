/* files.c: see files.h.
 *
 * Short reads and writes, EINTR and full disks are handled here and in outside.c, so that callers
 * see one error with a path in it. */
#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/outside.h"

int file_read(const char *path, size_t max, struct strbuf *out, struct error *err) {
    return outside_read(AT_FDCWD, path, OUTSIDE_LINKS, max, out, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

char *file_resolve(const char *path) {
    char *real = realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    if (real || !slash || slash == path)
        return real ? real : xstrdup(path);
    _cleanup_(freep) char *folder = xstrndup(path, (size_t)(slash - path));
    _cleanup_(freep) char *real_folder = realpath(folder, NULL);
    return xasprintf("%s%s", real_folder ? real_folder : folder, slash);
}

/* 0: the path does not exist. */
static mode_t mode_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode : 0;
}

static int write_regular(const char *path, mode_t mode, const void *bytes, size_t size,
                         struct error *err) {
    _cleanup_(freep) char *real = file_resolve(path);
    return outside_write(real, mode ? mode & 0777 : OUTSIDE_USUAL_MODE, bytes, size, err);
}

int file_write(const char *path, const void *bytes, size_t size, struct error *err) {
    mode_t mode = mode_of(path);
    if (mode && !S_ISREG(mode))
        return outside_refuse(path, mode, err);
    return write_regular(path, mode, bytes, size, err);
}

/* --- files named by the user ------------------------------------------------------------------ */

int file_read_any(const char *path, size_t max, struct strbuf *out, struct error *err) {
    char chunk[BUFSIZ];
    size_t before = out->length, got;
    FILE *file = NULL;
    int r = file_open(path, &file, err);
    if (r < 0)
        return r;
    while (r == 0 && (got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        strbuf_add(out, chunk, got);
        if (out->length - before > max)
            r = error_set(err, -EFBIG, "file '%s' is larger than %zu bytes", path, max);
    }
    if (r == 0 && ferror(file))
        r = error_set_errno(err, "read", path);
    if (r < 0 && out->text)
        out->text[out->length = before] = '\0';
    file_close(file);
    return r;
}

static int write_in_place(const char *path, const void *bytes, size_t size, struct error *err) {
    FILE *file = fopen(path, "we");
    if (!file)
        return error_set_errno(err, "write", path);
    bool is_written = fwrite(bytes, 1, size, file) == size && fflush(file) == 0;
    int r = is_written ? 0 : error_set_errno(err, "write", path);
    (void)fclose(file);
    return r;
}

int file_write_any(const char *path, const void *bytes, size_t size, struct error *err) {
    mode_t mode = mode_of(path);
    if (mode && !S_ISREG(mode))
        return write_in_place(path, bytes, size, err);
    return write_regular(path, mode, bytes, size, err);
}

int file_open(const char *path, FILE **ret_file, struct error *err) {
    if (strcmp(path, "-") == 0) {
        *ret_file = stdin;
        return 0;
    }
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, "open", path);
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)fclose(file);
        return error_set(err, -EISDIR, "cannot read '%s': it is a directory", path);
    }
    *ret_file = file;
    return 0;
}

void file_close(FILE *file) {
    if (file && file != stdin)
        (void)fclose(file);
}

int folders_make(const char *path, size_t known, struct error *err) {
    _cleanup_(freep) char *part = xstrdup(path);
    if (part[known] == '\0')
        return 0;
    for (char *slash = part + known + 1; slash; *slash++ = '/') {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, "make the folder", part);
        if (!slash)
            break;
    }
    return 0;
}

/* --- file systems ----------------------------------------------------------------------------- */

/* Not in <linux/magic.h>; from their documentation. */
#define LUSTRE_MAGIC 0x0bd00bd0ul
#define GPFS_MAGIC   0x47504653ul
#define GFS2_MAGIC   0x01161970ul

const char *file_system_shared(unsigned long magic) {
    static const struct {
        unsigned long magic;
        const char *name;
    } known[] = {
        { NFS_SUPER_MAGIC, "nfs" },   { SMB_SUPER_MAGIC, "smb" },   { SMB2_SUPER_MAGIC, "smb" },
        { CIFS_SUPER_MAGIC, "cifs" }, { V9FS_MAGIC, "9p" },         { AFS_SUPER_MAGIC, "afs" },
        { AFS_FS_MAGIC, "afs" },      { CODA_SUPER_MAGIC, "coda" }, { NCP_SUPER_MAGIC, "ncp" },
        { CEPH_SUPER_MAGIC, "ceph" }, { FUSE_SUPER_MAGIC, "fuse" }, { OCFS2_SUPER_MAGIC, "ocfs2" },
        { LUSTRE_MAGIC, "lustre" },   { GPFS_MAGIC, "gpfs" },       { GFS2_MAGIC, "gfs2" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].magic == magic)
            return known[i].name;
    return NULL;
}

const char *file_system_of(const char *path) {
    struct statfs fs;
    return statfs(path, &fs) < 0 ? NULL
                                 : file_system_shared((unsigned long)fs.f_type & 0xffffffffu);
}
