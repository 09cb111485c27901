// Flows, and the lists they come in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fabric {

struct Flow {
    uint32_t id;
    uint32_t source;
    uint32_t destination;
    uint64_t bytes;
    uint64_t startNs;
};

/// Size of a flow that never ends.
constexpr uint64_t kUnbounded = UINT64_MAX;

/// Reads a CSV file with the header src,dst,size_bytes,start_ns. The n-th row is flow n, from 0.
/// Throws UserError, with file and line.
std::vector<Flow> ReadFlowList(const std::string& path, uint32_t hostCount);

}  // namespace fabric
