# SPDX-License-Identifier: Apache-2.0
"""Thousands of connections at once to the service: connections.py PORT PID N

Every connection sends half a request and waits while others are served; then it ends the request
(a slow sender), asks twice in one packet (pipelining), and asks once more and closes its sending
half. Prints a line "WHAT GOT WANT" for each thing counted; the caller compares. The clients have
many addresses of loopback, so that ports do not run out.
"""
import select
import socket
import sys
import time

PORT, PID, N = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
HALF = b"GET /v1/suites HTTP/1.1\r\nHost: a\r\n"
REST = b"Accept: */*\r\n\r\n"
WHOLE = HALF + b"\r\n"
DEADLINE = time.monotonic() + 240


def dial(i):
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    s.bind((f"127.0.{1 + i // 1000}.1", 0))
    s.connect(("127.0.0.1", PORT))
    s.setblocking(False)
    return s


def send_all(clients, data):
    return sum(s.send(data) == len(data) for s in clients)


def hear(clients, n_answers):
    """Waits for n_answers of status 200 on each; returns how many got them, and no more."""
    poll = select.epoll()
    text = {s.fileno(): b"" for s in clients}
    by_fd = {s.fileno(): s for s in clients}
    for fd in by_fd:
        poll.register(fd, select.EPOLLIN)
    open_fds = set(by_fd)

    def complete(data):
        for _ in range(n_answers):
            head, separator, rest = data.partition(b"\r\n\r\n")
            if not separator or not head.startswith(b"HTTP/1.1 200 OK"):
                return False
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            if len(rest) < length:
                return False
            data = rest[length:]
        return data == b""

    while open_fds and time.monotonic() < DEADLINE:
        for fd, _ in poll.poll(1):
            data = by_fd[fd].recv(65536)
            text[fd] += data
            if not data or complete(text[fd]):
                poll.unregister(fd)
                open_fds.discard(fd)
    poll.close()
    return sum(complete(data) for data in text.values())


def closed(clients):
    """How many have been closed by the other side, soon."""
    n = 0
    for s in clients:
        s.settimeout(max(0.01, min(10, DEADLINE - time.monotonic())))
        try:
            n += s.recv(1) == b""
        except OSError:
            pass
    return n


def ask(path):
    s = dial(0)
    s.settimeout(30)
    begun = time.monotonic()
    s.send(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    answer = b""
    while data := s.recv(65536):
        answer += data
    s.close()
    return answer.decode(), time.monotonic() - begun


def metric(name):
    answer, _ = ask("/metrics")
    return int(next(line.split()[1] for line in answer.splitlines() if line.startswith(name + " ")))


def resident_kib():
    with open(f"/proc/{PID}/status", encoding="ascii") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmRSS")))


def round_of(n):
    clients = [dial(i) for i in range(n)]
    print("half a request each:", send_all(clients, HALF), n)
    print("open:", metric("posref_connections") - 1, n)
    answers = [ask("/v1/eval?dim=8&positions=1") for _ in range(10)]
    print("served beside them:", sum(" 200 OK" in a for a, _ in answers), 10)
    # A worker answers this while the connection rests, and every thread scans its own.
    answers = [ask("/v1/diff?a=dim%3D64&b=dim%3D64%20base%3D10001") for _ in range(10)]
    print("served beside them, by workers:", sum(" 200 OK" in a for a, _ in answers), 10)
    print("the rest of it:", send_all(clients, REST), n)
    print("slow senders answered:", hear(clients, 1), n)
    send_all(clients, WHOLE + WHOLE)
    print("pipelined, answered twice:", hear(clients, 2), n)
    for s in clients:
        s.send(WHOLE)
        s.shutdown(socket.SHUT_WR)
    print("half-closed, answered:", hear(clients, 1), n)
    print("then closed:", closed(clients), n)
    for s in clients:
        s.close()
    while metric("posref_connections") > 1 and time.monotonic() < DEADLINE:
        time.sleep(0.1)
    print("left open:", metric("posref_connections") - 1, 0)


round_of(N)
before = resident_kib()
round_of(N)
growth = resident_kib() - before
# A connection has 24 KiB while it is open. The C library may keep a little more than before.
print("memory grown by more than 8 KiB a connection:", int(growth > 8 * N), 0)
print(f"resident: {before} KiB after {N} connections, {growth} more after {N} others",
      file=sys.stderr)
