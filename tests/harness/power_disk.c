/* power_disk.c: see power_disk.h. The loop device and the namespace disappear with the last process of the test. */
#include "power_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define IMAGE_MB      320                      /* XFS has at least 300 */
#define SHUTDOWN      _IOR('X', 125, uint32_t) /* the same number for ext4 and XFS */
#define WITHOUT_FLUSH 2                        /* EXT4_GOING_FLAGS_NOLOGFLUSH */
#define DEVICE_TRIES  20                       /* another process may take the free device first */

static bool run(const char *const argv[]) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool make_image(const struct power_disk *disk) {
    char program[32];
    int fd = open(disk->image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && ftruncate(fd, (off_t)IMAGE_MB << 20) == 0;
    if (fd >= 0)
        close(fd);
    snprintf(program, sizeof(program), "mkfs.%s", disk->type);
    const char *const argv[] = { program, "-q", strcmp(disk->type, "xfs") == 0 ? "-f" : "-F",
                                 disk->image, NULL };
    return ok && run(argv);
}

static bool attach(struct power_disk *disk) {
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int image = open(disk->image, O_RDWR | O_CLOEXEC);
    for (int i = 0; control >= 0 && image >= 0 && disk->device_fd < 0 && i < DEVICE_TRIES; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        snprintf(disk->device, sizeof(disk->device), "/dev/loop%d", number);
        struct loop_config config = { .fd = (unsigned)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
        int fd = number < 0 ? -1 : open(disk->device, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0)
            disk->device_fd = fd;
        else if (fd >= 0)
            close(fd);
    }
    if (control >= 0)
        close(control);
    if (image >= 0)
        close(image);
    return disk->device_fd >= 0;
}

static bool mount_it(struct power_disk *disk) {
    if (mount(disk->device, disk->point, disk->type, MS_NOATIME, NULL) < 0)
        return false;
    disk->root_fd = open(disk->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return disk->root_fd >= 0;
}

bool power_disk_open(struct power_disk *disk, const char *type, const char *folder,
                     const char *point, const char **ret_why) {
    *disk = (struct power_disk){ .type = type, .point = point, .device_fd = -1, .root_fd = -1 };
    snprintf(disk->image, sizeof(disk->image), "%s/%s.image", folder, type);
    *ret_why = NULL;
    if (geteuid() != 0)
        *ret_why = "needs root";
    else if (!make_image(disk))
        *ret_why = "the program that makes the file system is missing";
    else if (!attach(disk))
        *ret_why = "no loop device";
    else if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        *ret_why = "no namespace for the mount";
    else if (!mount_it(disk))
        *ret_why = "the kernel does not mount the file system";
    if (*ret_why)
        power_disk_close(disk);
    return !*ret_why;
}

bool power_disk_cut(const struct power_disk *disk) {
    uint32_t flags = WITHOUT_FLUSH;
    return ioctl(disk->root_fd, SHUTDOWN, &flags) == 0;
}

static bool unmount(struct power_disk *disk) {
    if (disk->root_fd < 0)
        return true;
    close(disk->root_fd);
    disk->root_fd = -1;
    return umount2(disk->point, 0) == 0;
}

bool power_disk_restore(struct power_disk *disk) {
    return unmount(disk) && mount_it(disk);
}

void power_disk_close(struct power_disk *disk) {
    (void)unmount(disk);
    if (disk->device_fd >= 0)
        close(disk->device_fd);
    disk->device_fd = -1;
    (void)unlink(disk->image);
}
