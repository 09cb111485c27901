// The simulated fabric: hosts, switches and links with marking egress ports.
#pragma once

#include "options.h"

#include <ns3/node.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/queue-disc.h>

#include <utility>
#include <vector>

namespace fabric {

/// One direction of a link: the port a node sends through.
struct EgressPort {
    ns3::Ptr<ns3::PointToPointNetDevice> device;
    ns3::Ptr<ns3::QueueDisc> queueDisc;

    /// What waits: in the queue disc and in the device's queue, without the packet on the wire.
    uint32_t WaitingPackets() const;
    uint64_t WaitingBytes() const;
    /// What has begun its transmission.
    uint64_t SentPackets() const;
    uint64_t SentBytes() const;
};

/// A leaf-spine fabric. A dumbbell is two leaves joined by one link, a star is a single leaf.
class Network {
  public:
    Network(const TopologyOptions& topology, const PortOptions& ports, uint32_t wireBytes);

    ns3::Ptr<ns3::Node> Host(uint32_t host) const { return m_hosts[host]; }
    /// The port of a leaf towards a spine (in a dumbbell, towards the other leaf).
    const EgressPort& Uplink(uint32_t leaf, uint32_t uplink) const {
        return m_leafUp[leaf][uplink];
    }

    /// Packets sent over a link, summed over all links.
    uint64_t PacketHops() const;
    uint64_t DroppedPackets() const;
    uint64_t MarkedPackets() const;

  private:
    struct QueueOptions {
        QueueUnit unit;
        bool marking;
        uint32_t markThreshold;  // packets
        uint32_t buffer;         // packets
    };
    struct LinkOptions {
        uint64_t rate;
        double delayNs;
        QueueOptions nearQueue;
        QueueOptions farQueue;
    };

    void AddHosts(const PortOptions& options);
    void AddCore(const PortOptions& options);
    void InstallRoutes() const;
    /// Links two nodes and returns the egress port of each.
    std::pair<EgressPort, EgressPort> Connect(ns3::Ptr<ns3::Node> near, ns3::Ptr<ns3::Node> far,
                                              const LinkOptions& link);
    EgressPort InstallPort(ns3::Ptr<ns3::NetDevice> device, const QueueOptions& queue);

    const TopologyOptions m_topology;
    const uint32_t m_wireBytes;
    std::vector<ns3::Ptr<ns3::Node>> m_hosts;
    std::vector<ns3::Ptr<ns3::Node>> m_leaves;
    std::vector<ns3::Ptr<ns3::Node>> m_spines;
    std::vector<EgressPort> m_hostUp;                  // [host]
    std::vector<std::vector<EgressPort>> m_leafDown;   // [leaf][host below it]
    std::vector<std::vector<EgressPort>> m_leafUp;     // [leaf][uplink]
    std::vector<std::vector<EgressPort>> m_spineDown;  // [spine][leaf]
    std::vector<EgressPort> m_ports;                   // all of the above
};

}  // namespace fabric
