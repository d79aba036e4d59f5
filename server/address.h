/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of clients, without ports. An IPv4 address that came through an IPv6 socket
 * (::ffff:1.2.3.4) is the IPv4 address. */
#ifndef POSREF_SERVER_ADDRESS_H
#define POSREF_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct posref_address {
    sa_family_t family; /* AF_INET, AF_INET6, AF_UNIX, or AF_UNSPEC: unknown */
    unsigned char byte[16]; /* the first 4 of IPv4; 0 behind them */
};

void posref_address_read(struct posref_address *out, const struct sockaddr *from);

/* "10.0.0.1" or "2001:db8::1", `length` characters of text. False: neither. */
bool posref_address_parse(struct posref_address *out, const char *text, size_t length);

bool posref_address_is_loopback(const struct posref_address *address);
bool posref_address_equal(const struct posref_address *a, const struct posref_address *b);

/* Whether both belong to one host, as far as limits go: of IPv6 one usually owns a whole /64. */
bool posref_address_same_host(const struct posref_address *a, const struct posref_address *b);

/* "" when unknown. */
void posref_address_text(char *out, size_t size_bytes, const struct posref_address *address);

#endif
