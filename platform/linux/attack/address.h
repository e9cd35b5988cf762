/* Addresses of sockets, for what doctor tries and for what it keeps outside. */
#ifndef PROCAGE_ATTACK_ADDRESS_H
#define PROCAGE_ATTACK_ADDRESS_H

#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

union pc_attack_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_vm vm;
	struct sockaddr_nl nl;
};

/* "127.0.0.1" or "::1", and a port; its size, or 0 when it is no address. */
socklen_t pc_attack_inet_address(const char *host, const char *port, union pc_attack_address *address);

#endif
