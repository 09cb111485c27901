/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Layouts that programs in the kernel share with user space. src/shared.rs has the same ones; each side checks sizes and
 * offsets as it is compiled.
 */
#ifndef TAILRACE_SHARED_H
#define TAILRACE_SHARED_H

#define TR_LAYOUT(type, field, offset) \
	_Static_assert(__builtin_offsetof(struct type, field) == (offset), #type "." #field)

/* What is said of a connection when it starts, and when it ends or the capture does. */
struct tr_event {
	__u64 start_ns;      /* CLOCK_MONOTONIC; 0 if it was open before */
	__u64 at_ns;         /* when this is said */
	__u64 sent;          /* payload bytes that were acknowledged, within the capture */
	__u64 received;      /* payload bytes that came in order, within the capture */
	__u64 cgroup;        /* of its socket; 0 if not known */
	__u8 local[16];      /* IPv4 as ::ffff:a.b.c.d */
	__u8 remote[16];
	__u16 local_port;    /* in the host's byte order */
	__u16 remote_port;
	__u32 ifindex;       /* its way out; 0 if not known */
	__u32 kind;          /* TR_STARTED, … */
	__u32 flags;         /* TR_ACTIVE, … */
};
_Static_assert(sizeof(struct tr_event) == 88, "tr_event");
TR_LAYOUT(tr_event, cgroup, 32);
TR_LAYOUT(tr_event, local, 40);
TR_LAYOUT(tr_event, remote, 56);
TR_LAYOUT(tr_event, local_port, 72);
TR_LAYOUT(tr_event, ifindex, 76);
TR_LAYOUT(tr_event, kind, 80);
TR_LAYOUT(tr_event, flags, 84);

#define TR_STARTED 1
#define TR_ENDED 2
#define TR_STILL_OPEN 3

#define TR_ACTIVE 1 /* this side asked for the connection */
#define TR_BEFORE 2 /* it was open before the capture */

/* Of which connections something is said. */
struct tr_wanted {
	__u64 cgroup;    /* those of sockets in it and below; 0: of all */
	__u32 level;     /* of that cgroup, below the root */
	__u32 interface; /* those whose way out this is; 0: all but loopback */
	__u32 network;   /* of this network namespace, by its inode */
	__u32 unused;
};
_Static_assert(sizeof(struct tr_wanted) == 24, "tr_wanted");
TR_LAYOUT(tr_wanted, interface, 12);
TR_LAYOUT(tr_wanted, network, 16);

/* Connections of which nothing is said. */
struct tr_unsaid {
	__u64 lost;  /* there was no room for it */
	__u64 local; /* both ends are on this machine */
};
_Static_assert(sizeof(struct tr_unsaid) == 16, "tr_unsaid");

/* Bytes sent -> priority, and the priority of acknowledgements: a `Directive`. */
#define TR_LIMITS 7
struct tr_table {
	__u64 limits[TR_LIMITS];
	__u32 acks;
	__u32 unused;
};
_Static_assert(sizeof(struct tr_table) == 64, "tr_table");
TR_LAYOUT(tr_table, acks, 56);

/* Which flow a packet is of. */
struct tr_flow_key {
	__u8 source[16];
	__u8 destination[16];
	__be16 source_port;
	__be16 destination_port;
};
_Static_assert(sizeof(struct tr_flow_key) == 36, "tr_flow_key");
TR_LAYOUT(tr_flow_key, source_port, 32);

/* How far a flow is: `next` is the sequence number of the byte that `sent` bytes precede. */
struct tr_flow {
	__u64 sent;
	__u32 next;
	__u32 seen; /* when its last packet left, in units of 2^20 ns */
};
_Static_assert(sizeof(struct tr_flow) == 16, "tr_flow");
TR_LAYOUT(tr_flow, next, 8);
TR_LAYOUT(tr_flow, seen, 12);

/* A place for a flow in the table of those that are remembered. */
struct tr_place {
	struct tr_flow flow;
	struct tr_flow_key key;
	__u32 state; /* TR_IS_EMPTY, ... */
};
_Static_assert(sizeof(struct tr_place) == 56, "tr_place");
TR_LAYOUT(tr_place, key, 16);
TR_LAYOUT(tr_place, state, 52);

#define TR_IS_EMPTY 0
#define TR_GOES_ON 1
#define TR_HAS_ENDED 2
#define TR_IS_WRITTEN 3

#define TR_PLACES 4
struct tr_bucket {
	struct tr_place places[TR_PLACES];
};

/* A flow that was silent for so long gives up its place, if another one needs it: 10 s. */
#define TR_SILENT 9537

/* How large the table is. */
struct tr_room {
	__u64 seed;
	__u32 buckets;
	__u32 unused;
};
_Static_assert(sizeof(struct tr_room) == 16, "tr_room");
TR_LAYOUT(tr_room, buckets, 8);

/* What the tagger has done. */
struct tr_counts {
	__u64 tagged;    /* packets whose DSCP is this program's */
	__u64 untouched; /* packets that are not TCP, or are in pieces */
	__u64 flows;     /* flows that it began to count */
	__u64 crowded;   /* packets of flows that found no place: their priority is the last */
};
_Static_assert(sizeof(struct tr_counts) == 32, "tr_counts");

#endif
