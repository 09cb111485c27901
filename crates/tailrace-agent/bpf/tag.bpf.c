// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Writes the priority of TCP packets that leave an interface into their DSCP, by the bytes of their flow that precede them.
 * A packet that the kernel will cut (GSO) has the priority of its first byte.
 */
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "shared.h"
#include "flow_table.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Frames are Ethernet's. */
#define LINK_HEADER 14
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_HOPOPTS 0
#define IPPROTO_TCP 6
#define IPPROTO_ROUTING 43
#define IPPROTO_DSTOPTS 60
#define MOST_EXTENSIONS 4

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

struct tr_counts counts = {};

/* One table in a map, which is replaced whole: a packet finds the old one or the new one. */
struct table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tr_table);
};

struct table_map first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct table_map);
} tables SEC(".maps") = { .values = { [0] = (void *)&first } };

struct ipv4_header {
	__u8 version_and_length;
	__u8 tos;
	__be16 total;
	__be16 id;
	__be16 fragment;
	__u8 ttl;
	__u8 protocol;
	__sum16 check;
	__be32 source;
	__be32 destination;
};

struct ipv6_header {
	__u8 version_and_class; /* and the upper half of the traffic class */
	__u8 class_and_label;
	__be16 label;
	__be16 payload;
	__u8 next;
	__u8 hop_limit;
	__u8 source[16];
	__u8 destination[16];
};

struct tcp_header {
	__be16 source;
	__be16 destination;
	__be32 sequence;
	__be32 acknowledged;
	__u8 length;
	__u8 flags;
	__be16 window;
	__sum16 check;
	__be16 urgent;
};

/* What a packet says of itself. */
struct segment {
	struct tr_flow_key key __attribute__((aligned(8)));
	__u32 sequence;
	__u32 payload;
	__u8 flags;
};

/* Copies bytes of a packet: from where they lie, or, if they are not in its first piece, by the kernel. */
static __always_inline bool load(struct __sk_buff *skb, __u32 offset, void *to, const __u32 length)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	if (data + offset + length <= end) {
		__builtin_memcpy(to, data + offset, length);
		return true;
	}
	return !bpf_skb_load_bytes(skb, offset, to, length);
}

/* The TCP header at `offset` of a packet that ends at `end`. */
static __always_inline bool read_segment(struct __sk_buff *skb, __u32 offset, __u32 end, struct segment *segment)
{
	struct tcp_header tcp;
	__u32 length;

	if (!load(skb, offset, &tcp, sizeof(tcp)))
		return false;
	length = (tcp.length >> 4) * 4;
	if (length < sizeof(tcp) || offset + length > end)
		return false;
	segment->key.source_port = tcp.source;
	segment->key.destination_port = tcp.destination;
	segment->sequence = bpf_ntohl(tcp.sequence);
	segment->payload = end - offset - length;
	segment->flags = tcp.flags;
	return true;
}

/* More than any flow sends: its packets have the last priority, as those that nobody tags. */
#define NO_PLACE (~0ULL)

/* The bytes of its flow that precede a segment; takes down how far the flow is with it. */
static __always_inline __u64 before(struct segment *segment)
{
	struct tr_bucket *bucket = bucket_of(&segment->key);
	struct tr_place *place = bucket ? find(bucket, &segment->key) : NULL;
	struct tr_flow *flow;
	/* SYN takes a sequence number. */
	__u32 first = segment->sequence + !!(segment->flags & TCP_SYN), last = first + segment->payload;
	__u32 now = ticks();
	bool begins = !place || (segment->flags & TCP_SYN);
	__s32 ahead;
	__u64 sent;

	if (!place && bucket)
		place = take_place(bucket, &segment->key, now);
	if (!place) {
		__sync_fetch_and_add(&counts.crowded, 1);
		return NO_PLACE;
	}
	flow = &place->flow;
	flow->seen = now;
	if (segment->flags & (TCP_FIN | TCP_RST))
		place->state = TR_HAS_ENDED;
	else if (begins)
		place->state = TR_GOES_ON;
	if (begins) {
		__sync_fetch_and_add(&counts.flows, 1);
		flow->sent = segment->payload;
		flow->next = last;
		return 0;
	}
	/* Negative where it was sent before: then the place of its first byte counts. */
	ahead = (__s32)(first - flow->next);
	if (ahead < 0 && (__u64)-(__s64)ahead > flow->sent)
		return 0;
	sent = flow->sent + (__s64)ahead;
	if ((__s32)(last - flow->next) > 0) {
		flow->sent = sent + segment->payload;
		flow->next = last;
	}
	return sent;
}

static __always_inline int priority_of(struct segment *segment)
{
	__u32 zero = 0;
	void *current = bpf_map_lookup_elem(&tables, &zero);
	struct tr_table *table = current ? bpf_map_lookup_elem(current, &zero) : NULL;
	__u64 sent;
	int priority = 0;

	if (!table)
		return -1;
	if (!segment->payload && !(segment->flags & (TCP_SYN | TCP_FIN | TCP_RST)))
		return table->acks;
	sent = before(segment);
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
	__u32 length, total, sum;
	__u16 old, new;
	int priority;

	if (!load(skb, LINK_HEADER, &ip, sizeof(ip)))
		return false;
	length = (ip.version_and_length & 15) * 4;
	/* Of a packet in pieces only the first has a TCP header; the kernel's TCP sends none. */
	if (ip.version_and_length >> 4 != 4 || length < sizeof(ip) || ip.protocol != IPPROTO_TCP ||
	    (ip.fragment & bpf_htons(0x3fff)))
		return false;
	/* A packet that is too long for the field, to be cut later, says 0. */
	total = bpf_ntohs(ip.total);
	if (!total)
		total = skb->len - LINK_HEADER;
	if (total > skb->len - LINK_HEADER || total < length)
		return false;
	segment.key.source[10] = segment.key.source[11] = 0xff;
	segment.key.destination[10] = segment.key.destination[11] = 0xff;
	__builtin_memcpy(segment.key.source + 12, &ip.source, 4);
	__builtin_memcpy(segment.key.destination + 12, &ip.destination, 4);
	if (!read_segment(skb, LINK_HEADER + length, LINK_HEADER + total, &segment))
		return false;
	priority = priority_of(&segment);
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
	__u32 offset = LINK_HEADER + sizeof(ip), end;
	__u8 was, class, bytes[2];
	int priority;

	if (!load(skb, LINK_HEADER, &ip, sizeof(ip)) || ip.version_and_class >> 4 != 6)
		return false;
	end = ip.payload ? offset + bpf_ntohs(ip.payload) : skb->len;
	if (end > skb->len)
		return false;
	for (int i = 0; i < MOST_EXTENSIONS && ip.next != IPPROTO_TCP; i++) {
		__u8 extension[2];

		if (ip.next != IPPROTO_HOPOPTS && ip.next != IPPROTO_ROUTING && ip.next != IPPROTO_DSTOPTS)
			return false;
		if (!load(skb, offset, extension, sizeof(extension)))
			return false;
		ip.next = extension[0];
		offset += (extension[1] + 1) * 8;
	}
	if (ip.next != IPPROTO_TCP || offset > end)
		return false;
	__builtin_memcpy(segment.key.source, ip.source, 16);
	__builtin_memcpy(segment.key.destination, ip.destination, 16);
	if (!read_segment(skb, offset, end, &segment))
		return false;
	priority = priority_of(&segment);
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
