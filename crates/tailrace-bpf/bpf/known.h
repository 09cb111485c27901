/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What is known of flows, from rules and from the programs that send them, and the policy's directives for that. Policy and
 * rules are replaced whole: a packet finds the old ones or the new ones.
 */
#ifndef TAILRACE_KNOWN_H
#define TAILRACE_KNOWN_H

#include <bpf/bpf_endian.h>

struct policy_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tr_policy);
};

struct policy_map first_policy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct policy_map);
} policies SEC(".maps") = { .values = { [0] = (void *)&first_policy } };

struct rule_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct tr_rule_key);
	__type(value, struct tr_rule);
};

struct rule_map first_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct rule_map);
} rules SEC(".maps") = { .values = { [0] = (void *)&first_rules } };

/* Sockets that are accepted have what their listening socket was told. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct tr_told);
} told SEC(".maps");

static __always_inline struct tr_policy *current_policy(void)
{
	__u32 zero = 0;
	void *current = bpf_map_lookup_elem(&policies, &zero);

	return current ? bpf_map_lookup_elem(current, &zero) : NULL;
}

/* A rule of this cgroup (0: of none) for a socket with these ports: one that names a port goes before one that does not. */
static __always_inline struct tr_rule *rule_of(void *set, __u64 cgroup, __u16 near, __u16 far)
{
	__u16 ports[3] = { near, far, 0 };

	for (int i = 0; i < 3; i++) {
		struct tr_rule_key key = { .cgroup = cgroup, .port = ports[i] };
		struct tr_rule *rule = i < 2 && !ports[i] ? NULL : bpf_map_lookup_elem(set, &key);

		if (rule && !(rule->flags & TR_TELL_ONLY))
			return rule;
	}
	return NULL;
}

/* The rule for the socket that a packet comes from: that of the deepest cgroup that has one. */
static __always_inline struct tr_rule *rule_of_packet(struct __sk_buff *skb, struct tr_policy *policy,
						      const struct tr_flow_key *key)
{
	__u16 near = bpf_ntohs(key->source_port), far = bpf_ntohs(key->destination_port);
	__u32 zero = 0;
	void *set = policy->rules ? bpf_map_lookup_elem(&rules, &zero) : NULL;

	if (!set)
		return NULL;
	for (int level = TR_LEVELS; level >= 0; level--) {
		__u64 cgroup = level < policy->levels ? bpf_skb_ancestor_cgroup_id(skb, level) : 0;
		struct tr_rule *rule = cgroup ? rule_of(set, cgroup, near, far) : NULL;

		if (rule)
			return rule;
	}
	return rule_of(set, 0, near, far);
}

/* What its program has said of the socket that a packet comes from. */
static __always_inline struct tr_told *told_of(struct __sk_buff *skb, struct tr_policy *policy)
{
	struct bpf_sock *sk = policy->rules ? skb->sk : NULL;

	sk = sk ? bpf_sk_fullsock(sk) : NULL;
	return sk ? bpf_sk_storage_get(&told, sk, NULL, 0) : NULL;
}

/* Where the directive is for flows of which so much is known. */
static __always_inline __u32 place_of(struct tr_policy *policy, __u32 slice, __u64 size, bool deadline)
{
	__u32 pieces = policy->pieces, place;

	if (slice > policy->slices)
		slice = policy->slices;
	place = slice * (1 + 2 * pieces);
	if (!size)
		return place;
	place += deadline ? 1 + pieces : 1;
	for (int i = 0; i < TR_EDGES; i++)
		place += size >= policy->edges[i];
	return place;
}

/* Takes down what is known of a flow, and where its directive is. A global function: the kernel checks it once. */
__noinline int know(struct __sk_buff *skb, struct tr_policy *policy, const struct tr_flow_key *key,
		    struct tr_known *known, struct tr_told *told)
{
	struct tr_rule *rule;
	__u64 deadline = 0;

	if (!policy || !key || !known)
		return 0;
	rule = rule_of_packet(skb, policy, key);
	known->size = 0;
	known->slice = 0;
	known->told = 0;
	if (rule) {
		known->size = rule->size;
		known->slice = rule->slice;
		if (rule->deadline_ns)
			deadline = known->begun_ns + rule->deadline_ns;
	}
	if (told) {
		known->told = told->count;
		if (told->size)
			known->size = told->size;
		if (told->deadline_ns)
			deadline = told->deadline_ns + (told->anchored ? 0 : known->begun_ns);
		if (!rule || !(rule->flags & TR_HAS_SLICE))
			known->slice = told->slice;
	}
	known->had_deadline = !!deadline;
	/* A deadline that is past counts no more. */
	known->deadline_ns = deadline > bpf_ktime_get_ns() ? deadline : 0;
	known->place = place_of(policy, known->slice, known->size, known->deadline_ns);
	known->generation = policy->generation;
	return 0;
}

/* The directive of a flow of which all is known. */
static __always_inline struct tr_table *directive_of(struct tr_policy *policy, const struct tr_known *known)
{
	return &policy->tables[known->place & (TR_TABLES - 1)];
}

/* Whether what is known of a flow, or the policy, has changed. */
static __always_inline bool is_stale(struct tr_policy *policy, const struct tr_known *known,
				     const struct tr_told *told)
{
	return known->generation != policy->generation || (told && told->count != known->told) ||
	       (known->deadline_ns && known->deadline_ns <= bpf_ktime_get_ns());
}

#endif
