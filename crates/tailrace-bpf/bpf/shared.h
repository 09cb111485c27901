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

/* Bytes sent -> priority, the priority of acknowledgements, and the weight in parts of 1/65536: a `Directive`. */
#define TR_LIMITS 7
struct tr_table {
	__u64 limits[TR_LIMITS];
	__u32 acks;
	__u32 weight;
};
_Static_assert(sizeof(struct tr_table) == 64, "tr_table");
TR_LAYOUT(tr_table, acks, 56);

/* How windows are kept, if they are: DCTCP's law with a weight. */
struct tr_law {
	__u64 initial_alpha; /* in parts of 2^-32 */
	__u32 gain;          /* in parts of 1/65536 */
	__u32 flags;         /* TR_SETTLES, ... */
	__u32 initial_window; /* all three in segments */
	__u32 min_window;
	__u32 max_window;
	__u32 least_threshold; /* below which slow start does not end */
};
_Static_assert(sizeof(struct tr_law) == 32, "tr_law");
TR_LAYOUT(tr_law, gain, 8);
TR_LAYOUT(tr_law, max_window, 24);

#define TR_SETTLES 1 /* marks of the window after a cut are not counted */
#define TR_GIVEN 2   /* a controller gives flows weights of their own */
TR_LAYOUT(tr_law, least_threshold, 28);

/*
 * The directives of all flows, by slice: first those of unknown size, then of known size without a deadline, by size, then
 * with a deadline, by size. Sizes change tables at edges; those that are not there are the largest number.
 */
#define TR_EDGES 31
#define TR_TABLES 512 /* a power of two */
struct tr_policy {
	__u64 edges[TR_EDGES];
	__u32 pieces;     /* edges that there are, and one */
	__u32 slices;     /* the highest number of one */
	__u32 acks;       /* the priority of all acknowledgements, or TR_BY_FLOW */
	__u32 generation; /* another one with each change of policy or rules */
	__u32 levels;     /* rules name cgroups of so many levels, from the root on; 0: they name none */
	__u32 rules;      /* how many there are */
	struct tr_law law;
	struct tr_table tables[TR_TABLES];
};
_Static_assert(sizeof(struct tr_policy) == 304 + TR_TABLES * 64, "tr_policy");
TR_LAYOUT(tr_policy, pieces, 248);
TR_LAYOUT(tr_policy, generation, 260);
TR_LAYOUT(tr_policy, law, 272);
TR_LAYOUT(tr_policy, tables, 304);

#define TR_BY_FLOW (~0u)

/* Which sockets a rule is for: those of a cgroup (0: of any), with a port at either end (0: with any). */
struct tr_rule_key {
	__u64 cgroup;
	__u16 port; /* in the host's byte order */
	__u16 unused[3];
};
_Static_assert(sizeof(struct tr_rule_key) == 16, "tr_rule_key");
TR_LAYOUT(tr_rule_key, port, 8);

/* What is known of the flows of such sockets. */
struct tr_rule {
	__u64 size;        /* 0: not known */
	__u64 deadline_ns; /* from a flow's start; 0: none */
	__u32 slice;
	__u32 flags;
};
_Static_assert(sizeof(struct tr_rule) == 24, "tr_rule");
TR_LAYOUT(tr_rule, flags, 20);

#define TR_MAY_TELL 1  /* programs in the cgroup may say more */
#define TR_HAS_SLICE 2 /* but not of another slice */
#define TR_TELL_ONLY 4 /* it says nothing of flows itself */

/* Cgroups deeper than this cannot be named; what is deeper belongs to those above it. */
#define TR_LEVELS 8

/* What a program has said of a socket's flow. */
struct tr_told {
	__u64 size;
	__u64 deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	__u64 task;
	__u32 slice;
	__u32 first;    /* the flow begins at this sequence number, */
	__u32 anchored; /* if this is not 0: the connection was open */
	__u32 count;    /* how often something was said of the socket */
};
_Static_assert(sizeof(struct tr_told) == 40, "tr_told");
TR_LAYOUT(tr_told, slice, 24);
TR_LAYOUT(tr_told, count, 36);

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
#define TR_IS_ASKED 4 /* of a connection that has sent nothing yet: whoever has something to send may have it */

#define TR_PLACES 4
struct tr_bucket {
	struct tr_place places[TR_PLACES];
};

/* A flow that was silent for so long gives up its place, if another one needs it: 10 s. */
#define TR_SILENT 9537

