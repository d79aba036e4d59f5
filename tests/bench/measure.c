/* SPDX-License-Identifier: Apache-2.0 */
/* measure COMMAND...: runs it with stdout to /dev/null and prints its wall time in seconds, the
 * largest private (anonymous) memory seen, in MiB, and the processor time of its own process in
 * seconds (not of processes that it starts; to a clock tick); exits as the command did. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long private_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtol(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

/* Of a process that ended and has not been waited for, too. */
static double own_seconds(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    char *end;
    const long user = at ? strtol(at, &end, 10) : 0, system = at ? strtol(end, NULL, 10) : 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 2000000};
    long most = 0;
    int status = 0;
    if (argc < 2)
        return 2;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    siginfo_t ended = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
        long kib = private_kib(pid);
        most = kib > most ? kib : most;
        nanosleep(&pause, NULL);
    }
    const double took = now() - start, own = own_seconds(pid);
    waitpid(pid, &status, 0);
    printf("%.4f %.1f %.2f\n", took, (double)most / 1024, own);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
