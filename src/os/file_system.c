/* file_system.c: which file systems do hosts share?
 *
 * By the numbers that statfs tells; those that <linux/magic.h> does not name are of its documentation. */
#include "os/file_system.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "base/macros.h"

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
