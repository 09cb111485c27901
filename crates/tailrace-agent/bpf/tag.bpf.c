// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Writes the priority of TCP packets that leave an interface into their DSCP, by the bytes of their flow that precede them.
 * A packet that the kernel will cut (GSO) has the priority of its first byte.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "shared.h"
#include "packet.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct tr_counts counts = {};

#include "known.h"
#include "tell.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct tr_flow_key);
	__type(value, struct tr_flow);
} flows SEC(".maps");

/* A flow that is not known yet, or a new one at the same addresses. */
static __always_inline struct tr_table *begin(struct __sk_buff *skb, struct tr_policy *policy,
					      struct segment *segment, struct tr_told *told)
{
	struct tr_flow begun = { .sent = segment->payload, .begun_ns = bpf_ktime_get_ns() };

	/* SYN takes a sequence number. */
	begun.next = segment->sequence + !!(segment->flags & TCP_SYN) + segment->payload;
	know(skb, policy, &segment->key, &begun, told);
	__sync_fetch_and_add(&counts.flows, 1);
	bpf_map_update_elem(&flows, &segment->key, &begun, BPF_ANY);
	return directive_of(policy, &begun);
}

/* The bytes of its flow that precede a segment; takes down how far the flow is with it. */
static __always_inline __u64 before(struct tr_flow *flow, struct segment *segment)
{
	__u32 first = segment->sequence, last = first + segment->payload;
	/* Negative where it was sent before: then the place of its first byte counts. */
	__s32 ahead = (__s32)(first - flow->next);
	__u64 sent;

	if (ahead < 0 && (__u64)-(__s64)ahead > flow->sent)
		return 0;
	sent = flow->sent + (__s64)ahead;
	if ((__s32)(last - flow->next) > 0) {
		flow->sent = sent + segment->payload;
		flow->next = last;
	}
	return sent;
}

/* Has a flow begin anew at the byte that its program had in mind when it said something of it. */
static __always_inline void anchor(struct tr_flow *flow, struct tr_told *told)
{
	flow->sent = 0;
	flow->next = told->first;
	flow->begun_ns = bpf_ktime_get_ns();
}

static __always_inline int priority_of(struct __sk_buff *skb, struct segment *segment)
{
	struct tr_policy *policy = current_policy();
	bool ack = is_pure_ack(segment);
	struct tr_table *table;
	struct tr_flow *flow;
	struct tr_told *told;
	__u64 sent = 0;
	int priority = 0;

	if (!policy)
		return -1;
	if (ack && policy->acks != TR_BY_FLOW)
		return policy->acks;
	flow = bpf_map_lookup_elem(&flows, &segment->key);
	if (ack && !flow)
		return policy->tables[0].acks;
	told = told_of(skb, policy);
	if (!flow || (segment->flags & TCP_SYN)) {
		table = begin(skb, policy, segment, told);
	} else {
		/* What was written before is none of what it spoke of. */
		if (told && told->count != flow->told && told->anchored) {
			if ((__s32)(segment->sequence - told->first) < 0)
				told = NULL;
			else if (!ack)
				anchor(flow, told);
		}
		if (is_stale(policy, flow, told))
			know(skb, policy, &segment->key, flow, told);
		table = directive_of(policy, flow);
		if (!ack)
			sent = before(flow, segment);
	}
	if (ack)
		return table->acks;
#pragma unroll
	for (int i = 0; i < TR_LIMITS; i++)
		priority += sent >= table->limits[i];
	return priority;
}

/* The first queue's code point is 7, the eighth's 0. */
static __always_inline __u8 traffic_class(int priority, __u8 was)
{
	return (__u8)((7 - (priority & 7)) << 2 | (was & 3));
}

static __always_inline bool tag_v4(struct __sk_buff *skb)
{
	struct segment segment = {};
	struct ipv4_header ip;
	__u16 old, new;
	__u32 sum;
	int priority;

	if (!read_v4(skb, &ip, &segment))
		return false;
	priority = priority_of(skb, &segment);
	if (priority < 0)
		return false;
	/* RFC 1624, eqn. 3. */
	old = ip.version_and_length << 8 | ip.tos;
	ip.tos = traffic_class(priority, ip.tos);
	new = ip.version_and_length << 8 | ip.tos;
	if (old == new)
		return true;
	sum = (__u16)~bpf_ntohs(ip.check);
	sum += (__u16)~old + new;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip.check = bpf_htons((__u16)~sum);
	/* From the version to the checksum. */
	return !bpf_skb_store_bytes(skb, LINK_HEADER, &ip, 12, 0);
}

static __always_inline bool tag_v6(struct __sk_buff *skb)
{
	struct segment segment = {};
	struct ipv6_header ip;
	__u8 was, class, bytes[2];
	int priority;

	if (!read_v6(skb, &ip, &segment))
		return false;
	priority = priority_of(skb, &segment);
	if (priority < 0)
		return false;
	was = (ip.version_and_class & 15) << 4 | ip.class_and_label >> 4;
	class = traffic_class(priority, was);
	if (class == was)
		return true;
	bytes[0] = (ip.version_and_class & 0xf0) | class >> 4;
	bytes[1] = (class & 15) << 4 | (ip.class_and_label & 15);
	return !bpf_skb_store_bytes(skb, LINK_HEADER, bytes, sizeof(bytes), 0);
}

SEC("tcx/egress")
int tag(struct __sk_buff *skb)
{
	bool tagged = false;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		tagged = tag_v4(skb);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		tagged = tag_v6(skb);
	__sync_fetch_and_add(tagged ? &counts.tagged : &counts.untouched, 1);
	return TCX_NEXT;
}
