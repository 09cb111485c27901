/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* When the flow of a socket is due, and what it has still to send. */
#ifndef TAILRACE_DUE_H
#define TAILRACE_DUE_H

#include "cgroup.h"

/* What a flow has still to send, and in which time. */
struct due {
	__u64 left;
	__u64 time_us;
	__u64 size; /* 0: not known */
	__u64 deadline_ns;
	__u32 count; /* how often its program has said something */
};

/* The rule for a socket: that of the deepest cgroup that has one. */
static __always_inline struct tr_rule *rule_of_socket(struct sock *sk, struct tr_policy *policy)
{
	__u16 near = sk->__sk_common.skc_num, far = bpf_ntohs(sk->__sk_common.skc_dport);
	struct cgroup *group = sk->sk_cgrp_data.cgroup;
	__u32 zero = 0;
	void *set = policy->rules ? bpf_map_lookup_elem(&rules, &zero) : NULL;

	if (!set)
		return NULL;
	for (int level = TR_LEVELS; level >= 0; level--) {
		__u64 cgroup = level < policy->levels ? cgroup_above(group, level) : 0;
		struct tr_rule *rule = cgroup ? rule_of(set, cgroup, near, far) : NULL;

		if (rule)
			return rule;
	}
	return rule_of(set, 0, near, far);
}

/* From what its program has said of the flow, or a rule; false without a deadline. */
static __always_inline bool find_due(struct sock *sk, struct tcp_sock *tp, const struct sender *sender, struct due *due)
{
	struct tr_told *said = bpf_sk_storage_get(&told, sk, NULL, 0);
	struct tr_policy *policy = current_policy();
	__u64 size = 0, deadline = 0, acked = tp->bytes_acked, now = bpf_ktime_get_ns();
	struct tr_rule *rule;

	if (said)
		due->count = said->count;
	if (said && said->deadline_ns) {
		size = said->size;
		deadline = said->deadline_ns + (said->anchored ? 0 : sender->begun_ns);
		if (said->anchored)
			acked = ahead(tp->snd_una, said->first) > 0 ? tp->snd_una - said->first : 0;
	} else if (policy) {
		rule = rule_of_socket(sk, policy);
		if (rule && rule->deadline_ns) {
			size = rule->size;
			deadline = sender->begun_ns + rule->deadline_ns;
		}
	}
	if (!deadline)
		return false;
	due->size = size;
	due->deadline_ns = deadline;
	due->left = size > acked ? size - acked : 0;
	due->time_us = deadline > now ? (deadline - now) / 1000 : 0;
	return true;
}

#endif
