// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * DCTCP, D2TCP, L2DCT, and Karuna's MCP beside DCTCP, as congestion control of the kernel's own TCP (struct_ops), and which
 * connections have it.
 *
 * A call of such a program may be skipped, and what it should have returned is then anything. So the window is kept in the
 * socket's private part, and written again with each acknowledgement, whatever has become of it meanwhile.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "shared.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__u64 told;
	__u64 refused;
	__u64 connections; /* that were given the law */
} counts = {};

#define IPPROTO_TCP 6

#include "cgroup.h"
#include "known.h"
#include "tell.h"
#include "law.h"
#include "mcp.h"

#define AF_INET6 10
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define NEEDS_ECN 2          /* of tcp_congestion_ops.flags */
#define ECN_OK 1             /* of tcp_sock.ecn_flags: both ends have agreed on it */
#define ECN_DEMAND_CWR 4     /* of tcp_sock.ecn_flags: acknowledgements say that a mark has come */
#define ACK_TIMER 2          /* of icsk_ack.pending */
#define ACK_NOW 16
#define MIN_THRESHOLD 2
#define TCP_NEW_SYN_RECV 12
#define PACED_BY_NOBODY 0     /* of sock.sk_pacing_status */
#define PACED_BY_TCP 1

enum { EVENT_NO_CE = 4, EVENT_CE = 5 };
enum { STATE_RECOVERY = 3, STATE_LOSS = 4 };

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

/* Set before the programs are loaded. */
SEC(".rodata.chosen") const volatile struct tr_law_constants chosen = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tr_host_law);
} host_law SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct tr_network_key);
	__type(value, __u32);
} networks SEC(".maps");

/* By their numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} cgroups SEC(".maps");

/* What is kept of a connection, in its socket. */
struct sender {
	union {
		struct tr_dctcp window; /* in segments */
		struct tr_mcp mcp;
	};
	__u32 delivered;
	__u32 delivered_ce;
	__u32 state;
	__u32 mode; /* BY_DCTCP, ...; above, how often something had been said of the flow when that was found */
	/* Of what it receives. */
	__u32 ce;
	__u32 received;
	__u64 begun_ns;
};
#define BY_DCTCP 1
#define BY_MCP 2
#define GIVEN_UP 3 /* by DCTCP: its deadline cannot be met */
#define MODES 0xff
_Static_assert(sizeof(struct sender) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "struct sender");