/* What is known of a flow, where there are rules. */
struct tr_known {
	__u64 size;        /* 0: not known */
	__u64 deadline_ns; /* CLOCK_MONOTONIC; 0: none, or past */
	__u64 begun_ns;
	__u32 generation; /* of the policy by which the next two were found */
	__u32 place;      /* of its directive among all */
	__u32 slice;
	__u32 told;         /* how often something was said of its socket */
	__u32 had_deadline; /* if this is not 0, past or not */
	__u32 unused;
};
_Static_assert(sizeof(struct tr_known) == 48, "tr_known");
TR_LAYOUT(tr_known, place, 28);
TR_LAYOUT(tr_known, had_deadline, 40);

/* What programs cannot change: set before they are loaded. */
struct tr_constants {
	__u64 seed;    /* by which places of flows are found */
	__u32 buckets; /* how many there are */
	__u32 network; /* the network namespace whose sockets are meant, by its inode */
};
_Static_assert(sizeof(struct tr_constants) == 16, "tr_constants");
TR_LAYOUT(tr_constants, buckets, 8);
TR_LAYOUT(tr_constants, network, 12);

/* What the tagger has done. */
struct tr_counts {
	__u64 tagged;    /* packets whose DSCP is this program's */
	__u64 untouched; /* packets that are not TCP, or are in pieces */
	__u64 flows;     /* flows that it began to count */
	__u64 crowded;   /* packets of flows that found no place: their priority is the last */
	__u64 told;      /* what programs have said of flows */
	__u64 refused;   /* what they must not, or not so */
};
_Static_assert(sizeof(struct tr_counts) == 48, "tr_counts");

/*
 * A window by DCTCP's law. Sequence numbers are those of what this end sends; bytes may be segments, where `mss` is one.
 */
struct tr_dctcp {
	__u64 segments;  /* the window, in parts of 2^-20, as the next */
	__u64 threshold; /* slow start ends here */
	__u64 alpha;     /* the estimate of the marked share, in parts of 2^-32 */
	__u64 acked;     /* since its last update */
	__u64 marked;
	__u32 una;        /* what is acknowledged up to */
	__u32 next;       /* what has been sent up to */
	__u32 window_end; /* where alpha is updated */
	__u32 has_cut;
	__u32 cut_end; /* what was sent at the last cut */
	__u32 settle_from;
	__u32 settle_to;
	__u32 mss;
};
_Static_assert(sizeof(struct tr_dctcp) == 72, "tr_dctcp");

/* Karuna's MCP: gains, bounds and windows in parts of 1/65536, windows in segments. */
struct tr_mcp_law {
	__u64 link; /* payload bytes a second of the host's */
	__u32 round_trip_ns; /* the unloaded one */
	__u32 flags; /* TR_SMOOTHED, ... */
	__u32 residual_gain;
	__u32 residual_bound;
	__u32 queue_gain;
	__u32 guard_rtts;
	__u32 initial_window;
	__u32 min_window;
	__u32 max_bdps;
	__u32 unused;
};
_Static_assert(sizeof(struct tr_mcp_law) == 48, "tr_mcp_law");
TR_LAYOUT(tr_mcp_law, residual_gain, 16);
TR_LAYOUT(tr_mcp_law, max_bdps, 40);

#define TR_SMOOTHED 1 /* the smoothed round trip counts, not the unloaded one */
#define TR_PACES 2
#define TR_KEEPS 4 /* what is hopeless goes on as it is */

/* The law of a host's own TCP: DCTCP's, one of those that are DCTCP's with other cuts or growth, or DCTCP's and MCP. */
struct tr_host_law {
	struct tr_law law;
	__u64 from; /* L2DCT: bytes sent up to which the weight is the most, */
	__u64 to;   /* and from which on it is the least */
	__u32 kind; /* TR_DCTCP, ... */
	__u32 least; /* of the urgency (D2TCP) or the weight (L2DCT), in parts of 1/65536 */
	__u32 most;
	__u32 unused;
	struct tr_mcp_law mcp;
};
_Static_assert(sizeof(struct tr_host_law) == 112, "tr_host_law");
TR_LAYOUT(tr_host_law, from, 32);
TR_LAYOUT(tr_host_law, kind, 48);
TR_LAYOUT(tr_host_law, most, 56);

#define TR_DCTCP 1
#define TR_D2TCP 2
#define TR_L2DCT 3
#define TR_KARUNA 4
TR_LAYOUT(tr_host_law, mcp, 64);

