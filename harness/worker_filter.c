/* SPDX-License-Identifier: Apache-2.0 */
/* A seccomp filter: see worker_filter.h. Without it a plugin could end posref, whose process runs
 * under the same user, and with it every verdict. */
#include "worker_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_CALLS 0x40000000u /* the x32 calls have the same numbers and this bit */
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_CALLS 0xFFFFFFFFu
#endif

void posref_worker_disarm(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
    const uint32_t keep = ~CAP_TO_MASK(CAP_SYS_PTRACE); /* it is one of the first 32 */
    /* Each step fails where there is nothing to give up. */
    (void)prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
    if (syscall(SYS_capget, &header, set) != 0)
        return;
    set[0].effective &= keep;
    set[0].permitted &= keep;
    set[0].inheritable &= keep;
    (void)syscall(SYS_capset, &header, set);
}

#ifdef ARCHITECTURE

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
/* The low half of an argument; pids and commands fit in it. */
#define LOAD_ARGUMENT(k)                                                                      \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                        \
             offsetof(struct seccomp_data, args) + 8 * (k) +                                  \
                 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
/* The call ends the process / is allowed when its first argument is the own pid alone. */
#define NEVER(call) IF_EQUAL(call, 0, 1), END
#define OWN_ONLY(call, pid) IF_EQUAL(call, 0, 4), LOAD_ARGUMENT(0), IF_EQUAL(pid, 0, 1), ALLOW, END
/* The call is refused when its first argument is that pid. */
#define NOT_OF(call, pid) IF_EQUAL(call, 0, 4), LOAD_ARGUMENT(0), IF_EQUAL(pid, 0, 1), REFUSE, ALLOW
/* The call is refused when its second argument is one of the two commands. */
#define NO_COMMAND(call, a, b)                                                                \
    IF_EQUAL(call, 0, 5), LOAD_ARGUMENT(1), IF_EQUAL(a, 1, 0), IF_EQUAL(b, 0, 1), REFUSE, ALLOW

bool posref_worker_filter(void)
{
    const uint32_t pid = (uint32_t)getpid(), posref = (uint32_t)getppid();
    struct sock_filter code[] = {
        LOAD(arch),
        IF_EQUAL(ARCHITECTURE, 1, 0),
        END,
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_CALLS, 0, 1),
        END,
        NEVER(SYS_ptrace),
        NEVER(SYS_process_vm_writev),
        NEVER(SYS_pidfd_send_signal),
        OWN_ONLY(SYS_tgkill, pid),
        OWN_ONLY(SYS_tkill, pid),
        OWN_ONLY(SYS_rt_sigqueueinfo, pid),
        OWN_ONLY(SYS_rt_tgsigqueueinfo, pid),
        /* kill: itself, or its group by either name; it leads a session of its own. */
        IF_EQUAL(SYS_kill, 0, 6),
        LOAD_ARGUMENT(0),
        IF_EQUAL(pid, 2, 0),
        IF_EQUAL(0, 1, 0),
        IF_EQUAL(-pid, 0, 1),
        ALLOW,
        END,
        /* Limits of another process: one of 0 s ends it. */
        IF_EQUAL(SYS_prlimit64, 0, 5),
        LOAD_ARGUMENT(0),
        IF_EQUAL(pid, 1, 0),
        IF_EQUAL(0, 0, 1),
        ALLOW,
        REFUSE,
        NOT_OF(SYS_sched_setaffinity, posref),
        NOT_OF(SYS_sched_setscheduler, posref),
        NOT_OF(SYS_sched_setparam, posref),
        NOT_OF(SYS_sched_setattr, posref),
        /* Whom the kernel signals about a descriptor; F_SETSIG, by what signal, is harmless. */
        NO_COMMAND(SYS_fcntl, F_SETOWN, F_SETOWN_EX),
        NO_COMMAND(SYS_ioctl, FIOSETOWN, SIOCSPGRP),
        ALLOW,
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

bool posref_worker_filter(void)
{
    return false;
}

#endif