static __always_inline struct sender *sender_of(struct sock *sk)
{
	return (struct sender *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline struct tr_host_law *current_law(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host_law, &zero);
}

static __always_inline void begin_dctcp(struct tcp_sock *tp, struct sender *sender, const struct tr_host_law *law)
{
	struct tr_dctcp *window = &sender->window;

	__builtin_memset(window, 0, sizeof(*window));
	dctcp_begin(window, &law->law);
	window->mss = 1;
	window->una = tp->snd_una;
	window->next = window->window_end = window->settle_from = window->settle_to = tp->snd_nxt;
	sender->mode = (sender->mode & ~MODES) | BY_DCTCP;
}

#include "due.h"

/* One step of the law, with the weight and the exponent that its kind asks for. */
static __always_inline void answer(struct tr_dctcp *window, const struct tr_host_law *law, __u64 acked, __u64 marked,
				   __u64 sent, const struct due *due, __u64 window_bytes, __u64 round_trip_us)
{
	__u32 weight = 65536, exponent = ITSELF;

	if (law->kind == TR_L2DCT) {
		exponent = weight_after(law, sent);
		weight = law->most ? (((__u64)exponent << 16) + law->most / 2) / law->most : 65536;
	} else if (law->kind == TR_D2TCP && due) {
		exponent = urgency(law, window_bytes, due->left, due->time_us, round_trip_us);
	}
	dctcp_answer(window, &law->law, weight, exponent, acked, marked);
}

/* Whether a round trip has gone by since it was asked last which law has the window. */
static __always_inline bool is_time_to_choose(struct tcp_sock *tp, const struct sender *sender)
{
	switch (sender->mode & MODES) {
	case BY_MCP:
		return !(sender->mcp.flags & TR_HAS_END) || ahead(tp->snd_una, sender->mcp.window_end) >= 0;
	case BY_DCTCP:
	case GIVEN_UP:
		return ahead(tp->snd_una, sender->window.window_end) >= 0;
	default:
		return true;
	}
}

/* Of what cannot meet its deadline the window is DCTCP's from now on. */
static __always_inline void judge(struct tcp_sock *tp, struct sender *sender, const struct tr_host_law *law)
{
	if ((sender->mode & MODES) != BY_MCP || !(sender->mcp.flags & TR_HOPELESS) || (law->mcp.flags & TR_KEEPS))
		return;
	begin_dctcp(tp, sender, law);
	sender->mode = (sender->mode & ~MODES) | GIVEN_UP;
}

/* Flows with a size and a deadline have MCP's window, and begin anew with another one. */
static __always_inline void choose_window(struct sock *sk, struct tcp_sock *tp, struct sender *sender,
					  const struct tr_host_law *law, struct mcp_now *now)
{
	__u32 mode = sender->mode & MODES, on_the_way = tp->snd_nxt - tp->snd_una;
	struct due due = {};
	bool has_due = find_due(sk, tp, sender, &due) && due.size;

	now->deadline_ns = due.deadline_ns;
	now->left = due.left;
	now->unsent = due.left > on_the_way ? due.left - on_the_way : 0;
	if (has_due && ((mode != BY_MCP && mode != GIVEN_UP) || (__u32)(due.count << 8) != (sender->mode & ~MODES))) {
		mcp_begin(&sender->mcp, &law->mcp, now);
		sender->mode = due.count << 8 | BY_MCP;
		judge(tp, sender, law);
	} else if (!has_due && mode == BY_MCP) {
		begin_dctcp(tp, sender, law);
	}
}

/* The window in segments, in parts of 2^-20. TCP sizes its bursts by a pacing rate, and leaves it alone where a law has a function of
 * its own: Linux' factors. */
static __always_inline void write_window(struct sock *sk, struct tcp_sock *tp, __u64 window, __u64 threshold)
{
	__u32 segments = least_of(window >> 20, tp->snd_cwnd_clamp);

	tp->snd_cwnd = segments ? segments : 1;
	tp->snd_ssthresh = threshold >= 0x7fffffffull << 20 ? 0x7fffffff : threshold >> 20;
	if (tp->srtt_us)
		sk->sk_pacing_rate = (__u64)tp->snd_cwnd * tp->mss_cache * 8000000 / tp->srtt_us *
				     (window < threshold ? 20 : 12) / 10;
}

static __always_inline void write_mcp(struct sock *sk, struct tcp_sock *tp, const struct sender *sender,
				      const struct tr_host_law *law)
{
	__u64 window = most_of(sender->mcp.window, least_window(&law->mcp));
	__u64 pace = mcp_pace(&sender->mcp, &law->mcp, tp->mss_cache);

	write_window(sk, tp, window, window);
	if (!pace)
		return;
	sk->sk_pacing_rate = pace;
	if (sk->sk_pacing_status == PACED_BY_NOBODY)
		sk->sk_pacing_status = PACED_BY_TCP;
}

SEC("struct_ops")
void BPF_PROG(law_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct sender *sender = sender_of(sk);
	struct tr_host_law *law = current_law();
	struct mcp_now now = {};

	__builtin_memset(sender, 0, sizeof(*sender));
	sender->begun_ns = now.now_ns = bpf_ktime_get_ns();
	sender->received = tp->rcv_nxt;
	if (!law || law->kind != TR_KARUNA)
		return;
	now.mss = tp->mss_cache;
	now.srtt_ns = (__u64)tp->srtt_us * 125;
	choose_window(sk, tp, sender, law, &now);
	if ((sender->mode & MODES) != BY_MCP)
		return;
	sender->delivered = tp->delivered;
	sender->delivered_ce = tp->delivered_ce;
	write_mcp(sk, tp, sender, law);
}

/* Whether all of the window was used: what was not needed, says nothing of what the path can carry (RFC 9293, 7661). */
static __always_inline bool is_used(struct tcp_sock *tp, const struct tr_dctcp *window)
{
	if (window->segments < window->threshold)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* `lost` is the state of losses that has just begun, or 0. */
static __always_inline void step_dctcp(struct sock *sk, struct tcp_sock *tp, struct sender *sender,
				       const struct tr_host_law *law, const struct mcp_now *now, __u32 lost)
{
	struct tr_dctcp *window = &sender->window;
	__u64 before = window->segments;
	struct due due = {};
	bool has_due = false;

	window->una = now->una;
	window->next = now->next;
	if (lost == STATE_RECOVERY) {
		dctcp_loss(window, &law->law);
	} else if (lost == STATE_LOSS) {
		dctcp_collapse(window);
	} else if (now->acked) {
		if (now->marked && law->kind == TR_D2TCP)
			has_due = find_due(sk, tp, sender, &due);
		answer(window, law, now->acked, now->marked, tp->bytes_acked + (tp->snd_nxt - tp->snd_una),
		       has_due ? &due : NULL, (before * tp->mss_cache) >> 20, tp->srtt_us >> 3);
		if (window->segments > before && !is_used(tp, window))
			window->segments = before;
	}
}

SEC("struct_ops")
void BPF_PROG(law_control, struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct sender *sender = sender_of(sk);
	struct tr_host_law *law = current_law();
	struct mcp_now now = {};
	__u32 state, lost;

	if (!law)
		return;
	/* Not before: where a connection asks, its sequence numbers come after its law. */
	if (!sender->mode) {
		begin_dctcp(tp, sender, law);
		sender->delivered = tp->delivered;
		sender->delivered_ce = tp->delivered_ce;
	}
	now.now_ns = bpf_ktime_get_ns();
	now.srtt_ns = (__u64)tp->srtt_us * 125;
	now.una = tp->snd_una;
	now.next = tp->snd_nxt;
	now.mss = tp->mss_cache;
	now.acked = tp->delivered - sender->delivered;
	now.marked = tp->delivered_ce - sender->delivered_ce;
	sender->delivered = tp->delivered;
	sender->delivered_ce = tp->delivered_ce;
	state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	lost = state != sender->state && state >= STATE_RECOVERY ? state : 0;
	sender->state = state;
	if (law->kind == TR_KARUNA && (lost || is_time_to_choose(tp, sender)))
		choose_window(sk, tp, sender, law, &now);
	if ((sender->mode & MODES) != BY_MCP) {
		step_dctcp(sk, tp, sender, law, &now, lost);
	} else {
		if (lost == STATE_LOSS)
			mcp_collapse(&sender->mcp, &law->mcp, &now);
		else if (lost)
			mcp_judge(&sender->mcp, &law->mcp, &now);
		else if (now.acked)
			mcp_answer(&sender->mcp, &law->mcp, &now);
		judge(tp, sender, law);
	}
	if ((sender->mode & MODES) == BY_MCP)
		write_mcp(sk, tp, sender, law);
	else
		write_window(sk, tp, sender->window.segments, sender->window.threshold);
}

/* What TCP asks for where it would cut by itself; the window is the one above. */
SEC("struct_ops")
__u32 BPF_PROG(law_ssthresh, struct sock *sk)
{
	__u64 half = sender_of(sk)->window.segments >> 21;

	return half > MIN_THRESHOLD ? half : MIN_THRESHOLD;
}

SEC("struct_ops")
__u32 BPF_PROG(law_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 segments = sender_of(sk)->window.segments >> 20;

	return segments > tp->snd_cwnd ? segments : tp->snd_cwnd;
}

/* The receiver's half (RFC 8257, 3.2): acknowledgements say of what they acknowledge whether it had marks. */
SEC("struct_ops")
void BPF_PROG(law_event, struct sock *sk, __u32 event)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct sender *sender = sender_of(sk);
	__u32 ce = event == EVENT_CE;

	if (event != EVENT_CE && event != EVENT_NO_CE)
		return;
	if (ce != sender->ce) {
		/* What came before is acknowledged first, as it came. */
		if (icsk->icsk_ack.pending & ACK_TIMER) {
			if (sender->ce)
				tp->ecn_flags |= ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, sender->received);
		}
		icsk->icsk_ack.pending |= ACK_NOW;
	}
	sender->received = tp->rcv_nxt;
	sender->ce = ce;
	if (ce)
		tp->ecn_flags |= ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~ECN_DEMAND_CWR;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops congestion = {
	.init = (void *)law_init,
	.ssthresh = (void *)law_ssthresh,
	.undo_cwnd = (void *)law_undo,
	.cong_control = (void *)law_control,
	.cwnd_event = (void *)law_event,
	.flags = NEEDS_ECN,
	.name = "tailrace",
};

/* Whether the socket's program is in a cgroup that is meant. Who asks for a connection has no socket yet: its listener's counts. */
static __always_inline bool is_in_cgroups(struct bpf_sock_ops *ops)
{
	struct bpf_sock_ops_kern *event = bpf_cast_to_kern_ctx(ops);
	struct sock *sk = BPF_CORE_READ(event, sk);
	struct cgroup *group;

	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_NEW_SYN_RECV)
		sk = BPF_CORE_READ(sk, __sk_common.skc_listener);
	group = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	for (__u32 level = 0; level <= TR_LEVELS; level++) {
		__u64 cgroup = cgroup_above(group, level);

		if (cgroup && bpf_map_lookup_elem(&cgroups, &cgroup))
			return true;
	}
	return false;
}

