#pragma once

#include "flow_list.h"

#include <simgrid/s4u.hpp>
#include <vector>

namespace tree {

/// Sends all flows of each task at its start, headers included, and tells how long each task took,
/// in seconds.
std::vector<double> Replay(const std::vector<Task>& tasks,
                           const std::vector<simgrid::s4u::Host*>& hosts);

}  // namespace tree
