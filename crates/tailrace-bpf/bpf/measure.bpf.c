// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/* Says when TCP connections start and end, and how many bytes they have carried. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "shared.h"
#include "cgroup.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define AF_INET 2
#define IPPROTO_TCP 6
#define LOOPBACK 1 /* in every network namespace */

enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
};

/* Set before the programs are loaded. */
const volatile struct tr_wanted asked = {};
struct tr_unsaid unsaid = {};

#define OPEN_ESTABLISHED 0x100
#define OPEN_TOLD 0x200

struct open {
	__u64 start_ns;
	__u64 sent;     /* before the capture */
	__u64 received;
	__u32 ifindex;
	__u32 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct open);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

static __always_inline __u32 way_out(struct sock *sk)
{
	struct dst_entry *dst = sk->sk_dst_cache;
	return dst ? dst->dev->ifindex : 0;
}

/* Payload that the other side has acknowledged: the kernel counts SYN and FIN as bytes. */
static __always_inline __u64 payload_sent(struct tcp_sock *tp, int state, __u32 flags)
{
	__u64 bytes = tp->bytes_acked;
	/* A socket that accepts begins to count after its SYN. */
	if ((flags & TR_ACTIVE) && bytes)
		bytes--;
	if ((state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 || state == TCP_CLOSING || state == TCP_LAST_ACK) &&
	    tp->snd_una == tp->write_seq && bytes)
		bytes--;
	return bytes;
}

static __always_inline __u64 payload_received(struct sock *sk, struct tcp_sock *tp)
{
	__u64 bytes = tp->bytes_received;
	int done = bpf_core_enum_value(enum sock_flags, SOCK_DONE);
	/* The other side's FIN has come. */
	if (bytes && (sk->__sk_common.skc_flags >> done & 1))
		bytes--;
	return bytes;
}

static __always_inline bool wanted(struct sock *sk, __u32 ifindex)
{
	if (asked.interface) {
		if (ifindex != asked.interface)
			return false;
	} else if (ifindex == LOOPBACK) {
		return false;
	}
	return !asked.cgroup || cgroup_above(sk->sk_cgrp_data.cgroup, asked.level) == asked.cgroup;
}

static __always_inline bool ours(struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP && sk->__sk_common.skc_net.net->ns.inum == asked.network;
}

static __always_inline void address(__u8 *to, bool v4, __be32 ipv4, const void *ipv6)
{
	if (v4) {
		__builtin_memset(to, 0, 10);
		to[10] = to[11] = 0xff;
		__builtin_memcpy(to + 12, &ipv4, 4);
	} else {
		bpf_probe_read_kernel(to, 16, ipv6);
	}
}

static __always_inline void describe(struct tr_event *event, struct sock *sk, struct tcp_sock *tp,
				     struct open *open, __u32 kind)
{
	struct sock_common *common = &sk->__sk_common;
	bool v4 = common->skc_family == AF_INET;
	struct cgroup *group = sk->sk_cgrp_data.cgroup;

	__builtin_memset(event, 0, sizeof(*event));
	event->start_ns = open->flags & TR_BEFORE ? 0 : open->start_ns;
	event->at_ns = bpf_ktime_get_ns();
	event->cgroup = group ? group->kn->id : 0;
	address(event->local, v4, common->skc_rcv_saddr, &common->skc_v6_rcv_saddr);
	address(event->remote, v4, common->skc_daddr, &common->skc_v6_daddr);
	/* Its other copy is gone when a socket closes. */
	event->local_port = __builtin_bswap16(((struct inet_sock *)tp)->inet_sport);
	event->remote_port = __builtin_bswap16(common->skc_dport);
	event->ifindex = open->ifindex;
	event->kind = kind;
	event->flags = open->flags & (TR_ACTIVE | TR_BEFORE);
}

