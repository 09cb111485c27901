/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* Laws on windows that are given, to be compared with those that are simulated. */
#ifndef TAILRACE_TRIAL_H
#define TAILRACE_TRIAL_H

/* One step of a law with DCTCP's window. */
SEC("syscall")
int try_law(struct tr_trial *trial)
{
	struct tr_dctcp window = trial->window;
	struct tr_host_law *law = current_law();
	struct due due = { trial->left, trial->time_us };

	if (!law)
		return 1;
	if (trial->step == TR_BEGINS)
		dctcp_begin(&window, &law->law);
	else if (trial->step == TR_ACKNOWLEDGED)
		answer(&window, law, trial->acked, trial->marked, trial->sent, trial->round_trip_us ? &due : NULL,
		       (window.segments * (window.mss ? window.mss : 1)) >> 20, trial->round_trip_us);
	else if (trial->step == TR_LOST)
		dctcp_loss(&window, &law->law);
	else
		dctcp_collapse(&window);
	trial->window = window;
	return 0;
}

/* One step of MCP. */
SEC("syscall")
int try_mcp(struct tr_mcp_trial *trial)
{
	struct tr_host_law *law = current_law();
	struct tr_mcp mcp = trial->mcp;
	struct mcp_now now = {
		.now_ns = trial->now_ns, .deadline_ns = trial->deadline_ns, .left = trial->left, .unsent = trial->unsent,
		.srtt_ns = trial->srtt_ns, .una = trial->una, .next = trial->next, .acked = trial->acked,
		.marked = trial->marked, .mss = trial->mss,
	};

	if (!law)
		return 1;
	if (trial->step == TR_BEGINS)
		mcp_begin(&mcp, &law->mcp, &now);
	else if (trial->step == TR_ACKNOWLEDGED)
		mcp_answer(&mcp, &law->mcp, &now);
	else if (trial->step == TR_LOST)
		mcp_judge(&mcp, &law->mcp, &now);
	else
		mcp_collapse(&mcp, &law->mcp, &now);
	trial->mcp = mcp;
	trial->pace = mcp_pace(&mcp, &law->mcp, now.mss);
	return 0;
}

#endif
