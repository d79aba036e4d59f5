/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded buffers and the handler of fatal signals of the worker. */
#include "guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Wide enough for a row or two: a kernel that is off by a tile is caught too. */
#define GUARD_BYTES ((size_t)64 << 10)
#define CANARY 0xC7
#define HANDLER_STACK_BYTES ((size_t)64 << 10)
#define KEPT_BYTES ((size_t)1 << 20) /* for a tensor that is only to be read */

/* Memory of each slot for posref_guard_keep. false: it cannot be had. */
static bool open_twins(struct posref_guard_slot slots[POSREF_MAX_TENSORS])
{
    const size_t stride = KEPT_BYTES + GUARD_BYTES, twins = POSREF_MAX_TENSORS * KEPT_BYTES;
    int fd = memfd_create("posref-inputs", MFD_CLOEXEC);
    unsigned char *base = mmap(NULL, POSREF_MAX_TENSORS * stride + GUARD_BYTES, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *twin = MAP_FAILED;
    bool good = fd >= 0 && base != MAP_FAILED && ftruncate(fd, (off_t)twins) == 0;
    if (good)
        twin = mmap(NULL, twins, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (size_t i = 0; i < POSREF_MAX_TENSORS && good; i++) {
        unsigned char *at = base + GUARD_BYTES + i * stride;
        good = twin != MAP_FAILED && mmap(at, KEPT_BYTES, PROT_NONE, MAP_SHARED | MAP_FIXED, fd,
                                          (off_t)(i * KEPT_BYTES)) == at;
        slots[i].kept = good ? at : NULL;
        slots[i].kept_twin = good ? twin + i * KEPT_BYTES : NULL;
    }
    if (fd >= 0)
        close(fd);
    return good;
}

bool posref_guard_init(struct posref_guard_slot slots[POSREF_MAX_TENSORS])
{
    size_t stride = POSREF_WIRE_SIZE_BYTES + GUARD_BYTES;
    size_t total = POSREF_MAX_TENSORS * stride + GUARD_BYTES;
    unsigned char *base = mmap(NULL, total, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    for (int i = 0; i < POSREF_MAX_TENSORS; i++) {
        unsigned char *begin = base + GUARD_BYTES + (size_t)i * stride;
        slots[i] = (struct posref_guard_slot){.begin = begin,
                                              .end = begin + POSREF_WIRE_SIZE_BYTES};
    }
    return open_twins(slots);
}

/* Opens `need` bytes at both ends of the slot; what was never needed stays inaccessible, so that an
 * access far out is caught as well. */
static bool open_ends(struct posref_guard_slot *slot, size_t need)
{
    if (need <= slot->open_bytes)
        return true;
    need = (need + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
    if (mprotect(slot->begin, need, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(slot->end - need, need, PROT_READ | PROT_WRITE) != 0)
        return false;
    slot->open_bytes = need;
    return true;
}

bool posref_guard_place(struct posref_guard_slot *slot, size_t size_bytes,
                        enum posref_guard_side side)
{
    bool after = side == POSREF_GUARD_AFTER;
    if (!open_ends(slot, size_bytes + POSREF_GUARD_CANARY_BYTES))
        return false;
    slot->side = side;
    slot->size_bytes = size_bytes;
    slot->data = after ? slot->end - size_bytes : slot->begin;
    memset(after ? slot->data - POSREF_GUARD_CANARY_BYTES : slot->data + size_bytes, CANARY,
           POSREF_GUARD_CANARY_BYTES);
    return true;
}

unsigned char *posref_guard_keep(struct posref_guard_slot *slot, size_t size_bytes)
{
    const size_t need = size_bytes + POSREF_GUARD_CANARY_BYTES;
    const size_t opened = (need + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
    if (need > KEPT_BYTES)
        return NULL;
    if (need > slot->kept_bytes) {
        if (mprotect(slot->kept, opened, PROT_READ) != 0)
            return NULL;
        slot->kept_bytes = opened;
    }
    slot->side = POSREF_GUARD_BEFORE;
    slot->size_bytes = size_bytes;
    slot->data = slot->kept;
    memset(slot->kept_twin + size_bytes, CANARY, POSREF_GUARD_CANARY_BYTES);
    return slot->kept_twin;
}

bool posref_guard_check(int64_t *offset, const struct posref_guard_slot *slot)
{
    int64_t first = slot->side == POSREF_GUARD_AFTER ? -1 : (int64_t)slot->size_bytes;
    int64_t step = slot->side == POSREF_GUARD_AFTER ? -1 : 1;
    for (int i = 0; i < POSREF_GUARD_CANARY_BYTES; i++) {
        *offset = first + i * step;
        if (slot->data[*offset] != CANARY)
            return false;
    }
    return true;
}

const unsigned char *posref_guard_other(const struct posref_guard_slot *slot)
{
    if (2 * (slot->size_bytes + POSREF_GUARD_CANARY_BYTES) > (size_t)(slot->end - slot->begin))
        return NULL;
    return slot->side == POSREF_GUARD_AFTER ? slot->begin : slot->end - slot->size_bytes;
}

/* A signal handler takes no argument of ours: this is what it needs, written once at the start. */
static struct {
    volatile sig_atomic_t closed; /* between calls */
    atomic_flag told;             /* the first thread that faults tells; the process ends with it */
    struct posref_wire *wire;
    const struct posref_guard_slot *slots;
} watched = {.told = ATOMIC_FLAG_INIT};

/* 1 write, 0 read; unknown counts as read. */
static int fault_is_write(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    /* The exception syndrome lies in a record of magic "ESR"; bit 6 is WnR. */
    const unsigned char *at = context->uc_mcontext.__reserved;
    const unsigned char *end = at + sizeof context->uc_mcontext.__reserved;
    while (at + 16 <= end) {
        uint32_t head[2];
        memcpy(head, at, sizeof head);
        if (head[0] == 0x45535201) {
            uint64_t esr;
            memcpy(&esr, at + 8, sizeof esr);
            return (esr >> 6 & 1) != 0;
        }
        if (head[0] == 0 || head[1] < 16)
            return 0;
        at += head[1];
    }
    return 0;
#else
    (void)context;
    return 0;
#endif
}

/* Near enough to be an index of this tensor gone wrong; anything else is a wild pointer. */
static bool is_near(const unsigned char *at, const unsigned char *data, size_t size_bytes)
{
    int64_t reach = (int64_t)(size_bytes + GUARD_BYTES / 2), offset = at - data;
    return offset >= -reach && offset < (int64_t)size_bytes + reach;
}

static void note_tensor(struct posref_wire *wire, const unsigned char *at, int i,
                        const unsigned char *data)
{
    if (data && is_near(at, data, watched.slots[i].size_bytes)) {
        wire->fault_tensor = i;
        wire->fault_offset_bytes = at - data;
    }
}

static void on_fatal_signal(int number, siginfo_t *info, void *context)
{
    struct posref_wire *wire = watched.wire;
    if (atomic_flag_test_and_set(&watched.told)) {
        /* Threads that fault at once: what the first one tells must not be torn. */
        const struct timespec while_it_tells = {.tv_nsec = 100000000};
        (void)nanosleep(&while_it_tells, NULL);
        signal(number, SIG_DFL);
        return;
    }
    wire->fault_tensor = -1;
    if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0) {
        const unsigned char *at = info->si_addr;
        for (int i = 0; i < POSREF_MAX_TENSORS; i++) {
            const struct posref_guard_slot *slot = &watched.slots[i];
            if (watched.closed && slot->data) /* a thread of the first call, placed elsewhere */
                note_tensor(wire, at, i, posref_guard_other(slot));
            note_tensor(wire, at, i, slot->data);
        }
        wire->fault_is_write = fault_is_write(context);
    }
    wire->fault_is_late = watched.closed;
    atomic_store(&wire->fault_signal, (uint32_t)number);
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number); /* sent, not caused: returning would not repeat it */
}

bool posref_guard_close(struct posref_guard_slot slots[POSREF_MAX_TENSORS], bool close)
{
    const int access = close ? PROT_NONE : PROT_READ | PROT_WRITE;
    bool good = true;
    watched.closed = close;
    for (int i = 0; i < POSREF_MAX_TENSORS; i++) {
        const size_t open = slots[i].open_bytes;
        if (open > 0)
            good = mprotect(slots[i].begin, open, access) == 0 &&
                   mprotect(slots[i].end - open, open, access) == 0 && good;
        if (slots[i].kept_bytes > 0)
            good = mprotect(slots[i].kept, slots[i].kept_bytes, close ? PROT_NONE : PROT_READ) ==
                       0 && good;
    }
    return good;
}

bool posref_guard_watch(struct posref_wire *wire, const struct posref_guard_slot *slots)
{
    watched.wire = wire;
    watched.slots = slots;
    void *stack_memory = malloc(HANDLER_STACK_BYTES);
    if (stack_memory == NULL)
        return false;
    stack_t stack = {.ss_sp = stack_memory, .ss_size = HANDLER_STACK_BYTES};
    if (sigaltstack(&stack, NULL) != 0)
        return false;
    struct sigaction action = {.sa_sigaction = on_fatal_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], &action, NULL) != 0)
            return false;
    return true;
}
