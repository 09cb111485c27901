// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * DCTCP, D2TCP and L2DCT as congestion control of the kernel's own TCP (struct_ops), and which connections have it.
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

#include "known.h"
#include "tell.h"
#include "law.h"

#define AF_INET6 10
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define NEEDS_ECN 2          /* of tcp_congestion_ops.flags */
#define ECN_OK 1             /* of tcp_sock.ecn_flags: both ends have agreed on it */
#define ECN_DEMAND_CWR 4     /* of tcp_sock.ecn_flags: acknowledgements say that a mark has come */
#define ACK_TIMER 2          /* of icsk_ack.pending */
#define ACK_NOW 16
#define LEAST_THRESHOLD 2

enum { EVENT_NO_CE = 4, EVENT_CE = 5 };
enum { STATE_RECOVERY = 3, STATE_LOSS = 4 };

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

/* What is kept of a connection, in its socket. */
struct sender {
	struct tr_dctcp window; /* in segments */
	__u32 delivered;
	__u32 delivered_ce;
	__u32 state;
	__u32 begun;
	/* Of what it receives. */
	__u32 ce;
	__u32 received;
	__u64 begun_ns;
};
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

/* With the first acknowledgement: where a connection asks, its sequence numbers come after its law. */
static __always_inline void begin(struct tcp_sock *tp, struct sender *sender, const struct tr_host_law *law)
{
	struct tr_dctcp *window = &sender->window;

	dctcp_begin(window, &law->law);
	window->mss = 1;
	window->una = tp->snd_una;
	window->next = window->window_end = window->settle_from = window->settle_to = tp->snd_nxt;
	sender->delivered = tp->delivered;
	sender->delivered_ce = tp->delivered_ce;
	if (!sender->begun_ns)
		sender->begun_ns = bpf_ktime_get_ns();
	sender->begun = 1;
}

/* What a flow has still to send, and in which time. */
struct due {
	__u64 left;
	__u64 time_us;
};

/* The rule for a socket: that of the deepest cgroup that has one. */
static __always_inline struct tr_rule *rule_of_socket(struct sock *sk, struct tr_policy *policy)
{
	__u16 near = sk->__sk_common.skc_num, far = bpf_ntohs(sk->__sk_common.skc_dport);
	struct cgroup *group = sk->sk_cgrp_data.cgroup;
	__u32 zero = 0, deepest = group ? group->level : 0;
	void *set = policy->rules ? bpf_map_lookup_elem(&rules, &zero) : NULL;

	if (!set)
		return NULL;
	for (int level = TR_LEVELS; level >= 0; level--) {
		struct cgroup *above = NULL;
		__u32 place = bpf_core_field_offset(group->ancestors) + level * sizeof(above);
		struct tr_rule *rule;

		if (!group || level >= policy->levels || level > deepest)
			continue;
		if (bpf_probe_read_kernel(&above, sizeof(above), (void *)group + place) || !above)
			continue;
		rule = rule_of(set, BPF_CORE_READ(above, kn, id), near, far);
		if (rule)
			return rule;
	}
	return rule_of(set, 0, near, far);
}

/* From what its program has said of the flow, or a rule; false without a deadline. */
static __always_inline bool find_due(struct sock *sk, struct tcp_sock *tp, const struct sender *sender, struct due *due)
{
	struct tr_told *said = bpf_sk_storage_get(&told, sk, NULL, 0);
	struct tr_policy *policy = current_policy();
	__u64 size = 0, deadline = 0, acked = tp->bytes_acked, now = bpf_ktime_get_ns();
	struct tr_rule *rule;

	if (said && said->deadline_ns) {
		size = said->size;
		deadline = said->deadline_ns + (said->anchored ? 0 : sender->begun_ns);
		if (said->anchored)
			acked = ahead(tp->snd_una, said->first) > 0 ? tp->snd_una - said->first : 0;
	} else if (policy) {
		rule = rule_of_socket(sk, policy);
		if (rule && rule->deadline_ns) {
			size = rule->size;
			deadline = sender->begun_ns + rule->deadline_ns;
		}
	}
	if (!deadline)
		return false;
	due->left = size > acked ? size - acked : 0;
	due->time_us = deadline > now ? (deadline - now) / 1000 : 0;
	return true;
}

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