static __always_inline bool is_meant(struct bpf_sock_ops *ops)
{
	struct tr_network_key key;

	if (bpf_get_netns_cookie(ops) != chosen.cookie)
		return false;
	if (chosen.cgroups && !is_in_cgroups(ops))
		return false;
	if (!chosen.networks)
		return true;
	/* Not as an initial value, which would be one more constant. */
	__builtin_memset(&key, 0, sizeof(key));
	key.bits = 128;
	if (ops->family == AF_INET6) {
		__u32 words[4] = { ops->remote_ip6[0], ops->remote_ip6[1], ops->remote_ip6[2], ops->remote_ip6[3] };

		__builtin_memcpy(key.address, words, 16);
	} else {
		__u32 word = ops->remote_ip4;

		key.address[10] = key.address[11] = 0xff;
		__builtin_memcpy(key.address + 12, &word, 4);
	}
	return bpf_map_lookup_elem(&networks, &key);
}

SEC("sockops")
int choose(struct bpf_sock_ops *ops)
{
	char name[16];

	if (ops->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && ops->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB &&
	    ops->op != BPF_SOCK_OPS_NEEDS_ECN)
		return 1;
	if (!is_meant(ops))
		return 1;
	if (ops->op == BPF_SOCK_OPS_NEEDS_ECN) {
		ops->reply = 1;
		return 1;
	}
	/* Where the other end did not agree on ECN, marks would be answered by nobody. */
	if (!(ops->ecn_flags & ECN_OK))
		return 1;
	/* One by one: who compiles this takes what is copied at once for the zeros above. */
	for (int i = 0; i < sizeof(name); i++)
		name[i] = chosen.name[i];
	if (!bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		__sync_fetch_and_add(&counts.connections, 1);
	return 1;
}

#include "trial.h"
