// Addresses, ports and routes by arithmetic: no tables to fill, no route search.
#pragma once

#include "options.h"

#include <ns3/ipv4-route.h>
#include <ns3/ipv4-routing-protocol.h>

#include <vector>

namespace fabric {

ns3::Ipv4Address AddressOfHost(uint32_t host);
uint32_t HostOfAddress(ns3::Ipv4Address address);

/// The TCP ports of a connection. They carry its flow id, so that a switch hashes that id.
struct FlowPorts {
    uint16_t sender;
    uint16_t receiver;
};

/// Ids above this do not fit the ports.
constexpr uint32_t kMaxFlows = 1u << 25;
/// Flows whose ids differ by a multiple of this share the sender's port.
constexpr uint32_t kFlowsPerReceiverPort = 65536 - 1024;

FlowPorts PortsOfFlow(uint32_t flow);
/// The flow of a packet, whichever end sent it.
uint32_t FlowOfPorts(uint16_t source, uint16_t destination);

/// What the two protocols below share: there is nothing to learn from interface changes.
class ArithmeticRouting : public ns3::Ipv4RoutingProtocol {
  public:
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override {}

  protected:
    void DoDispose() override;

    ns3::Ptr<ns3::Ipv4> m_ipv4;
};

/// A host has one link: everything leaves through it, and what arrives is for the host.
class HostRouting : public ArithmeticRouting {
  public:
    HostRouting(uint32_t host, ns3::Ptr<ns3::NetDevice> device);

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice> device,
                                         ns3::Socket::SocketErrno& error) override;
    bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward,
                    MulticastForwardCallback, LocalDeliverCallback deliver, ErrorCallback) override;

  private:
    const ns3::Ipv4Address m_address;
    ns3::Ptr<ns3::Ipv4Route> m_route;
};

/// Where a switch stands. The hosts below it are consecutive, `hostsPerPort` behind each of its
/// down ports. Switches are numbered leaves first, then spines.
struct SwitchPosition {
    uint32_t firstHost;
    uint32_t hostsPerPort;
    uint32_t hostsPerLeaf;
};

using Devices = std::vector<ns3::Ptr<ns3::NetDevice>>;

/// A switch sends down to the port that leads to the destination, or else up through one of its
/// equal-cost uplinks, chosen per flow or per packet.
class SwitchRouting : public ArithmeticRouting {
  public:
    SwitchRouting(const SwitchPosition& position, LoadBalancing loadBalancing, const Devices& down,
                  const Devices& up);

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice> device,
                                         ns3::Socket::SocketErrno& error) override;
    bool RouteInput(ns3::Ptr<const ns3::Packet> packet, const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device, UnicastForwardCallback forward,
                    MulticastForwardCallback, LocalDeliverCallback deliver, ErrorCallback) override;

  private:
    uint32_t ChooseUplink(const ns3::Packet& packet, uint32_t destination);

    const SwitchPosition m_position;
    const LoadBalancing m_loadBalancing;
    std::vector<ns3::Ptr<ns3::Ipv4Route>> m_down;
    std::vector<ns3::Ptr<ns3::Ipv4Route>> m_up;
    std::vector<uint32_t> m_nextUplink;  // by destination leaf, for spraying
};

}  // namespace fabric
