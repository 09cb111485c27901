#include "platform.h"

#include <string>

namespace tree {
namespace {

namespace sg4 = simgrid::s4u;

using Route = std::vector<sg4::LinkInRoute>;

/// A switch: what is below it shares nothing but their links to it. Routes to above go by its router.
struct Switch {
    sg4::NetZone* zone;
    simgrid::kernel::routing::NetPoint* router;
};

/// A switch of hosts.
Switch AddEdge(const std::string& name, sg4::NetZone* above) {
    sg4::NetZone* zone = sg4::create_star_zone(name);
    zone->set_parent(above);
    const Switch added = {zone, zone->create_router(name + "-router")};
    zone->add_route(added.router, nullptr, nullptr, nullptr, Route{}, true);
    return added;
}

/// A switch of switches. Its router is in a zone of its own: SimGrid finds no way from one zone to a router
/// of the zone around it.
Switch AddAggregation(const std::string& name, sg4::NetZone* above) {
    sg4::NetZone* zone = sg4::create_star_zone(name);
    zone->set_parent(above);
    const Switch top = AddEdge(name + "-top", zone);
    zone->add_route(top.zone->get_netpoint(), nullptr, top.router, nullptr, Route{}, true);
    top.zone->seal();
    return {zone, top.router};
}

/// A link in each direction between a switch and what is below it.
void Join(sg4::NetZone* above, const std::string& name, double rate,
          simgrid::kernel::routing::NetPoint* below, simgrid::kernel::routing::NetPoint* gateway) {
    const sg4::Link* link = above->create_split_duplex_link(name, rate)->set_latency(0)->seal();
    above->add_route(below, nullptr, gateway, nullptr,
                     Route{sg4::LinkInRoute(link, sg4::LinkInRoute::Direction::UP)}, true);
}

/// The same for a switch below another.
void Join(sg4::NetZone* above, const std::string& name, double rate, const Switch& below) {
    below.zone->seal();
    Join(above, name, rate, below.zone->get_netpoint(), below.router);
}

}  // namespace

std::vector<sg4::Host*> Build(const Shape& shape) {
    std::vector<sg4::Host*> hosts;
    sg4::NetZone* core = sg4::create_star_zone("core");
    for (unsigned p = 0; p < shape.pods; ++p) {
        const std::string pod = "pod" + std::to_string(p);
        const Switch agg = AddAggregation(pod, core);
        for (unsigned e = 0; e < shape.edgesPerPod; ++e) {
            const std::string rack = pod + "-edge" + std::to_string(e);
            const Switch edge = AddEdge(rack, agg.zone);
            for (unsigned h = 0; h < shape.hostsPerEdge; ++h) {
                const std::string host = "host" + std::to_string(hosts.size());
                hosts.push_back(edge.zone->create_host(host, 1e9)->seal());
                Join(edge.zone, host + "-link", shape.hostRate, hosts.back()->get_netpoint(), nullptr);
            }
            Join(agg.zone, rack + "-link", shape.edgeRate, edge);
        }
        Join(core, pod + "-link", shape.coreRate, agg);
    }
    core->seal();
    return hosts;
}

}  // namespace tree
