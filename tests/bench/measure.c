/* SPDX-License-Identifier: Apache-2.0 */
/* measure COMMAND...: runs it with stdout to /dev/null and prints its wall time in seconds and the
 * largest private (anonymous) memory seen, in MiB; exits as the command did. */
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
    while (waitpid(pid, &status, WNOHANG) == 0) {
        long kib = private_kib(pid);
        most = kib > most ? kib : most;
        nanosleep(&pause, NULL);
    }
    printf("%.4f %.1f\n", now() - start, (double)most / 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
