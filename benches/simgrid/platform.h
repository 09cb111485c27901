#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

namespace tree {

/// A plain tree: hosts below edge switches, these below one switch a pod, these below one core switch.
/// Rates are in bytes a second; links have no delay.
struct Shape {
    unsigned pods;
    unsigned edgesPerPod;
    unsigned hostsPerEdge;
    double hostRate;
    double edgeRate;
    double coreRate;
};

/// Builds it; hosts in the order of their numbers, edge by edge.
std::vector<simgrid::s4u::Host*> Build(const Shape& shape);

}  // namespace tree
