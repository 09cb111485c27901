/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The flows that a program remembers: buckets of a few places, in memory that does not grow. A flow that ends, or is silent
 * for long while its bucket is full, gives its place to another. A hash map of the kernel's takes more than twice the memory,
 * and forgets flows that go on.
 */
#ifndef TAILRACE_FLOW_TABLE_H
#define TAILRACE_FLOW_TABLE_H

#include "constants.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tr_bucket);
} flows SEC(".maps");

/* Some 1.05 ms; begins again after 52 days. */
static __always_inline __u32 ticks(void)
{
	return (__u32)(bpf_ktime_get_coarse_ns() >> 20);
}

/* Keys are at addresses that 8 divides. */
static __always_inline struct tr_bucket *bucket_of(const struct tr_flow_key *key)
{
	const __u64 *words = (const void *)key;
	__u64 hash = constants.seed;
	__u32 number;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	hash = (hash ^ *(const __u32 *)&words[4]) * 0x9e3779b97f4a7c15ULL;
	number = (hash >> 32) * constants.buckets >> 32;
	return bpf_map_lookup_elem(&flows, &number);
}

static __always_inline bool is_of(const struct tr_place *place, const struct tr_flow_key *key)
{
	const __u64 *a = (const void *)&place->key, *b = (const void *)key;

	return place->state != TR_IS_EMPTY && place->state != TR_IS_WRITTEN && a[0] == b[0] && a[1] == b[1] &&
	       a[2] == b[2] && a[3] == b[3] && *(const __u32 *)&a[4] == *(const __u32 *)&b[4];
}

static __always_inline struct tr_place *find(struct tr_bucket *bucket, const struct tr_flow_key *key)
{
#pragma unroll
	for (int i = 0; i < TR_PLACES; i++)
		if (is_of(&bucket->places[i], key))
			return &bucket->places[i];
	return NULL;
}

static __always_inline bool is_free(const struct tr_place *place, __u32 state, __u32 now, bool sends)
{
	if (state == TR_HAS_ENDED || (state == TR_IS_ASKED && sends))
		return true;
	return state != TR_IS_WRITTEN && now - place->flow.seen > TR_SILENT;
}

/*
 * A place for a flow that has none; none where all are taken. Of two processors one gets it. Connections that are asked for, from
 * outside too, keep none from those that send.
 */
static __always_inline struct tr_place *take_place(struct tr_bucket *bucket, const struct tr_flow_key *key, __u32 now, bool sends)
{
#pragma unroll
	for (int i = 0; i < 2 * TR_PLACES; i++) {
		struct tr_place *place = &bucket->places[i % TR_PLACES];
		__u32 state = place->state;

		if (i < TR_PLACES ? state != TR_IS_EMPTY : !is_free(place, state, now, sends))
			continue;
		if (__sync_val_compare_and_swap(&place->state, state, TR_IS_WRITTEN) != state)
			continue;
		__builtin_memcpy(&place->key, key, sizeof(*key));
		place->state = TR_GOES_ON;
		return place;
	}
	return NULL;
}

#endif
