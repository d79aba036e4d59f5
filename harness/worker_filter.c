/* SPDX-License-Identifier: Apache-2.0 */
/* A seccomp filter: see worker_filter.h. Without it a plugin could end posref, whose process runs
 * under the same user, and with it every verdict. */
#include "worker_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

#ifdef ARCHITECTURE

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
/* The low half of the first argument; pids fit in it. */
#define LOAD_PID                                                                              \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                        \
             offsetof(struct seccomp_data, args) +                                            \
                 (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
/* The call ends the process / is allowed when its first argument is the own pid alone. */
#define NEVER(call) IF_EQUAL(call, 0, 1), END
#define OWN_ONLY(call, pid) IF_EQUAL(call, 0, 4), LOAD_PID, IF_EQUAL(pid, 0, 1), ALLOW, END

bool posref_worker_filter(void)
{
    const uint32_t pid = (uint32_t)getpid();
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
        LOAD_PID,
        IF_EQUAL(pid, 2, 0),
        IF_EQUAL(0, 1, 0),
        IF_EQUAL(-pid, 0, 1),
        ALLOW,
        END,
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
