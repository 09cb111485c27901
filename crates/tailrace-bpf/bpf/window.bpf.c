// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * Keeps a window for each TCP connection whose both ends have this program, beside the guest's own: data leaves ECN-capable,
 * marks come back past the guest, and acknowledgements show it no larger a receive window than this one (WVCC, Uranus 4.2).
 *
 * Between two keepers packets say more than the guests know: a reserved bit of TCP's header says that there is one, and the
 * urgent pointer, which means nothing without its flag, how much has come with marks, in units of 64 bytes.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "shared.h"
#include "packet.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct tr_kept counts = {};

#include "known.h"
#include "tell.h"
#include "law.h"

#define TCP_URG 0x20
#define TCP_ECE 0x40
#define TCP_CWR 0x80
#define KEEPER 0x02 /* in the byte with the header's length */
#define ECT0 2
#define CE 3
#define NO_SCALE 0xff
#define SHORTEST_RTO_NS 200000000ull /* of Linux */
#define USUAL_MSS 536 /* RFC 9293, 3.7.1 */
#define TIMESTAMPS (1u << 31)
#define TIMESTAMP_BYTES 12

/* Of tr_window.flags. */
#define HAS_PEER 1 /* the other end has a keeper, too */
#define IS_NEW 2 /* nothing was sent yet */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct tr_flow_key);
	__type(value, struct tr_window);
} windows SEC(".maps");

/* Weights that a controller has given flows, in parts of 1/65536: they go before those of their directives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct tr_flow_key);
	__type(value, __u32);
} weights SEC(".maps");

static __always_inline __u32 weight_of(struct tr_policy *policy, const struct tr_flow_key *key,
				       const struct tr_known *known)
{
	__u32 *given = policy->law.flags & TR_GIVEN ? bpf_map_lookup_elem(&weights, key) : NULL;

	return given ? *given : directive_of(policy, known)->weight;
}

/* Words of the TCP header, from its length on, become others: not its sum, which follows. */
static __always_inline void rewrite(struct __sk_buff *skb, struct segment *segment, const __be16 now[4])
{
	const __be16 *was = segment->words;
	__u32 change = 0;

	if (was[0] == now[0] && was[1] == now[1] && was[3] == now[3])
		return;
	for (int i = 0; i < 4; i++)
		if (i != 2)
			change += (__u16)~was[i] + now[i];
	bpf_l4_csum_replace(skb, segment->offset + 16, 0, change, 0);
	if (was[0] != now[0] || was[1] != now[1])
		bpf_skb_store_bytes(skb, segment->offset + 12, now, 4, 0);
	if (was[3] != now[3])
		bpf_skb_store_bytes(skb, segment->offset + 18, &now[3], 2, 0);
}

/* The ECN field of a packet becomes another. */
static __always_inline void set_ecn(struct __sk_buff *skb, __u8 ecn)
{
	__u8 bytes[2];
	__be16 was, now;

	if (bpf_skb_load_bytes(skb, LINK_HEADER, bytes, 2))
		return;
	__builtin_memcpy(&was, bytes, 2);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		bytes[1] = (bytes[1] & ~3) | ecn;
	else
		bytes[1] = (bytes[1] & ~0x30) | ecn << 4;
	__builtin_memcpy(&now, bytes, 2);
	if (was == now)
		return;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		bpf_l3_csum_replace(skb, LINK_HEADER + 10, was, now, 2);
	bpf_skb_store_bytes(skb, LINK_HEADER, bytes, 2, 0);
}

static __always_inline bool read(struct __sk_buff *skb, struct segment *segment, __u8 *ecn)
{
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct ipv4_header ip;

		if (!read_v4(skb, &ip, segment))
			return false;
		*ecn = ip.tos & 3;
		return true;
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6_header ip;

		if (!read_v6(skb, &ip, segment))
			return false;
		*ecn = ip.class_and_label >> 4 & 3;
		return true;
	}
	return false;
}

/* What the options of a SYN say: the window scale, the largest segment from the ninth bit on, and timestamps in the last one. */
static __noinline __u32 options_of(struct __sk_buff *skb, __u32 offset, __u32 length)
{
	__u32 at = 20, said = NO_SCALE;
	__u8 option[4];

	for (int i = 0; i < 40 && at < length; i++) {
		if (bpf_skb_load_bytes(skb, offset + at, option, 1) || option[0] == 0)
			break;
		if (option[0] == 1) {
			at++;
			continue;
		}
		if (bpf_skb_load_bytes(skb, offset + at, option, 2) || option[1] < 2)
			break;
		if (option[0] == 3 && option[1] == 3 && !bpf_skb_load_bytes(skb, offset + at, option, 3))
			said = (said & ~0xffu) | (option[2] < 14 ? option[2] : 14);
		if (option[0] == 2 && option[1] == 4 && !bpf_skb_load_bytes(skb, offset + at, option, 4))
			said |= (__u32)option[2] << 16 | (__u32)option[3] << 8;
		if (option[0] == 8)
			said |= TIMESTAMPS;
		at += option[1];
	}
	return said;
}

