// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Writes the priority of TCP packets that leave an interface into their DSCP, by the bytes of their flow that precede them.
 * A packet that the kernel will cut (GSO) has the priority of its first byte.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "shared.h"
#include "packet.h"
#include "flow_table.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct tr_counts counts = {};

#include "known.h"
#include "tell.h"

/* What is known of flows, where there are rules. Of one that was forgotten it is found anew. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct tr_flow_key);
	__type(value, struct tr_known);
} known_flows SEC(".maps");

/* A place for a flow that has none, or for a new one at the same addresses, which begins with this segment. */
static __always_inline struct tr_place *begin(struct tr_bucket *bucket, struct tr_place *place,
					      const struct segment *segment, __u32 first)
{
	if (!place && bucket)
		place = take_place(bucket, &segment->key, ticks(), segment->payload);
	if (!place)
		return NULL;
	__sync_fetch_and_add(&counts.flows, 1);
	place->state = segment->payload ? TR_GOES_ON : TR_IS_ASKED;
	place->flow.sent = 0;
	place->flow.next = first;
	return place;
}

/* The bytes of its flow that precede what begins at `first`; takes down how far the flow is with it. */
static __always_inline __u64 before(struct tr_flow *flow, __u32 first, __u32 payload)
{
	__u32 last = first + payload;
	/* Negative where it was sent before: then the place of its first byte counts. */
	__s32 ahead = (__s32)(first - flow->next);
	__u64 sent;

	if (ahead < 0 && (__u64)-(__s64)ahead > flow->sent)
		return 0;
	sent = flow->sent + (__s64)ahead;
	if ((__s32)(last - flow->next) > 0) {
		flow->sent = sent + payload;
		flow->next = last;
	}
	return sent;
}

/* What is remembered to be known of a flow; of one that begins it is nothing. */
static __always_inline struct tr_known *remembered(struct tr_policy *policy, const struct tr_flow_key *key, bool begins)
{
	struct tr_known *known = begins ? NULL : bpf_map_lookup_elem(&known_flows, key), begun = {};

	if (known)
		return known;
	begun.begun_ns = bpf_ktime_get_ns();
	begun.generation = policy->generation - 1;
	bpf_map_update_elem(&known_flows, key, &begun, BPF_ANY);
	return bpf_map_lookup_elem(&known_flows, key);
}

/* The directive of a flow by what rules and its program say of it now. */
static __always_inline struct tr_table *directive(struct __sk_buff *skb, struct tr_policy *policy,
						  const struct segment *segment, struct tr_flow *flow, bool begins)
{
	struct tr_known *known = policy->rules ? remembered(policy, &segment->key, begins) : NULL;
	struct tr_told *told;

	/* Where there is no rule nothing is known of any flow. */
	if (!known)
		return &policy->tables[0];
	told = told_of(skb, policy);
	if (told && told->count != known->told && told->anchored) {
		if ((__s32)(segment->sequence - told->first) < 0) {
			/* What was written before is none of what it spoke of. */
			told = NULL;
		} else if (!is_pure_ack(segment)) {
			/* The flow begins anew at the byte that its program had in mind. */
			flow->sent = 0;
			flow->next = told->first;
			known->begun_ns = bpf_ktime_get_ns();
		}
	}
	if (is_stale(policy, known, told))
		know(skb, policy, &segment->key, known, told);
	return directive_of(policy, known);
}

static __always_inline int priority_of(struct __sk_buff *skb, struct segment *segment)
{
	struct tr_policy *policy = current_policy();
	bool ack = is_pure_ack(segment), begins;
	struct tr_bucket *bucket;
	struct tr_place *place;
	struct tr_table *table;
	int priority = 0;
	__u32 first;
	__u64 sent;

	if (!policy)
		return -1;
	if (ack && policy->acks != TR_BY_FLOW)
		return policy->acks;
	bucket = bucket_of(&segment->key);
	place = bucket ? find(bucket, &segment->key) : NULL;
	/* It was answered, or sends. */
	if (place && place->state == TR_IS_ASKED && (ack || segment->payload))
		__sync_val_compare_and_swap(&place->state, TR_IS_ASKED, TR_GOES_ON);
	if (ack)
		return place ? directive(skb, policy, segment, &place->flow, false)->acks : policy->tables[0].acks;
	/* SYN takes a sequence number. */
	first = segment->sequence + !!(segment->flags & TCP_SYN);
	begins = !place || (segment->flags & TCP_SYN);
	if (begins)
		place = begin(bucket, place, segment, first);
	if (!place && segment->payload) {
		/* The last priority, as that of packets that nobody tags. */
		__sync_fetch_and_add(&counts.crowded, 1);
		return TR_LIMITS;
	}
	table = &policy->tables[0];
	sent = 0;
	if (place) {
		place->flow.seen = ticks();
		if (segment->flags & (TCP_FIN | TCP_RST))
			place->state = TR_HAS_ENDED;
		table = directive(skb, policy, segment, &place->flow, begins);
		sent = before(&place->flow, first, segment->payload);
	}
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
