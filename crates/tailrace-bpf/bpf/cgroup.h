/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* In which cgroups a socket is. */
#ifndef TAILRACE_CGROUP_H
#define TAILRACE_CGROUP_H

#include <bpf/bpf_core_read.h>

/* The number of the cgroup so far below the root that this one is in, or is itself; 0 if there is none. */
static __always_inline __u64 cgroup_above(struct cgroup *group, __u32 level)
{
	struct cgroup *above = NULL;
	__u32 place = bpf_core_field_offset(group->ancestors) + level * sizeof(above);

	if (!group || BPF_CORE_READ(group, level) < (int)level)
		return 0;
	if (bpf_probe_read_kernel(&above, sizeof(above), (void *)group + place) || !above)
		return 0;
	return BPF_CORE_READ(above, kn, id);
}

#endif