/* The connection's window; a SYN begins a new one. */
static __always_inline struct tr_window *window_of(struct tr_flow_key *key, struct segment *segment,
						   struct tr_policy *policy, bool leaves)
{
	struct tr_window *window = bpf_map_lookup_elem(&windows, key), begun = {};

	/* A SYN that answers one is of the same connection, and so is one that is sent again. */
	if (!(segment->flags & TCP_SYN) || (segment->flags & TCP_ACK) ||
	    (window && leaves && (window->flags & IS_NEW) && window->law.next == segment->sequence + 1))
		return window;
	begun.flags = IS_NEW;
	begun.scales = NO_SCALE << 8 | NO_SCALE;
	begun.law.mss = USUAL_MSS;
	begun.known.begun_ns = bpf_ktime_get_ns();
	/* Nothing is known of it yet. */
	begun.known.generation = policy->generation - 1;
	dctcp_begin(&begun.law, &policy->law);
	bpf_map_update_elem(&windows, key, &begun, BPF_ANY);
	return bpf_map_lookup_elem(&windows, key);
}

static __always_inline void sent(struct __sk_buff *skb, struct segment *segment, struct tr_window *window)
{
	__u32 last = segment->sequence + segment->payload;

	if (skb->gso_size)
		window->law.mss = skb->gso_size;
	if (segment->flags & TCP_SYN) {
		__u32 first = segment->sequence + 1;

		if (!(window->flags & IS_NEW))
			return;
		window->law.una = window->law.next = window->law.window_end = window->round_end = first;
		window->law.settle_from = window->law.settle_to = window->recover = window->first = first;
		window->scales = (window->scales & 0xff00) | (options_of(skb, segment->offset, segment->length) & 0xff);
		return;
	}
	if (!segment->payload)
		return;
	/* What waits for nothing is sent after a pause; what is sent again from its beginning after a long one, for its timer. */
	if (window->law.next == window->law.una) {
		window->progress_ns = bpf_ktime_get_ns();
	} else if (segment->sequence == window->law.una &&
		   bpf_ktime_get_ns() - window->progress_ns > SHORTEST_RTO_NS) {
		dctcp_collapse(&window->law);
		window->progress_ns = bpf_ktime_get_ns();
	}
	if (window->flags & IS_NEW)
		window->flags &= ~IS_NEW;
	if (ahead(last, window->law.next) > 0)
		window->law.next = last;
}

SEC("tcx/egress")
int leaves(struct __sk_buff *skb)
{
	struct tr_policy *policy = current_policy();
	struct segment segment = {};
	struct tr_window *window;
	struct tr_told *told;
	__be16 now[4];
	__u8 ecn;

	if (!policy || !read(skb, &segment, &ecn))
		return TCX_NEXT;
	window = window_of(&segment.key, &segment, policy, true);
	if (!window)
		return TCX_NEXT;
	told = told_of(skb, policy);
	if (is_stale(policy, &window->known, told))
		know(skb, policy, &segment.key, &window->known, told);
	sent(skb, &segment, window);
	__builtin_memcpy(now, segment.words, sizeof(now));
	if (segment.flags & TCP_SYN) {
		/* One that answers says so only if it was asked. */
		if (!(segment.flags & TCP_ACK) || (window->flags & HAS_PEER))
			now[0] |= bpf_htons(KEEPER << 8);
	} else if (window->flags & HAS_PEER) {
		if (segment.payload && ecn != ECT0)
			set_ecn(skb, ECT0);
		if (!(segment.flags & TCP_URG)) {
			now[0] |= bpf_htons(KEEPER << 8);
			now[3] = bpf_htons((__u16)(window->seen >> 6));
		}
	}
	rewrite(skb, &segment, now);
	return TCX_NEXT;
}

/* The window in whole segments, at least one: what is owed shifts it by a quarter. */
static __always_inline __u64 window_whole(const struct tr_window *window)
{
	__s64 shifted = (__s64)window->law.segments + (window->owed >> 2);

	return shifted < (__s64)(SEGMENT + SEGMENT / 2) ? 1 : ((__u64)shifted + SEGMENT / 2) >> 20;
}