static __always_inline void count(struct tr_event *event, struct sock *sk, struct tcp_sock *tp, struct open *open,
				  int state)
{
	/* Whether a socket that was open before has asked for its connection is not known, nor is it needed: both
	 * numbers are off by as much. */
	__u64 sent = payload_sent(tp, state, open->flags), received = payload_received(sk, tp);

	event->sent = sent > open->sent ? sent - open->sent : 0;
	event->received = received > open->received ? received - open->received : 0;
}

/* Who reads looks now and then by itself; to be woken for each connection would cost more than to read of it. */
static __always_inline __u64 wake(void)
{
	__u64 unread = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);

	return unread > bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 2 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void started(struct sock *sk, struct tcp_sock *tp, struct open *open)
{
	struct tr_event *event;

	open->flags |= OPEN_ESTABLISHED;
	open->ifindex = way_out(sk);
	if (!wanted(sk, open->ifindex))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&unsaid.lost, 1);
		return;
	}
	describe(event, sk, tp, open, TR_STARTED);
	bpf_ringbuf_submit(event, wake());
}

static __always_inline void ended(struct sock *sk, struct tcp_sock *tp, struct open *open, int state)
{
	struct tr_event *event;

	if (!(open->flags & OPEN_ESTABLISHED) || (open->flags & OPEN_TOLD))
		return;
	if (!wanted(sk, open->ifindex)) {
		if (open->ifindex == LOOPBACK)
			__sync_fetch_and_add(&unsaid.local, 1);
		return;
	}
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&unsaid.lost, 1);
		return;
	}
	describe(event, sk, tp, open, TR_ENDED);
	count(event, sk, tp, open, state);
	bpf_ringbuf_submit(event, wake());
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int now)
{
	struct tcp_sock *tp;
	struct open *open;

	if (!ours(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	if (now == TCP_CLOSE) {
		open = bpf_sk_storage_get(&connections, sk, 0, 0);
		if (open) {
			ended(sk, tp, open, before);
			bpf_sk_storage_delete(&connections, sk);
		}
		return 0;
	}
	if (now != TCP_SYN_SENT && now != TCP_SYN_RECV && now != TCP_ESTABLISHED)
		return 0;
	open = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!open) {
		__sync_fetch_and_add(&unsaid.lost, 1);
		return 0;
	}
	if (!open->start_ns) {
		open->start_ns = bpf_ktime_get_ns();
		if (now == TCP_SYN_SENT)
			open->flags |= TR_ACTIVE;
	}
	if (now == TCP_ESTABLISHED && !(open->flags & OPEN_ESTABLISHED))
		started(sk, tp, open);
	return 0;
}

/* Connections that are open already: what they have carried so far is none of the capture's. */
SEC("iter/tcp")
int at_begin(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;
	struct sock *sk;
	struct open *open;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	if (!ours(sk) || common->skc_state == TCP_LISTEN || common->skc_state == TCP_SYN_SENT ||
	    common->skc_state == TCP_CLOSE)
		return 0;
	open = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!open) {
		__sync_fetch_and_add(&unsaid.lost, 1);
		return 0;
	}
	if (open->start_ns)
		return 0;
	open->start_ns = bpf_ktime_get_ns();
	open->flags = TR_BEFORE | OPEN_ESTABLISHED;
	open->ifindex = way_out(sk);
	open->sent = payload_sent(tp, common->skc_state, open->flags);
	open->received = payload_received(sk, tp);
	return 0;
}

/* Connections that are still open; they are not told of again. */
SEC("iter/tcp")
int at_end(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tr_event event;
	struct tcp_sock *tp;
	struct sock *sk;
	struct open *open;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	if (!ours(sk))
		return 0;
	open = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!open || !(open->flags & OPEN_ESTABLISHED) || (open->flags & OPEN_TOLD))
		return 0;
	open->flags |= OPEN_TOLD;
	if (!wanted(sk, open->ifindex))
		return 0;
	describe(&event, sk, tp, open, TR_STILL_OPEN);
	count(&event, sk, tp, open, common->skc_state);
	bpf_seq_write(ctx->meta->seq, &event, sizeof(event));
	return 0;
}
