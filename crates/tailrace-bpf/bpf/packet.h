/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* What a frame says of itself, if it has a TCP segment in one piece. */
#ifndef TAILRACE_PACKET_H
#define TAILRACE_PACKET_H

#include <bpf/bpf_endian.h>

/* Frames are Ethernet's. */
#define LINK_HEADER 14
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_HOPOPTS 0
#define IPPROTO_TCP 6
#define IPPROTO_ROUTING 43
#define IPPROTO_DSTOPTS 60
#define MAX_EXTENSIONS 4

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

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
	__u32 acknowledged;
	__u32 payload;
	__u32 offset; /* of the TCP header, */
	__u32 length; /* and how long it is */
	__be16 words[4]; /* of it, from its length on */
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
	segment->acknowledged = bpf_ntohl(tcp.acknowledged);
	segment->offset = offset;
	segment->length = length;
	__builtin_memcpy(segment->words, &tcp.length, sizeof(segment->words));
	return true;
}

/* An IPv4 packet with a TCP segment in one piece. */
static __always_inline bool read_v4(struct __sk_buff *skb, struct ipv4_header *ip, struct segment *segment)
{
	__u32 length, total;

	if (!load(skb, LINK_HEADER, ip, sizeof(*ip)))
		return false;
	length = (ip->version_and_length & 15) * 4;
	/* Of a packet in pieces only the first has a TCP header; the kernel's TCP sends none. */
	if (ip->version_and_length >> 4 != 4 || length < sizeof(*ip) || ip->protocol != IPPROTO_TCP ||
	    (ip->fragment & bpf_htons(0x3fff)))
		return false;
	/* A packet that is too long for the field, to be cut later, says 0. */
	total = bpf_ntohs(ip->total);
	if (!total)
		total = skb->len - LINK_HEADER;
	if (total > skb->len - LINK_HEADER || total < length)
		return false;
	segment->key.source[10] = segment->key.source[11] = 0xff;
	segment->key.destination[10] = segment->key.destination[11] = 0xff;
	__builtin_memcpy(segment->key.source + 12, &ip->source, 4);
	__builtin_memcpy(segment->key.destination + 12, &ip->destination, 4);
	return read_segment(skb, LINK_HEADER + length, LINK_HEADER + total, segment);
}

/* An IPv6 packet with a TCP segment in one piece, behind few extensions. */
static __always_inline bool read_v6(struct __sk_buff *skb, struct ipv6_header *ip, struct segment *segment)
{
	__u32 offset = LINK_HEADER + sizeof(*ip), end;

	if (!load(skb, LINK_HEADER, ip, sizeof(*ip)) || ip->version_and_class >> 4 != 6)
		return false;
	end = ip->payload ? offset + bpf_ntohs(ip->payload) : skb->len;
	if (end > skb->len)
		return false;
	for (int i = 0; i < MAX_EXTENSIONS && ip->next != IPPROTO_TCP; i++) {
		__u8 extension[2];

		if (ip->next != IPPROTO_HOPOPTS && ip->next != IPPROTO_ROUTING && ip->next != IPPROTO_DSTOPTS)
			return false;
		if (!load(skb, offset, extension, sizeof(extension)))
			return false;
		ip->next = extension[0];
		offset += (extension[1] + 1) * 8;
	}
	if (ip->next != IPPROTO_TCP || offset > end)
		return false;
	__builtin_memcpy(segment->key.source, ip->source, 16);
	__builtin_memcpy(segment->key.destination, ip->destination, 16);
	return read_segment(skb, offset, end, segment);
}

/* What packets say when they are no flow's data. */
static __always_inline bool is_pure_ack(const struct segment *segment)
{
	return !segment->payload && !(segment->flags & (TCP_SYN | TCP_FIN | TCP_RST));
}

#endif
