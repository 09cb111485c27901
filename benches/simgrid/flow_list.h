#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tree {

struct Flow {
    unsigned source;
    unsigned destination;
    uint64_t bytes;
};

/// Flows that start together.
struct Task {
    double start;  // seconds
    std::vector<Flow> flows;
};

/// Reads the columns src, dst, size_bytes, start_ns and task of a list that `tailrace flows` wrote,
/// for tasks whose flows start together. Tasks come in order of their first lines, which is that of
/// their starts.
std::vector<Task> ReadTasks(const std::string& path);

}  // namespace tree