/* The other end has acknowledged something, and said how much has come with marks. */
static __always_inline void acknowledged(struct tr_policy *policy, const struct tr_flow_key *key,
					 struct segment *segment, struct tr_window *window)
{
	__s16 more = (__s16)(bpf_ntohs(segment->words[3]) - window->told);
	__u64 marked = more > 0 ? (__u64)more << 6 : 0;
	__s32 acked = ahead(segment->acknowledged, window->law.una);

	if (acked < 0 || ahead(segment->acknowledged, window->law.next) > 0)
		return;
	if (acked == 0) {
		/* What says a new window says nothing of losses (RFC 5681, 2). */
		if (!segment->payload && segment->words[1] == (__be16)window->advertised &&
		    window->law.next != window->law.una && ++window->duplicates == 3 &&
		    ahead(window->law.una, window->recover) >= 0) {
			dctcp_loss(&window->law, &policy->law);
			window->recover = window->law.next;
		}
		window->advertised = segment->words[1];
		return;
	}
	window->advertised = segment->words[1];
	window->told = bpf_ntohs(segment->words[3]);
	window->duplicates = 0;
	window->law.una = segment->acknowledged;
	window->progress_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&counts.marks, marked);
	dctcp_answer(&window->law, &policy->law, weight_of(policy, key, &window->known), ITSELF, acked, marked);
	if (ahead(window->law.una, window->round_end) >= 0) {
		window->owed += (__s64)window->law.segments - (__s64)(window_whole(window) << 20);
		window->round_end = window->law.next;
	}
}

/* The receive window that the guest is shown: in its units, rounded up. */
static __always_inline __be16 shown(struct tr_window *window, __be16 was)
{
	__u32 own = window->scales & 0xff, other = window->scales >> 8 & 0xff;
	__u32 scale = own == NO_SCALE || other == NO_SCALE ? 0 : other & 15;
	__u64 bytes = window_whole(window) * window->law.mss, units = (bytes + (1ull << scale) - 1) >> scale;

	return units < bpf_ntohs(was) ? bpf_htons((__u16)units) : was;
}

SEC("tcx/ingress")
int comes(struct __sk_buff *skb)
{
	struct tr_policy *policy = current_policy();
	struct segment segment = {};
	struct tr_window *window;
	struct tr_flow_key key;
	__be16 now[4];
	__u8 ecn;

	if (!policy || !read(skb, &segment, &ecn))
		return TCX_NEXT;
	__builtin_memcpy(key.source, segment.key.destination, 16);
	__builtin_memcpy(key.destination, segment.key.source, 16);
	key.source_port = segment.key.destination_port;
	key.destination_port = segment.key.source_port;
	window = window_of(&key, &segment, policy, false);
	if (!window)
		return TCX_NEXT;
	__builtin_memcpy(now, segment.words, sizeof(now));
	now[0] &= ~bpf_htons(KEEPER << 8);
	if (segment.flags & TCP_SYN) {
		__u32 said = options_of(skb, segment.offset, segment.length), mss = said << 1 >> 9;

		window->scales = (window->scales & 0xff) | (said & 0xff) << 8;
		if (mss > 2 * TIMESTAMP_BYTES)
			window->law.mss = mss - (said & TIMESTAMPS ? TIMESTAMP_BYTES : 0);
		if (segment.words[0] & bpf_htons(KEEPER << 8)) {
			if (!(window->flags & HAS_PEER))
				__sync_fetch_and_add(&counts.flows, 1);
			window->flags |= HAS_PEER;
			/* Guests do not agree on ECN: it is the keepers'. */
			now[0] &= ~bpf_htons(TCP_ECE | TCP_CWR);
		}
	} else if (window->flags & HAS_PEER) {
		/* The guest sees none of it. */
		if (ecn == CE)
			window->seen += segment.payload;
		if (ecn)
			set_ecn(skb, 0);
		if (!(segment.words[0] & bpf_htons(KEEPER << 8))) {
			/* The other end's has gone: nobody tells of marks any more. */
			if (!(segment.flags & (TCP_URG | TCP_RST)))
				window->flags &= ~HAS_PEER;
		} else if (segment.flags & TCP_ACK) {
			acknowledged(policy, &key, &segment, window);
			now[3] = 0;
			now[1] = shown(window, segment.words[1]);
			if (now[1] != segment.words[1])
				__sync_fetch_and_add(&counts.shown, 1);
		}
	}
	rewrite(skb, &segment, now);
	return TCX_NEXT;
}
