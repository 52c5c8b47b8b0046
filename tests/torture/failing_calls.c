/* Makes the n-th call that changes a file fail: write, pwrite, writev, fsync, fdatasync, rename,
 * truncate, unlink, mkdir, or an open that creates or writes. Preloaded (LD_PRELOAD) and then armed
 * from within the process, so that a fork can be armed that has everything loaded already.
 *
 * Only calls on files below one folder count, by the path of the descriptor, or the path that is
 * given; an interpreter's own files are left alone. Counting is shared by all threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static atomic_long calls_left; /* until the one that fails; 0: not armed */
static int failure;            /* errno of that call */
static int only_half;          /* a write that fails does half of its work first */
static atomic_long *calls;     /* all of them, in memory that is shared with whoever asks */

/* Arms this process: the n-th call below a folder (absolute, without links) fails with this errno;
 * n = 0 only counts. */
void failing_calls_arm(const char *below, long n, int error, int half, atomic_long *count)
{
    failure = error;
    only_half = half;
    calls = count;
    atomic_store(&calls_left, n);
    snprintf(folder, sizeof folder, "%s", below);
}

static int is_below(const char *path)
{
    size_t length = strlen(folder);
    return length && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

/* Whether this call is the one that fails. */
static int is_due(void)
{
    atomic_fetch_add(calls, 1);
    long left = atomic_load(&calls_left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&calls_left, &left, left - 1))
            return left == 1;
    return 0;
}

static int path_of(int descriptor, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return 1;
}

static int descriptor_fails(int descriptor)
{
    char path[PATH_MAX];
    int before = errno, fails = 0;
    if (folder[0] && path_of(descriptor, path) && is_below(path))
        fails = is_due();
    errno = fails ? failure : before;
    return fails;
}

static int path_fails(int base, const char *given)
{
    char path[2 * PATH_MAX] = "";
    int before = errno, fails = 0;
    if (!folder[0])
        return 0;
    if (given[0] != '/') {
        char here[PATH_MAX] = "";
        if (base == AT_FDCWD ? !getcwd(here, sizeof here) : !path_of(base, here))
            here[0] = '\0';
        snprintf(path, sizeof path, "%s/%s", here, given);
    } else {
        snprintf(path, sizeof path, "%s", given);
    }
    if (is_below(path))
        fails = is_due();
    errno = fails ? failure : before;
    return fails;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- descriptors ---------------------------------------------------------------------------- */

ssize_t write(int descriptor, const void *data, size_t size)
{
    if (descriptor_fails(descriptor)) {
        if (!only_half || size < 2)
            return -1;
        atomic_store(&calls_left, 1); /* a short count, and the next call has no room at all */
        return REAL(write)(descriptor, data, size / 2);
    }
    return REAL(write)(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t at)
{
    return descriptor_fails(descriptor) ? -1 : REAL(pwrite)(descriptor, data, size, at);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at)
{
    return descriptor_fails(descriptor) ? -1 : REAL(pwrite64)(descriptor, data, size, at);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
    return descriptor_fails(descriptor) ? -1 : REAL(writev)(descriptor, parts, count);
}

int fsync(int descriptor)
{
    return descriptor_fails(descriptor) ? -1 : REAL(fsync)(descriptor);
}

int fdatasync(int descriptor)
{
    return descriptor_fails(descriptor) ? -1 : REAL(fdatasync)(descriptor);
}

int ftruncate(int descriptor, off_t size)
{
    return descriptor_fails(descriptor) ? -1 : REAL(ftruncate)(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size)
{
    return descriptor_fails(descriptor) ? -1 : REAL(ftruncate64)(descriptor, size);
}

/* ---- paths ---------------------------------------------------------------------------------- */

int rename(const char *from, const char *to)
{
    return path_fails(AT_FDCWD, to) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_base, const char *from, int to_base, const char *to)
{
    return path_fails(to_base, to) ? -1 : REAL(renameat)(from_base, from, to_base, to);
}

int unlink(const char *path)
{
    return path_fails(AT_FDCWD, path) ? -1 : REAL(unlink)(path);
}

int unlinkat(int base, const char *path, int flags)
{
    return path_fails(base, path) ? -1 : REAL(unlinkat)(base, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return path_fails(AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode);
}

static int opens_for_writing(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
}

#define OPEN_BODY(name, base, ...)                                                                \
    mode_t mode = 0;                                                                              \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                          \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode = va_arg(rest, mode_t);                                                              \
        va_end(rest);                                                                             \
    }                                                                                             \
    if (opens_for_writing(flags) && path_fails(base, path))                                       \
        return -1;                                                                                \
    return REAL(name)(__VA_ARGS__, flags, mode)

int open(const char *path, int flags, ...)
{
    OPEN_BODY(open, AT_FDCWD, path);
}

int open64(const char *path, int flags, ...)
{
    OPEN_BODY(open64, AT_FDCWD, path);
}

int openat(int base, const char *path, int flags, ...)
{
    OPEN_BODY(openat, base, base, path);
}

int openat64(int base, const char *path, int flags, ...)
{
    OPEN_BODY(openat64, base, base, path);
}
