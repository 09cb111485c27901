/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * MCP, the window of flows with deadlines (Karuna 4.2), in whole numbers: crates/tailrace-schemes has it in real ones, in
 * karuna/mcp.rs; tests/mcp.rs compares. Rates are payload bytes a second.
 */
#ifndef TAILRACE_MCP_H
#define TAILRACE_MCP_H

/* Products of the two have 64 bits: 550 Gbps, and 268 ms. */
#define MAX_RATE ((1ull << 36) - 1)
#define MAX_RTT_NS ((1ull << 28) - 1)
#define MAX_LEFT ((1ull << 34) - 1)
#define MIN_GAIN 66 /* in parts of 1/65536: with less the residual rate does not matter */
#define SLOWEST 1049  /* segments in parts of 2^-20 that even the slowest flow sends in a round trip */

/* What an acknowledgement says of a flow. */
struct mcp_now {
	__u64 now_ns;
	__u64 deadline_ns;
	__u64 left;    /* bytes that have not come to the other end */
	__u64 unsent;  /* bytes that have not been sent */
	__u64 srtt_ns; /* 0: not known */
	__u32 una;
	__u32 next;
	__u32 acked; /* segments, and of these with marks */
	__u32 marked;
	__u32 mss;
};

static __always_inline __u64 least_of(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 most_of(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* So many bytes in so long. */
static __always_inline __u64 rate_of(__u64 bytes, __u64 ns)
{
	return least_of(ns ? least_of(bytes, MAX_LEFT) * 1000000000ull / ns : MAX_RATE, MAX_RATE);
}

static __always_inline __u64 mcp_round_trip(const struct tr_mcp *mcp, const struct tr_mcp_law *law)
{
	return least_of(law->flags & TR_SMOOTHED ? mcp->srtt_ns : law->round_trip_ns, MAX_RTT_NS);
}

/* Segments in parts of 2^-20 that this rate sends in a round trip. */
static __always_inline __u64 segments_of(__u64 rate, __u64 round_trip_ns, __u32 mss)
{
	/* Thousandths of bytes. */
	__u64 sent = least_of(rate * round_trip_ns / 1000000, 1ull << 43);

	return mss ? (sent << 20) / (1000ull * mss) : 0;
}

/* Until the aim, less the time in which the last byte crosses the path; 0 if that is past. */
static __always_inline __u64 time_to_send(const struct tr_mcp *mcp, const struct tr_mcp_law *law,
					  const struct mcp_now *now)
{
	__u64 guard = (__u64)law->round_trip_ns * law->guard_rtts >> 16;
	__u64 less = law->round_trip_ns / 2 + (mcp->flags & TR_GUARDED ? guard : 0);

	return now->deadline_ns > now->now_ns + less ? now->deadline_ns - now->now_ns - less : 0;
}

/* Whether fewer than two windows are left. */
static __always_inline bool is_urgent(const struct tr_mcp *mcp, __u64 time_ns)
{
	return time_ns < 2 * mcp->srtt_ns;
}

/* The rate that sends what is left, in whole segments, until the aim, or in one window if that is near. */
static __always_inline __u64 expected(const struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 time_ns = time_to_send(mcp, law, now), left = now->left;

	if (now->mss)
		left = (left + now->mss - 1) / now->mss * now->mss;
	return rate_of(left, is_urgent(mcp, time_ns) ? mcp_round_trip(mcp, law) : time_ns);
}

static __always_inline __u64 whole(__u64 segments)
{
	return (segments + SEGMENT - 1) & ~(SEGMENT - 1);
}

/* Expected and weighted residual rate as a window. */
static __always_inline __u64 source(const struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 rate = mcp->expected + (mcp->residual * law->residual_gain >> 16);

	return segments_of(least_of(rate, MAX_RATE), mcp_round_trip(mcp, law), now->mss);
}

static __always_inline __u64 largest(const struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	return segments_of(least_of(law->link * law->max_bdps >> 16, MAX_RATE), mcp_round_trip(mcp, law), now->mss);
}

/* In parts of 2^-20. */
static __always_inline __u64 least_window(const struct tr_mcp_law *law)
{
	return (__u64)law->min_window << 4;
}

/* Hopeless is what is late, or what even the whole link could not save. */
static __always_inline void mcp_judge(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 time_ns = now->deadline_ns > now->now_ns ? now->deadline_ns - now->now_ns : 0;

	if (!time_ns || (now->unsent && rate_of(now->unsent, time_ns) > law->link))
		mcp->flags |= TR_HOPELESS;
	if (mcp->flags & TR_HOPELESS)
		mcp->target = least_window(law);
}

/* Within 1 and 10 unloaded round trips (the prototype). */
static __always_inline void mcp_measure(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	mcp->srtt_ns = least_of(most_of(now->srtt_ns, law->round_trip_ns), 10ull * law->round_trip_ns);
}

static __always_inline void mcp_begin(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 guard = (__u64)law->round_trip_ns * law->guard_rtts >> 16, needed, time_ns;

	__builtin_memset(mcp, 0, sizeof(*mcp));
	if (now->deadline_ns > now->now_ns + guard)
		mcp->flags = TR_GUARDED;
	mcp_measure(mcp, law, now);
	mcp->started_ns = now->now_ns;
	mcp->expected = expected(mcp, law, now);
	needed = least_of(source(mcp, law, now), largest(mcp, law, now));
	time_ns = time_to_send(mcp, law, now);
	if ((law->flags & TR_PACES) && needed < least_window(law) && !is_urgent(mcp, time_ns))
		mcp->target = needed;
	else
		mcp->target = most_of(whole(needed), (__u64)law->initial_window << 4);
	mcp_judge(mcp, law, now);
	mcp->window = mcp->target;
}

/* What was not reached in the window of data that ends; a stall is longer, but counts as one. */
static __always_inline void mcp_remember(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 elapsed = most_of(now->now_ns - mcp->started_ns, 1);
	__u64 reached = rate_of((__u64)mcp->acked * now->mss, elapsed);
	__u64 windows = elapsed >= mcp->srtt_ns ? 1 << 20 : (elapsed << 20) / mcp->srtt_ns;
	__s64 missed = (__s64)mcp->expected - (__s64)reached, residual;
	__u64 bound = mcp->expected * law->residual_bound >> 16, spare;

	missed = missed < 0 ? -(__s64)(-missed * windows >> 20) : (__s64)(missed * windows >> 20);
	residual = (__s64)mcp->residual + missed;
	/* What is not to be made up for, or the link cannot carry, need not be remembered. */
	spare = law->link > mcp->expected ? least_of(law->link - mcp->expected, bound) : 0;
	spare = (spare << 16) / most_of(law->residual_gain, MIN_GAIN);
	mcp->residual = residual > 0 ? least_of(least_of(residual, spare), MAX_RATE) : 0;
}

/* About once a round trip (Eq. 11). */
static __always_inline void mcp_end_window(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 marks, less, next, time_ns = time_to_send(mcp, law, now);

	mcp->expected = expected(mcp, law, now);
	mcp_remember(mcp, law, now);
	marks = mcp->acked ? mcp->window * least_of(mcp->marked, MAX_ACKED) / mcp->acked : 0;
	/* Half of what the estimate of the queue is above the threshold, as DCTCP answers. */
	less = (marks >> 8) * law->queue_gain >> 9;
	next = source(mcp, law, now);
	next = least_of(next > less ? next - less : 0, largest(mcp, law, now));
	if (!(law->flags & TR_PACES) || next >= least_window(law) || is_urgent(mcp, time_ns))
		next = whole(most_of(next, least_window(law)));
	mcp->target = next;
	mcp->acked = mcp->marked = 0;
	mcp->started_ns = now->now_ns;
	mcp->window_end = now->next;
	mcp_judge(mcp, law, now);
}

/* So many segments are acknowledged for the first time. */
static __always_inline void mcp_answer(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	__u64 step = least_of(now->acked, MAX_ACKED) << 20;

	mcp->acked += now->acked;
	mcp->marked += now->marked;
	mcp_measure(mcp, law, now);
	if (!(mcp->flags & TR_HAS_END)) {
		mcp->flags |= TR_HAS_END;
		mcp->window_end = now->next;
	}
	if (ahead(now->una, mcp->window_end) >= 0)
		mcp_end_window(mcp, law, now);
	/* By at most as many as are acknowledged: no bursts (the prototype). */
	if (mcp->window < mcp->target)
		mcp->window = least_of(mcp->target, mcp->window + step);
	else
		mcp->window = mcp->window - mcp->target > step ? mcp->window - step : mcp->target;
}

/* A timeout leaves the least window; the expected rate makes up for it. */
static __always_inline void mcp_collapse(struct tr_mcp *mcp, const struct tr_mcp_law *law, const struct mcp_now *now)
{
	mcp->target = mcp->window = least_window(law);
	mcp_judge(mcp, law, now);
}

/* Below the least window, the rate of a pace; else 0. */
static __always_inline __u64 mcp_pace(const struct tr_mcp *mcp, const struct tr_mcp_law *law, __u32 mss)
{
	__u64 round_trip_ns = most_of(mcp_round_trip(mcp, law), 1), bytes;

	if (!(law->flags & TR_PACES) || mcp->window >= least_window(law))
		return 0;
	/* In parts of 2^-10. */
	bytes = most_of(mcp->window, SLOWEST) * mss >> 10;
	return bytes * 1000000000ull / round_trip_ns >> 10;
}

#endif