/* A window by MCP. */
struct tr_mcp {
	__u64 window; /* segments in parts of 2^-20, as the next */
	__u64 target; /* where it is going */
	__u64 residual; /* bytes a second that were not reached, */
	__u64 expected; /* and that just meet the deadline */
	__u64 started_ns; /* the window of data that ends at `window_end` */
	__u64 srtt_ns;
	__u32 acked; /* segments in it, and of these with marks */
	__u32 marked;
	__u32 window_end;
	__u32 flags; /* TR_GUARDED, ... */
};
_Static_assert(sizeof(struct tr_mcp) == 64, "tr_mcp");
TR_LAYOUT(tr_mcp, window_end, 56);

#define TR_GUARDED 1 /* the deadline is aimed at earlier */
#define TR_HAS_END 2
#define TR_HOPELESS 4

/* Networks, by the first bits of an address; IPv4 as ::ffff:a.b.c.d. */
struct tr_network_key {
	__u32 bits;
	__u8 address[16];
};
_Static_assert(sizeof(struct tr_network_key) == 20, "tr_network_key");

/* What programs for laws cannot change. */
struct tr_law_constants {
	__u64 cookie;  /* the network namespace that is meant, by its number for programs */
	__u32 networks; /* whether only connections to some are meant */
	char name[16]; /* the law's */
	__u32 cgroups; /* whether only connections of programs in some, or below, are meant */
};
_Static_assert(sizeof(struct tr_law_constants) == 32, "tr_law_constants");
TR_LAYOUT(tr_law_constants, name, 12);

/* What a law is tried on: one step of one window. */
struct tr_trial {
	struct tr_dctcp window;
	__u32 step; /* TR_BEGINS, ... */
	__u32 unused;
	__u64 acked;
	__u64 marked;
	__u64 sent; /* by the flow, in bytes */
	__u64 left; /* D2TCP: bytes, */
	__u64 time_us; /* until the deadline, and */
	__u64 round_trip_us; /* 0 without a deadline */
};
_Static_assert(sizeof(struct tr_trial) == 128, "tr_trial");
TR_LAYOUT(tr_trial, step, 72);
TR_LAYOUT(tr_trial, acked, 80);

/* The same for MCP. */
struct tr_mcp_trial {
	struct tr_mcp mcp;
	__u64 now_ns;
	__u64 deadline_ns;
	__u64 left;
	__u64 unsent;
	__u64 srtt_ns;
	__u64 pace; /* what came of it: bytes a second, or 0 */
	__u32 una;
	__u32 next;
	__u32 acked;
	__u32 marked;
	__u32 mss;
	__u32 step;
};
_Static_assert(sizeof(struct tr_mcp_trial) == 136, "tr_mcp_trial");
TR_LAYOUT(tr_mcp_trial, pace, 104);
TR_LAYOUT(tr_mcp_trial, step, 132);

#define TR_BEGINS 1
#define TR_ACKNOWLEDGED 2
#define TR_LOST 3
#define TR_TIMED_OUT 4

/* What a window's keeper knows of a connection. */
struct tr_window {
	struct tr_known known;
	struct tr_dctcp law;
	__s64 owed;        /* segments that the guest was shown too little */
	__u64 progress_ns; /* when something was acknowledged last, or sent after a pause */
	__u64 seen;        /* bytes with marks that have come here */
	__u32 round_end;   /* where what is owed is updated */
	__u32 recover; /* what was sent at the last loss: until it is acknowledged, there is no other */
	__u32 told;       /* the count of marks that came back last */
	__u32 duplicates; /* of the last acknowledgement */
	__u32 scales;     /* its own window's and the other end's, a byte each; 0xff: no scale was said */
	__u32 flags;
	__u32 advertised; /* the window that came last, as it was said */
	__u32 first;      /* the sequence number of its first byte */
};
_Static_assert(sizeof(struct tr_window) == 176, "tr_window");
TR_LAYOUT(tr_window, law.segments, 48);
TR_LAYOUT(tr_window, law.una, 88);
TR_LAYOUT(tr_window, law.mss, 116);
TR_LAYOUT(tr_window, flags, 164);
TR_LAYOUT(tr_window, first, 172);

/* What the keeper has done. */
struct tr_kept {
	__u64 told;
	__u64 refused;
	__u64 flows;     /* connections whose both ends have one */
	__u64 shown;     /* acknowledgements with a smaller window than their sender's */
	__u64 marks;     /* bytes with marks that came back */
};

/* A port of a switch: classes of its root queue by DSCP and for what has none, and the bytes above which it marks; 0: never. */
struct tr_port {
	__u64 above;
	__u32 others;
	__u32 unused;
	__u32 classes[64];
};
_Static_assert(sizeof(struct tr_port) == 272, "tr_port");

#endif
