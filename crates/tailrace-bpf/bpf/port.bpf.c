// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * A port of a Linux switch, before its queues: the class of a packet by its DSCP, and a mark if the port would hold more than K
 * with it.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "shared.h"
#include "packet.h"

/* Programs that read the kernel's own structures must say that they may be used under the GPL. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define TC_ACT_OK 0

/* Set before the program is loaded. */
const volatile struct tr_port port = {};

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

static __always_inline __u32 class_of(struct __sk_buff *skb)
{
	__u8 bytes[2];

	if (bpf_skb_load_bytes(skb, LINK_HEADER, bytes, 2))
		return port.others;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return port.classes[bytes[1] >> 2];
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return port.classes[(bytes[0] & 15) << 2 | bytes[1] >> 6];
	return port.others;
}

SEC("tc")
int port_out(struct __sk_buff *skb)
{
	struct sk_buff *kernels = bpf_cast_to_kern_ctx(skb);

	skb->priority = class_of(skb);
	if (port.above && kernels->dev->qdisc->qstats.backlog + skb->len > port.above)
		bpf_skb_ecn_set_ce(skb);
	return TC_ACT_OK;
}
