/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of clients: see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void set_ipv6(struct posref_address *out, const unsigned char byte[16])
{
    *out = (struct posref_address){.family = AF_INET6};
    memcpy(out->byte, byte, 16);
    if (memcmp(byte, mapped, sizeof mapped) != 0)
        return;
    *out = (struct posref_address){.family = AF_INET};
    memcpy(out->byte, byte + sizeof mapped, 4);
}

void posref_address_read(struct posref_address *out, const struct sockaddr *from)
{
    const void *whole = from;
    *out = (struct posref_address){.family = AF_UNSPEC};
    if (from->sa_family == AF_INET6) {
        set_ipv6(out, ((const struct sockaddr_in6 *)whole)->sin6_addr.s6_addr);
    } else if (from->sa_family == AF_INET) {
        out->family = AF_INET;
        memcpy(out->byte, &((const struct sockaddr_in *)whole)->sin_addr, 4);
    } else if (from->sa_family == AF_UNIX) {
        out->family = AF_UNIX;
    }
}

bool posref_address_parse(struct posref_address *out, const char *text, size_t length)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char byte[16] = {0};
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET, copy, byte) == 1) {
        *out = (struct posref_address){.family = AF_INET};
        memcpy(out->byte, byte, 4);
        return true;
    }
    if (inet_pton(AF_INET6, copy, byte) != 1)
        return false;
    set_ipv6(out, byte);
    return true;
}

bool posref_address_is_loopback(const struct posref_address *address)
{
    static const unsigned char one[16] = {[15] = 1};
    return address->family == AF_UNIX || (address->family == AF_INET && address->byte[0] == 127) ||
           (address->family == AF_INET6 && memcmp(address->byte, one, sizeof one) == 0);
}

bool posref_address_equal(const struct posref_address *a, const struct posref_address *b)
{
    return a->family == b->family && memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

bool posref_address_same_host(const struct posref_address *a, const struct posref_address *b)
{
    return a->family == b->family &&
           memcmp(a->byte, b->byte, a->family == AF_INET6 ? 8 : sizeof a->byte) == 0;
}

void posref_address_text(char *out, size_t size_bytes, const struct posref_address *address)
{
    out[0] = '\0';
    if (address->family == AF_INET || address->family == AF_INET6)
        inet_ntop(address->family, address->byte, out, (socklen_t)size_bytes);
}
