/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Programs say what they know of a flow by a socket option of this one's own. It is for cgroups that a rule names; all others
 * get EPERM, and, where no agent runs, ENOPROTOOPT.
 */
#ifndef TAILRACE_TELL_H
#define TAILRACE_TELL_H

#include <bpf/bpf_core_read.h>
#include "../include/tailrace.h"
#include "constants.h"

#define EINVAL 22
#define EOPNOTSUPP 95
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

static __always_inline int refuse(int error)
{
	__sync_fetch_and_add(&counts.refused, 1);
	/* Without one, what is refused is EPERM. */
	if (error)
		bpf_set_retval(-error);
	return 0;
}

/* Whether this process may say something of a socket with these ports, which then is not of a slice that is not its own. */
static __always_inline bool may_tell(struct tr_policy *policy, __u16 near, __u16 far, __u32 slice)
{
	__u32 zero = 0;
	void *set = policy->rules ? bpf_map_lookup_elem(&rules, &zero) : NULL;
	struct tr_rule *rule = NULL;
	bool named = false;

	if (!set)
		return false;
	for (int level = TR_LEVELS; level >= 0; level--) {
		struct tr_rule_key key = {};
		struct tr_rule *any;

		key.cgroup = level < policy->levels ? bpf_get_current_ancestor_cgroup_id(level) : 0;
		if (!key.cgroup)
			continue;
		any = bpf_map_lookup_elem(set, &key);
		named |= any && (any->flags & TR_MAY_TELL);
		if (!rule)
			rule = rule_of(set, key.cgroup, near, far);
	}
	if (!rule)
		rule = rule_of(set, 0, near, far);
	return named && !(slice && rule && (rule->flags & TR_HAS_SLICE) && rule->slice != slice);
}

SEC("cgroup/setsockopt")
int tell(struct bpf_sockopt *ctx)
{
	struct tailrace_flow *said = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct tr_policy *policy;
	struct tcp_sock *tcp;
	struct tr_told *kept;
	struct sock *sock;

	if (ctx->level != TAILRACE_SOCKET || ctx->optname != TAILRACE_FLOW || !sk)
		return 1;
	sock = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct sock));
	if (sock->__sk_common.skc_net.net->ns.inum != constants.network)
		return 1;
	policy = current_policy();
	/* An agent whose rules name no cgroup does not listen: to whom it matters, it is not there. */
	if (policy && !policy->levels)
		return 1;
	if (!policy || !may_tell(policy, sk->src_port, bpf_ntohs(sk->dst_port), 0))
		return refuse(0);
	if (sk->protocol != IPPROTO_TCP)
		return refuse(EOPNOTSUPP);
	if (ctx->optlen != sizeof(*said) || (void *)(said + 1) > ctx->optval_end)
		return refuse(EINVAL);
	if (said->unused || said->slice > policy->slices || (said->deadline_ns && !said->size))
		return refuse(EINVAL);
	if (!may_tell(policy, sk->src_port, bpf_ntohs(sk->dst_port), said->slice))
		return refuse(0);
	kept = bpf_sk_storage_get(&told, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!kept)
		return refuse(0);
	tcp = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	kept->anchored = sk->state == TCP_ESTABLISHED || sk->state == TCP_CLOSE_WAIT;
	kept->first = tcp->write_seq;
	kept->size = said->size;
	kept->task = said->task;
	kept->slice = said->slice;
	kept->deadline_ns = said->deadline_ns;
	if (said->deadline_ns && kept->anchored)
		kept->deadline_ns += bpf_ktime_get_ns();
	/* Last: who finds another number finds the rest. */
	kept->count++;
	__sync_fetch_and_add(&counts.told, 1);
	ctx->optlen = -1;
	return 1;
}

#endif