SEC("struct_ops")
void BPF_PROG(law_init, struct sock *sk)
{
	struct sender *sender = sender_of(sk);

	__builtin_memset(sender, 0, sizeof(*sender));
	sender->begun_ns = bpf_ktime_get_ns();
	sender->received = ((struct tcp_sock *)sk)->rcv_nxt;
}

/* Whether all of the window was used: what was not needed, says nothing of what the path can carry (RFC 9293, 7661). */
static __always_inline bool is_used(struct tcp_sock *tp, const struct tr_dctcp *window)
{
	if (window->segments < window->threshold)
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

SEC("struct_ops")
void BPF_PROG(law_control, struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct sender *sender = sender_of(sk);
	struct tr_dctcp *window = &sender->window;
	struct tr_host_law *law = current_law();
	__u32 delivered, marked, state, segments;
	struct due due = {};
	bool has_due = false;
	__u64 before;

	if (!law)
		return;
	if (!sender->begun)
		begin(tp, sender, law);
	delivered = tp->delivered - sender->delivered;
	marked = tp->delivered_ce - sender->delivered_ce;
	sender->delivered = tp->delivered;
	sender->delivered_ce = tp->delivered_ce;
	window->una = tp->snd_una;
	window->next = tp->snd_nxt;
	state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	if (state != sender->state && state == STATE_RECOVERY) {
		dctcp_loss(window, &law->law);
	} else if (state != sender->state && state == STATE_LOSS) {
		dctcp_collapse(window);
	} else if (delivered) {
		before = window->segments;
		if (marked && law->kind == TR_D2TCP)
			has_due = find_due(sk, tp, sender, &due);
		answer(window, law, delivered, marked, tp->bytes_acked + (tp->snd_nxt - tp->snd_una),
		       has_due ? &due : NULL, (window->segments * tp->mss_cache) >> 20, tp->srtt_us >> 3);
		if (window->segments > before && !is_used(tp, window))
			window->segments = before;
	}
	sender->state = state;
	segments = window->segments >> 20;
	if (segments > tp->snd_cwnd_clamp)
		segments = tp->snd_cwnd_clamp;
	tp->snd_cwnd = segments ? segments : 1;
	/* TCP sizes its bursts by this, and leaves it alone where a law has a function of its own: Linux' factors. */
	if (tp->srtt_us)
		sk->sk_pacing_rate = (__u64)tp->snd_cwnd * tp->mss_cache * 8000000 / tp->srtt_us *
				     (window->segments < window->threshold ? 20 : 12) / 10;
	tp->snd_ssthresh = window->threshold >= 0x7fffffffull << 20 ? 0x7fffffff : window->threshold >> 20;
}

/* What TCP asks for where it would cut by itself; the window is the one above. */
SEC("struct_ops")
__u32 BPF_PROG(law_ssthresh, struct sock *sk)
{
	__u64 half = sender_of(sk)->window.segments >> 21;

	return half > LEAST_THRESHOLD ? half : LEAST_THRESHOLD;
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

static __always_inline bool is_meant(struct bpf_sock_ops *ops)
{
	struct tr_network_key key;

	if (bpf_get_netns_cookie(ops) != chosen.cookie)
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

/* One step of the law on a window that is given, to be compared with what is simulated. */
SEC("syscall")
int try_law(struct tr_trial *trial)
{
	struct tr_dctcp window = trial->window;
	struct tr_host_law *law = current_law();
	struct due due = { trial->left, trial->time_us };

	if (!law)
		return 1;
	if (trial->step == TR_BEGINS)
		dctcp_begin(&window, &law->law);
	else if (trial->step == TR_ACKNOWLEDGED)
		answer(&window, law, trial->acked, trial->marked, trial->sent, trial->round_trip_us ? &due : NULL,
		       (window.segments * (window.mss ? window.mss : 1)) >> 20, trial->round_trip_us);
	else if (trial->step == TR_LOST)
		dctcp_loss(&window, &law->law);
	else
		dctcp_collapse(&window);
	trial->window = window;
	return 0;
}
