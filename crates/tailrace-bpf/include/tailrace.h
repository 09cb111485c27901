/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What a program knows of what it is about to send, told to Tailrace's host agent. Nothing to link: one socket option.
 *
 *	struct tailrace_flow flow = { .size = 20000, .deadline_ns = 5000000 };
 *	tailrace_tell(fd, &flow);
 *
 * Before connect() or listen() it is said of the connection, or of all that are accepted; on an open connection, of what is
 * written from then on, so that each message can be told of. Programs may ignore the result.
 */
#ifndef TAILRACE_H
#define TAILRACE_H

/* Level and number of the option. */
#define TAILRACE_SOCKET 0xF10
#define TAILRACE_FLOW 1

/* Numbers that are 0 are not known. */
struct tailrace_flow {
	unsigned long long size;        /* payload bytes */
	unsigned long long deadline_ns; /* from now; from the start of a connection that is not open. Needs the size */
	unsigned long long task;
	unsigned int slice;             /* counted from 1, as in the agent's file */
	unsigned int unused;            /* 0 */
};

#if defined(__linux__) && !defined(__bpf__)
#include <sys/socket.h>

/*
 * Returns 0, or -1 with errno:
 *   ENOPROTOOPT  no agent runs here that listens: go on as always
 *   EPERM        no rule of the agent's file names this program's cgroup, or the slice is another's
 *   EINVAL       a deadline without a size, or a slice that is not there
 *   EOPNOTSUPP   not a TCP socket
 */
static inline int tailrace_tell(int fd, const struct tailrace_flow *flow)
{
	return setsockopt(fd, TAILRACE_SOCKET, TAILRACE_FLOW, flow, sizeof(*flow));
}
#endif

#endif
