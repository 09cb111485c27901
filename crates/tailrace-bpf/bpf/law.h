/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * DCTCP's window with a weight (WVCC), and D2TCP's cuts and L2DCT's weights, in whole numbers: crates/tailrace-schemes has
 * them in real ones, in dctcp/law.rs, wvcc/shim.rs, settling.rs, rounding.rs, d2tcp and l2dct; tests/window.rs and
 * tests/congestion.rs compare.
 */
#ifndef TAILRACE_LAW_H
#define TAILRACE_LAW_H

#define SEGMENT (1ull << 20)
#define NO_THRESHOLD (~0ull)

/* More is not acknowledged at once, as far as the window is concerned: products have 64 bits. */
#define MAX_ACKED (1u << 20)

static __always_inline __s32 ahead(__u32 a, __u32 b)
{
	return (__s32)(a - b);
}

static __always_inline void dctcp_begin(struct tr_dctcp *window, const struct tr_law *law)
{
	window->segments = law->initial_window * SEGMENT;
	window->threshold = NO_THRESHOLD;
	window->alpha = law->initial_alpha;
}

#define ITSELF 65536 /* an exponent of one */

/* 2 to the power of 1/2, 1/4, ..., in parts of 2^-31. */
static const __u32 ROOTS[20] SEC(".rodata.roots") = {
	3037000500u, 2553802834u, 2341847524u, 2242560872u, 2194507417u,
	2170868212u, 2159144272u, 2153306067u, 2150392887u, 2148937775u,
	2148210589u, 2147847087u, 2147665360u, 2147574502u, 2147529075u,
	2147506361u, 2147495005u, 2147489326u, 2147486487u, 2147485068u,
};

/*
 * A share in parts of 2^-32 to the power of an exponent in parts of 1/65536, by its logarithm bit by bit. A global function
 * without branches in its loops: the kernel checks it once, and one way through it.
 */
__noinline __u64 power(__u64 share, __u32 exponent)
{
	__u64 mantissa = share, logarithm = 0, result = 1ull << 31, over;
	__u32 whole = 0;

	if (exponent == ITSELF || share == 0 || share >= 1ull << 32)
		return share;
	/* share = mantissa / 2^31 / 2^(whole + 1), with a mantissa from 1 to 2. */
	for (int shift = 16; shift; shift >>= 1) {
		over = ((mantissa - (1ull << (32 - shift))) >> 63) * shift;
		mantissa <<= over;
		whole += over;
	}
	for (int i = 0; i < 20; i++) {
		mantissa = mantissa * mantissa >> 31;
		over = mantissa >> 32 & 1;
		mantissa >>= over;
		logarithm = logarithm << 1 | over;
	}
	/* How far below 1, in halvings: in parts of 2^-20, times the exponent. */
	logarithm = (((__u64)(whole + 1) << 20) - logarithm) * exponent >> 16;
	whole = (logarithm + (1 << 20) - 1) >> 20;
	logarithm = ((__u64)whole << 20) - logarithm;
	for (int i = 0; i < 20; i++) {
		over = -(logarithm >> (19 - i) & 1);
		result = result * ((ROOTS[i] & over) | (~over & 1ull << 31)) >> 31;
	}
	return whole > 32 ? 0 : result << 1 >> whole;
}

/* To a share of itself, in parts of 2^-20, or the smallest window; leaves slow start. */
static __always_inline void dctcp_cut(struct tr_dctcp *window, const struct tr_law *law, __u64 share)
{
	__u64 least = law->min_window ? law->min_window * SEGMENT : SEGMENT / 512;

	window->segments = (window->segments * share + SEGMENT / 2) >> 20;
	if (window->segments < least)
		window->segments = least;
	window->threshold = law->least_threshold * SEGMENT;
	if (window->threshold < window->segments)
		window->threshold = window->segments;
}

/* A segment a segment in slow start, then so many parts of 1/65536 of a segment a window. */
static __always_inline void dctcp_grow(struct tr_dctcp *window, const struct tr_law *law, __u64 acked, __u32 weight)
{
	__u64 most = law->max_window * SEGMENT, divisor;

	if (acked > MAX_ACKED)
		acked = MAX_ACKED;
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
static __always_inline bool dctcp_settles(struct tr_dctcp *window, const struct tr_law *law)
{
	if (!(law->flags & TR_SETTLES) || !window->has_cut)
		return false;
	if (window->cut_end != window->settle_from && ahead(window->una, window->cut_end) > 0) {
		window->settle_from = window->cut_end;
		window->settle_to = window->next;
	}
	return ahead(window->una, window->settle_from) > 0 && ahead(window->una, window->settle_to) <= 0;
}

/*
 * So many bytes are acknowledged for the first time, of which so many had marks; `una` and `next` are those after it. A cut is by
 * half of alpha to the power of `exponent`, in parts of 1/65536.
 */
static __always_inline void dctcp_answer(struct tr_dctcp *window, const struct tr_law *law, __u32 weight, __u32 exponent,
					 __u64 acked, __u64 marked)
{
	if (dctcp_settles(window, law))
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
	if (!window->has_cut || ahead(window->una, window->cut_end) > 0) {
		if (marked) {
			window->has_cut = 1;
			window->cut_end = window->next;
			dctcp_cut(window, law, SEGMENT - (power(window->alpha, exponent) >> 13));
		} else {
			dctcp_grow(window, law, acked, weight);
		}
	}
}

/* Three acknowledgements for nothing new. */
static __always_inline void dctcp_loss(struct tr_dctcp *window, const struct tr_law *law)
{
	dctcp_cut(window, law, SEGMENT / 2);
	window->has_cut = 1;
	window->cut_end = window->next;
}

/* The guest's timer has run out. */
static __always_inline void dctcp_collapse(struct tr_dctcp *window)
{
	__u64 half = window->segments / 2;

	window->threshold = half > 2 * SEGMENT ? half : 2 * SEGMENT;
	window->segments = SEGMENT;
	window->has_cut = 0;
}

/* D2TCP's urgency: the time that a flow needs at this window over the time that it has (Vamanan et al., 3.2.2). */
static __always_inline __u32 urgency(const struct tr_host_law *law, __u64 window_bytes, __u64 left, __u64 time_us,
				     __u64 round_trip_us)
{
	const __u64 most_left = 1ull << 40, most_us = 1ull << 20, most_needed = 1ull << 40;
	__u64 needed, found;

	if (!time_us || !left)
		return law->least;
	if (left > most_left)
		left = most_left;
	if (round_trip_us > most_us)
		round_trip_us = most_us;
	/* A window that saw-tooths between half and all of itself sends three quarters on average. */
	window_bytes = window_bytes * 3 / 4;
	needed = window_bytes ? left * round_trip_us / window_bytes : most_needed;
	if (needed > most_needed)
		needed = most_needed;
	found = (needed << 16) / time_us;
	return found < law->least ? law->least : found > law->most ? law->most : found;
}

/* L2DCT's weight after so many bytes, in parts of 1/65536 (Munir et al.). */
static __always_inline __u32 weight_after(const struct tr_host_law *law, __u64 sent)
{
	__u64 span = law->to - law->from, way = sent > law->from ? sent - law->from : 0;

	if (!span || way >= span)
		return law->least;
	/* Products have 64 bits. */
	if (span >> 32) {
		span >>= 32;
		way >>= 32;
	}
	return law->most - (__u32)(way * (law->most - law->least) / span);
}

#endif
