// Faults in a backend. This file is linked into the server of check-hostile, and only there. `ld --wrap`
// redirects calls of the server and of the library that allocate in a memory context. mmap, pthread_create
// and pwrite come here because symbols of an executable take precedence over those of the C library.
// interrupts.h redirects the checks of the interrupt flag. Each function counts the events of the armed kind
// in the armed backend and its parallel workers, and makes the n-th event fail as the system would.
// fault_control.c arms the faults.
//
// Two kinds of allocations never fail here: those of the server in a critical section (a failure would end in
// a PANIC by design), and those that report errors.

#include "postgres.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "faults.h"

static FaultState *shared;

// Runs before main: all processes of the server are forked from this one.
static void __attribute__((constructor))
make_state(void)
{
    void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    void *page = next(NULL, sizeof(FaultState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page != MAP_FAILED)
        shared = page;
}

FaultState *
fault_state(void)
{
    return shared;
}

// Counts an event. Returns true if it must fail. Any thread may call it.
static bool
fails(FaultKind kind)
{
    int pid;

    if (shared == NULL || (pid = shared->pid) == 0 || shared->kind != kind)
        return false;
    if (MyProcPid != pid && (MyProc == NULL || MyProc->lockGroupLeader == NULL || MyProc->lockGroupLeader->pid != pid))
        return false;
    if (kind != FAULT_MMAP && kind != FAULT_THREAD && CritSectionCount > 0)
        return false;
    if (__atomic_add_fetch(&shared->counted, 1, __ATOMIC_RELAXED) != shared->nth)
        return false;
    __atomic_add_fetch(&shared->fired, 1, __ATOMIC_RELAXED);
    return true;
}

// ---- memory contexts

// The server's statistics do not stand an error between the two halves of an entry (pgstat_get_entry_ref): a backend
// then fails an assertion at its end, whatever it ran.
static bool
no_memory(MemoryContext context)
{
    return context != ErrorContext && strncmp(context->name, "PgStat", 6) != 0 && fails(FAULT_PALLOC);
}

static void
refuse(MemoryContext context, Size size)
{
    ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                    errdetail("Injected on request of size %zu in memory context \"%s\".", size, context->name)));
}

#define WRAPPED(type, name, parameters, arguments, context, size) \
    extern type __real_##name parameters; \
    extern type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (no_memory(context)) \
            refuse(context, size); \
        return __real_##name arguments; \
    }

#define WRAPPED_EXTENDED(type, name, parameters, arguments, context, size, flags) \
    extern type __real_##name parameters; \
    extern type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (no_memory(context)) \
        { \
            if (flags & MCXT_ALLOC_NO_OOM) \
                return NULL; \
            refuse(context, size); \
        } \
        return __real_##name arguments; \
    }

WRAPPED(void *, palloc, (Size size), (size), CurrentMemoryContext, size)
WRAPPED(void *, palloc0, (Size size), (size), CurrentMemoryContext, size)
WRAPPED_EXTENDED(void *, palloc_extended, (Size size, int flags), (size, flags), CurrentMemoryContext, size, flags)
WRAPPED(void *, repalloc, (void *pointer, Size size), (pointer, size), GetMemoryChunkContext(pointer), size)
WRAPPED(void *, repalloc_huge, (void *pointer, Size size), (pointer, size), GetMemoryChunkContext(pointer), size)
WRAPPED(void *, MemoryContextAlloc, (MemoryContext context, Size size), (context, size), context, size)
WRAPPED(void *, MemoryContextAllocZero, (MemoryContext context, Size size), (context, size), context, size)
WRAPPED(void *, MemoryContextAllocZeroAligned, (MemoryContext context, Size size), (context, size), context, size)
WRAPPED(void *, MemoryContextAllocHuge, (MemoryContext context, Size size), (context, size), context, size)
WRAPPED_EXTENDED(void *, MemoryContextAllocExtended, (MemoryContext context, Size size, int flags), (context, size, flags), context, size, flags)
WRAPPED(char *, pstrdup, (const char *text), (text), CurrentMemoryContext, strlen(text))
WRAPPED(char *, MemoryContextStrdup, (MemoryContext context, const char *text), (context, text), context, strlen(text))

// ---- the system

void *
mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);

    if (next == NULL)
        next = dlsym(RTLD_NEXT, "mmap");
    if (fails(FAULT_MMAP))
    {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return next(address, bytes, protection, flags, file, offset);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (next == NULL)
        next = dlsym(RTLD_NEXT, "pthread_create");
    if (fails(FAULT_THREAD))
        return EAGAIN;
    return next(thread, attributes, body, argument);
}

static bool
is_temp_file(int file)
{
    char link[32];
    char path[MAXPGPATH];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    return strstr(path, "pgsql_tmp") != NULL;
}

ssize_t
pwrite(int file, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);

    if (next == NULL)
        next = dlsym(RTLD_NEXT, "pwrite");
    if (shared != NULL && shared->pid != 0 && shared->kind == FAULT_TEMP_WRITE && is_temp_file(file) && fails(FAULT_TEMP_WRITE))
    {
        errno = ENOSPC;
        return -1;
    }
    return next(file, bytes, count, offset);
}

// ---- interrupts

extern volatile sig_atomic_t *fault_interrupt_pending(void);

volatile sig_atomic_t *
fault_interrupt_pending(void)
{
    if (fails(FAULT_INTERRUPT))
    {
        QueryCancelPending = true;
        InterruptPending = true;
    }
    return &InterruptPending;
}
