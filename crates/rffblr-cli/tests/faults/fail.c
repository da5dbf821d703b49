/* Makes the k-th call of one kind fail, and time jump: loaded before the C library by the tests of faults.
 *
 * FAULT_CALL  write, full, fsync, rename, open or memory (256 KiB or more); `full` is a disk that is full from then on, in the middle of a write
 * FAULT_AT    k, from 1
 * FAULT_MARK  a file that is made when the call fails
 * FAULT_CLOCK if set, every look at the calendar shows a time hours before or after the last
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static atomic_long calls;

/* 0: as always; 1: this call fails; 2: the calls after it. */
static int fails(const char *kind) {
    const char *wanted = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *mark = getenv("FAULT_MARK");
    if (!wanted || !at || !mark || strcmp(wanted, kind) != 0) return 0;
    long call = atomic_fetch_add(&calls, 1) + 1, failing = atol(at);
    if (call < failing || (call > failing && strcmp(kind, "full") != 0)) return 0;
    if (call > failing) return 2;
    long fd = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0) syscall(SYS_close, fd);
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* What cannot be told has no consequence: standard error is left alone. */
static int full(int fd, size_t *count) {
    if (fd == 2) return 0;
    if (fails("write")) return 1;
    switch (fails("full")) {
    case 1: *count /= 2; return *count == 0;
    case 2: return 1;
    default: return 0;
    }
}

ssize_t write(int fd, const void *bytes, size_t count) {
    if (full(fd, &count)) { errno = ENOSPC; return -1; }
    return NEXT(write)(fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    if (full(fd, &count)) { errno = ENOSPC; return -1; }
    return NEXT(pwrite64)(fd, bytes, count, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    size_t one = 1;
    if (full(fd, &one)) { errno = ENOSPC; return -1; }
    return NEXT(writev)(fd, parts, count);
}

int fsync(int fd) {
    if (fails("fsync")) { errno = EIO; return -1; }
    return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    if (fails("fsync")) { errno = EIO; return -1; }
    return NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
    if (fails("rename")) { errno = EIO; return -1; }
    return NEXT(rename)(from, to);
}

int link(const char *from, const char *to) {
    if (fails("rename")) { errno = EIO; return -1; }
    return NEXT(link)(from, to);
}

/* The C library's own names, as dlsym takes memory itself. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int refuses(size_t bytes) {
    if (bytes < 256 << 10 || !fails("memory")) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) { return refuses(bytes) ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t size) {
    return size && refuses(count > (size_t)-1 / size ? 0 : count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t bytes) { return refuses(bytes) ? NULL : __libc_realloc(old, bytes); }

void *aligned_alloc(size_t unit, size_t bytes) { return refuses(bytes) ? NULL : __libc_memalign(unit, bytes); }

int posix_memalign(void **out, size_t unit, size_t bytes) {
    void *made = refuses(bytes) ? NULL : __libc_memalign(unit, bytes);
    if (made) *out = made;
    return made ? 0 : ENOMEM;
}

/* Files of the system are not counted. */
static int opens(const char *path) {
    static const char *system[] = {"/proc", "/sys", "/dev", "/etc", "/usr", "/lib"};
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (strncmp(path, system[i], strlen(system[i])) == 0) return 0;
    return fails("open");
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (opens(path)) { errno = EMFILE; return -1; }
    return NEXT(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (opens(path)) { errno = EMFILE; return -1; }
    return NEXT(open)(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static atomic_long looks;
    int result = NEXT(clock_gettime)(clock, time);
    if (clock == CLOCK_REALTIME && getenv("FAULT_CLOCK")) {
        long look = atomic_fetch_add(&looks, 1);
        time->tv_sec += (look % 2 ? 1 : -1) * (look + 1) * 5 * 3600;
    }
    return result;
}
