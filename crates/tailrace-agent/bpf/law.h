/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * DCTCP's window with a weight (WVCC), in whole numbers: crates/tailrace-schemes has it in real ones, in dctcp/law.rs,
 * wvcc/shim.rs, settling.rs and rounding.rs, and tests/window.rs compares the two.
 */
#ifndef TAILRACE_LAW_H
#define TAILRACE_LAW_H

#define SEGMENT (1ull << 20)
#define NO_THRESHOLD (~0ull)

/* Of tr_window.flags. */
#define HAS_PEER 1 /* the other end has a keeper, too */
#define HAS_CUT 2
#define IS_NEW 4 /* nothing was sent yet */

/* More is not acknowledged at once, as far as the window is concerned: products have 64 bits. */
#define MOST_ACKED (1u << 20)

static __always_inline __s32 ahead(__u32 a, __u32 b)
{
	return (__s32)(a - b);
}

static __always_inline void window_begin(struct tr_window *window, const struct tr_law *law)
{
	window->segments = law->initial_window * SEGMENT;
	window->threshold = NO_THRESHOLD;
	window->alpha = law->initial_alpha;
}

/* To a share of itself, in parts of 2^-20, or the smallest window; leaves slow start. */
static __always_inline void window_cut(struct tr_window *window, const struct tr_law *law, __u64 share)
{
	__u64 least = law->min_window ? law->min_window * SEGMENT : SEGMENT / 512;

	window->segments = (window->segments * share + SEGMENT / 2) >> 20;
	if (window->segments < least)
		window->segments = least;
	window->threshold = window->segments > SEGMENT ? window->segments : SEGMENT;
}

/* A segment a segment in slow start, then so many parts of 1/65536 of a segment a window. */
static __always_inline void window_grow(struct tr_window *window, const struct tr_law *law, __u64 acked, __u32 weight)
{
	__u64 most = law->max_window * SEGMENT, divisor;

	if (acked > MOST_ACKED)
		acked = MOST_ACKED;
	if (window->segments < window->threshold) {
		divisor = window->mss;
		acked <<= 20;
	} else {
		divisor = window->mss * window->segments;
		acked = acked * weight << 24;
	}
	if (!divisor)
		return;
	window->segments += (acked + divisor / 2) / divisor;
	if (window->segments > most)
		window->segments = most;
}

/* Whether what is acknowledged is of the window after a cut. */
static __always_inline bool window_settles(struct tr_window *window, const struct tr_law *law)
{
	if (!law->settle || !(window->flags & HAS_CUT))
		return false;
	if (window->cut_end != window->settle_from && ahead(window->una, window->cut_end) > 0) {
		window->settle_from = window->cut_end;
		window->settle_to = window->next;
	}
	return ahead(window->una, window->settle_from) > 0 && ahead(window->una, window->settle_to) <= 0;
}

/* The window in whole segments, at least one: what is owed shifts it by a quarter. */
static __always_inline __u64 window_whole(const struct tr_window *window)
{
	__s64 shifted = (__s64)window->segments + (window->owed >> 2);

	return shifted < (__s64)(SEGMENT + SEGMENT / 2) ? 1 : ((__u64)shifted + SEGMENT / 2) >> 20;
}

/* So many bytes are acknowledged for the first time, of which so many had marks; `una` and `next` are those after it. */
static __always_inline void window_answer(struct tr_window *window, const struct tr_law *law, __u32 weight, __u64 acked,
					  __u64 marked)
{
	if (window_settles(window, law))
		marked = 0;
	window->acked += acked;
	window->marked += marked;
	if (ahead(window->una, window->window_end) >= 0 && window->acked) {
		__u64 most = window->marked < window->acked ? window->marked : window->acked;
		__u64 share = (most << 32) / window->acked;

		window->alpha -= (window->alpha * law->gain + (1 << 15)) >> 16;
		window->alpha += (share * law->gain + (1 << 15)) >> 16;
		window->acked = window->marked = 0;
		window->window_end = window->next;
	}
	if (!(window->flags & HAS_CUT) || ahead(window->una, window->cut_end) > 0) {
		if (marked) {
			window->flags |= HAS_CUT;
			window->cut_end = window->next;
			window_cut(window, law, SEGMENT - (window->alpha >> 13));
		} else {
			window_grow(window, law, acked, weight);
		}
	}
	if (ahead(window->una, window->round_end) >= 0) {
		window->owed += (__s64)window->segments - (__s64)(window_whole(window) << 20);
		window->round_end = window->next;
	}
}

/* Three acknowledgements for nothing new. */
static __always_inline void window_loss(struct tr_window *window, const struct tr_law *law)
{
	window_cut(window, law, SEGMENT / 2);
	window->flags |= HAS_CUT;
	window->cut_end = window->recover = window->next;
}

/* The guest's timer has run out. */
static __always_inline void window_collapse(struct tr_window *window)
{
	__u64 half = window->segments / 2;

	window->threshold = half > 2 * SEGMENT ? half : 2 * SEGMENT;
	window->segments = SEGMENT;
	window->flags &= ~HAS_CUT;
}

#endif
